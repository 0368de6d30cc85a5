"""What the code imports is installed with the base or with an extra."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from releasegate.own_packages import PACKAGES

ROOT = Path(__file__).resolve().parents[3]


def test_what_the_code_imports_is_a_dependency_of_the_base_or_of_an_extra() -> None:
    """A package that only development brings is missing wherever the program is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines
    ]
    needed = {_distribution(re.split(r"[\[<>=~! ]", line)[0]) for line in [*project["dependencies"], *extras]}
    needed |= {"markupsafe"}  # jinja2's own texts
    needed |= {"pydantic-settings"}  # Prefect's settings are made of it
    needed |= {"aiohttp", "aiobotocore", "botocore"}  # of s3fs, whose classes ours are derived from
    places = packages_distributions()
    for name, file in _imports():
        found = {_distribution(one) for one in places.get(name, [])}
        assert found & needed, f"{file} imports {name} of {found or 'nothing'}"


def _imports() -> Iterator[tuple[str, Path]]:
    """Yield the foreign modules that the packages of releasegate import, each with a file."""
    rooms = (*PACKAGES, "releasegate")
    for file in sorted(file for room in rooms for file in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in (name.partition(".")[0] for name in names):
                if name not in sys.stdlib_module_names and name not in rooms:
                    yield name, file


def _distribution(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
