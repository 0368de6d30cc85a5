"""Files on which it rests who may do what: read without waiting, and refused where others reach them."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import ExitStack
from pathlib import Path

from policy.accepted import check_whose
from policy.errors import UsageError
from policy.plain_file import NotRegular, not_read, open_plain, read_at_most

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
    """Return a key or a token; raises as `read_plain` and `check_whose`, and if others can read it."""
    data, status = read_plain(path, called, hint=hint)
    check_whose(path, status)
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise UsageError(
            _said(called, "can be read by others"), where=str(path), hint=f"Run `chmod 600 {path}`."
        )
    return data


def is_new_key(path: Path, variable: str) -> bool:
    """Tell whether the key of a new store is to be made in `path`, which `variable` may name.

    Raises UsageError where something else than a key that was named on purpose is there: whoever put it there
    would have the key, too.
    """
    if not os.path.lexists(path):
        return True
    if os.environ.get(variable):
        return False
    raise UsageError(
        "is there before the store is",
        where=str(path),
        hint=f"Move it away; or, if it is your own key, name it in {variable}.",
    )


def write_new_key(path: Path, data: bytes, undo: ExitStack | None = None) -> None:
    """Write a new key that nobody else can read; `undo` removes it again.

    Raises UsageError where another process has just made one, or it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        if undo is not None:
            undo.callback(path.unlink, missing_ok=True)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UsageError(
            f"cannot be made ({type(error).__name__})",
            where=str(path),
            hint="Check the permissions of its folder, and that nobody else makes a store there.",
        ) from None


def check_file(path: Path, status: os.stat_result) -> None:
    """Raise UsageError where somebody who is not trusted owns a file that was opened, or can write it."""
    check_whose(path, status)
    if stat.S_IMODE(status.st_mode) & 0o022:
        raise UsageError("can be written by others", where=str(path), hint=f"Run `chmod go-w {path}`.")


def check_folder(folder: Path) -> None:
    """Raise UsageError where somebody who is not trusted can put another file in place of one of these.

    A folder with the sticky bit, such as /tmp, lets nobody but the owner of a file do that.
    """
    check_whose(folder)
    try:
        mode = folder.stat().st_mode
    except OSError as error:
        raise UsageError(
            f"cannot be read ({type(error).__name__})",
            where=str(folder),
            hint="Fix the permissions of the folder.",
        ) from None
    if stat.S_IMODE(mode) & 0o022 and not mode & stat.S_ISVTX:
        raise UsageError(
            "holds files that the store goes by, and can be written by others",
            where=str(folder),
            hint=f"Run `chmod go-w {folder}`, or keep those files in another folder.",
        )


def _said(called: str, finding: str) -> str:
    return f"{called} {finding}" if called else finding
