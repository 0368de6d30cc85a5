"""Who says something: one of the people, with a role for it and a proof; and what the log keeps of that."""

from __future__ import annotations

import os
import pwd
from dataclasses import replace
from datetime import datetime
from typing import Any

import duckdb

from policy.errors import ReleaseGateError, UsageError
from release_store.approval.credentials import Credential, SignedText, Statement, as_said, prove
from release_store.approval.reviewers import AT_LEAST, Reviewers, roster
from release_store.audit import log as audit
from release_store.permission import ROLES, Act, Person, refusal
from release_store.protocol.names import REFUSED
from release_store.records import Decision, Proof

Connection = duckdb.DuckDBPyConnection
CHANGED = "people.changed"
_OBJECT, _ACTOR = "people", "releasegate"


class Unproven(UsageError):
    """A word that was refused before it was known to be the person's whose name it bears."""


def system_account() -> str:
    """Return the login of the account that this process runs under, whatever the environment says."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def log_people(con: Connection, staff: Reviewers, at: datetime | None = None) -> str:
    """Keep in the log who is in force, if that changed since it was last logged; return its digest.

    `at` is the time that the event bears before a correction of the clock, else it is now.
    """
    now = roster(staff.members, staff.approvers_at_least)
    payload = _known_people(con)
    if payload is None or payload.get("digest") != now["digest"]:
        audit.append(con, _ACTOR, CHANGED, _OBJECT, "", now, at=at)
    return str(now["digest"])


def _known_people(con: Connection) -> dict[str, Any] | None:
    found = con.execute(
        "SELECT payload FROM event WHERE action = ? ORDER BY number DESC LIMIT 1", [CHANGED]
    ).fetchone()
    return audit.canonical_payload(found[0]) if found else None


def least_approvers_in_log(con: Connection) -> int:
    """Return how many people the store asks of every candidate, as the log knew last."""
    return int((_known_people(con) or {}).get(AT_LEAST, 0))


def least_approvers(con: Connection, staff: Reviewers | None) -> int:
    """Return how many people the store asks of every candidate; the log knows it by then.

    Where the file of people is gone, what it asked when the log was last told of it still holds.
    """
    known = least_approvers_in_log(con)
    if staff is None or staff.approvers_at_least == known:
        return known
    log_people(con, staff)
    return staff.approvers_at_least


def authenticate(
    con: Connection, staff: Reviewers, act: Act, said: Statement, credential: Credential | None
) -> Proof | ReleaseGateError:
    """Return the proof that a person with a role for `act` said this, or the error that tells why it is none.

    Who is in force is in the log by then. A signed text counts once: a second time it is refused. The error
    is Unproven unless the proof holds and the person has no role.
    """
    people = log_people(con, staff)
    nameless = refusal(act, Person(said.by, said.reason), said.object)
    if nameless is not None:
        return _unproven(nameless, said)
    member = staff.member(said.by)
    if member is None:
        return _unproven(staff.unknown(said.by), said)
    try:
        proof = prove(member, credential, said, people)
    except UsageError as error:
        return _unproven(error, said)
    if not member.may(act):
        roles = " or ".join(sorted(ROLES[act]))
        return UsageError(
            f"{member.name} does not have the role for this ({roles})",
            where=said.object,
            hint="Ask somebody who has it, or ask an administrator for it.",
        )
    if isinstance(credential, SignedText) and _used(con, said.object, proof):
        used = UsageError("this signed text was used before", hint="Sign the current state.")
        return _unproven(used, said)  # whoever can read the log or the manifest has it
    return proof


def _unproven(error: UsageError, said: Statement) -> Unproven:
    return Unproven(error.message, where=said.object, hint=error.hint)


def _used(con: Connection, subject: str, proof: Proof) -> bool:
    events = audit.read_events_about(con, [], [subject], [])
    return any(
        isinstance(kept := event.payload.get("proof"), dict)
        and event.action != REFUSED
        and kept.get("signature") == proof.signature
        for event in events
    )


def credential_ids(staff: Reviewers | None, name: str) -> dict[str, Any] | None:
    """Return what tells the member of that name from others, whatever they are called later."""
    member = None if staff is None else staff.member(name)
    if member is None:
        return None
    (entry,) = roster([member])["members"]
    return {"public_key": entry["public_key"], "token": entry["token"]}


def maker_of(con: Connection, candidate_id: str) -> dict[str, Any] | None:
    """Return what the log kept of who made a candidate's files, None for a service or in an old store."""
    events = audit.read_events_about(con, [], [candidate_id], [])
    staged = next((event for event in events if event.action == "candidate.staged"), None)
    return staged.payload.get("maker") if staged is not None else None


def refuse(
    con: Connection, act: str, said: Statement, error: ReleaseGateError, *, proven: bool = True
) -> None:
    """Keep in the log that somebody's word was refused, and why.

    The actor is the person only where it was proven to be theirs; else it is the account that asked, and the
    name is kept as what was claimed.
    """
    proven = proven and not isinstance(error, Unproven)
    name = {"by": said.by} if proven else {"claimed_by": said.by}
    payload = {**said.bound, "decision": act, **name, "reason": said.reason, "at": said.at}
    audit.append(con, said.by if proven else system_account(), REFUSED, said.object, error.message, payload)


def decision_bound(decision: Decision) -> dict[str, str]:
    """Return what a decision on a candidate is bound to."""
    return {
        "candidate_digest": decision.candidate_digest,
        "policy_digest": decision.policy_digest,
        "history_head": decision.history_head,
    }


def decision_statement(decision: Decision, store_id: str) -> Statement:
    """Return what the person says who takes a decision on a candidate."""
    return Statement(
        decision.decision,
        store_id,
        decision.candidate_id,
        decision_bound(decision),
        decision.by,
        decision.reason,
        decision.at,
    )


def as_signed(decision: Decision, credential: Credential | None) -> Decision:
    """Return a decision bound to what its person saw and when, where a signed text says it."""
    said = as_said(decision_statement(decision, ""), credential)
    bound: dict[str, Any] = dict(said.bound)
    return replace(decision, at=said.at, **bound)
