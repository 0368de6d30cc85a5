"""Nothing of the folder that a command starts in configures a library, or is imported.

Prefect reads `prefect.toml`, `pyproject.toml` and `.env` there, and Python itself
looks for modules there after `-m`. Whoever writes into the folder of a policy would run code by them. So
these libraries are imported from another folder, and what Prefect reads anew later it does not find.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

OURS = Path(__file__).resolve().parent  # holds no configuration of anything
_GUARDED = ("prefect", "great_expectations")


def ignore_working_folder() -> None:
    """Let what is imported from now on, and every child process, find nothing in the current folder."""
    os.environ["PYTHONSAFEPATH"] = "1"
    _leave_out_of_path()
    if "prefect" in sys.modules:  # a worker's: its folder is the operator's, and was read before
        return
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _leave_out_of_path() -> None:
    """Take the current folder out of the places of modules, where `python -m` puts it, unless it is ours.

    And what is relative to it: an editable installation leaves such a name, where packages are looked for.
    """
    sys.path[:] = [place for place in sys.path if not place or Path(place).is_absolute()]
    try:
        here = Path.cwd()
    except OSError:
        return
    if here != OURS.parents[1] and not sys.flags.safe_path and sys.path and sys.path[0] in ("", str(here)):
        del sys.path[0]


@contextmanager
def in_package_folder() -> Iterator[None]:
    """Be in a folder of ours."""
    before = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.chdir(OURS)
        yield
    finally:
        os.fchdir(before)
        os.close(before)


class _Finder(MetaPathFinder):
    """Finds the guarded libraries as all others would, and has them loaded from elsewhere."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _GUARDED:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Elsewhere(spec.loader, fullname)
                return spec
        return None


class _Elsewhere(Loader):
    """Executes a library's first module in a folder of ours."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader, self._name = loader, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        found: ModuleType | None = self._loader.create_module(spec)
        return found

    def exec_module(self, module: ModuleType) -> None:
        with in_package_folder():
            self._loader.exec_module(module)
            if self._name == "prefect":
                _blind_prefect()


def _blind_prefect() -> None:
    """Let Prefect's settings come from the environment and the profile of its own folder alone."""
    from prefect.settings import sources
    from pydantic_settings import DotEnvSettingsSource

    home = os.environ.get("PREFECT_HOME") or str(Path.home() / ".prefect")
    os.environ.setdefault("PREFECT_PROFILES_PATH", str(Path(home) / "profiles.toml"))
    DotEnvSettingsSource._read_env_files = _nothing  # type: ignore  # Prefect's own is derived from it
    sources.TomlConfigSettingsSourceBase._read_files = _nothing  # type: ignore


def _nothing(*_: Any) -> dict[str, Any]:
    return {}
