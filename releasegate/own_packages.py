"""Whether the packages of releasegate are its own: `flows` or `policy` are names that others use, too.

Another distribution, or a folder that stands before ours among the places of modules, can bring a package of
one of these names. Its code would run in place of ours, so a process with such a package ends before it.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("policy", "release_store", "expectations", "tasks", "reports", "services", "flows", "web", "cli")
OURS = Path(__file__).resolve().parents[1]
"""The folder that all packages of releasegate lie in."""


class ForeignPackageError(ImportError):
    """A package that would be imported in place of ours, or that is missing; the text is one line."""


def check_own_packages() -> None:
    """Raise ForeignPackageError unless each of PACKAGES lies beside this one. Nothing is imported."""
    for name in PACKAGES:
        place = _place_of(name)
        if place is None:
            raise ForeignPackageError(f"the package {name} of releasegate is missing beside {OURS}")
        if place != OURS / name:
            raise ForeignPackageError(
                f"the package {name} would come from {place.parent}, but releasegate is in {OURS}"
            )


def leave_out_working_folder() -> None:
    """Let no module come from the current folder from now on, unless it is ours."""
    here = os.path.realpath(Path.cwd())
    if here != str(OURS):
        sys.path[:] = [place for place in sys.path if os.path.realpath(place or here) != here]


def _place_of(name: str) -> Path | None:
    """Return the folder of the package that an import of `name` gives; None for none."""
    found = find_spec(name)
    if found is None:
        return None
    if found.origin is not None:
        return Path(found.origin).resolve().parent
    folders = list(found.submodule_search_locations or [])  # a folder without __init__.py
    return Path(folders[0]).resolve() if folders else None
