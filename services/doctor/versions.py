"""Is what is installed what was tried? Python and every package, against the ranges of the project."""

from __future__ import annotations

import platform
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from release_store.checkup import Check, Condition

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_INSTALL = "Run `make demo`, or `pip install` with `-c requirements.lock`."
_DEVELOPMENT = "dev"
TRAPS = {
    "fastapi": "Prefect's server then fails at import, and every flow with it",
    "sqlalchemy": "Prefect then silently never creates the runs of a schedule",
}
"""What fails though `pip check` finds nothing."""


def versions() -> list[Check]:
    """Return what is wrong with Python and the packages, or that nothing is."""
    python, needed = requirements()
    checks = []
    here = platform.python_version()
    if python and here not in SpecifierSet(python):
        found = f"{here} is running, but {python} is needed"
        checks.append(Check("Python", Condition.WRONG, found, "Make .venv with another Python."))
    else:
        checks.append(Check("Python", Condition.FINE, here))
    wrong = [found for one in needed if (found := _wrong(one))]
    checks += [Check("packages", Condition.WRONG, found, _INSTALL) for found in wrong]
    if not wrong:
        extras = [name for name, lines in _extras().items() if _is_installed(lines)]
        found = f"all {len(needed)} are installed, "
        found += f"with the extras {', '.join(extras)}" if extras else "without extras"
        checks.append(Check("packages", Condition.FINE, found))
    return checks


def requirements() -> tuple[str, list[Requirement]]:
    """Return the range of Python versions and the packages that are needed to run: those of the base, and of
    each extra that is installed.

    From the project's file where it lies beside the code, else from what was installed.
    """
    extras = [line for lines in _extras().values() if _is_installed(lines) for line in lines]
    if (project := _project()) is not None:
        base = [Requirement(line) for line in project["dependencies"]]
        return str(project["requires-python"]), [*base, *extras]
    found = metadata.metadata("releasegate")
    return str(found.json.get("requires_python") or ""), [*_installed_with(""), *extras]


def _extras() -> dict[str, list[Requirement]]:
    """Return the packages of each extra but that of development."""
    if (project := _project()) is not None:
        named = project["optional-dependencies"].items()
        extras = {name: [Requirement(line) for line in lines] for name, lines in named}
    else:
        base = {str(one) for one in _installed_with("")}
        names = metadata.metadata("releasegate").get_all("Provides-Extra") or []
        extras = {name: [one for one in _installed_with(name) if str(one) not in base] for name in names}
    return {name: lines for name, lines in extras.items() if name != _DEVELOPMENT}


def _project() -> dict[str, Any] | None:
    """Return the project's file; None where the code was installed without it."""
    if not _PROJECT.is_file():
        return None
    project: dict[str, Any] = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    return project


def _installed_with(extra: str) -> list[Requirement]:
    lines = [Requirement(line) for line in metadata.requires("releasegate") or []]
    return [one for one in lines if one.marker is None or one.marker.evaluate({"extra": extra})]


def _is_installed(extra: list[Requirement]) -> bool:
    """Tell whether an extra was installed, by the first of its packages."""
    try:
        metadata.version(extra[0].name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _wrong(needed: Requirement) -> str:
    """Return what is wrong with one package in one line, or an empty text."""
    trap = f": {TRAPS[needed.name]}" if needed.name in TRAPS else ""
    try:
        here = metadata.version(needed.name)
    except metadata.PackageNotFoundError:
        return f"{needed.name} is not installed"
    if needed.specifier.contains(here, prereleases=True):
        return ""
    return f"{needed.name} {here} is installed, but {needed.name}{needed.specifier} is needed{trap}"
