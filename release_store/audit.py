"""The audit log: numbered events, each bound by its hash to all before it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from policy.errors import StoreError
from release_store.canonical import canonical_json, digest_of, iso, plain, sha256_hex, utc_now
from release_store.records import AuditEvent

GENESIS = "0" * 64


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
) -> AuditEvent:
    """Add one event inside the caller's transaction, and return it."""
    size, head = log_head(con)
    fields: dict[str, Any] = {
        "number": size + 1,
        "at": iso(utc_now()),
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
    found = con.execute("SELECT number, hash FROM event ORDER BY number DESC LIMIT 1").fetchone()
    return (int(found[0]), str(found[1])) if found else (0, GENESIS)


def read_events(con: duckdb.DuckDBPyConnection, after: int = 0) -> list[AuditEvent]:
    """Return the events whose number is greater than `after`, in order."""
    rows = con.execute(
        "SELECT number, at_utc, actor, action, object, reason, payload, previous, hash "
        "FROM event WHERE number > ? ORDER BY number",
        [after],
    ).fetchall()
    return [
        AuditEvent(number, at, actor, action, subject, reason, _payload(payload), previous, own)
        for number, at, actor, action, subject, reason, payload, previous, own in rows
    ]


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


def check_chain(events: Sequence[AuditEvent]) -> list[Finding]:
    """Return what is wrong with the numbering, the links and the hashes of a whole log."""
    findings = []
    number, head = 0, GENESIS
    for event in events:
        where = f"event {event.number}"
        if event.number != number + 1:
            findings.append(Finding(where, f"follows event {number}; the numbers between are missing"))
        if event.previous != head:
            findings.append(Finding(where, "is not linked to the event before it"))
        if event.hash != _hash_or_none(event):
            findings.append(Finding(where, "does not match its own hash: it was changed"))
        number, head = event.number, event.hash
    return findings


def _hash_or_none(event: AuditEvent) -> str | None:
    try:
        return event_hash(event)
    except StoreError:
        return None


def _payload(text: str) -> dict[str, Any]:
    """Read a payload; one that is not canonical JSON any more becomes something that fails its hash."""
    try:
        found = json.loads(text, parse_int=_number)
        if isinstance(found, dict) and canonical_json(found) == text.encode():
            return found
    except (ValueError, StoreError, RecursionError):
        pass
    return {"unreadable": sha256_hex(text.encode())}


def _number(text: str) -> int | float:
    """Read a whole number as it was written: canonical JSON has only floats beyond 2**53."""
    return int(text) if abs(int(text)) < 2**53 else float(text)
