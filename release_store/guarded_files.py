"""Files on which it rests who may do what: read without waiting, and refused where others reach them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection
from pathlib import Path

from policy.errors import UsageError
from policy.plain_file import NotRegular, not_read, open_plain, read_at_most

_ROOT = 0
LARGEST_FILE = 16 << 20  # bytes: keys, people, what was signed
_HINT_NOT_REGULAR = "Name a file of its own."


def read_plain(path: Path, called: str = "", *, hint: str) -> tuple[bytes, os.stat_result]:
    """Return what a regular file holds, and its status.

    Raises UsageError if it cannot be read, or is anything else: a pipe would keep its reader waiting.
    `called` names it in the message; `hint` is for one that cannot be read.
    """
    try:
        with open_plain(path) as file:
            return read_at_most(file, LARGEST_FILE, path), os.fstat(file.fileno())
    except OSError as error:
        hint = _HINT_NOT_REGULAR if isinstance(error, NotRegular) else hint
        raise UsageError(_said(called, not_read(error)), where=str(path), hint=hint) from None


def check_plain(path: Path) -> None:
    """Raise UsageError for a pipe or a device; what else is wrong with a file, its reader says."""
    try:
        with open_plain(path):
            pass
    except NotRegular as error:
        raise UsageError(not_read(error), where=str(path), hint=_HINT_NOT_REGULAR) from None
    except OSError:
        pass


def resolved(path: Path) -> Path:
    """Return where a path leads.

    Raises UsageError for links that lead nowhere but to one another, and for a name that no folder can hold.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError("has too long a name", where=str(path), hint="Choose a shorter one.") from None
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, before Python 3.13
        loop = isinstance(error, RuntimeError)
        finding = "is a link to itself" if loop else f"cannot be opened ({type(error).__name__})"
        raise UsageError(finding, where=str(path), hint="Remove the link, or point it to a file.") from None


def read_secret(path: Path, called: str, *, hint: str = "Name another file.") -> bytes:
    """Return a key or a token; raises as `read_plain`, and if others can read it."""
    data, status = read_plain(path, called, hint=hint)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(
            _said(called, "can be read by others"), where=str(path), hint=f"Run `chmod 600 {path}`."
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
        raise UsageError("can be written by others", where=str(path), hint=f"Run `chmod go-w {path}`.")


def check_folder(folder: Path, owners: Collection[int]) -> None:
    """Raise UsageError where somebody who is not to be trusted can put another file in place of one of these.

    A folder with the sticky bit, such as /tmp, lets nobody but the owner of a file do that.
    """
    try:
        status = folder.stat()
    except OSError as error:
        raise UsageError(
            f"cannot be read ({type(error).__name__})",
            where=str(folder),
            hint="Fix the permissions of the folder.",
        ) from None
    check_folder_status(folder, status, owners)


def check_folder_status(folder: Path, status: os.stat_result, owners: Collection[int]) -> None:
    """The same of a folder whose status is known."""
    _check_owner(folder, status, owners, "holds files that the store goes by, and belongs to")
    if stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX:
        raise UsageError(
            "holds files that the store goes by, and can be written by others",
            where=str(folder),
            hint=f"Run `chmod go-w {folder}`, or keep those files in another folder.",
        )


def _check_owner(path: Path, status: os.stat_result, owners: Collection[int], finding: str) -> None:
    if status.st_uid in owners:
        return
    owner = max(owners)
    raise UsageError(
        f"{finding} user {status.st_uid}, who is neither root nor the store's owner",
        where=str(path),
        hint=f"Run `chown {owner} {path}`, after you have checked what it holds.",
    )


def _said(called: str, finding: str) -> str:
    return f"{called} {finding}" if called else finding
