"""Whose the files are that say what may be done: root's, the caller's, or theirs whom the caller accepts.

Every folder and every link on the way to such a file counts, up to /: whoever owns one of them can put
another file in its place.
"""

from __future__ import annotations

import errno
import os
import pwd
import shlex
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from policy.errors import UsageError

_MOST_LINKS = 40  # as the system follows

IsTrusted = Callable[[Path, int], bool]  # a place on the way, and the user whom it belongs to


class Replaced(UsageError):
    """Another file took the place of one while it was read."""


def steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Give each folder and link that leads to `path`, from / on, and what is there, each with its status.

    Raises OSError as the system does, FileNotFoundError where nothing is at the end.
    """
    here, links = Path("/"), 0
    pending = list(reversed(Path.cwd().joinpath(path).parts[1:]))
    yield here, here.lstat()
    while pending:
        part = pending.pop()
        if part == os.pardir:
            here = here.parent
            continue
        place = here / part
        status = place.lstat()
        yield place, status
        if not stat.S_ISLNK(status.st_mode):
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = place.readlink()
        pending += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = Path("/") if target.is_absolute() else here


def check_way(path: Path, is_trusted: IsTrusted, opened: os.stat_result | None = None) -> None:
    """Raise UsageError where somebody who is not trusted owns `path`, or anything on the way there.

    Of what is not there, the way is what there is of it. `opened` is the status of a file that was opened by
    this path: another one in its place is refused.
    """
    found: list[tuple[Path, os.stat_result]] = []
    ends = True
    try:
        found.extend(steps(path))
    except (FileNotFoundError, NotADirectoryError):
        ends = False
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot be found ({type(error).__name__})", where=str(path), hint="Check the path."
        ) from None
    if opened is not None:
        # What a descriptor of a process shows in /proc may lie nowhere; whose it is, the open file says.
        is_descriptor = any(place.is_relative_to("/proc") for place, _ in found)
        last = found[-1][1] if found and ends else None
        if not is_descriptor and (last is None or not os.path.samestat(last, opened)):
            raise Replaced("was replaced while it was read", where=str(path), hint="Run it again.")
        found.append((path if last is None else found[-1][0], opened))
    strangers = {place: status for place, status in found if not is_trusted(place, status.st_uid)}
    if strangers:
        raise _stranger(strangers)


def _stranger(strangers: dict[Path, os.stat_result]) -> UsageError:
    """Return the error that tells whose the last place is, and what accepts it."""
    place, status = list(strangers.items())[-1]
    above = strangers.get(place.parent)
    accepts = place if above is None or above.st_uid != status.st_uid else place.parent
    hint = f"If you trust them with it, run `{trust_command(accepts)}`."
    if stat.S_ISLNK(status.st_mode) and accepts == place:
        hint = "Name what the link leads to."
    return UsageError(
        f"belongs to {user_named(status.st_uid)}, who is neither root nor you", where=str(place), hint=hint
    )


def trust_command(path: Path) -> str:
    """Return the command that accepts a folder."""
    return f"releasegate trust {shlex.quote(str(path))}"


def user_named(number: int) -> str:
    """Return a user's number, with the name that the system has for it."""
    try:
        return f"user {number} ({pwd.getpwuid(number).pw_name})"
    except KeyError:
        return f"user {number}"
