"""The audit log: numbered events, each bound by its hash to all before it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from json.encoder import encode_basestring
from operator import itemgetter
from typing import Any

import duckdb

from policy.errors import StoreError
from release_store.canonical import canonical_json, digest_of, iso, plain, sha256_hex, utc_now
from release_store.protocol.clock import CLOCK_TOLERANCE
from release_store.protocol.names import CORRECTED
from release_store.records import AuditEvent

GENESIS = "0" * 64
_BATCH = 20_000
_COLUMNS = "number, at_utc, actor, action, object, reason, payload, previous, hash"


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it was written: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def append(
    con: duckdb.DuckDBPyConnection,
    actor: str,
    action: str,
    object: str,  # noqa: A002 -- the event's own word
    reason: str = "",
    payload: Mapping[str, Any] | None = None,
    *,
    at: datetime | None = None,
) -> AuditEvent:
    """Add one event inside the caller's transaction, and return it.

    Raises StoreError where the clock stands before the last event by more than `CLOCK_TOLERANCE` seconds; a
    correction of the clock alone says `at` which time it happens, and is not asked.
    """
    size, head, last = _last(con)
    now = utc_now() if at is None else at
    behind = _seconds_behind(last, now)
    if at is None and behind > CLOCK_TOLERANCE:
        raise StoreError(
            f"the clock of this machine shows {now:%Y-%m-%d %H:%M} UTC; the last event of the store is "
            f"{_span(behind)} later",
            where="audit log",
            hint="Set the clock, and try again; nothing was changed. If the clock is right, run "
            "`releasegate clock`.",
        )
    fields: dict[str, Any] = {
        "number": size + 1,
        "at": iso(now),
        "actor": actor,
        "action": action,
        "object": object,
        "reason": reason,
        "payload": plain(payload or {}),
        "previous": head,
    }
    event = AuditEvent(**fields, hash=digest_of(fields))
    con.execute(
        "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            event.number,
            event.at,
            actor,
            action,
            object,
            reason,
            canonical_json(event.payload).decode(),
            event.previous,
            event.hash,
        ],
    )
    return event


def log_head(con: duckdb.DuckDBPyConnection) -> tuple[int, str]:
    """Return how many events there are, and the hash of the last (64 zeros for none)."""
    return _last(con)[:2]


def seconds_behind(con: duckdb.DuckDBPyConnection, now: datetime) -> float:
    """Return by how many seconds `now` is before the last event; 0 or less where it is not."""
    return _seconds_behind(_last(con)[2], now)


def last_moment(con: duckdb.DuckDBPyConnection) -> str:
    """Return the time of the last event as it is written, an empty text for none."""
    return _last(con)[2]


def corrected_since(con: duckdb.DuckDBPyConnection, action: str, subject: str) -> datetime | None:
    """Return when the clock was last corrected after the event of that action and object; None if never."""
    found = con.execute(
        "SELECT at_utc FROM event WHERE action = ? AND number > "
        "(SELECT min(number) FROM event WHERE action = ? AND object = ?) ORDER BY number DESC LIMIT 1",
        [CORRECTED, action, subject],
    ).fetchone()
    return datetime.fromisoformat(found[0]) if found else None


def _seconds_behind(at: str, now: datetime) -> float:
    try:
        return (datetime.fromisoformat(at) - now).total_seconds() if at else 0.0
    except (ValueError, TypeError):
        return 0.0  # no time at all: that is for `verify` to tell


def _last(con: duckdb.DuckDBPyConnection) -> tuple[int, str, str]:
    """Return the last event's number, hash and time."""
    found = con.execute("SELECT number, hash, at_utc FROM event ORDER BY number DESC LIMIT 1").fetchone()
    return (int(found[0]), str(found[1]), str(found[2])) if found else (0, GENESIS, "")


def _span(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


def read_events(con: duckdb.DuckDBPyConnection, after: int = 0) -> list[AuditEvent]:
    """Return the events whose number is greater than `after`, in order."""
    return [
        AuditEvent(number, at, actor, action, subject, reason, _payload(payload), previous, own)
        for rows in read_rows(con, after)
        for number, at, actor, action, subject, reason, payload, previous, own in rows
    ]


def read_numbers(con: duckdb.DuckDBPyConnection, action: str) -> list[int]:
    """Return the numbers of the events of one action, in order."""
    rows = con.execute("SELECT number FROM event WHERE action = ? ORDER BY number", [action]).fetchall()
    return [number for (number,) in rows]


def read_hashes(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the hashes of all events, in order."""
    return [row[0] for row in con.execute("SELECT hash FROM event ORDER BY number").fetchall()]


def read_events_about(
    con: duckdb.DuckDBPyConnection, numbers: Sequence[int], objects: Sequence[str], texts: Sequence[str]
) -> list[AuditEvent]:
    """Return the events with those numbers, about those objects, or whose payload holds one of `texts`."""
    holds = "".join(" OR contains(payload, ?)" for _ in texts)
    rows = con.execute(
        "SELECT number, at_utc, actor, action, object, reason, payload, previous, hash FROM event "
        "WHERE number IN (SELECT unnest(?::BIGINT[])) OR object IN (SELECT unnest(?::VARCHAR[]))"
        f"{holds} ORDER BY number",
        [list(numbers), list(objects), *texts],
    ).fetchall()
    return [
        AuditEvent(number, at, actor, action, subject, reason, _payload(payload), previous, own)
        for number, at, actor, action, subject, reason, payload, previous, own in rows
    ]


def read_events_of(
    con: duckdb.DuckDBPyConnection, actions: Collection[str], after: int = 0
) -> list[AuditEvent]:
    """Return the events of those actions whose number is greater than `after`, in order."""
    rows = con.execute(
        f"SELECT {_COLUMNS} FROM event WHERE number > ? AND action IN (SELECT unnest(?::VARCHAR[])) "
        "ORDER BY number",
        [after, list(actions)],
    ).fetchall()
    return [
        AuditEvent(number, at, actor, action, subject, reason, _payload(payload), previous, own)
        for number, at, actor, action, subject, reason, payload, previous, own in rows
    ]


def read_rows(con: duckdb.DuckDBPyConnection, after: int = 0) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the events whose number is greater than `after`, in order, as they are kept, by the thousand.

    A row is number, at, actor, action, object, reason, the payload's text, previous, hash.
    """
    while True:
        # By ranges of numbers: one sorted pass over a long log would hold all of it in memory. They are put
        # in order here: they mostly come so, and the database's own sort moves all their texts.
        found = con.execute("SELECT min(number) FROM event WHERE number > ?", [after]).fetchone()
        if found is None or found[0] is None:
            return
        first = int(found[0])
        rows = con.execute(
            f"SELECT {_COLUMNS} FROM event WHERE number >= ? AND number < ?", [first, first + _BATCH]
        ).fetchall()
        rows.sort(key=itemgetter(0))
        yield rows
        after = first + _BATCH - 1


def event_hash(event: AuditEvent) -> str:
    """Return the hash that `event` must carry: SHA-256 of all its other fields as canonical JSON."""
    return digest_of(
        {
            "number": event.number,
            "at": event.at,
            "actor": event.actor,
            "action": event.action,
            "object": event.object,
            "reason": event.reason,
            "payload": event.payload,
            "previous": event.previous,
        }
    )


def hash_of_texts(
    number: int,
    at: str,
    actor: str,
    action: str,
    object: str,  # noqa: A002 -- the event's own word
    reason: str,
    payload: str,
    previous: str,
) -> str:
    """Return what `event_hash` returns, from the payload's canonical text: for logs of a million events."""
    text = encode_basestring
    return sha256_hex(
        f'{{"action":{text(action)},"actor":{text(actor)},"at":{text(at)},"number":{number},'
        f'"object":{text(object)},"payload":{payload},"previous":{text(previous)},'
        f'"reason":{text(reason)}}}'.encode()
    )


def canonical_payload(text: str) -> dict[str, Any] | None:
    """Return the payload that `text` holds, or None if it is not canonical JSON."""
    if text.isascii():
        try:
            found, _ = _PLAIN.raw_decode(text)
            if isinstance(found, dict) and _WRITER.encode(found) == text:
                return found
        except (ValueError, RecursionError):
            pass  # perhaps canonical in a way that only the whole rules tell
    try:
        found = json.loads(text, parse_int=_number)
        if isinstance(found, dict) and canonical_json(found) == text.encode():
            return found
    except (ValueError, StoreError, RecursionError):
        pass
    return None


def plain_payload(text: str) -> dict[str, Any] | None:
    """Read canonical JSON of which every part is written by `plain_text`; None where that is not known."""
    try:
        found = _PLAIN.decode(text) if text.isascii() else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def plain_text(value: Any) -> str:
    """Return the canonical JSON of a part of what `plain_payload` read."""
    return _WRITER.encode(value)


def purged_in(payload: dict[str, Any]) -> dict[str, str]:
    """Return the candidates and releases that the event of a purge names, with the digest of their files."""
    said = payload.get("purged")
    named = [said.get(kind) for kind in ("candidates", "releases")] if isinstance(said, dict) else []
    return {name: str(digest) for one in named if isinstance(one, dict) for name, digest in one.items()}


def flat_shape(payload: Mapping[str, Any]) -> re.Pattern[str] | None:
    """Return what matches only canonical JSON with just the fields of `payload`, a canonical one.

    None unless its names and values are plain. What matches has the names once each and in order, texts
    without a sign to escape, and whole numbers of at most 15 digits: there is one way to write each.
    """
    if not payload or not all(_NAME.fullmatch(name) for name in payload):
        return None
    fields = ",".join(f'"{name}":{_FLAT}' for name in sorted(payload))
    return re.compile(f"\\{{{fields}\\}}")


def check_chain(events: Sequence[AuditEvent]) -> list[Finding]:
    """Return what is wrong with the numbering, the links and the hashes of a whole log."""
    findings = []
    number, head = 0, GENESIS
    for event in events:
        where = f"event {event.number}"
        if event.number != number + 1:
            findings.append(Finding(where, f"follows event {number}; the events between are missing"))
        if event.previous != head:
            findings.append(Finding(where, "is not linked to the event before it"))
        if event.hash != _hash_or_none(event):
            findings.append(Finding(where, "does not match its hash: it was changed"))
        number, head = event.number, event.hash
    return findings


def _hash_or_none(event: AuditEvent) -> str | None:
    try:
        return event_hash(event)
    except StoreError:
        return None


def _payload(text: str) -> dict[str, Any]:
    """Read a payload; one that is not canonical JSON any more becomes something that fails its hash."""
    found = canonical_payload(text)
    return {"unreadable": sha256_hex(text.encode())} if found is None else found


def _number(text: str) -> int | float:
    """Read a whole number as it was written: canonical JSON has only floats beyond 2**53."""
    return int(text) if abs(int(text)) < 2**53 else float(text)


def _plain_int(text: str) -> int:
    if len(text) > 15:
        raise ValueError
    return int(text)


def _plain_float(text: str) -> float:
    """Read a number that Python and RFC 8785 write alike; raise ValueError for any other."""
    found = float(text)
    if not 1e-4 <= abs(found) < 1e16 or found.is_integer():
        raise ValueError
    return found


def _no_constant(text: str) -> float:
    raise ValueError(text)


# Python's own reader and writer, which are fast, for texts of which they make what RFC 8785 makes.
_PLAIN = json.JSONDecoder(parse_int=_plain_int, parse_float=_plain_float, parse_constant=_no_constant)
_NAME = re.compile("[a-z_]+")
_FLAT = r'(?:"[ !#-\[\]-~]*"|0|-?[1-9][0-9]{0,14}|true|false|null)'
_WRITER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)
