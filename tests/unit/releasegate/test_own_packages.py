"""A package of a neighbour that has the name of one of ours ends a command before it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from releasegate import own_packages
from releasegate.own_packages import PACKAGES, ForeignPackageError, check_own_packages
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
OTHERS = ("pandas", "typer", "sitecustomize", "usercustomize")
OWNER = "owner of the folder"


def planted(folder: Path, names: Sequence[str]) -> Path:
    """Make packages and modules that leave a mark where they run, and return the folder."""
    folder.mkdir()
    mark = f"open({str(folder.parent / 'ran')!r}, 'w')\n"
    for name in names:
        if name in OTHERS:
            (folder / f"{name}.py").write_text(mark)
        else:
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(mark)
    return folder


def command(folder: Path, *words: str, path: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Start the program as the installed script does: the current folder is no place of modules."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": path, **more}
    script = "from releasegate.__main__ import entry; entry()"
    return subprocess.run(
        [sys.executable, "-P", "-c", script, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )


def test_the_list_of_packages_is_what_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert found == [f"{name}*" for name in (*PACKAGES, "releasegate")]
    assert project["project"]["scripts"] == {"releasegate": "releasegate.__main__:entry"}


def test_our_own_packages_pass() -> None:
    check_own_packages()


@pytest.mark.enemy(OWNER, "runs code")
def test_no_file_of_the_folder_that_a_command_starts_in_runs(tmp_path: Path) -> None:
    folder = planted(tmp_path / "folder", [*PACKAGES, "releasegate", *OTHERS])
    done = command(folder, "--version", path=str(ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("releasegate ")
    done = command(folder, "check", "none.yaml", path=str(ROOT))
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "releasegate: none.yaml: no such file")
    assert not (tmp_path / "ran").exists()


@pytest.mark.enemy(OWNER, "runs code")
def test_the_planted_files_would_run_where_they_are_a_place_of_modules(tmp_path: Path) -> None:
    folder = planted(tmp_path / "folder", ["flows"])
    subprocess.run(
        [sys.executable, "-P", "-c", "import flows"], cwd=folder, env={"PYTHONPATH": str(folder)}, check=True
    )
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["policy", "flows", "cli"])
def test_a_package_of_another_project_ends_the_command_before_it_runs(tmp_path: Path, name: str) -> None:
    folder = planted(tmp_path / "others", [name])
    done = command(tmp_path, "--version", path=os.pathsep.join([str(folder), str(ROOT)]))
    assert done.returncode == 1
    first, hint = done.stderr.splitlines()
    assert first == f"releasegate: the package {name} would come from {folder}, but releasegate is in {ROOT}"
    assert "an environment of its own" in hint
    assert not (tmp_path / "ran").exists()


def test_a_worker_stops_at_such_a_package_too(tmp_path: Path) -> None:
    folder = planted(tmp_path / "others", ["tasks"])
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import flows.release"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert done.returncode == 1
    assert "ForeignPackageError: the package tasks would come from" in done.stderr.splitlines()[-1]
    assert not (tmp_path / "ran").exists()


def test_a_package_that_is_missing_or_has_no_first_module_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_packages, "PACKAGES", ("no_such_package",))
    with pytest.raises(ForeignPackageError, match="no_such_package of releasegate is missing"):
        check_own_packages()
    (tmp_path / "bare_folder").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(own_packages, "PACKAGES", ("bare_folder",))
    with pytest.raises(ForeignPackageError, match="bare_folder would come from"):
        check_own_packages()
