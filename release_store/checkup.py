"""Is the store fit for work? Each check says in one line what it finds, and mends what it may.

What is in the store is another question: `verification.verify`.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from policy.errors import ReleaseGateError, UsageError
from release_store.audit import keys
from release_store.audit.checkpoints import check_can_keep
from release_store.audit.log import seconds_behind
from release_store.canonical import utc_now
from release_store.db import queries
from release_store.db.connection import DATABASE, connect, is_read_only, schema_number, trigger_errors
from release_store.person_key import person_key, person_key_path
from release_store.protocol.clock import CLOCK_TOLERANCE
from release_store.publishing.locks import locks_in_use
from release_store.publishing.public_index import lost_checkpoints
from release_store.publishing.publication import recover, unsettled
from release_store.publishing.recovery import foreign_folders
from release_store.store import ReleaseStore

LEAST_FREE = 100 * 1024 * 1024
_OWN_FOLDERS = (".", "candidates", "releases", "locks", "withdrawn")
_ONE_FILE_SYSTEM = ("candidates", "releases", "withdrawn")  # `withdrawn` comes with the first withdrawal
_PATIENCE = 5.0


class Condition(StrEnum):
    """How a check ended."""

    FINE = "fine"
    MENDED = "mended"
    WRONG = "wrong"  # a person is needed


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: what was found, and how a person mends it if that is needed."""

    name: str
    condition: Condition
    found: str
    hint: str = ""


def check_store(root: Path) -> list[Check]:
    """Look at the store in `root`, settle what interrupted work left, and return what was found.

    Raises UsageError if there is not a folder. A store that cannot be written is looked at, and not changed.
    """
    if not root.is_dir():
        raise UsageError(
            "there is no store here", where=str(root), hint="Run `releasegate init` to make one."
        )
    database, writable = _database(root)
    checks = [database]
    if writable:
        accepted = _guarded("trust", _trust, root)
        checks += accepted
        writable = all(one.condition is Condition.FINE for one in accepted)
    if database.condition is not Condition.WRONG:
        checks += _guarded("triggers", _triggers, root)
        checks += _guarded("clock", _clock, root)
    checks += _guarded("signing key", _signing_key, root)
    checks += _guarded("key of people", _person_key, root)
    checks += _guarded("locks", _locks, root)
    if database.condition is not Condition.WRONG:
        look = _recovery if writable else _what_is_left
        checks += _guarded("interrupted work", look, root)
        checks += _guarded("checkpoints", _checkpoints, root)
        checks += _guarded("folders", _foreign, root)
    checks += _guarded("folder modes", _modes, root)
    checks += _guarded("file system", _file_systems, root)
    return checks + _guarded("disk space", _space, root)


def _guarded(name: str, look: Callable[[Path], list[Check]], root: Path) -> list[Check]:
    """Carry out a check; what it stumbles over is what it finds."""
    try:
        return look(root)
    except ReleaseGateError as error:
        where = f"{error.where}: " if error.where else ""
        return [Check(name, Condition.WRONG, f"{where}{error.message}", error.hint)]
    except OSError as error:
        return [
            Check(
                name,
                Condition.WRONG,
                f"cannot be read ({type(error).__name__})",
                "Check the permissions of the store's folders.",
            )
        ]


def _database(root: Path) -> tuple[Check, bool]:
    """Tell whether the database opens, and whether the store can be written."""
    try:
        with connect(root, timeout=_PATIENCE) as con:
            number, read_only = schema_number(con), is_read_only(con)
            queries.store_info(con, "store_id")
    except ReleaseGateError as error:
        where = f"{error.where}: " if error.where else ""
        return Check("database", Condition.WRONG, f"{where}{error.message}", error.hint), False
    except Exception as error:  # a broken file has no fixed shape
        found = f"{root / DATABASE}: cannot be read ({type(error).__name__})"
        return Check("database", Condition.WRONG, found, "Restore it from a backup."), False
    writable = not read_only and os.access(root, os.W_OK)
    told = "" if writable else "; the store is read-only, so nothing is repaired"
    return Check("database", Condition.FINE, f"opens, schema {number}{told}"), writable


def _trust(root: Path) -> list[Check]:
    ReleaseStore.open_to_work(root)
    return [Check("trust", Condition.FINE, "this account made the store, or accepted it")]


def _triggers(root: Path) -> list[Check]:
    with connect(root) as con:
        wrong = trigger_errors(con)
    if not wrong:
        return [Check("triggers", Condition.FINE, "all there")]
    found = f"dropped or altered: {', '.join(wrong)}"
    return [Check("triggers", Condition.WRONG, found, "Run `releasegate verify`, and find out who did it.")]


def _clock(root: Path) -> list[Check]:
    with connect(root) as con:
        behind = seconds_behind(con, utc_now())
    if behind <= CLOCK_TOLERANCE:
        return [Check("clock", Condition.FINE, "not before the last event")]
    found = f"is {behind:,.0f} s before the last event, so nothing can be written to the log"
    hint = "Set the clock; if it is right, an administrator corrects the log: `releasegate clock`."
    return [Check("clock", Condition.WRONG, found, hint)]


def _signing_key(root: Path) -> list[Check]:
    path = keys.key_path(root)
    keys.load_key(root)  # its mode and its place too
    if keys.read_public_hex(root) is None:
        path = root / keys.PUBLIC_KEY_FILE
        found = f"{path}: is {'not a public key' if os.path.lexists(path) else 'missing'}"
        return [Check("signing key", Condition.WRONG, found, "Restore it from a backup.")]
    check_can_keep(root)
    mode = stat.S_IMODE(path.stat().st_mode)
    found = f"{path} is the store's, mode {mode:04o}, outside of the store"
    return [Check("signing key", Condition.FINE, found)]


def _person_key(root: Path) -> list[Check]:
    key = person_key(root)
    path = person_key_path(root)
    found = f"there is none at {path}, so people cannot be followed between releases"
    if key is not None:
        found = f"{path} has {len(key)} bytes, outside of the store"
    return [Check("key of people", Condition.FINE, found)]


def _locks(root: Path) -> list[Check]:
    held = locks_in_use(root)
    found = f"held: {', '.join(map(str, held))}" if held else "none is held"
    return [Check("locks", Condition.FINE, found)]


def _recovery(root: Path) -> list[Check]:
    store = ReleaseStore.open(root)
    checks = [Check("interrupted work", Condition.MENDED, line) for line in recover(store)]
    # What is left now is of a series in use: whoever is at work there settles it, or the next to come.
    checks += [
        Check("interrupted work", Condition.FINE, f"{line}; its series is in use")
        for line in unsettled(store)
    ]
    return checks or [Check("interrupted work", Condition.FINE, "none")]


def _what_is_left(root: Path) -> list[Check]:
    left = unsettled(ReleaseStore.open(root))
    if not left:
        return [Check("interrupted work", Condition.FINE, "none")]
    hint = "Run `releasegate doctor` where the store can be written."
    return [Check("interrupted work", Condition.WRONG, line, hint) for line in left]


def _checkpoints(root: Path) -> list[Check]:
    lost = lost_checkpoints(ReleaseStore.open(root))
    hint = "Restore it from a copy; a lost checkpoint is not signed again."
    return [
        Check("checkpoints", Condition.WRONG, f"{path.relative_to(root)} was removed", hint) for path in lost
    ] or [Check("checkpoints", Condition.FINE, "none was removed")]


def _foreign(root: Path) -> list[Check]:
    """Folders that no candidate and no release accounts for; an interrupted run's are settled by now."""
    store = ReleaseStore.open(root)
    foreign = [f"candidates/{name}" for name in foreign_folders(store)]
    present = [path for kind in ("releases", "withdrawn") for path in sorted((root / kind).glob("*/*"))]
    # In this order: what a living run is about to publish is under its lock, and then it is a release.
    busy = {one.name.removesuffix(".lock") for one in locks_in_use(root)}
    known = {(one.series, one.release_id) for one in store.releases()}
    foreign += [
        str(path.relative_to(root))
        for path in present
        if path.is_dir() and not path.is_symlink() and path.parent.name not in busy
        if (path.parent.name, path.name) not in known
    ]
    if not foreign:
        return [Check("folders", Condition.FINE, "each belongs to a candidate or a release")]
    hint = "Check what it is, and remove it."
    return [
        Check("folders", Condition.WRONG, f"{name} belongs to no candidate and no release", hint)
        for name in foreign
    ]


def _modes(root: Path) -> list[Check]:
    present = [root / name for name in _OWN_FOLDERS if (root / name).is_dir()]
    missing = [name for name in ("candidates", "releases") if not (root / name).is_dir()]
    wrong = [
        Check("folder modes", Condition.WRONG, f"{root / name} is missing", "Restore it from a backup.")
        for name in missing
    ]
    for path in present:
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            found = f"{path} has mode {mode:04o}, so others can open it"
            wrong.append(Check("folder modes", Condition.WRONG, found, f"Run `chmod 700 {path}`."))
    return wrong or [Check("folder modes", Condition.FINE, "only the owner can open the store")]


def _file_systems(root: Path) -> list[Check]:
    """What appears and disappears by one rename lies on one file system."""
    devices = {name: (root / name).stat().st_dev for name in _ONE_FILE_SYSTEM if (root / name).is_dir()}
    if len(set(devices.values())) <= 1:
        return [Check("file system", Condition.FINE, "one for all folders")]
    found = (
        f"{', '.join(devices)} lie on {len(set(devices.values()))} file systems; a file cannot be renamed "
        "from one to another"
    )
    return [Check("file system", Condition.WRONG, found, "Keep the whole store on one.")]


def _space(root: Path) -> list[Check]:
    free = shutil.disk_usage(root).free
    found = f"{free / 1024**2:,.0f} MiB are free"
    if free >= LEAST_FREE:
        return [Check("disk space", Condition.FINE, found)]
    hint = f"Free the disk: at least {LEAST_FREE / 1024**2:.0f} MiB are needed."
    return [Check("disk space", Condition.WRONG, found, hint)]
