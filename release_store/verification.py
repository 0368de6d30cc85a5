"""Is the store what it was? The chain, the signatures, the digests and all that refers to them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError, UsageError
from release_store import keys, merkle, queries
from release_store.announcement import LATEST, catalog, latest_release, link_target
from release_store.audit import Finding
from release_store.canonical import digest_of, iso, plain, pretty_json
from release_store.changes import approvers_of, gate_document
from release_store.classes import KeptClasses, class_numbers, classes_digest
from release_store.connection import connect
from release_store.decisions import decision_document, same_person
from release_store.logged import Log, read_log
from release_store.public_files import (
    CATALOG,
    MANIFEST,
    checkpoint_files,
    differing_files,
    kept_folder,
    series_folder,
)
from release_store.records import (
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    Release,
    Verdict,
)
from release_store.store import ReleaseStore
from release_store.withdrawal import check_withdrawals

__all__ = ["Finding", "verify"]

_STAGED_LATER = ("series", "period", "made_at", "expires_at")  # not in the events of the first stores
_PUBLISHED_LATER = ("number", "published_at")
_IN_MANIFEST = ("release_id", "series", "period", "number", "candidate_id", "summary")
_GUARDED = ("event", "policy", "gate_result", "decision", "release_file")
_BATCH = 500
_MOST_CLASSES = 200_000  # of all candidates of a batch; a single one may have more
_MEMORY = "400MB"


@dataclass
class _View:
    """The store as it is being verified: an open connection, what the log says, and the key it trusts."""

    root: Path
    con: duckdb.DuckDBPyConnection
    log: Log
    public_key: str | None
    _policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)

    @cached_property
    def tree(self) -> merkle.MerkleTree:
        return merkle.log_tree(self.log.hashes)

    @cached_property
    def store_id(self) -> str:
        return queries.store_info(self.con, "store_id")

    @cached_property
    def created_at(self) -> str:
        return queries.store_info(self.con, "created_at")

    def policy(self, digest: str) -> dict[str, Any]:
        if digest not in self._policies:
            self._policies[digest] = queries.policy(self.con, digest)
        return self._policies[digest]

    def digest_of_policy(self, digest: str) -> str:
        if digest not in self._digests:
            self._digests[digest] = digest_of(self.policy(digest))
        return self._digests[digest]


@dataclass
class _Batch:
    """What the tables hold of some candidates: one query a table, made when it is asked for."""

    con: duckdb.DuckDBPyConnection
    candidate_ids: list[str]

    @cached_property
    def gates(self) -> dict[str, list[GateResult]]:
        return queries.gates_of(self.con, self.candidate_ids)

    @cached_property
    def decisions(self) -> dict[str, list[Decision]]:
        return queries.decisions_of(self.con, self.candidate_ids)

    @cached_property
    def files(self) -> dict[str, dict[str, str]]:
        return queries.files_of(self.con, self.candidate_ids)

    @cached_property
    def classes(self) -> KeptClasses:
        return KeptClasses(self.con, self.candidate_ids)


def verify(
    store: ReleaseStore, *, checkpoint: Path | None = None, public_key: str | None = None
) -> list[Finding]:
    """Return everything in the store that is not as it was written; nothing if all is well.

    `checkpoint` (a file) and `public_key` (a file, or the key in hexadecimal) were kept outside the store:
    the log must go on from that checkpoint, and the store's key must be that key. Damage of any kind (a
    missing file, broken JSON, a cut log) is a finding, never an exception. Raises UsageError where a file
    that was kept cannot be read.
    """
    kept_key = _kept_key(public_key) if public_key else None
    kept_checkpoint = _kept_checkpoint(checkpoint) if checkpoint else None
    findings: list[Finding] = []
    try:
        with connect(store.root) as con:
            con.execute(f"SET memory_limit = '{_MEMORY}'")
            log = read_log(con)
            view = _View(store.root, con, log, keys.read_public_hex(store.root))
            findings += log.findings
            for check in (_store, _guards, _places, _candidates, _releases):
                findings += _guarded(store.root.name, check, view)
            if kept_key is not None and kept_key != view.public_key:
                findings.append(Finding(keys.PUBLIC_KEY_FILE, f"is not the key kept in {public_key}"))
            if kept_checkpoint is not None:
                trusted = kept_key or view.public_key
                size, wrong = _guarded_statement(view, kept_checkpoint, trusted)
                findings += [Finding(str(checkpoint), what) for what in wrong]
                if size > view.log.size:
                    findings.append(_cut(view, size))
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
    action, payload = view.log.first or ("", {})
    if action != "store.created":
        return [Finding("event 1", "the log does not begin with the making of the store")]
    findings = []
    if view.public_key != payload.get("public_key"):
        findings.append(Finding(keys.PUBLIC_KEY_FILE, "is missing or not the key that the store began with"))
    elif view.public_key != (_held_public_key(view.root) or view.public_key):
        findings.append(
            Finding(keys.PUBLIC_KEY_FILE, f"is not the public half of {keys.key_path(view.root)}")
        )
    if "created_at" in payload and view.created_at != payload["created_at"]:
        findings.append(Finding("created_at", "is not the one that was logged"))
    if view.store_id != payload.get("store_id"):
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


def _places(view: _View) -> list[Finding]:
    """Candidates, gate results and decisions stand in the order of the log, numbered without a gap."""
    findings = [
        Finding(name, f"the places of its rows in {table} are not those that they were given")
        for table in ("gate_result", "decision")
        for name in queries.misplaced(view.con, table)
    ]
    logged = list(view.log.candidates)
    for name, place in queries.places(view.con).items():
        if not 0 < place <= len(logged) or logged[place - 1] != name:
            findings.append(Finding(name, "is not in the place that the log gives it"))
    return findings


def _candidates(view: _View) -> list[Finding]:
    """Every candidate is in the state that the log left it in, with the digests that it was staged with."""
    findings: list[Finding] = []
    records = {record.candidate_id: record for record in queries.candidates(view.con)}
    logged = view.log.candidates
    findings += [
        Finding(name, "is in the log, but not kept") for name in sorted(logged.keys() - records.keys())
    ]
    for ids in _batches(list(records)):
        batch = _Batch(view.con, ids)
        for name in ids:
            findings += _guarded(name, _candidate, view, batch, records[name])
    return findings


def _batches(names: list[str], weights: Mapping[str, int] | None = None) -> Iterator[list[str]]:
    """Cut a list into pieces of at most `_BATCH` names and, if they have more than one, `_MOST_CLASSES`."""
    piece: list[str] = []
    total = 0
    for name in names:
        weight = weights.get(name, 0) if weights else 0
        if piece and (len(piece) >= _BATCH or total + weight > _MOST_CLASSES):
            yield piece
            piece, total = [], 0
        piece.append(name)
        total += weight
    if piece:
        yield piece


def _candidate(view: _View, batch: _Batch, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    logged = view.log.candidates.get(name)
    if logged is None:
        return [Finding(name, "the log knows nothing of it")]
    findings = []
    if logged.state != record.state:
        findings.append(Finding(name, f"is {record.state}, but the log left it {logged.state}"))
    staged = logged.staged()
    for field_name, kept in (
        ("candidate_digest", record.candidate_digest),
        ("policy_digest", record.policy_digest),
        ("input_digest", record.input_digest),
        ("history_head", record.history_head),
        ("files", batch.files.get(name, {})),
        ("summary", plain(record.summary)),
        ("series", record.series),
        ("period", record.period),
        ("made_at", iso(record.made_at)),
        ("expires_at", iso(record.expires_at) if record.expires_at else None),
    ):
        if field_name in _STAGED_LATER and field_name not in staged:
            continue
        if not _same(staged.get(field_name), kept):
            findings.append(
                Finding(name, f"its {field_name} is not the one that was logged when it was staged")
            )
    if logged.actor != record.made_by:
        findings.append(Finding(name, "was not made by the person whom the log names"))
    if view.digest_of_policy(record.policy_digest) != record.policy_digest:
        findings.append(Finding(name, "the policy that is kept is not the one that it was made by"))
    if not _same(logged.gates(), [gate_document(one) for one in batch.gates.get(name, [])]):
        findings.append(Finding(name, "its gate results are not those that were logged"))
    return findings + _decisions(view, batch, record)


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are one as canonical JSON, where 1 and 1.0 are, and 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _decisions(view: _View, batch: _Batch, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    kept = [decision_document(one) for one in batch.decisions.get(name, [])]
    findings = []
    if not _same(view.log.decisions.get(name, []), kept):
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
    by_id = {release.release_id: release for release in releases}
    findings += [
        Finding(name, "was published, but is not kept") for name in sorted(view.log.published - by_id.keys())
    ]
    weights = _weights(view)
    n_classes = {release.release_id: weights.get(release.candidate_id, 0) for release in releases}
    for ids in _batches(list(by_id), n_classes):
        candidate_ids = [by_id[name].candidate_id for name in ids]
        batch = _Batch(view.con, candidate_ids)
        records = {one.candidate_id: one for one in queries.candidates_of(view.con, candidate_ids)}
        for release in map(by_id.__getitem__, ids):
            findings += _release(view, batch, release, records.get(release.candidate_id))
    findings += _guarded("checkpoints", _checkpoints, view, releases)
    findings += _guarded("releases", _folders, view, releases)
    return findings + _guarded("withdrawn", check_withdrawals, view.root, view.con, releases)


def _weights(view: _View) -> dict[str, int]:
    """Return how many classes each candidate has; nothing where that cannot be told."""
    try:
        return class_numbers(view.con)
    except duckdb.Error:
        return {}


def _release(view: _View, batch: _Batch, release: Release, record: CandidateRecord | None) -> list[Finding]:
    name = release.release_id
    findings = _guarded(name, _files, view, release)
    findings += _guarded(name, _manifest, view, release)
    findings += _guarded(name, _publication_event, view, release)
    findings += _guarded(name, _classes, view, batch, release)
    return findings + _guarded(name, _admission, view, batch, release, record)


def _files(view: _View, release: Release) -> list[Finding]:
    """The release's folder holds its files as they were published, and nothing else."""
    name = release.release_id
    folder = kept_folder(view.root, release)
    findings = [
        Finding(f"{name}/{file}", "is missing or not the file that was published")
        for file in differing_files(folder, release.files)
    ]
    if folder.is_dir():
        foreign = sorted({entry.name for entry in folder.iterdir()} - release.files.keys())
        findings += [Finding(f"{name}/{file}", "does not belong to the release") for file in foreign]
    return findings


def _manifest(view: _View, release: Release) -> list[Finding]:
    """The manifest, whose digest the log holds, says what the history says of the release."""
    name = release.release_id
    try:
        text = (kept_folder(view.root, release) / MANIFEST).read_text(encoding="utf-8")
        found: Any = json.loads(text)
    except (OSError, ValueError):
        return []  # found already: it is missing, or not the file that was published
    return [
        Finding(name, f"its {field_name} is not the one in its manifest")
        for field_name in _IN_MANIFEST
        if not _same(found.get(field_name), plain(getattr(release, field_name)))
    ]


def _publication_event(view: _View, release: Release) -> list[Finding]:
    """The release was published once, with these files, and is in the state that the log left it in."""
    name = release.release_id
    logged = view.log.releases.get(name)
    n_published = len(logged.published) if logged else 0
    if logged is None or n_published != 1:
        return [Finding(name, f"was published {n_published} times by the log")]
    findings = []
    (said,) = logged.publications()
    if not _same(said.get("files"), release.files):
        findings.append(Finding(name, "its files' digests are not those that were logged"))
    kept = {"number": release.number, "published_at": iso(release.published_at)}
    findings += [
        Finding(name, f"its {field_name} is not the one that was logged")
        for field_name in _PUBLISHED_LATER
        if field_name in said and not _same(said[field_name], kept[field_name])
    ]
    if said.get("candidate") != release.candidate_id:
        findings.append(Finding(name, "is kept with another candidate than the log's"))
    if logged.state != release.state:
        findings.append(Finding(name, f"is {release.state}, but the log left it {logged.state}"))
    return findings


def _classes(view: _View, batch: _Batch, release: Release) -> list[Finding]:
    """Later releases are compared with the classes that were judged."""
    logged = view.log.releases.get(release.release_id)
    judged = {one.get("classes") for one in logged.publications()} if logged else set()
    if judged == {classes_digest(batch.classes.of(release.candidate_id))}:
        return []
    return [Finding(release.release_id, "its equivalence classes are not those that were judged")]


def _admission(view: _View, batch: _Batch, release: Release, record: CandidateRecord | None) -> list[Finding]:
    """What let a release out: every gate, and as many people as its policy asks for."""
    name = release.release_id
    if record is None:
        return [Finding(name, "its candidate is not kept")]
    findings = []
    if record.state is not CandidateState.PUBLISHED:
        findings.append(Finding(name, f"its candidate is {record.state}"))
    results = batch.gates.get(record.candidate_id, [])
    if not results:
        findings.append(Finding(name, "no gate passed it"))
    findings += [
        Finding(name, f"gate {one.gate} says {one.verdict}")
        for one in results
        if one.verdict is not Verdict.PASS
    ]
    words = [one.decision for one in batch.decisions.get(record.candidate_id, [])]
    needed = approvers_of(view.policy(record.policy_digest))
    if "reject" in words or len(words) < needed:
        findings.append(
            Finding(name, f"{words.count('approve')} people approved it, and {needed} were needed")
        )
    return findings


def _checkpoints(view: _View, releases: list[Release]) -> list[Finding]:
    """Every checkpoint that there is, of a release or of none any more, holds for the log as it is."""
    wanted = {path for release in releases for path in checkpoint_files(view.root, release)}
    findings = []
    newest = 0
    for path in sorted(wanted | set((view.root / "releases").glob("*/*.checkpoint.json"))):
        size, wrong = _checkpoint(view, path)
        newest = max(newest, size)
        findings += [Finding(f"{path.parent.name}/{path.name}", what) for what in wrong]
    if newest > view.log.size:
        findings.append(_cut(view, newest))
    return findings


def _cut(view: _View, size: int) -> Finding:
    return Finding("log", f"has {view.log.size} events, and a signed checkpoint saw {size}")


def _checkpoint(view: _View, path: Path) -> tuple[int, list[str]]:
    """Return the size that a checkpoint signs (0 if it does not hold), and what is wrong with it."""
    try:
        data = path.read_bytes()
        found: Any = json.loads(data)
    except (OSError, ValueError):
        return 0, ["is missing or no JSON"]
    size, wrong = _statement(view, found, view.public_key)
    if not wrong and data != pretty_json(found):
        wrong = ["is not written as it was"]
    return size, wrong


def _kept_key(text: str) -> str:
    return text.lower() if re.fullmatch("[0-9a-fA-F]{64}", text) else keys.read_public_file(Path(text))


def _kept_checkpoint(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the checkpoint cannot be read ({type(error).__name__})",
            where=str(path),
            mend="Give a checkpoint that was copied from beside a release.",
        ) from None


def _guarded_statement(view: _View, found: Any, trusted: str | None) -> tuple[int, list[str]]:
    try:
        return _statement(view, found, trusted)
    except (ReleaseGateError, duckdb.Error):
        return 0, ["cannot be compared with the store"]


def _statement(view: _View, found: Any, trusted: str | None) -> tuple[int, list[str]]:
    """Return the size that a signed statement gives the log (0 if it does not hold), and what is wrong."""
    if not isinstance(found, dict) or trusted is None or not keys.signature_holds(found, trusted):
        return 0, ["is not signed by the store's key as it stands"]
    if found["store_id"] != view.store_id:
        return 0, ["is of another store"]
    size = int(found["size"])
    if not 0 < size <= view.log.size or view.log.hashes[size - 1] != found["head"]:
        return size, [f"the log's event {size} is not the one that was signed"]
    if "root" in found and found["root"] != view.tree.root(size).hex():
        return size, [f"the root of the log's first {size} events is not the one that was signed"]
    return size, []


def _folders(view: _View, releases: list[Release]) -> list[Finding]:
    """The catalog, `latest` and the names in each series' folder are those of the history."""
    findings = []
    path = view.root / "releases" / CATALOG
    if releases and (not path.is_file() or path.read_bytes() != pretty_json(catalog(releases))):
        findings.append(Finding(CATALOG, "is missing or does not list the releases as they are"))
    for series, group in groupby(releases, key=lambda release: release.series):  # they come by series
        own = list(group)
        if link_target(series_folder(view.root, series) / LATEST) != latest_release(own):
            findings.append(Finding(f"{series}/{LATEST}", "does not point to the last release"))
    known = {release.release_id for release in releases}
    for folder in sorted((view.root / "releases").glob("*/*")):
        if not folder.is_dir() or folder.is_symlink() or folder.name in known:
            continue
        what = "is left by an interrupted publication; `recover` settles it"
        strange = "is a release folder that no release of the store accounts for"
        under_way = folder.name.removeprefix(".").removesuffix(".partial") in view.log.started
        findings.append(Finding(f"{folder.parent.name}/{folder.name}", what if under_way else strange))
    return findings
