"""The folder of the site, when a build is killed, has no room or no rights, or is not alone."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.__main__ import main
from policy.errors import UsageError
from release_store.audit.keys import KEY_VARIABLE
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from reports.site import folder as folder_module
from reports.site.folder import MARKER, site_folder
from tests.spec.docs_pages import ROOT
from tests.support.pages.lived import built_from, files
from tests.support.timeouts import HANG_TIMEOUT

# Root may write anywhere, unless it lays that right down.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


def report(
    folder: Path, out: Path, prefix: list[str] | None = None, before: Callable[[], None] | None = None
) -> tuple[int, list[str]]:
    """Build the site in a process of its own; return its exit code and what it says of the end."""
    words = ["--store", str(folder / "store"), "report", "--out", str(out)]
    done = subprocess.run(
        [*(prefix or []), sys.executable, "-m", "cli", *words],
        cwd=ROOT,
        env={**{k: v for k, v in os.environ.items() if k != KEY_VARIABLE}, "PYTHONPATH": str(ROOT)},
        preexec_fn=before,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, [line for line in done.stderr.splitlines() if not line.endswith(" ...")]


def killed_at(out: Path, store: Path, step: str) -> None:
    """Put a site of one file in place in a child process that kills itself at one step of it."""
    child = os.fork()
    if not child:
        try:
            die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # noqa: E731
            if step == "before the renames":
                folder_module._put = die  # type: ignore[assignment]
            elif step == "between the renames":
                rename = Path.rename
                Path.rename = lambda one, to: rename(one, to) if one == out else die()  # type: ignore[method-assign, assignment, return-value, func-returns-value]
            else:
                folder_module.shutil = SimpleNamespace(rmtree=lambda one, **_: one.is_dir() and die())  # type: ignore[assignment]
            with site_folder(out, store) as new:
                (new / "index.html").write_text("new")
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), status


@pytest.mark.faults
@pytest.mark.parametrize(
    ("step", "stands", "after"),
    [
        ("before the renames", "old", "old"),
        ("between the renames", None, "old"),  # the old one lies beside, and the next build knows it
        ("after the renames", "new", "new"),
    ],
)
def test_a_killed_build_leaves_a_whole_site_and_the_next_one_works(
    tmp_path: Path, step: str, stands: str | None, after: str
) -> None:
    out, store = tmp_path / "site", tmp_path / "store"
    store.mkdir()
    with site_folder(out, store) as new:
        (new / "index.html").write_text("old")
    killed_at(out, store, step)
    assert out.exists() == (stands is not None)
    if stands is not None:
        assert (out / "index.html").read_text() == stands
        assert (out / MARKER).is_file()
    with suppress(RuntimeError), site_folder(out, store) as new:
        assert list(new.iterdir()) == []  # nothing is left of the killed one
        assert (out / "index.html").read_text() == after
        raise RuntimeError
    assert (out / "index.html").read_text() == after
    with site_folder(out, store) as new:
        (new / "index.html").write_text("newest")
    assert (out / "index.html").read_text() == "newest"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["site", "store"]


@pytest.mark.parametrize("out", ["", ".", "..", "../../a", "../b/"])
@pytest.mark.enemy("auditor", "writes a file")
def test_the_current_folder_and_what_is_around_it_are_no_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    with (
        pytest.raises(UsageError, match="is the current folder, or above it"),
        site_folder(Path(out), tmp_path / "s"),
    ):
        raise AssertionError("a site was begun")
    assert here.samefile(".")
    assert [*tmp_path.rglob("*")] == [tmp_path / "a", here]
    with site_folder(Path("../c"), tmp_path / "s"):
        pass


def test_a_name_that_is_too_long_is_told(
    copied: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # The second has room itself, and the hidden folder beside it has not.
    for name, finding in (
        ("a" * 300, "has too long a name"),
        ("a" * 250, "cannot be written (OSError)"),
    ):
        code = main(["--store", str(copied / "store"), "report", "--out", str(tmp_path / name)])
        said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith(" ...")]
        assert (code, len(said)) == (2, 2)
        assert finding in said[0]
    assert [one.name for one in tmp_path.iterdir()] == ["lived"]


def test_a_second_build_of_the_same_folder_is_refused(copied: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with site_folder(out, copied / "store") as new:
        (new / "index.html").write_text("first")
        with pytest.raises(UsageError, match="is being written by another process"):
            built_from(copied, out)
        assert (new / "index.html").read_text() == "first"
    assert (out / "index.html").read_text() == "first"
    built_from(copied, tmp_path / "other")  # another folder is another matter


@pytest.mark.parametrize(
    "limit",
    [pytest.param(100, marks=pytest.mark.nightly), pytest.param(200_000, marks=pytest.mark.faults)],
    ids=["no file", "some files"],
)
def test_a_full_disk_is_told_and_leaves_the_old_site(copied: Path, tmp_path: Path, limit: int) -> None:
    """By the limit on the size of a file that the system lets a process write: the same refusals."""
    out = tmp_path / "out"
    built_from(copied, out)
    old = files(out)

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code, said = report(copied, out, before=full)
    assert code in (1, 2), said
    assert len(said) in (1, 2), said
    assert "unexpected error" not in said[0]
    assert files(out) == old
    assert sorted(one.name for one in tmp_path.iterdir()) == ["lived", "out"]
    assert report(copied, out) == (0, [])


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere, without setpriv"
)
@pytest.mark.faults
def test_a_folder_that_cannot_be_written_is_told(copied: Path, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    place.mkdir(mode=0o500)
    prefix = WITHOUT_RIGHTS if os.geteuid() == 0 else None
    code, said = report(copied, place / "out", prefix)
    assert code == 2
    assert len(said) == 2
    assert "cannot be written (PermissionError)" in said[0]


@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root may write anywhere, without setpriv"
)
@pytest.mark.faults
def test_a_store_that_can_only_be_read(copied: Path, tmp_path: Path) -> None:
    """As a copy on a disk that is mounted to be read: what the other commands say of it, the site does."""
    verify(ReleaseStore.open(copied / "store"))
    before = files(copied / "store")
    paths = [copied / "store", *(copied / "store").rglob("*")]
    modes = {path: path.stat().st_mode for path in paths if not path.is_symlink()}
    for path, mode in modes.items():
        path.chmod(mode & 0o555)
    try:
        prefix = WITHOUT_RIGHTS if os.geteuid() == 0 else None
        code, said = report(copied, tmp_path / "out", prefix)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert (code, said) == (0, [])
    assert files(copied / "store") == before
    assert main(["--store", str(copied / "store"), "report", "--out", str(tmp_path / "own")]) == 0
    assert files(tmp_path / "own") == files(tmp_path / "out")
