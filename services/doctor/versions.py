"""Is what is installed what was tried? Python and every package, against the ranges of the project."""

from __future__ import annotations

import platform
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from release_store.checkup import Check, Condition

_PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_INSTALL = "Run `make demo`, or `pip install -r requirements.lock`."
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
        prefect = metadata.version("prefect")
        found = f"all {len(needed)} are installed, with Prefect {prefect}"
        checks.append(Check("packages", Condition.FINE, found))
    return checks


def requirements() -> tuple[str, list[Requirement]]:
    """Return the range of Python versions and the packages that are needed to run.

    From the project's file where it lies beside the code, else from what was installed.
    """
    if _PROJECT.is_file():
        project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
        return str(project["requires-python"]), [Requirement(line) for line in project["dependencies"]]
    found = metadata.metadata("releasegate")
    lines = [Requirement(line) for line in metadata.requires("releasegate") or []]
    needed = [one for one in lines if one.marker is None or one.marker.evaluate({"extra": ""})]
    return str(found.json.get("requires_python") or ""), needed


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
