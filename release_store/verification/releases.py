"""Is every release what was published: its files, its manifest, its classes, and what let it out?"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from policy.plain_file import read_bytes
from release_store.approval.admission import admission_errors
from release_store.approval.approvals import needed_by
from release_store.audit.log import Finding
from release_store.canonical import iso, plain
from release_store.db import queries
from release_store.db.classes import class_numbers, classes_digest
from release_store.protocol.names import PACKAGE
from release_store.protocol.overrides import files_as_judged, override_mark_error
from release_store.protocol.strict_json import read_json
from release_store.publishing.public_files import (
    MANIFEST,
    differing_files,
    file_errors,
    kept_folder,
    without_rows,
)
from release_store.records import CandidateRecord, CandidateState, Release, ReleaseState
from release_store.verification.view import Batch, VerificationContext, batches, run_check, same

_PUBLISHED_LATER = ("number", "published_at")  # not in the events of the first stores
_IN_MANIFEST = ("release_id", "series", "period", "number", "candidate_id")


def check_release_rows(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every release that was published is kept, and is in the state that the log left it in."""
    findings = [
        Finding(name, "is in the log, but not in the store")
        for name in sorted(view.log.published - {release.release_id for release in releases})
    ]
    for release in releases:
        findings += run_check(release.release_id, _publication_event, view, release)
    return findings


def check_admissions(view: VerificationContext, releases: list[Release], *, classes: bool) -> list[Finding]:
    """Every release was let out by gates and people; with `classes`, what is kept of them is its own."""
    findings: list[Finding] = []
    for batch, several in _batched(view, releases, with_classes=classes):
        records = {one.candidate_id: one for one in queries.candidates_of(view.con, batch.candidate_ids)}
        for release in several:
            name = release.release_id
            if classes:
                findings += run_check(name, _classes, view, batch, release)
            findings += run_check(name, _admission, view, batch, release, records.get(release.candidate_id))
    return findings


def check_release_files(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every release's files are those that were published, and say what the history says."""
    findings: list[Finding] = []
    for batch, several in _batched(view, releases, with_classes=False):
        for release in several:
            name = release.release_id
            findings += run_check(name, _files, view, release)
            findings += run_check(name, _manifest, view, release)
            findings += run_check(f"{name}/{PACKAGE}", _mark, view, batch, release)
    return findings


def _batched(
    view: VerificationContext, releases: list[Release], *, with_classes: bool
) -> Iterator[tuple[Batch, list[Release]]]:
    by_id = {release.release_id: release for release in releases}
    weights = _weights(view) if with_classes else {}
    n_classes = {release.release_id: weights.get(release.candidate_id, 0) for release in releases}
    for ids in batches(list(by_id), n_classes):
        several = [by_id[name] for name in ids]
        yield Batch(view.con, [release.candidate_id for release in several]), several


def _weights(view: VerificationContext) -> dict[str, int]:
    """Return how many classes each candidate has; nothing where that cannot be told."""
    try:
        return class_numbers(view.con)
    except duckdb.Error:
        return {}


def _files(view: VerificationContext, release: Release) -> list[Finding]:
    """The release's folder holds its files as they were published, and nothing else."""
    name = release.release_id
    folder = kept_folder(view.root, release)
    if not folder.is_dir():
        return [Finding(name, "its folder of published files is missing")]
    purged = name in view.log.purged and release.state is ReleaseState.WITHDRAWN
    files = without_rows(release) if purged else release.files
    findings = [Finding(f"{name}/{file}", what) for file, what in file_errors(folder, files).items()]
    return findings + foreign_files(view, release)


def foreign_files(view: VerificationContext, release: Release) -> list[Finding]:
    """Return what else lies in a release's folder."""
    folder = kept_folder(view.root, release)
    present = {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
    return [
        Finding(f"{release.release_id}/{file}", "is not part of the release")
        for file in sorted(present - release.files.keys())
    ]


def _manifest(view: VerificationContext, release: Release) -> list[Finding]:
    """The manifest, whose digest the log holds, says what the history says of the release."""
    name = release.release_id
    try:
        found: Any = json.loads(read_bytes(kept_folder(view.root, release) / MANIFEST))
    except (OSError, ValueError, RecursionError):
        return []  # found already: it is missing, or not the file that was published
    kept = {field: getattr(release, field) for field in _IN_MANIFEST} | {"summary": release.summary.document}
    wrong = [field for field, value in kept.items() if not same(found.get(field), plain(value))]
    if bool(found.get("override")) is not release.overridden:
        wrong.insert(0, "override")
    return [Finding(name, f"its {field} differs from its manifest") for field in wrong]


def _mark(view: VerificationContext, batch: Batch, release: Release) -> list[Finding]:
    """What was overridden stands in the data package; else it is the one that was judged."""
    if not release.overridden:
        return []
    folder, name = kept_folder(view.root, release), release.release_id
    if differing_files(folder, without_rows(release)):
        return []  # found already
    manifest = read_json((folder / MANIFEST).read_bytes())
    findings = []
    if not same(files_as_judged(manifest), batch.files.get(release.candidate_id, {})):
        findings.append(
            Finding(name, "its files differ from the assessed ones, apart from the mark of the override")
        )
    wrong = override_mark_error(manifest, (folder / PACKAGE).read_bytes())
    return findings + ([Finding(f"{name}/{PACKAGE}", wrong)] if wrong else [])


def _publication_event(view: VerificationContext, release: Release) -> list[Finding]:
    """The release was published once, with these files, and is in the state that the log left it in."""
    name = release.release_id
    logged = view.log.releases.get(name)
    n_published = len(logged.published) if logged else 0
    if logged is None or n_published != 1:
        return [Finding(name, f"was published {n_published} times according to the log")]
    findings = []
    (said,) = logged.publications()
    if not same(said.get("files"), release.files):
        findings.append(Finding(name, "the digests of its files differ from the logged ones"))
    kept = {"number": release.number, "published_at": iso(release.published_at)}
    findings += [
        Finding(name, f"its {field_name} differs from the logged one")
        for field_name in _PUBLISHED_LATER
        if field_name in said and not same(said[field_name], kept[field_name])
    ]
    made_as = view.log.candidates.get(release.candidate_id)
    staged = made_as.staged() if made_as else {}
    made = {"series": release.series, "period": release.period, "summary": plain(release.summary.document)}
    findings += [
        Finding(name, f"its {field_name} differs from that of its candidate in the log")
        for field_name, value in made.items()
        if field_name in staged and not same(staged[field_name], value)
    ]
    if said.get("candidate") != release.candidate_id:
        findings.append(Finding(name, "has a candidate other than in the log"))
    if logged.state != release.state:
        findings.append(Finding(name, f"is {release.state} in the store, but {logged.state} in the log"))
    return findings


def _classes(view: VerificationContext, batch: Batch, release: Release) -> list[Finding]:
    """Later releases are compared with the classes that were judged."""
    logged = view.log.releases.get(release.release_id)
    judged = {one.get("classes") for one in logged.publications()} if logged else set()
    if judged == {classes_digest(batch.classes.of(release.candidate_id))}:
        return []
    return [Finding(release.release_id, "its equivalence classes differ from the assessed ones")]


def _admission(
    view: VerificationContext, batch: Batch, release: Release, record: CandidateRecord | None
) -> list[Finding]:
    """What let a release out: every gate, and as many people as its policy asks for."""
    name = release.release_id
    if record is None:
        return [Finding(name, "its candidate is missing")]
    findings = []
    if record.state is not CandidateState.PUBLISHED:
        findings.append(Finding(name, f"its candidate is {record.state}"))
    logged = view.log.candidates.get(record.candidate_id)
    wrong = admission_errors(
        batch.verdicts.get(record.candidate_id, []),
        logged.asked() if logged else (),
        batch.words.get(record.candidate_id, []),
        needed_by(view.policy(record.policy_digest), record.summary),
    )
    return findings + [Finding(name, what) for what in wrong]
