"""Files on which it rests who may do what: read without waiting, and refused where others reach them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from pathlib import Path

from policy.errors import UsageError

_ROOT = 0


def read_plain(path: Path, called: str = "", *, mend: str) -> tuple[bytes, os.stat_result]:
    """Return what a regular file holds, and its status.

    Raises UsageError if it cannot be read, or is anything else: a pipe would keep its reader waiting.
    `called` names it in the message; `mend` is for one that cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise UsageError(
                    _said(called, "is no regular file"),
                    where=str(path),
                    mend="Name a file of its own.",
                )
            return file.read(), status
    except OSError as error:
        finding = _said(called, f"cannot be read ({type(error).__name__})")
        raise UsageError(finding, where=str(path), mend=mend) from None


def read_secret(path: Path, called: str, *, mend: str = "Name another file.") -> bytes:
    """Return a key or a token; raises as `read_plain`, and if others can read it."""
    data, status = read_plain(path, called, mend=mend)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(
            _said(called, "can be read by others"), where=str(path), mend=f"Run `chmod 600 {path}`."
        )
    return data


def trusted_owners(root: Path) -> frozenset[int]:
    """Return who may own what the store in `root` goes by: root, and whose the store's folder is."""
    try:
        return frozenset({_ROOT, root.stat().st_uid})
    except OSError:
        return frozenset({_ROOT, os.geteuid()})


def check_file(path: Path, status: os.stat_result, owners: Collection[int]) -> None:
    """Raise UsageError where somebody who is not to be trusted owns a file, or can write it."""
    _check_owner(path, status, owners, "belongs to")
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise UsageError("can be written by others", where=str(path), mend=f"Run `chmod go-w {path}`.")


def check_folder(folder: Path, owners: Collection[int]) -> None:
    """Raise UsageError where somebody who is not to be trusted can put another file in place of one of these.

    A folder with the sticky bit, such as /tmp, lets nobody but the owner of a file do that.
    """
    try:
        status = folder.stat()
    except OSError as error:
        raise UsageError(
            f"cannot be looked at ({type(error).__name__})",
            where=str(folder),
            mend="Mend the folder's rights.",
        ) from None
    check_folder_status(folder, status, owners)


def check_folder_status(folder: Path, status: os.stat_result, owners: Collection[int]) -> None:
    """The same of a folder whose status is known."""
    _check_owner(folder, status, owners, "is the folder of the people, and belongs to")
    if stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise UsageError(
            "is the folder of the people, and can be written by others",
            where=str(folder),
            mend=f"Run `chmod go-w {folder}`, or keep the people in another folder.",
        )


def _check_owner(path: Path, status: os.stat_result, owners: Collection[int], finding: str) -> None:
    if status.st_uid in owners:
        return
    owner = max(owners)
    raise UsageError(
        f"{finding} user {status.st_uid}, who is neither root nor the store's owner",
        where=str(path),
        mend=f"Run `chown {owner} {path}`, once you know what stands there.",
    )


def _said(called: str, finding: str) -> str:
    return f"{called} {finding}" if called else finding
