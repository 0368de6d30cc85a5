"""Is every candidate what the log says: its state, its digests, its gates and the decisions on it?"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from release_store.approval.admission import admission_errors
from release_store.approval.approvals import needed_by
from release_store.approval.decisions import decision_document
from release_store.audit.log import Finding, plain_payload, plain_text
from release_store.audit.replay import LoggedReport
from release_store.canonical import iso, plain
from release_store.db import queries
from release_store.db.changes import gate_json
from release_store.permission import Person, Rule, holds
from release_store.protocol.proofs import is_by
from release_store.records import CandidateRecord, CandidateState, Verdict
from release_store.verification.approvals import check_approvals
from release_store.verification.view import Batch, VerificationContext, batches, run_check, same

_STAGED_LATER = ("series", "period", "made_at", "expires_at")  # not in the events of the first stores
_GATE_FIELDS = ("gate", "verdict", "value", "threshold", "relation", "attacker", "seconds", "detail")
_GATE_KEYS = {*_GATE_FIELDS, "witness"}
_gate_fields = itemgetter(*_GATE_FIELDS)
_VERDICTS = frozenset(verdict.value for verdict in Verdict)


def check_candidates(view: VerificationContext) -> list[Finding]:
    """Every candidate is in the state that the log left it in, with the digests that it was staged with."""
    findings: list[Finding] = []
    records = {record.candidate_id: record for record in queries.candidates(view.con, view.series)}
    findings += [
        Finding(name, "is in the log, but not in the store")
        for name, logged in sorted(view.log.candidates.items())
        if name not in records and view.series in (None, logged.staged().get("series"))
    ]
    for ids in batches(list(records)):
        batch = Batch(view.con, ids)
        for name in ids:
            findings += run_check(name, _candidate, view, batch, records[name])
    return findings + check_approvals(view, records)


def _candidate(view: VerificationContext, batch: Batch, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    logged = view.log.candidates.get(name)
    if logged is None:
        return [Finding(name, "is not in the log")]
    findings = []
    if logged.state != record.state:
        findings.append(Finding(name, f"is {record.state} in the store, but {logged.state} in the log"))
    staged = logged.staged()
    for field_name, kept in (
        ("candidate_digest", record.candidate_digest),
        ("policy_digest", record.policy_digest),
        ("input_digest", record.input_digest),
        ("history_head", record.history_head),
        ("files", batch.files.get(name, {})),
        ("summary", plain(record.summary.document)),
        ("series", record.series),
        ("period", record.period),
        ("made_at", iso(record.made_at)),
        ("expires_at", iso(record.expires_at) if record.expires_at else None),
    ):
        if field_name in _STAGED_LATER and field_name not in staged:
            continue
        if not same(staged.get(field_name), kept):
            findings.append(Finding(name, f"its {field_name} differs from the logged one when it was staged"))
    if logged.actor != record.made_by:
        findings.append(Finding(name, "was not made by the person in the log"))
    if view.digest_of_policy(record.policy_digest) != record.policy_digest:
        findings.append(Finding(name, "the stored policy is not the policy of the candidate"))
    rows = batch.gate_rows.get(name, [])
    if not _plainly_logged(logged.assessed, rows) and not same(
        logged.gates(), [gate_json(one) for one in queries.gate_results(rows)]
    ):
        findings.append(Finding(name, "its gate results differ from the logged ones"))
    report = view.log.reports.get(name, LoggedReport())
    for number, what in (
        (logged.judged, "its gate results lack"),
        (logged.begun, "the start of its publication lacks"),
        (report.number, "its report lacks"),
    ):
        if view.log.lacks_seal(number):
            findings.append(Finding(name, f"{what} the seal of the store's key"))
    return findings + _decisions(view, batch, record)


def _plainly_logged(assessed: str | None, rows: Sequence[queries.GateRow]) -> bool:
    """Tell whether gate results are those that were logged, in the one plain way of writing them.

    Quick, since they are most of what a store keeps: if not, they may be so all the same, or be damaged.
    """
    payload = plain_payload(assessed) if assessed is not None else None
    said = payload.get("gates") if payload else None
    return (
        isinstance(said, list)
        and len(said) == len(rows)
        and all(_is_row(one, row) for one, row in zip(said, rows, strict=True))
    )


def _is_row(said: Any, row: queries.GateRow) -> bool:
    if not isinstance(said, dict) or said.keys() != _GATE_KEYS:
        return False
    fields = _gate_fields(said)
    return (
        fields == row[:-1]
        and bool not in map(type, fields)  # to Python true is 1
        and row[1] in _VERDICTS
        and isinstance(said["witness"], dict)
        and plain_text(said["witness"]) == row[-1]
    )


def _decisions(view: VerificationContext, batch: Batch, record: CandidateRecord) -> list[Finding]:
    name = record.candidate_id
    kept = [decision_document(one) for one in batch.decisions.get(name, [])]
    findings = []
    if not same(view.log.decisions.get(name, []), kept):
        findings.append(Finding(name, "its decisions differ from the logged ones"))
    bound = (record.candidate_digest, record.policy_digest, record.history_head)
    if record.state in (CandidateState.APPROVED, CandidateState.PUBLISHING):
        findings += _admission(view, batch, record)
    for one in kept:
        if (one["candidate_digest"], one["policy_digest"], one["history_head"]) != bound:
            findings.append(Finding(name, "a decision names digests other than the candidate's"))
        if not holds(Rule.NOT_THE_MAKER, Person(one["by"], made_by=record.made_by)) or is_by(
            one.get("proof"), view.log.candidates[name].staged().get("maker")
        ):
            findings.append(Finding(name, "a decision is by the person who made it"))
    return findings


def _admission(view: VerificationContext, batch: Batch, record: CandidateRecord) -> list[Finding]:
    """What is about to be published was let out by its gates and by people."""
    name, logged = record.candidate_id, view.log.candidates[record.candidate_id]
    wrong = admission_errors(
        batch.verdicts.get(name, []),
        logged.asked(),
        batch.words.get(name, []),
        needed_by(view.policy(record.policy_digest), record.summary),
    )
    return [Finding(name, f"is {record.state}, though {what}") for what in wrong]
