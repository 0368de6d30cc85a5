"""Tombstones: what says beside, or in the place of, a release that it no longer stands, by whom and why.

They hold no data, and are the same bytes each time they are made from the same history.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from release_store.audit import log as audit
from release_store.audit.log import Finding
from release_store.canonical import pretty_json
from release_store.publishing.public_files import content_error, superseded_file
from release_store.records import AuditEvent, Release, ReleaseState

Connection = duckdb.DuckDBPyConnection
OTHER_RECORD = "does not record what was done"
_WORDS = {"release.withdrawn": "withdrawn", "release.superseded": "superseded"}


def tombstone(release: Release, event: AuditEvent) -> bytes:
    """Return what is public of a release that `event` withdrew or superseded."""
    word = _WORDS[event.action]
    document: dict[str, Any] = {
        "release_id": release.release_id,
        "series": release.series,
        "period": release.period,
        "number": release.number,
        "published_at": release.published_at,
        f"{word}_at": event.at,
        f"{word}_by": event.actor,
        "reason": event.reason,
        "files": release.files,
        "event": {"number": event.number, "hash": event.hash},
    }
    if word == "superseded":
        document["successor"] = event.payload["successor"]
    return pretty_json(document)


def superseded_tombstones(root: Path, con: Connection, releases: Sequence[Release]) -> dict[Path, bytes]:
    """Return the tombstone of every release that was superseded, one that was withdrawn later too.

    The first stores superseded without naming the successor, and left none.
    """
    ended = {one.release_id: one for one in releases if one.state is not ReleaseState.PUBLISHED}
    if not ended:
        return {}
    return {
        superseded_file(root, ended[event.object].series, event.object): tombstone(ended[event.object], event)
        for event in audit.read_events_about(con, [], list(ended), [])
        if event.action == "release.superseded" and "successor" in event.payload
    }


def check_superseded(root: Path, con: Connection, releases: Sequence[Release]) -> list[Finding]:
    """Return where the tombstone of a superseded release is not what the log says, or is of none."""
    wanted = superseded_tombstones(root, con, releases)
    findings = [
        Finding(f"{path.parent.name}/{path.name}", what)
        for path, content in sorted(wanted.items())
        if (what := content_error(path, content, OTHER_RECORD))
    ]
    present = (root / "releases").glob("*/*.superseded.json")
    findings += [
        Finding(f"{path.parent.name}/{path.name}", "belongs to no superseded release")
        for path in sorted(set(present) - wanted.keys())
    ]
    return findings


def has_content(path: Path, content: bytes) -> bool:
    """Tell whether a file is there, no link, and holds just this."""
    return content_error(path, content, "differs") is None
