"""People's decisions: whether they may be taken, and whether what was seen is still what stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb

from policy.errors import Blocked, ReleaseGateError, StoreError, UsageError, VerificationFailed
from policy.text import number_of
from release_store.approval.admission import OVERRIDABLE, held_back, is_overridden
from release_store.approval.authentication import (
    Unproven,
    authenticate,
    credential_ids,
    decision_statement,
    maker_of,
    refuse,
)
from release_store.approval.credentials import Credential, check_moment
from release_store.approval.questions import open_question_error
from release_store.approval.reviewers import Reviewers
from release_store.audit import log as audit
from release_store.canonical import canonical_json, iso, utc_now
from release_store.db import queries
from release_store.db.changes import approvers_demanded, set_state
from release_store.permission import Act, Person, Rule, holds, refusal
from release_store.protocol.overrides import OVERRIDES_NEEDED
from release_store.protocol.proofs import is_by
from release_store.records import (
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    ReleaseState,
    Verdict,
)
from release_store.states import may
from release_store.summary import reused_release

Connection = duckdb.DuckDBPyConnection
HINT_BLOCKED = "Run the period again."
BEFORE_CORRECTION = "the clock was corrected since it was made"
RESTORED_SINCE = "was restored since it was made"
HINT_RESTORED = "To replace it all the same, run `releasegate run` with --revise REASON and --by NAME."
HINT_ALTERED = "Restore the files, or reject the candidate and run the period again."
_HINT_ALTERED_BLOCKED = "Restore the files, or run the period again."
HINTS = {  # what a candidate that an act is not done to in its state needs
    CandidateState.STAGED: "Wait until its gates have run.",
    CandidateState.ASSESSED: "Wait until its gates have run.",
    CandidateState.AWAITING_APPROVAL: "Approve or reject it.",
    CandidateState.APPROVED: "Approving it publishes it; or reject it.",
    CandidateState.PUBLISHING: "Wait until it is published, or run `releasegate doctor`.",
    CandidateState.BLOCKED: "Prepare the period again, or let two administrators override the gates.",
    CandidateState.PUBLISHED: "Withdraw the release, or revise it: `releasegate run` with --revise REASON.",
    CandidateState.EXPIRED: "Run `releasegate rejudge`, and decide on the new candidate.",
    CandidateState.STALE: "Run `releasegate rejudge`, and decide on the new candidate.",
    CandidateState.REJECTED: HINT_BLOCKED,
    CandidateState.FAILED: HINT_BLOCKED,
}


ACTS = (Act.APPROVE, Act.REJECT, Act.OVERRIDE)


def decide(
    con: Connection,
    store_id: str,
    decision: Decision,
    staff: Reviewers,
    credential: Credential | None,
    *,
    approvers_needed: int,
    altered: Sequence[str] = (),
) -> CandidateState | ReleaseGateError:
    """Take one person's decision, and return the candidate's new state.

    `altered` names the staged files that are not those that the gates judged. A refusal is logged in the same
    transaction and returned as the error to raise once it is kept: Blocked where the candidate expired, is
    stale, or is not what the person saw; VerificationFailed for an approval of altered files; UsageError
    otherwise. A rejection does not ask the policy, which may be damaged.
    """
    record = queries.candidate(con, decision.candidate_id)
    said = decision_statement(decision, store_id)
    if decision.decision not in ACTS:
        refused: ReleaseGateError | None = Unproven(
            "a decision is approve, reject or override", where=record.candidate_id, hint="Choose one of them."
        )
    else:
        proven = _proven(con, record, decision, staff, credential, store_id)
        if isinstance(proven, Decision):
            decision = proven
            refused = _ended(con, record, decision) or _refusal(con, record, decision)
            refused = refused or _changed(record, decision, altered)
        else:
            refused = proven
    if refused is not None:
        refuse(con, decision.decision, said, refused)
        return refused
    if decision.decision == Act.OVERRIDE:
        return _override(con, record, decision, staff)
    demanded = 0 if decision.decision == Act.REJECT else approvers_demanded(con, record.candidate_id)
    needed = max(approvers_needed, demanded, staff.approvers_at_least, 1)
    return _accept(con, record, decision, needed, staff)


def allow_publication(
    con: Connection, store_id: str, decision: Decision, staff: Reviewers, credential: Credential | None
) -> ReleaseGateError | None:
    """Keep that a person publishes an approved candidate whose publication was interrupted and undone.

    A refusal is logged and returned, as by `decide`.
    """
    record = queries.candidate(con, decision.candidate_id)
    proven = _proven(con, record, decision, staff, credential, store_id)
    if isinstance(proven, Decision):
        refused = _other(record, proven) or _too_few(con, record, proven, staff)
    else:
        refused = proven
    if refused is not None or not isinstance(proven, Decision):
        error = refused or StoreError("nobody publishes it", where=record.candidate_id)
        refuse(con, decision.decision, decision_statement(decision, store_id), error)
        return error
    audit.append(
        con,
        decision.by,
        f"decision.{decision.decision}",
        record.candidate_id,
        decision.reason,
        decision_document(proven),
    )
    return None


def _proven(
    con: Connection,
    record: CandidateRecord,
    decision: Decision,
    staff: Reviewers,
    credential: Credential | None,
    store_id: str,
) -> Decision | ReleaseGateError:
    """Return a decision with its proof, or the error that tells why it has none."""
    said = decision_statement(decision, store_id)
    proof = authenticate(con, staff, Act(decision.decision), said, credential)
    if isinstance(proof, ReleaseGateError):
        return proof
    since = audit.corrected_since(con, "candidate.staged", record.candidate_id) or record.made_at
    try:
        check_moment(said, utc_now(), since)
    except UsageError as error:
        return error
    return replace(decision, proof=proof)


def _ended(con: Connection, record: CandidateRecord, decision: Decision) -> ReleaseGateError | None:
    """End a candidate that is too old or was judged against a history that has moved on.

    One that gates held back has ended already, and stays as it is.
    """
    corrected = audit.corrected_since(con, "candidate.staged", record.candidate_id) is not None
    if record.state is CandidateState.STALE:
        return stale(con, record)
    blocked = record.state is CandidateState.BLOCKED and decision.decision == Act.OVERRIDE
    if record.state is not CandidateState.AWAITING_APPROVAL and not blocked:
        return None
    if blocked and corrected:
        return Blocked(BEFORE_CORRECTION, where=record.candidate_id, hint=HINT_BLOCKED)
    over = _over(con, record)
    if over is None:
        return None
    to, found = over
    if blocked:
        return Blocked(found.message, where=found.where, hint=HINT_BLOCKED)
    set_state(con, record.candidate_id, to, actor=decision.by, reason=found.message)
    return found


def _over(con: Connection, record: CandidateRecord) -> tuple[CandidateState, Blocked] | None:
    """Return what becomes of a candidate whose time is over, and why, or None if it is not."""
    if record.expires_at is not None and utc_now() >= record.expires_at:
        return CandidateState.EXPIRED, _expired(record, f"{record.expires_at:%Y-%m-%d %H:%M}")
    outdated = queries.history_head(con, record.series) != record.history_head
    if outdated or queries.restored_since(con, record):
        return CandidateState.STALE, stale(con, record)
    return None


def cannot_be_overridden(con: Connection, record: CandidateRecord) -> bool:
    """Tell whether nobody can override a blocked candidate any more, or ever could."""
    name = record.candidate_id
    return (
        audit.corrected_since(con, "candidate.staged", name) is not None
        or _over(con, record) is not None
        or _not_overridable(name, queries.gates(con, name)) is not None
    )


def _expired(record: CandidateRecord, when: str) -> Blocked:
    return Blocked(
        f"expired on {when} UTC",
        where=record.candidate_id,
        hint=f"Run `releasegate rejudge {record.candidate_id}`.",
    )


def stale(con: Connection, record: CandidateRecord) -> Blocked:
    """Return why a candidate is judged no more, and what to run."""
    name, hint = (
        record.candidate_id,
        f"Run `releasegate rejudge {record.candidate_id}`, and decide on the new candidate.",
    )
    since = "the series has a new release, or the period a new candidate, since its gates ran"
    if restored := queries.restored_since(con, record):
        since, hint = f"{restored}, which it revises, {RESTORED_SINCE}", HINT_RESTORED
    elif audit.corrected_since(con, "candidate.staged", name) is not None:
        since = BEFORE_CORRECTION
    return Blocked(f"stale: {since}", where=name, hint=hint)


def _refusal(con: Connection, record: CandidateRecord, decision: Decision) -> ReleaseGateError | None:
    where, act = record.candidate_id, Act(decision.decision)
    if not may(act, record.state):
        only = (
            "only a blocked candidate can be overridden"
            if act is Act.OVERRIDE
            else "only a candidate that awaits approval can be approved"
        )
        return UsageError(f"is {record.state}, and {only}", where=where, hint=HINTS[record.state])
    if act is not Act.REJECT and (withdrawn := _withdrawn_source(con, record)) is not None:
        return withdrawn
    if act is Act.APPROVE and (error := open_question_error(con, where)):
        return error
    if act is Act.OVERRIDE and (error := _not_overridable(where, queries.gates(con, where))):
        return error
    other = _other(record, decision)
    if other is not None:
        return other
    earlier = queries.decisions(con, where)
    decided = [one.by for one in earlier]
    if any(_one_proof(one, decision) for one in earlier):
        decided.append(decision.by)  # another name now, and the same key
    made_by = decision.by if _is_maker(con, decision) else record.made_by
    return refusal(act, Person(decision.by, decision.reason, made_by, decided), where)


def _withdrawn_source(con: Connection, record: CandidateRecord) -> Blocked | None:
    """Refuse to publish cells of a release that was withdrawn since."""
    source = reused_release(record.summary.notes)
    if source is None or queries.release(con, source).state is not ReleaseState.WITHDRAWN:
        return None
    return Blocked(
        f"uses cells of {source}, which was withdrawn",
        where=record.candidate_id,
        hint="Reject it, and run the period again with another release in method.reuse, or with none.",
    )


def _is_maker(con: Connection, decision: Decision) -> bool:
    """Tell whether the one who decides has the maker's key or token, under whatever name."""
    proof = None if decision.proof is None else decision.proof.document()
    return is_by(proof, maker_of(con, decision.candidate_id))


def _one_proof(one: Decision, other: Decision) -> bool:
    if one.proof is None or other.proof is None:
        return False
    return any(
        getattr(one.proof, name) and getattr(one.proof, name) == getattr(other.proof, name)
        for name in ("public_key", "token")
    )


def _other(record: CandidateRecord, decision: Decision) -> Blocked | None:
    seen = (decision.candidate_digest, decision.policy_digest, decision.history_head)
    if seen == (record.candidate_digest, record.policy_digest, record.history_head):
        return None
    return Blocked(
        "the decision is about other files, another policy or another history than the candidate's",
        where=record.candidate_id,
        hint="Look at the candidate again, and decide again.",
    )


def _not_overridable(where: str, results: Sequence[GateResult]) -> UsageError | None:
    wrong = [one for one in results if one.verdict not in (Verdict.PASS, *OVERRIDABLE)]
    if wrong or not results:
        told = ", ".join(f"{one.gate} says {one.verdict}" for one in wrong) or "there is none"
        return UsageError(
            f"a gate that failed to run cannot be overridden: {told}", where=where, hint=HINT_BLOCKED
        )
    return None


def _changed(record: CandidateRecord, decision: Decision, altered: Sequence[str]) -> ReleaseGateError | None:
    if not altered or decision.decision == Act.REJECT:
        return None
    finding = f"changed since its gates ran: {', '.join(altered)}"
    hint = HINT_ALTERED if may(Act.REJECT, record.state) else _HINT_ALTERED_BLOCKED
    return VerificationFailed(finding, where=decision.candidate_id, hint=hint)


def count_valid_decisions(staff: Reviewers, words: Sequence[Decision]) -> int:
    """Return how many of these words are of people who could give them today, by the same key or token."""
    marks = [credential_ids(staff, one.by) for one in words]
    return sum(
        member is not None
        and member.may(Act(one.decision))
        and (one.proof is None or is_by(one.proof.document(), mark))
        for one, mark, member in zip(words, marks, (staff.member(one.by) for one in words), strict=True)
    )


def _too_few(
    con: Connection, record: CandidateRecord, publisher: Decision, staff: Reviewers
) -> ReleaseGateError | None:
    """Count the words for an approved candidate anew, by the people and their least of today.

    Who publishes it agrees to it, if they may and have not done so.
    """
    where = record.candidate_id
    words = queries.decisions(con, where)
    verdicts = queries.verdicts_of(con, [where]).get(where, [])
    if is_overridden(verdicts, [one.decision for one in words]):
        given = count_valid_decisions(staff, [one for one in words if one.decision == Act.OVERRIDE])
        needed = OVERRIDES_NEEDED
    else:
        agreed = [one for one in words if one.decision == Act.APPROVE]
        same = any(one.by == publisher.by or _one_proof(one, publisher) for one in agreed)
        may_agree = holds(Rule.NOT_THE_MAKER, Person(publisher.by, made_by=record.made_by))
        given = count_valid_decisions(staff, agreed) + (
            may_agree and not same and not _is_maker(con, publisher)
        )
        needed = max(approvers_demanded(con, where), staff.approvers_at_least)
    if given >= needed:
        return None
    return UsageError(
        f"{given} of {number_of(needed, 'approval is', 'approvals are')} by people who could give them today",
        where=where,
        hint="Reject it, and run the period again: the new candidate waits for their approval.",
    )


def _accept(
    con: Connection, record: CandidateRecord, decision: Decision, needed: int, staff: Reviewers
) -> CandidateState:
    earlier = queries.decisions(con, record.candidate_id)
    _keep(con, decision, len(earlier), {"approvers_needed": needed})
    if decision.decision == "reject":
        set_state(
            con, record.candidate_id, CandidateState.REJECTED, actor=decision.by, reason=decision.reason
        )
        return CandidateState.REJECTED
    given = count_valid_decisions(staff, earlier) + 1
    if given < needed:
        return CandidateState.AWAITING_APPROVAL
    reason = f"{given} of {number_of(needed, 'approval')}"
    set_state(con, record.candidate_id, CandidateState.APPROVED, actor=decision.by, reason=reason)
    return CandidateState.APPROVED


def _override(
    con: Connection, record: CandidateRecord, decision: Decision, staff: Reviewers
) -> CandidateState:
    """Keep one administrator's word to publish what gates held back; the second one opens the way."""
    earlier = queries.decisions(con, record.candidate_id)
    verdicts = queries.verdicts_of(con, [record.candidate_id]).get(record.candidate_id, [])
    gates = [gate for gate, _ in held_back(verdicts)]
    _keep(con, decision, len(earlier), {"gates": gates})
    given = count_valid_decisions(staff, earlier) + 1
    if given < OVERRIDES_NEEDED:
        return CandidateState.BLOCKED
    reason = f"{given} of {OVERRIDES_NEEDED} overrides of {', '.join(gates)}"
    set_state(con, record.candidate_id, CandidateState.APPROVED, actor=decision.by, reason=reason)
    return CandidateState.APPROVED


def _keep(con: Connection, decision: Decision, position: int, told: Mapping[str, Any]) -> None:
    document = decision_document(decision)
    con.execute(
        "INSERT INTO proven_decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            decision.candidate_id,
            position,
            decision.decision,
            decision.by,
            decision.reason,
            iso(decision.at),
            decision.candidate_digest,
            decision.policy_digest,
            decision.history_head,
            canonical_json(document["proof"]).decode(),
        ],
    )
    action = f"decision.{decision.decision}"
    audit.append(con, decision.by, action, decision.candidate_id, decision.reason, {**document, **told})


def decision_document(decision: Decision) -> dict[str, Any]:
    """Return a decision as plain JSON; one of the first stores has no proof."""
    proof = {} if decision.proof is None else {"proof": decision.proof.document()}
    return {
        "decision": decision.decision,
        "by": decision.by,
        "reason": decision.reason,
        "at": iso(decision.at),
        "candidate_digest": decision.candidate_digest,
        "policy_digest": decision.policy_digest,
        "history_head": decision.history_head,
        **proof,
    }
