"""What publication writes to the history: its start, its end, and how it is taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import Blocked, StoreError
from release_store.approval.admission import admission_errors
from release_store.approval.decisions import BEFORE_CORRECTION, stale
from release_store.audit import log as audit
from release_store.audit.checkpoints import seal
from release_store.canonical import canonical_json, iso, plain, sha256_hex, utc_now
from release_store.db import queries
from release_store.db.changes import approvers_demanded, set_state
from release_store.db.classes import classes_digest, delete_classes, write_classes
from release_store.db.people import Statement, delete_people, publishable_people
from release_store.permission import Act
from release_store.protocol.names import PACKAGE, REPORT
from release_store.publishing.manifest import build_manifest, manifest_facts, override_of
from release_store.publishing.override_mark import mark_package, package_digest
from release_store.publishing.public_files import MANIFEST, candidate_folder, release_folder
from release_store.records import (
    CandidateRecord,
    CandidateState,
    EquivalenceClasses,
    Release,
    ReleaseState,
)
from release_store.states import check_transition, may

Connection = duckdb.DuckDBPyConnection
Report = Callable[[Mapping[str, Any]], bytes]  # `report.html`, of what the manifest says but for its files
_HINT_VERIFY = "Run `releasegate verify`: it was approved by other means than decisions."


@dataclass(frozen=True)
class Started:
    """What the event `publication.started` says: all that is needed to finish."""

    candidate_id: str
    series: str
    release_id: str
    actor: str
    files: dict[str, str]  # the manifest too
    classes: str
    people: Statement | None = None
    reason: str = ""  # of the person who publishes by hand; empty where gates or approvals do


def start_publication(
    con: Connection,
    root: Path,
    candidate_id: str,
    classes: EquivalenceClasses,
    actor: str,
    extra: Mapping[str, Any],
    key: Ed25519PrivateKey,
    reason: str = "",
    report: Report | None = None,
) -> tuple[Started, dict[str, bytes]] | Blocked:
    """Check the candidate against the history as it stands now, and keep the start of its publication.

    `key`, the store's, seals it: only what it sealed is finished after an interruption.
    Returned beside it are the files that become public and are not staged: the manifest, its report where
    `report` makes one, and of a release by override the data package with its mark. What `report` raises ends
    it before anything is kept.
    """
    record = queries.candidate(con, candidate_id)
    _check_admitted(con, record)
    outdated = queries.history_head(con, record.series) != record.history_head
    if outdated or audit.corrected_since(con, "candidate.staged", candidate_id):
        finding = "the series has a new release since its gates ran" if outdated else BEFORE_CORRECTION
        finding = f"stale: {finding}"
        set_state(con, candidate_id, CandidateState.STALE, actor=actor, reason=finding)
        return Blocked(finding, where=candidate_id, hint=f"Run `releasegate rejudge {candidate_id}`.")
    _check_revision(con, record)
    release_id = _free_release_id(con, root, record.series, record.period)
    number, files = _next_number(con, record.series), queries.files(con, candidate_id)
    documents: dict[str, bytes] = {}
    override = override_of(con, candidate_id)
    if override is not None:
        staged = candidate_folder(root, candidate_id)
        override["judged"] = package_digest(staged, files)
        documents = {PACKAGE: mark_package(staged, override)}
    facts = manifest_facts(con, record, release_id, number, extra, override)
    if report is not None:
        documents[REPORT] = _checked_report(report(plain(facts)), candidate_id)
    files |= {name: sha256_hex(data) for name, data in documents.items()}
    documents[MANIFEST] = build_manifest(facts, files)
    files[MANIFEST] = sha256_hex(documents[MANIFEST])
    write_classes(con, candidate_id, classes)
    digest, people = classes_digest(classes), publishable_people(con, candidate_id)
    payload = {"release": release_id, "files": files, "classes": digest, **_of_people(people)}
    event = set_state(
        con,
        candidate_id,
        CandidateState.PUBLISHING,
        actor=actor,
        action="publication.started",
        reason=reason,
        payload=payload,
    )
    seal(con, key, event)
    return Started(candidate_id, record.series, release_id, actor, files, digest, people, reason), documents


def _checked_report(data: bytes, candidate_id: str) -> bytes:
    if not isinstance(data, bytes) or not data:
        raise StoreError("its report is not a file", where=candidate_id)
    return data


def _of_people(people: Statement | None) -> dict[str, Any]:
    return {} if people is None else {"people": people}


def _check_revision(con: Connection, record: CandidateRecord) -> None:
    """A period that has a release gets another only from a candidate that names it, and says why."""
    last = queries.last_release_of(con, record.series, record.period)
    revised = record.summary.revision.of if record.summary.revision else None
    if (last.release_id if last else None) != revised:
        raise StoreError(
            f"revises {revised or 'nothing'}, and the last release of {record.period} is "
            f"{last.release_id if last else 'none'}",
            where=record.candidate_id,
            hint="Run the period again.",
        )


def _check_admitted(con: Connection, record: CandidateRecord) -> None:
    candidate_id, state = record.candidate_id, record.state
    if state is CandidateState.STALE:
        raise stale(con, record)
    if not may(Act.PUBLISH, state):
        raise StoreError(
            f"is {state}, and only an approved candidate is published",
            where=candidate_id,
            hint=f"Run `releasegate show {candidate_id}` to see its state.",
        )
    wrong = admission_errors(
        queries.verdicts_of(con, [candidate_id]).get(candidate_id, []),
        (),
        [one.decision for one in queries.decisions(con, candidate_id)],
        approvers_demanded(con, candidate_id),
    )
    if wrong:
        raise StoreError(f"is {state}, though {wrong[0]}", where=candidate_id, hint=_HINT_VERIFY)


def started_publication(con: Connection, candidate_id: str, series: str) -> Started:
    """Return what the log says of a publication that is under way. Raises StoreError if it says nothing."""
    found = [
        event
        for event in audit.read_events(con)
        if event.action == "publication.started" and event.payload.get("candidate") == candidate_id
    ]
    try:
        event = found[-1]
        return Started(
            candidate_id,
            series,
            str(event.payload["release"]),
            event.actor,
            dict(event.payload["files"]),
            str(event.payload["classes"]),
            event.payload.get("people"),
            event.reason,
        )
    except (IndexError, KeyError, TypeError, ValueError):
        raise StoreError(
            "is being published, but the log does not name its release",
            where=candidate_id,
            hint="Run `releasegate verify`.",
        ) from None


def finish_publication(con: Connection, started: Started) -> Release:
    """Keep the release whose folder has appeared."""
    record = queries.candidate(con, started.candidate_id)
    before = queries.last_release_of(con, record.series, record.period)
    if before is not None and before.state is ReleaseState.PUBLISHED:
        _supersede(con, before, record, started)
    _outdate(con, record, started)
    number, published_at = _next_number(con, record.series), iso(utc_now())
    con.execute(
        "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            started.release_id,
            record.series,
            record.period,
            number,
            record.candidate_id,
            ReleaseState.PUBLISHED.value,
            published_at,
            canonical_json(record.summary.document).decode(),
        ],
    )
    con.executemany(
        "INSERT INTO release_file VALUES (?, ?, ?)",
        [[started.release_id, name, digest] for name, digest in sorted(started.files.items())],
    )
    set_state(
        con,
        record.candidate_id,
        CandidateState.PUBLISHED,
        actor=started.actor,
        action="release.published",
        object=started.release_id,
        reason=started.reason,
        payload={
            "series": record.series,
            "release": started.release_id,
            "release_state": ReleaseState.PUBLISHED,
            "number": number,
            "published_at": published_at,
            "files": started.files,
            "classes": started.classes,
            **_of_people(started.people),
        },
    )
    return queries.release(con, started.release_id)


def _supersede(con: Connection, before: Release, record: CandidateRecord, started: Started) -> None:
    check_transition(before.state, ReleaseState.SUPERSEDED)
    con.execute(
        "UPDATE release SET state = ? WHERE release_id = ?",
        [ReleaseState.SUPERSEDED.value, before.release_id],
    )
    audit.append(
        con,
        record.made_by,
        "release.superseded",
        before.release_id,
        record.summary.revision.reason if record.summary.revision else "",
        {
            "release": before.release_id,
            "release_state": ReleaseState.SUPERSEDED.value,
            "successor": started.release_id,
        },
    )


def _outdate(con: Connection, record: CandidateRecord, started: Started) -> None:
    """Mark every other candidate of the series that waits as stale: it was judged against another history."""
    waiting = (CandidateState.AWAITING_APPROVAL, CandidateState.APPROVED)
    for other in queries.candidates_in(con, record.series, waiting):
        set_state(
            con,
            other.candidate_id,
            CandidateState.STALE,
            actor=started.actor,
            reason=f"{started.release_id} was published since its gates ran",
        )
    # What gates held back cannot be overridden any more: its people are not needed.
    for other in queries.candidates_in(con, record.series, [CandidateState.BLOCKED]):
        delete_people(con, other.candidate_id)


def undo_publication(con: Connection, started: Started, reason: str) -> None:
    """Take back a publication of which nothing became public."""
    delete_classes(con, started.candidate_id)
    set_state(
        con,
        started.candidate_id,
        CandidateState.APPROVED,
        actor=started.actor,
        action="publication.undone",
        reason=reason,
        payload={"release": started.release_id},
    )


def fail_publication(con: Connection, started: Started) -> None:
    """End a candidate whose folder appeared and was changed: it may have been read, so a person must look."""
    delete_classes(con, started.candidate_id)
    set_state(
        con,
        started.candidate_id,
        CandidateState.FAILED,
        actor=started.actor,
        reason="the published folder is not the assessed one",
        payload={"release": started.release_id},
    )


def _next_number(con: Connection, series: str) -> int:
    return max((one.number for one in queries.releases(con, series)), default=0) + 1


def _free_release_id(con: Connection, root: Path, series: str, period: str) -> str:
    taken = {one.release_id for one in queries.releases(con)}
    number = 1
    while True:
        release_id = f"{series}-{period}-r{number}"
        if release_id not in taken and not release_folder(root, series, release_id).exists():
            return release_id
        number += 1
