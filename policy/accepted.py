"""What this account accepts of others: folders that are theirs, and stores that it did not make.

It stands in the account's own configuration, `~/.config/releasegate/trust.json` (or below `XDG_CONFIG_HOME`),
and in `RELEASEGATE_TRUST`, absolute paths with `:` between them, for processes that have no home.
"""

from __future__ import annotations

import fcntl
import grp
import os
import pwd
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from policy.errors import UsageError
from policy.ownership import Replaced, check_way
from policy.plain_file import not_read, open_plain, read_at_most

TRUST_VARIABLE = "RELEASEGATE_TRUST"
_ROOT = 0
_LARGEST = 16 << 20  # bytes
_TRIES = 100  # to read what another process of the account replaces
_HINT = f"Set XDG_CONFIG_HOME to a folder of this account, or name what you accept in {TRUST_VARIABLE}."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Accepted(_Strict):
    """A folder whose files may be its owner's, as it was accepted; or those of any member of a group."""

    path: str
    owner: int
    group: str | None = None

    def is_of(self, user: int) -> bool:
        """Tell whether what is of this user is accepted."""
        return user == self.owner or (self.group is not None and _is_member(user, self.group))


class OwnStore(_Strict):
    """A store that this account made."""

    path: str
    store_id: str


class _File(_Strict):
    accepted: tuple[Accepted, ...] = ()
    stores: tuple[OwnStore, ...] = ()


@dataclass
class _Entries:
    accepted: dict[str, Accepted]
    stores: dict[str, OwnStore]


def check_whose(path: Path, opened: os.stat_result | None = None) -> None:
    """Raise UsageError unless `path` and all on the way are root's, the caller's or accepted: `check_way`."""
    check_way(path, is_trusted, opened)


def is_trusted(place: Path, user: int) -> bool:
    """Tell whether what stands at a place may belong to a user.

    A folder above an accepted one may be its owner's: who has the one has the other.
    """
    if _is_own(place, user):
        return True
    return any(
        one.is_of(user) and (place.is_relative_to(one.path) or Path(one.path).is_relative_to(place))
        for one in all_accepted()
    )


def is_made_or_accepted(root: Path, store_id: Callable[[], str]) -> bool:
    """Tell whether this account made the store in `root`, or accepted the folder or one above it.

    `store_id` is asked for where a store was made there.
    """
    place = real_path(root)
    if any(place.is_relative_to(one.path) for one in all_accepted()):
        return True
    own = _entries().stores.get(str(place))
    return own is not None and own.store_id == store_id()


def all_accepted() -> Iterator[Accepted]:
    """Give what the environment accepts, and then what the account's configuration does."""
    yield from accepted_by_environment()
    yield from own_accepted()


def accepted_by_environment() -> list[Accepted]:
    """Return what `RELEASEGATE_TRUST` names and is there. Raises UsageError for a path without a / first."""
    found = []
    for written in filter(None, os.environ.get(TRUST_VARIABLE, "").split(os.pathsep)):
        if not Path(written).is_absolute():
            raise UsageError(
                f"'{written}' is not an absolute path", where=TRUST_VARIABLE, hint="Begin it with /."
            )
        place = _kept_name(Path(written))
        with suppress(OSError):
            found.append(Accepted(path=place, owner=Path(place).stat().st_uid))
    return found


def accept(path: Path, group: str | None = None) -> Accepted:
    """Accept a folder or a file with the owner that it has now, and return what is kept of it.

    Raises UsageError for what is not there, a group that is none, and a configuration that cannot be written.
    """
    place = _kept_name(path)
    try:
        owner = Path(place).stat().st_uid
    except (OSError, ValueError) as error:
        found = "is not there" if isinstance(error, FileNotFoundError) else not_read(error)
        raise UsageError(found, where=str(path), hint="Name a folder.") from None
    if group is not None:
        try:
            grp.getgrnam(group)
        except KeyError:
            raise UsageError(
                f"'{group}' is no group of this machine", where="--group", hint="`getent group` lists them."
            ) from None
    made = Accepted(path=place, owner=owner, group=group)
    with _changed() as entries:
        entries.accepted[made.path] = made
    return made


def register(root: Path, store_id: str) -> None:
    """Keep that this account made the store in `root`, unless a folder above it is accepted.

    Raises UsageError for a configuration that cannot be written.
    """
    made = OwnStore(path=_kept_name(root), store_id=store_id)
    if not is_made_or_accepted(root, lambda: store_id):
        with _changed() as entries:
            entries.stores[made.path] = made


def forget(path: Path) -> None:
    """Take back that a folder is accepted, or that a store was made there. Raises UsageError for neither."""
    place = _kept_name(path)
    with _changed() as entries:
        found = [entries.accepted.pop(place, None), entries.stores.pop(place, None)]
        if found == [None, None]:
            raise UsageError(
                "is not accepted", where=place, hint="`releasegate trust` lists what this account accepts."
            )


def own_accepted() -> list[Accepted]:
    """Return what the account's configuration accepts."""
    return list(_entries().accepted.values())


def own_stores() -> list[OwnStore]:
    """Return the stores that this account made."""
    return list(_entries().stores.values())


def real_path(path: Path) -> Path:
    """Return where a path leads, as far as it leads anywhere."""
    return Path(os.path.realpath(path))


def _kept_name(path: Path) -> str:
    """Return where a path leads as it is kept. Raises UsageError for what JSON cannot hold."""
    try:
        place = str(real_path(path))
        place.encode()
    except ValueError:
        raise UsageError("has a name that is not UTF-8", where=str(path), hint="Name another path.") from None
    return place


def _is_own(place: Path, user: int) -> bool:
    del place
    return user in (_ROOT, os.geteuid())


def _is_member(user: int, group: str) -> bool:
    try:
        known, who = grp.getgrnam(group), pwd.getpwuid(user)
    except KeyError:
        return False
    return who.pw_gid == known.gr_gid or who.pw_name in known.gr_mem


def _configuration() -> Path | None:
    """Return the file of what this account accepts; None for an account without a home."""
    chosen = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    try:
        folder = chosen if chosen.is_absolute() else Path.home() / ".config"
    except RuntimeError:
        return None
    return folder / "releasegate" / "trust.json"


def _entries() -> _Entries:
    """Read the configuration. Raises UsageError where it is not the caller's, or is damaged."""
    path = _configuration()
    found = _File() if path is None else _read(path)
    return _Entries({one.path: one for one in found.accepted}, {one.path: one for one in found.stores})


def _read(path: Path) -> _File:
    """Read it whole; if another process of this account replaces it meanwhile, read that."""
    for _ in range(_TRIES):
        with suppress(Replaced):
            return _read_once(path)
    return _read_once(path)


def _read_once(path: Path) -> _File:
    try:
        with open_plain(path) as file:
            status = os.fstat(file.fileno())
            _check_own(path, status)
            data = read_at_most(file, _LARGEST, path)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return _File()  # nothing that can be read accepts nothing
    except OSError as error:
        raise UsageError(not_read(error), where=str(path), hint=_HINT) from None
    try:
        return _File.model_validate_json(data)
    except (ValidationError, ValueError, RecursionError):
        raise UsageError(
            "does not say what this account accepts",
            where=str(path),
            hint="Remove it, and accept again what you trust with `releasegate trust DIR`.",
        ) from None


def _check_own(path: Path, status: os.stat_result | None = None) -> None:
    """Raise UsageError where others own or write what says whom this account trusts."""
    try:
        check_way(path, _is_own, status)
    except Replaced:
        raise
    except UsageError as error:
        raise UsageError(
            f"{error.message}, and would say whom you trust", where=error.where, hint=_HINT
        ) from None
    if status is not None and stat.S_IMODE(status.st_mode) & 0o022:
        raise UsageError("can be written by others", where=str(path), hint=f"Run `chmod 600 {path}`.")


@contextmanager
def _changed() -> Iterator[_Entries]:
    """Change the configuration while no other process does; it is replaced as a whole, or not at all."""
    path = _configuration()
    if path is None:
        raise UsageError("this account has no home to keep what it accepts", hint=_HINT)
    _check_own(path.parent)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            entries = _entries()
            yield entries
            _write(path, _File(accepted=(*entries.accepted.values(),), stores=(*entries.stores.values(),)))
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise UsageError(f"cannot be written ({type(error).__name__})", where=str(path), hint=_HINT) from None


def _write(path: Path, file: _File) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # mode 600
    made = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as written:
            written.write(file.model_dump_json(indent=2, exclude_none=True) + "\n")
            written.flush()
            os.fsync(written.fileno())
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
