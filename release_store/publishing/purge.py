"""Purge: the rows of what ended leave the store, on a person's word; the digests of its files stay.

1. In one transaction: an event names what loses its rows, with the digest of the files of each. The hashes of
   people of candidates that were never published are deleted.
2. The folders of these candidates go, and all files of these releases but those that hold no cell.

Whatever ends between the two is finished by the next run, or by `recover`. The classes, figures and people of
a release that was withdrawn stay in the database: it stays in every later comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError, StoreError
from release_store.approval.authentication import authenticate, refuse
from release_store.approval.credentials import Credential, Statement
from release_store.approval.decisions import cannot_be_overridden
from release_store.approval.reviewers import Reviewers, needed_reviewers
from release_store.audit import log as audit
from release_store.canonical import digest_of, tree_digest, utc_now
from release_store.db import queries
from release_store.db.connection import connect
from release_store.db.people import delete_people
from release_store.permission import Act, Person, check_permission, check_typed
from release_store.protocol.names import PURGED, WITHOUT_ROWS
from release_store.publishing.public_files import (
    candidate_folder,
    kept_folder,
    remove_folder,
    sync_folder,
)
from release_store.publishing.withdrawal import settle_withdrawals
from release_store.records import CandidateRecord, CandidateState, Release
from release_store.states import may
from release_store.store import ReleaseStore
from release_store.verification.rows_and_log import check_rows_follow_log

Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class Purgeable:
    """What of a series may lose its rows: candidates and withdrawn releases that ended long enough ago."""

    series: str
    candidates: tuple[CandidateRecord, ...]
    releases: tuple[Release, ...]

    @property
    def named(self) -> dict[str, dict[str, str]]:
        """What the event names: each with the digest of its files."""
        return {
            "candidates": {one.candidate_id: one.candidate_digest for one in self.candidates},
            "releases": {one.release_id: tree_digest(one.files) for one in self.releases},
        }

    @property
    def states(self) -> dict[str, str]:
        """The state of each, by its name."""
        return {one.candidate_id: str(one.state) for one in self.candidates} | {
            one.release_id: str(one.state) for one in self.releases
        }


def purgeable(store: ReleaseStore, series: str, older_than: timedelta) -> Purgeable:
    """Return what `purge` would remove now; nothing is changed."""
    with connect(store.root) as con:
        return _purgeable(con, series, utc_now() - older_than)


def purge(
    store: ReleaseStore,
    series: str,
    older_than: timedelta,
    *,
    by: str,
    reason: str,
    credential: Credential | None = None,
) -> Purgeable:
    """Remove the rows of what ended in a series longer ago than that, on a person's word; return what it was.

    `credential` proves that it is the person's. Where there is nothing to remove, nobody is asked for it and
    nothing is logged. Raises UsageError if the person may not purge or gives no proof, which is in the log by
    then; VerificationFailed where rows do not follow the log; StoreError if it is logged and could not all be
    removed, which the next run does.
    """
    check_typed(by, reason, series)
    check_permission(Act.PURGE, Person(by, reason), series)
    staff = needed_reviewers(store.root)
    with store.series_lock(series):
        settle_withdrawals(store, series)
        with store.kept_transaction() as con:
            check_rows_follow_log(con, store.root, series)
            found = _purgeable(con, series, utc_now() - older_than)
            refused = _keep_purge(con, found, store.store_id, by, reason, staff, credential)
        if refused is not None:
            raise refused
        settle_purges(store, series)
    return found


def _purgeable(con: Connection, series: str, before: datetime) -> Purgeable:
    purged = queries.purged(con)
    ended = _ended_at(con)

    def is_due(name: str, made_at: datetime) -> bool:
        return name not in purged and ended.get(name, made_at) <= before

    return Purgeable(
        series,
        tuple(
            one
            for one in queries.candidates(con, series)
            if may(Act.PURGE, one.state)
            and is_due(one.candidate_id, one.made_at)
            and (one.state is not CandidateState.BLOCKED or cannot_be_overridden(con, one))
        ),
        tuple(
            one
            for one in queries.releases(con, series)
            if may(Act.PURGE, one.state) and is_due(one.release_id, one.published_at)
        ),
    )


def _ended_at(con: Connection) -> dict[str, datetime]:
    """Return when each candidate and release came into its state, by the log."""
    rows = con.execute(
        "SELECT object, max(at_utc) FROM event WHERE action IN (SELECT unnest(?::VARCHAR[])) GROUP BY object",
        [[*(f"candidate.{state}" for state in CandidateState), "release.withdrawn"]],
    ).fetchall()
    return {name: datetime.fromisoformat(at) for name, at in rows}


def _keep_purge(
    con: Connection,
    found: Purgeable,
    store_id: str,
    by: str,
    reason: str,
    staff: Reviewers,
    credential: Credential | None,
) -> ReleaseGateError | None:
    """Keep that rows are purged; or, in the log, that this was refused, and return why."""
    if not found.states:
        return None
    bound = {"purged_digest": digest_of(found.named)}
    said = Statement(Act.PURGE.value, store_id, found.series, bound, by, reason, utc_now())
    proof = authenticate(con, staff, Act.PURGE, said, credential)
    if isinstance(proof, ReleaseGateError):
        refuse(con, said.act, said, proof)
        return proof
    for one in found.candidates:
        delete_people(con, one.candidate_id)  # without its files it can be judged by nobody any more
    payload: dict[str, Any] = {
        "at": said.at,
        "bound": bound,
        "purged": found.named,
        "proof": proof.document(),
    }
    audit.append(con, by, PURGED, found.series, reason, payload)
    return None


def unsettled_purges(store: ReleaseStore, series: str) -> list[str]:
    """Return the candidates and releases of a series whose rows were purged and are still there."""
    return [name for name, paths in _rows_left(store, series) if any(paths)]


def settle_purges(store: ReleaseStore, series: str) -> list[str]:
    """Remove what was purged, and say so in one line each; the series' lock must be held.

    Raises StoreError where the system refuses it.
    """
    said = []
    for name, paths in _rows_left(store, series):
        try:
            for path in paths:
                remove_folder(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            for folder in {path.parent for path in paths}:
                sync_folder(folder)
        except OSError as error:
            raise StoreError(
                f"is purged, but its rows could not be removed ({type(error).__name__})",
                where=name,
                hint="Fix the permissions; the next run removes them.",
            ) from None
        if paths:
            said.append(f"{name}: purged, and its rows are now removed")
    return said


def _rows_left(store: ReleaseStore, series: str) -> Iterator[tuple[str, list[Path]]]:
    """Yield what was purged of a series, with the folders and files that hold its rows and are there."""
    with connect(store.root) as con:
        purged = queries.purged(con, series)
        if not purged:
            return
        candidates = [one for one in queries.candidates(con, series) if one.candidate_id in purged]
        releases = [one for one in queries.releases(con, series) if one.release_id in purged]
    for candidate in candidates:
        yield candidate.candidate_id, candidate_rows(store.root, candidate.candidate_id)
    for release in releases:
        yield release.release_id, release_rows(store.root, release)


def candidate_rows(root: Path, candidate_id: str) -> list[Path]:
    """Return the folder of a candidate, if it is there: whatever is in it goes with its rows."""
    folder = candidate_folder(root, candidate_id)
    return [folder] if folder.exists() or folder.is_symlink() else []


def release_rows(root: Path, release: Release) -> list[Path]:
    """Return the files of a withdrawn release that hold rows, and the folder of its candidate, if there."""
    folder = kept_folder(root, release)
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    rows = [path for path in inside if path.name not in WITHOUT_ROWS]
    return [*rows, *candidate_rows(root, release.candidate_id)]
