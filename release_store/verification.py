"""Is the store what it was? The chain, the signatures, the digests and all that refers to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError
from release_store import audit, keys, merkle, queries
from release_store.announcement import LATEST, catalog, latest_release, link_target
from release_store.audit import Finding, check_chain
from release_store.canonical import digest_of, plain, pretty_json
from release_store.changes import approvers_demanded, gate_document
from release_store.classes import classes_digest, read_classes
from release_store.connection import connect
from release_store.decisions import decision_document, same_person
from release_store.public_files import (
    CATALOG,
    checkpoint_file,
    differing_files,
    release_folder,
    series_folder,
)
from release_store.records import AuditEvent, CandidateRecord, CandidateState, Release, Verdict
from release_store.store import ReleaseStore

__all__ = ["Finding", "verify"]

_DECISION = ("decision", "by", "reason", "at", "candidate_digest", "policy_digest", "history_head")
_GUARDED = ("event", "policy", "gate_result", "decision", "release_file")


@dataclass(frozen=True)
class _View:
    """The store as it is being verified: an open connection, the events, and the key it trusts."""

    root: Path
    con: duckdb.DuckDBPyConnection
    events: list[AuditEvent]
    public_key: str | None


def verify(store: ReleaseStore) -> list[Finding]:
    """Return everything in the store that is not as it was written; nothing if all is well.

    Damage of any kind (a missing file, broken JSON, a cut log) is a finding, never an exception.
    """
    findings: list[Finding] = []
    try:
        with connect(store.root) as con:
            events = audit.read_events(con)
            view = _View(store.root, con, events, keys.read_public_hex(store.root))
            findings += check_chain(events)
            for check in (_store, _guards, _candidates, _releases):
                findings += _guarded(store.root.name, check, view)
    except ReleaseGateError as error:
        findings.append(Finding(error.where or store.root.name, error.finding))
    return findings


def _guarded(where: str, check: Callable[..., list[Finding]], *arguments: object) -> list[Finding]:
    """Run a check, and turn what it stumbles over into a finding: damage has no fixed shape."""
    try:
        return check(*arguments)
    except ReleaseGateError as error:
        return [Finding(where, error.finding)]
    except Exception as error:
        return [Finding(where, f"cannot be read ({type(error).__name__})")]


def _store(view: _View) -> list[Finding]:
    """The store's own id and key stand in its first event."""
    first = view.events[0] if view.events else None
    if first is None or first.action != "store.created":
        return [Finding("event 1", "the log does not begin with the making of the store")]
    findings = []
    if view.public_key != first.payload.get("public_key"):
        findings.append(Finding(keys.PUBLIC_KEY_FILE, "is missing or not the key that the store began with"))
    elif view.public_key != (_held_public_key(view.root) or view.public_key):
        findings.append(
            Finding(keys.PUBLIC_KEY_FILE, f"is not the public half of {keys.key_path(view.root)}")
        )
    if queries.store_info(view.con, "store_id") != first.payload.get("store_id"):
        findings.append(Finding("store_id", "is not the one that the store began with"))
    return findings


def _held_public_key(root: Path) -> str | None:
    """Return the public half of the signing key where it is at hand: beside a copy of a store it is not."""
    try:
        return keys.public_hex(keys.key_at_hand(root))
    except ReleaseGateError:
        return None


def _guards(view: _View) -> list[Finding]:
    """The triggers that keep tables append-only are still there."""
    present = {row[0] for row in view.con.execute("SELECT trigger_name FROM duckdb_triggers()").fetchall()}
    wanted = {f"{table}_keeps_{what}" for table in _GUARDED for what in ("updates", "deletes")}
    return [Finding(name, "the trigger was dropped") for name in sorted(wanted - present)]


def _candidates(view: _View) -> list[Finding]:
    """Every candidate is in the state that the log left it in, with the digests that it was staged with."""
    findings: list[Finding] = []
    records = {record.candidate_id: record for record in queries.candidates(view.con)}
    logged: dict[str, list[AuditEvent]] = {}
    for event in view.events:
        if "state" in event.payload and "candidate" in event.payload:
            logged.setdefault(str(event.payload["candidate"]), []).append(event)
    findings += [
        Finding(name, "is in the log, but not kept") for name in sorted(logged.keys() - records.keys())
    ]
    for name, record in records.items():
        events = logged.get(name, [])
        findings += _guarded(name, _candidate, view, record, events)
    return findings


def _candidate(view: _View, record: CandidateRecord, events: list[AuditEvent]) -> list[Finding]:
    name = record.candidate_id
    if not events:
        return [Finding(name, "the log knows nothing of it")]
    findings = []
    if events[-1].payload["state"] != record.state:
        findings.append(
            Finding(name, f"is {record.state}, but the log left it {events[-1].payload['state']}")
        )
    staged = events[0].payload
    for field, kept in (
        ("candidate_digest", record.candidate_digest),
        ("policy_digest", record.policy_digest),
        ("input_digest", record.input_digest),
        ("history_head", record.history_head),
        ("files", queries.files(view.con, name)),
        ("summary", plain(record.summary)),
    ):
        if digest_of(staged.get(field)) != digest_of(kept):
            findings.append(Finding(name, f"its {field} is not the one that was logged when it was staged"))
    if digest_of(queries.policy(view.con, record.policy_digest)) != record.policy_digest:
        findings.append(Finding(name, "the policy that is kept is not the one that it was made by"))
    assessed = [event for event in events if event.action == "candidate.assessed"]
    logged_gates = assessed[-1].payload.get("gates") if assessed else []
    if digest_of(logged_gates) != digest_of([gate_document(one) for one in queries.gates(view.con, name)]):
        findings.append(Finding(name, "its gate results are not those that were logged"))
    return findings + _decisions(view, record)


def _decisions(view: _View, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    kept = [decision_document(one) for one in queries.decisions(view.con, name)]
    logged = [
        {field: event.payload.get(field) for field in _DECISION}
        for event in view.events
        if event.object == name and event.action in ("decision.approve", "decision.reject")
    ]
    findings = []
    if digest_of(kept) != digest_of(logged):
        findings.append(Finding(name, "its decisions are not those that were logged"))
    bound = (record.candidate_digest, record.policy_digest, record.history_head)
    for one in kept:
        if (one["candidate_digest"], one["policy_digest"], one["history_head"]) != bound:
            findings.append(Finding(name, "a decision names other digests than the candidate's"))
        if same_person(one["by"], record.made_by):
            findings.append(Finding(name, "a decision was taken by the person who made it"))
    return findings


def _releases(view: _View) -> list[Finding]:
    findings: list[Finding] = []
    releases = queries.releases(view.con)
    logged = {
        str(event.payload.get("release")) for event in view.events if event.action == "release.published"
    }
    known = {release.release_id for release in releases}
    findings += [Finding(name, "was published, but is not kept") for name in sorted(logged - known)]
    for release in releases:
        findings += _guarded(release.release_id, _release, view, release)
    findings += _guarded("checkpoints", _checkpoints, view, releases)
    return findings + _guarded("releases", _folders, view, releases)


def _release(view: _View, release: Release) -> list[Finding]:
    findings: list[Finding] = []
    for check in (_files, _publication_event, _classes, _admission):
        findings += _guarded(release.release_id, check, view, release)
    return findings


def _files(view: _View, release: Release) -> list[Finding]:
    """The release's folder holds its files as they were published, and nothing else."""
    name = release.release_id
    folder = release_folder(view.root, release.series, name)
    findings = [
        Finding(f"{name}/{file}", "is missing or not the file that was published")
        for file in differing_files(folder, release.files)
    ]
    if folder.is_dir():
        foreign = sorted({entry.name for entry in folder.iterdir()} - release.files.keys())
        findings += [Finding(f"{name}/{file}", "does not belong to the release") for file in foreign]
    return findings


def _publication_event(view: _View, release: Release) -> list[Finding]:
    """The release was published once, with these files, and is in the state that the log left it in."""
    name = release.release_id
    published = [event for event in view.events if _publishes(event, name)]
    if len(published) != 1:
        return [Finding(name, f"was published {len(published)} times by the log")]
    findings = []
    if digest_of(published[0].payload.get("files")) != digest_of(release.files):
        findings.append(Finding(name, "its files' digests are not those that were logged"))
    left = [
        event.payload["release_state"]
        for event in view.events
        if event.payload.get("release") == name and "release_state" in event.payload
    ][-1]
    if left != release.state:
        findings.append(Finding(name, f"is {release.state}, but the log left it {left}"))
    return findings


def _classes(view: _View, release: Release) -> list[Finding]:
    """Later releases are compared with the classes that were judged."""
    logged = {event.payload.get("classes") for event in view.events if _publishes(event, release.release_id)}
    if logged == {classes_digest(read_classes(view.con, release.candidate_id))}:
        return []
    return [Finding(release.release_id, "its equivalence classes are not those that were judged")]


def _publishes(event: AuditEvent, release_id: str) -> bool:
    return event.action == "release.published" and event.object == release_id


def _admission(view: _View, release: Release) -> list[Finding]:
    """What let a release out: every gate, and as many people as its policy asks for."""
    name = release.release_id
    findings = []
    record = queries.candidate(view.con, release.candidate_id)
    if record.state is not CandidateState.PUBLISHED:
        findings.append(Finding(name, f"its candidate is {record.state}"))
    results = queries.gates(view.con, release.candidate_id)
    if not results:
        findings.append(Finding(name, "no gate passed it"))
    findings += [
        Finding(name, f"gate {one.gate} says {one.verdict}")
        for one in results
        if one.verdict is not Verdict.PASS
    ]
    words = [one.decision for one in queries.decisions(view.con, release.candidate_id)]
    needed = approvers_demanded(view.con, release.candidate_id)
    if "reject" in words or len(words) < needed:
        findings.append(
            Finding(name, f"{words.count('approve')} people approved it, and {needed} were needed")
        )
    return findings


def _checkpoints(view: _View, releases: list[Release]) -> list[Finding]:
    """Every checkpoint that there is, of a release or of none any more, holds for the log as it is."""
    wanted = {checkpoint_file(view.root, release.series, release.release_id) for release in releases}
    findings = []
    newest = 0
    tree = merkle.log_tree(event.hash for event in view.events)
    for path in sorted(wanted | set((view.root / "releases").glob("*/*.checkpoint.json"))):
        size, wrong = _checkpoint(view, tree, path)
        newest = max(newest, size)
        findings += [Finding(f"{path.parent.name}/{path.name}", what) for what in wrong]
    if newest > len(view.events):
        seen = len(view.events)
        findings.append(Finding("log", f"has {seen} events, and a signed checkpoint saw {newest}"))
    return findings


def _checkpoint(view: _View, tree: merkle.MerkleTree, path: Path) -> tuple[int, list[str]]:
    """Return the size that a checkpoint signs (0 if it does not hold), and what is wrong with it."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0, ["is missing or no JSON"]
    trusted = view.public_key
    if not isinstance(found, dict) or trusted is None or not keys.signature_holds(found, trusted):
        return 0, ["is not signed by the store's key as it stands"]
    if found["store_id"] != queries.store_info(view.con, "store_id"):
        return 0, ["is of another store"]
    size = int(found["size"])
    if not any(event.number == size and event.hash == found["head"] for event in view.events):
        return size, [f"the log's event {size} is not the one that was signed"]
    if "root" in found and (size > tree.size or found["root"] != tree.root(size).hex()):
        return size, [f"the root of the log's first {size} events is not the one that was signed"]
    return size, []


def _folders(view: _View, releases: list[Release]) -> list[Finding]:
    """The catalog, `latest` and the names in each series' folder are those of the history."""
    findings = []
    path = view.root / "releases" / CATALOG
    if releases and (not path.is_file() or path.read_bytes() != pretty_json(catalog(releases))):
        findings.append(Finding(CATALOG, "is missing or does not list the releases as they are"))
    for series in sorted({release.series for release in releases}):
        own = [release for release in releases if release.series == series]
        if link_target(series_folder(view.root, series) / LATEST) != latest_release(own):
            findings.append(Finding(f"{series}/{LATEST}", "does not point to the last release"))
    publishing = {
        str(event.payload.get("release")) for event in view.events if event.action == "publication.started"
    }
    known = {release.release_id for release in releases}
    for folder in sorted((view.root / "releases").glob("*/*")):
        if not folder.is_dir() or folder.is_symlink() or folder.name in known:
            continue
        what = "is left by an interrupted publication; `recover` settles it"
        strange = "is a release folder that no release of the store accounts for"
        under_way = folder.name.removeprefix(".").removesuffix(".partial") in publishing
        findings.append(Finding(f"{folder.parent.name}/{folder.name}", what if under_way else strange))
    return findings
