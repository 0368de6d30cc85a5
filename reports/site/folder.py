"""The folder of the site: written hidden beside its place, and put there by renames."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from policy.errors import UsageError
from release_store.guarded_files import resolved

MARKER = ".releasegate-site"
_MARK = "`releasegate report` made this folder, and replaces all of it the next time.\n"
_HINT = "Give a new folder with --out."


@contextmanager
def site_folder(out: Path, store: Path) -> Iterator[Path]:
    """Yield an empty folder, which takes the place of `out` at the end of the block, or leaves nothing.

    Raises UsageError where `out` is anything but an earlier site, an empty folder or nothing; where it lies
    in the store or around it, or around the current folder; and where another process is writing it.
    """
    out = resolved(out)
    store = resolved(store)
    try:
        _check(out, store)
        new, old = (out.with_name(f".{out.name}.releasegate-{word}") for word in ("new", "old"))
        new.mkdir(mode=0o700, exist_ok=True)
        handle = os.open(new, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        raise _cannot(out, error) from None
    try:
        _alone(handle, out)
        _empty(new)
        if old.is_dir() and not out.exists():  # a process died between the renames
            old.rename(out)
        try:
            yield new
            (new / MARKER).write_text(_MARK, encoding="utf-8")
            _put(new, out, old)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise
    except OSError as error:
        raise _cannot(out, error) from None
    finally:
        os.close(handle)


def _check(out: Path, store: Path) -> None:
    if out == store or out.is_relative_to(store) or store.is_relative_to(out):
        raise UsageError("is the store, or inside it or above it", where=str(out), hint=_HINT)
    if Path.cwd().is_relative_to(out):  # it would be renamed away under whoever works in it
        raise UsageError("is the current folder, or above it", where=str(out), hint=_HINT)
    if not out.parent.is_dir():
        raise UsageError("has no parent folder", where=str(out), hint="Create its parent folder first.")
    if not out.exists():
        return
    if not out.is_dir():
        raise UsageError("exists and is not a folder", where=str(out), hint=_HINT)
    mark = out / MARKER
    if any(out.iterdir()) and not (mark.is_file() and not mark.is_symlink()):
        raise UsageError("exists and was not written by `releasegate report`", where=str(out), hint=_HINT)


def _alone(handle: int, out: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UsageError(
            "is being written by another process", where=str(out), hint="Wait for it, or give another --out."
        ) from None


def _empty(folder: Path) -> None:
    """Take away what a process left that died."""
    for inner in folder.iterdir():
        if inner.is_dir() and not inner.is_symlink():
            shutil.rmtree(inner)
        else:
            inner.unlink()


def _put(new: Path, out: Path, old: Path) -> None:
    if out.exists():
        with suppress(FileNotFoundError):
            shutil.rmtree(old)
        out.rename(old)
        try:
            new.rename(out)
        except OSError:
            old.rename(out)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.rename(out)


def _cannot(out: Path, error: OSError) -> UsageError:
    return UsageError(
        f"cannot be written ({type(error).__name__})",
        where=str(out),
        hint="Give a folder that can be written with --out, and check the free space of the disk.",
    )
