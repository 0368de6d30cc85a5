"""The bundle of Vega in the user's cache: used if its digest is right, and otherwise made anew."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import vl_convert

from reports import vega

CODE = "window.vegaEmbed = 1;"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Bundling by a quick stand-in; the calls of it."""
    made: list[str] = []

    def quick(snippet: str) -> str:
        made.append(snippet)
        return CODE

    monkeypatch.setattr(vl_convert, "javascript_bundle", quick)
    monkeypatch.setattr(vega, "SHA256", hashlib.sha256(CODE.encode()).hexdigest())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made


def kept(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "releasegate" / f"vega-{vega.SHA256[:16]}.js"


def test_a_second_page_reads_what_the_first_one_bundled(calls: list[str], tmp_path: Path) -> None:
    assert [vega.bundle(), vega.bundle()] == [CODE, CODE]
    assert calls == [vega.GLOBALS]
    assert list(kept(tmp_path).parent.iterdir()) == [kept(tmp_path)]


def test_what_a_killed_process_left_is_removed(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            vega.bundle()
    assert list(kept(tmp_path).parent.iterdir()) != []
    assert vega.bundle() == CODE
    assert list(kept(tmp_path).parent.iterdir()) == [kept(tmp_path)]
    assert len(calls) == 2


def altered(path: Path) -> None:
    path.write_text(CODE + "alert(1)")


def linked(path: Path) -> None:
    path.with_name("other").write_text(CODE)
    path.unlink()
    path.symlink_to("other")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def writable(path: Path) -> None:
    path.chmod(0o666)


def foreign(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(path, 12345, 12345)


@pytest.mark.parametrize("change", [altered, linked, piped, writable, foreign])
def test_what_is_not_the_file_that_was_kept_is_not_read(
    calls: list[str], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    vega.bundle()
    change(kept(tmp_path))
    assert vega.bundle() == CODE
    assert len(calls) == 2
    assert not kept(tmp_path).is_symlink()
    assert kept(tmp_path).read_text() == CODE
    assert (kept(tmp_path).stat().st_uid, kept(tmp_path).stat().st_mode & 0o777) == (os.geteuid(), 0o600)


def test_a_folder_that_others_can_write_is_neither_read_nor_written(calls: list[str], tmp_path: Path) -> None:
    vega.bundle()
    kept(tmp_path).parent.chmod(0o777)
    assert vega.bundle() == CODE
    assert len(calls) == 2
    kept(tmp_path).unlink()
    vega.bundle()
    assert list(kept(tmp_path).parent.iterdir()) == []


def test_another_bundle_than_that_of_the_locked_version_is_not_kept(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vega, "SHA256", "0" * 64)
    assert [vega.bundle(), vega.bundle()] == [CODE, CODE]
    assert len(calls) == 2
    assert not (tmp_path / "cache").exists()


def test_without_a_folder_that_can_be_written_every_page_bundles(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [vega.bundle(), vega.bundle()] == [CODE, CODE]
    assert len(calls) == 2


def test_a_relative_cache_is_ignored(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    vega.bundle()
    assert not (tmp_path / "here").exists()
    assert (tmp_path / "home" / ".cache" / "releasegate").is_dir()


@pytest.mark.integration
def test_the_digest_is_that_of_the_locked_version() -> None:
    assert hashlib.sha256(vl_convert.javascript_bundle(vega.GLOBALS).encode()).hexdigest() == vega.SHA256
