"""Which checkpoints are still to be signed, and what the log must go on from before anything is.

The newest signed checkpoint is kept beside the signing key too, outside the store: whoever can write the
store cannot make it go away. It is kept before it appears beside its release, so that a process that dies in
between leaves what recovery puts in place.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import ReleaseGateError, StoreError, UsageError, VerificationFailed
from policy.plain_file import not_read, read_bytes
from policy.text import number_of
from release_store.audit import keys, merkle
from release_store.audit import log as audit
from release_store.canonical import iso, pretty_json, utc_now
from release_store.db import queries
from release_store.protocol.names import ANSWERED, ASKED, CORRECTED, PURGED, RESTORED
from release_store.protocol.seals import SEAL, SEALED
from release_store.publishing.public_files import checkpoint_file, checkpoint_of, replace_file
from release_store.records import AuditEvent, Release

Connection = duckdb.DuckDBPyConnection
Checkpoint = dict[str, Any]

_SPOKEN = (  # what people say, or are: never written without keeping it beside the key
    "people.changed",
    "decision.approve",
    "decision.reject",
    "decision.override",
    "decision.publish",
    "candidate.approved",
    "release.withdrawn",
    RESTORED,
    PURGED,
    CORRECTED,
    ASKED,
    ANSWERED,
)
_DUE = {"release.published": "", "release.taken_down": ".withdrawn", RESTORED: ".restored"}  # what follows
LOST = "checkpoint.lost"  # the action of an event: what was kept beside the key was gone
KEPT = "kept"  # what a store's first event says of the checkpoint beside the key; old stores say nothing
_HINT = "Run `releasegate verify`; nothing is signed until the history is restored from a copy."


class Due(NamedTuple):
    """The event that a checkpoint follows, by its number and action, and the release that it is about."""

    number: int
    action: str
    release: str


@dataclass
class CheckpointStatus:
    """The checkpoints that are not beside their releases, and what is known of the log that was signed."""

    kept: list[Checkpoint]  # those that were signed last, from beside the key
    newest: Checkpoint | None  # of those and of the store's own
    unwritten: dict[Path, Checkpoint] = field(default_factory=dict)  # signed, and never put in place
    unsigned: dict[Path, int] = field(default_factory=dict)  # with the event that each is due to
    lost: list[Path] = field(default_factory=list)  # a later state was signed, so each was there once


def kept_file(root: Path, store_id: str) -> Path:
    """Return where the newest checkpoint of a store is kept: beside the signing key, one file a store.

    Raises VerificationFailed if the store's id is none: it is about to name a file.
    """
    if not re.fullmatch("[0-9a-f-]{36}", store_id):
        raise VerificationFailed("the store's id was altered", where=root.name, hint=_HINT)
    key = keys.key_path(root)
    return key.with_name(f"{key.name}.{store_id}.checkpoint.json")


def read_kept(path: Path) -> list[Checkpoint]:
    """Return the checkpoints in a file as `keep` writes it, nothing if there is none; nothing is checked.

    Raises VerificationFailed if it cannot be read.
    """
    try:
        found = json.loads(read_bytes(path))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise VerificationFailed(not_read(error), where=str(path), hint="Restore it from a copy.") from None
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise VerificationFailed("holds no checkpoint", where=str(path), hint="Restore it from a copy.")
    return found


def check_can_keep(root: Path) -> None:
    """Raise UsageError where the folder of the signing key cannot be written."""
    folder = keys.key_path(root).parent
    if not os.access(folder, os.W_OK):
        raise UsageError(
            "the folder of the signing key cannot be written; the newest checkpoint is kept there",
            where=str(folder),
            hint=f"Make the folder writable, or set {keys.KEY_VARIABLE} to a key in another folder.",
        )


def sign(con: Connection, key: Ed25519PrivateKey, of: Sequence[str]) -> list[Checkpoint]:
    """Return a checkpoint of the log as it is for each of `of`, as `expected_checkpoints` names it."""
    size, head = audit.log_head(con)
    tree = merkle.log_tree(audit.read_hashes(con))
    store_id = queries.store_info(con, "store_id")
    if size != tree.size:
        raise VerificationFailed(
            f"the log has {number_of(tree.size, 'event')}, and the last is number {size}",
            where=store_id,
            hint=_HINT,
        )
    root, at = tree.root(size).hex(), iso(utc_now())
    return [
        keys.sign_checkpoint(key, store_id=store_id, size=size, head=head, at=at, root=root, of=one)
        for one in of
    ]


def seal(con: Connection, key: Ed25519PrivateKey, event: AuditEvent) -> None:
    """Add the event that seals `event`, the last one of the log (`protocol/seals.py`)."""
    checkpoint = keys.sign_checkpoint(
        key,
        store_id=queries.store_info(con, "store_id"),
        size=event.number,
        head=event.hash,
        at=event.at,
        of=event.object,
    )
    audit.append(con, event.actor, SEAL, event.object, "", checkpoint)


def keep_head(con: Connection, root: Path, before: tuple[int, str]) -> Callable[[], None]:
    """Keep the head of the log beside the signing key, and return what is to be done after the commit.

    Until then the head `before` the transaction, its size and hash, is kept too: one of the two holds,
    wherever this dies. It does nothing where the key is not at hand. Where a checkpoint should have been kept
    and is gone, the log tells it from now on. To be called at the end of a transaction that began with
    `check_kept`.
    """
    try:
        key = keys.load_key(root)
        check_can_keep(root)
    except UsageError:
        return lambda: None
    store_id = queries.store_info(con, "store_id")
    kept = _kept(con, root, store_id, keys.public_hex(key))
    if not kept and not checkpoint_status(con, root, keys.public_hex(key)).kept and was_kept(con, root):
        audit.append(con, "releasegate", LOST, store_id)
    at = iso(utc_now())
    old, new = (
        keys.sign_checkpoint(key, store_id=store_id, size=size, head=head, at=at, of=store_id)
        for size, head in (before, audit.log_head(con))
    )
    of_releases, place = _of_releases(kept, store_id), kept_file(root, store_id)
    keep(place, [*of_releases, old, new])  # those of releases are perhaps not yet beside them
    return lambda: keep(place, [*of_releases, new])


def check_kept(con: Connection, root: Path) -> None:
    """Raise VerificationFailed unless the log goes on from what was kept, and nobody spoke since then.

    What people say is kept beside the key in the same step. Where it stands behind what was kept, it was
    written by somebody who has no key.
    """
    try:
        keys.key_path(root)
    except UsageError:
        return  # the key lies in the store, which is told elsewhere
    public_key = keys.read_public_hex(root)
    found = checkpoint_status(con, root, public_key) if public_key else None
    check_goes_on(con, found.newest if found else None, by_root=False)
    since = _sealed_since(con)
    if found is None or not found.kept or since is None:
        return
    said = con.execute(
        "SELECT number, action FROM event WHERE number > ? AND action IN (SELECT unnest(?::VARCHAR[])) "
        "ORDER BY number LIMIT 1",
        [max(_size(found.newest), since), list(_SPOKEN)],
    ).fetchone()
    if said is not None:
        raise VerificationFailed(
            f"{said[1]} was written without the store's key", where=f"event {said[0]}", hint=_HINT
        )


def _sealed_since(con: Connection) -> int | None:
    """Return the event after which all that is said is kept beside the key; None in a store of before."""
    found = con.execute("SELECT payload FROM event WHERE number = 1 AND action = 'store.created'").fetchone()
    if ((audit.canonical_payload(found[0]) if found else None) or {}).get("assessments") == SEALED:
        return 1
    sealed = con.execute("SELECT min(number) FROM event WHERE action = ?", [SEAL]).fetchone()
    return int(sealed[0]) if sealed and sealed[0] is not None else None


def _kept(con: Connection, root: Path, store_id: str, public_key: str | None) -> list[Checkpoint]:
    """Return what is kept beside the key. Raises VerificationFailed if that is not of this store and key."""
    place = kept_file(root, store_id)
    kept = read_kept(place)
    if not all(_is_of(one, store_id, public_key) for one in kept):
        raise VerificationFailed(
            "is not a checkpoint that this store's key signed",
            where=str(place),
            hint="Restore it from a copy.",
        )
    return _confirmed(con, kept, store_id)


def _confirmed(con: Connection, kept: Sequence[Checkpoint], store_id: str) -> list[Checkpoint]:
    """Return what was kept, but for the head of a transaction that was never committed."""
    heads = [one for one in kept if one.get("of") == store_id]
    if len(heads) < 2:
        return list(kept)
    found = con.execute("SELECT hash FROM event WHERE number = ?", [_size(heads[-1])]).fetchone()
    committed = found is not None and found[0] == heads[-1].get("head")
    return [one for one in kept if one is not (heads[0] if committed else heads[-1])]


def keep(path: Path, signed: Sequence[Checkpoint]) -> None:
    """Keep beside the key what was signed last. Raises StoreError if the folder cannot be written."""
    try:
        replace_file(path, pretty_json(list(signed)))
    except OSError as error:
        raise StoreError(
            f"the newest checkpoint could not be kept beside the signing key ({type(error).__name__})",
            where=str(path),
            hint="Free the disk, or fix the permissions; the next run signs it.",
        ) from None


def _is_own_key(root: Path, public_key: str | None) -> bool:
    """Tell whether the key in the place of the store's is the store's: beside another nothing was kept."""
    try:
        return keys.public_hex(keys.key_at_hand(root)) == public_key
    except ReleaseGateError:
        return False


def always_kept(con: Connection) -> bool:
    """Tell whether the store has had a checkpoint beside its key since it was made."""
    found = con.execute("SELECT payload FROM event WHERE number = 1 AND action = 'store.created'").fetchone()
    payload = audit.canonical_payload(found[0]) if found else None
    return (payload or {}).get("checkpoint") == KEPT


def was_kept(con: Connection, root: Path) -> bool:
    """Tell whether a checkpoint of the store was ever kept beside its key: the first versions kept none."""
    return always_kept(con) or any(
        "of" in found for found in map(_read, root.glob("releases/*/*.checkpoint.json")) if found is not None
    )


def expected_checkpoints(con: Connection) -> dict[str, Due]:
    """Return the events after which a checkpoint is written, by what it is of."""
    found: dict[str, Due] = {}
    rows = con.execute(
        "SELECT number, action, object FROM event WHERE action IN (SELECT unnest(?::VARCHAR[])) "
        "ORDER BY number",
        [list(_DUE)],
    ).fetchall()
    for number, action, name in rows:
        note_due(found, number, action, name)
    return found


def note_due(found: dict[str, Due], number: int, action: str, name: str) -> None:
    """Add to `found` what the checkpoint that follows an event is of, if one follows.

    A release that is withdrawn again has another one, with the number of the withdrawal.
    """
    if action not in _DUE:
        return
    first = f"{name}{_DUE[action]}"
    names = itertools.chain([first], (f"{first}-{again}" for again in itertools.count(2)))
    found[next(of for of in names if of not in found)] = Due(number, action, name)


def checkpoint_files(root: Path, series: Mapping[str, str], due: Mapping[str, Due]) -> dict[Path, int]:
    """Return the checkpoints that releases of these `series` must have, with the event that each follows."""
    return {
        checkpoint_file(root, series[one.release], of): one.number
        for of, one in due.items()
        if one.release in series
    }


def checkpoint_status(con: Connection, root: Path, public_key: str | None) -> CheckpointStatus:
    """Return which checkpoints of all series are not there, and the newest that there is.

    Raises VerificationFailed if what is kept beside the key is not a checkpoint of this store and key.
    """
    store_id = queries.store_info(con, "store_id")
    kept = _kept(con, root, store_id, public_key)
    wanted = checkpoint_files(root, queries.series_by_release(con), expected_checkpoints(con))
    of_release = _newest(root, wanted, _of_releases(kept, store_id), store_id, public_key)
    found = CheckpointStatus(
        kept, max([*kept, *([of_release] if of_release else [])], key=_size, default=None)
    )
    if found.newest is None and not wanted and always_kept(con) and _is_own_key(root, public_key):
        raise VerificationFailed(
            "is missing; it held the newest checkpoint", where=str(kept_file(root, store_id)), hint=_HINT
        )
    signed_size = _size(of_release)
    waiting = {one.get("of"): one for one in kept}
    for path, number in wanted.items():
        if os.path.lexists(path):
            continue
        if checkpoint_of(path) in waiting:
            found.unwritten[path] = waiting[checkpoint_of(path)]
        elif number > signed_size:
            found.unsigned[path] = number
        else:
            found.lost.append(path)
    return found


def _of_releases(kept: Sequence[Checkpoint], store_id: str) -> list[Checkpoint]:
    """Return the checkpoints of releases and withdrawals: those of the store itself are of the log's head."""
    return [one for one in kept if one.get("of") != store_id]


def _newest(
    root: Path,
    wanted: Mapping[Path, int],
    kept: Sequence[Checkpoint],
    store_id: str,
    public_key: str | None,
) -> Checkpoint | None:
    """Return the newest checkpoint: of those in the store, only what may be newer than `kept` is read."""
    paths: Sequence[Path] = sorted((root / "releases").glob("*/*.checkpoint.json"))
    if kept:
        size = _size(kept[-1])
        paths = [path for path, number in wanted.items() if number > size]
    own = [one for one in map(_read, paths) if one is not None and _is_of(one, store_id, public_key)]
    return max([*own, *kept], key=_size, default=None)


def _read(path: Path) -> Checkpoint | None:
    try:
        found = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_of(checkpoint: Checkpoint, store_id: str, public_key: str | None) -> bool:
    return (
        public_key is not None
        and keys.signature_holds(checkpoint, public_key)
        and checkpoint["store_id"] == store_id
    )


def _size(checkpoint: Checkpoint | None) -> int:
    return int(checkpoint["size"]) if checkpoint else 0


def check_goes_on(con: Connection, newest: Checkpoint | None, *, by_root: bool) -> None:
    """Raise VerificationFailed unless the log goes on from the newest checkpoint that there is.

    Its head is one look-up; its root, where it has one and `by_root` asks for it, is over the whole log.
    """
    if newest is None:
        return
    size = _size(newest)
    found = con.execute("SELECT hash FROM event WHERE number = ?", [size]).fetchone()
    holds = found is not None and found[0] == newest["head"]
    if holds and by_root and "root" in newest:
        tree = merkle.log_tree(audit.read_hashes(con))
        holds = tree.size >= size and tree.root(size).hex() == newest["root"]
    if not holds:
        raise VerificationFailed(
            "the log does not continue the newest checkpoint, which signs its first "
            f"{number_of(size, 'event')}",
            where=newest["store_id"],
            hint=_HINT,
        )


def check_may_sign(con: Connection, missing: CheckpointStatus, releases: Sequence[Release]) -> None:
    """Raise VerificationFailed unless only what was interrupted is unsigned.

    Beside a key that keeps the newest checkpoint, that is whatever is newer. A store of before then
    has one interrupted release at the end of its history, not more.
    """
    check_goes_on(con, missing.newest, by_root=True)
    if missing.kept:
        return
    last = audit.log_head(con)[0]
    due = expected_checkpoints(con)
    of = {due[checkpoint_of(path)].release for path in missing.unsigned}
    first = missing.newest is None and (len(releases) > 1 or max(missing.unsigned.values()) != last)
    if len(of) > 1 or first:
        raise VerificationFailed(
            "the log has releases, but no checkpoint that signs them is in the store or beside the key",
            where=queries.store_info(con, "store_id"),
            hint=_HINT,
        )
