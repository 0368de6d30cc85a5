"""Is every release what was published: its files, its manifest, its classes, and what let it out?"""

from __future__ import annotations

import json
from typing import Any

import duckdb

from policy.plain_file import read_bytes
from policy.text import number_of
from release_store.approval.approvals import needed_by
from release_store.approval.decisions import is_overridden
from release_store.audit.log import Finding
from release_store.canonical import iso, plain
from release_store.db import queries
from release_store.db.classes import class_numbers, classes_digest
from release_store.protocol.names import PACKAGE
from release_store.protocol.overrides import files_as_judged, override_mark_error
from release_store.protocol.strict_json import read_json
from release_store.publishing.public_files import MANIFEST, differing_files, file_errors, kept_folder
from release_store.records import CandidateRecord, CandidateState, Release, Verdict
from release_store.verification.view import Batch, VerificationContext, batches, run_check, same

_PUBLISHED_LATER = ("number", "published_at")  # not in the events of the first stores
_IN_MANIFEST = ("release_id", "series", "period", "number", "candidate_id")


def check_releases(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every release that was published is kept, and is what the log, its files and its manifest say."""
    findings: list[Finding] = []
    by_id = {release.release_id: release for release in releases}
    findings += [
        Finding(name, "is in the log, but not in the store")
        for name in sorted(view.log.published - by_id.keys())
    ]
    weights = _weights(view)
    n_classes = {release.release_id: weights.get(release.candidate_id, 0) for release in releases}
    for ids in batches(list(by_id), n_classes):
        candidate_ids = [by_id[name].candidate_id for name in ids]
        batch = Batch(view.con, candidate_ids)
        records = {one.candidate_id: one for one in queries.candidates_of(view.con, candidate_ids)}
        for release in map(by_id.__getitem__, ids):
            findings += _release(view, batch, release, records.get(release.candidate_id))
    return findings


def _weights(view: VerificationContext) -> dict[str, int]:
    """Return how many classes each candidate has; nothing where that cannot be told."""
    try:
        return class_numbers(view.con)
    except duckdb.Error:
        return {}


def _release(
    view: VerificationContext, batch: Batch, release: Release, record: CandidateRecord | None
) -> list[Finding]:
    name = release.release_id
    findings = run_check(name, _files, view, release)
    findings += run_check(name, _manifest, view, release)
    findings += run_check(f"{name}/{PACKAGE}", _mark, view, batch, release)
    findings += run_check(name, _publication_event, view, release)
    findings += run_check(name, _classes, view, batch, release)
    return findings + run_check(name, _admission, view, batch, release, record)


def _files(view: VerificationContext, release: Release) -> list[Finding]:
    """The release's folder holds its files as they were published, and nothing else."""
    name = release.release_id
    folder = kept_folder(view.root, release)
    if not folder.is_dir():
        return [Finding(name, "its folder of published files is missing")]
    findings = [Finding(f"{name}/{file}", what) for file, what in file_errors(folder, release.files).items()]
    foreign = sorted({entry.name for entry in folder.iterdir()} - release.files.keys())
    return findings + [Finding(f"{name}/{file}", "is not part of the release") for file in foreign]


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
    if differing_files(folder, release.files):
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
    results = batch.verdicts.get(record.candidate_id, [])
    if not results:
        findings.append(Finding(name, "no gate was run"))
    words = batch.words.get(record.candidate_id, [])
    overridden = is_overridden(results, words)
    findings += [
        Finding(name, f"gate {gate} says {verdict}")
        for gate, verdict in results
        if verdict != Verdict.PASS and not overridden
    ]
    logged = view.log.candidates.get(record.candidate_id)
    asked = set(logged.asked()) if logged else set()
    findings += [
        Finding(name, f"gate {gate} has no result, though the release had to pass it")
        for gate in sorted(asked - {gate for gate, _ in results})
    ]
    needed = 0 if overridden else needed_by(view.policy(record.policy_digest), record.summary)
    if "reject" in words or words.count("approve") < needed:
        findings.append(
            Finding(name, f"has {words.count('approve')} of {number_of(needed, 'required approval')}")
        )
    return findings
