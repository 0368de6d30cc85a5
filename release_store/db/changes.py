"""What is written to the store: every change beside its event, inside the caller's transaction."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from policy.errors import ReleaseGateError, StoreError
from release_store.approval.approvals import PreviousRelease, approval_requirement, needed_by
from release_store.audit import log as audit
from release_store.audit.checkpoints import seal
from release_store.canonical import canonical_json, digest_of, iso, plain, tree_digest, utc_now
from release_store.db import queries
from release_store.db.figures import write_figures
from release_store.db.people import WITHOUT_PEOPLE, delete_people, person_hash_statement, write_people
from release_store.db.queries import SALT
from release_store.names import check_file_name, check_period, check_series
from release_store.permission import Act, Person, check_permission
from release_store.protocol.demanded_gates import demanded_gates
from release_store.protocol.names import MANIFEST, REPORT
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    CandidateState,
    GateResult,
    PersonHashes,
    Verdict,
)
from release_store.states import check_transition

Connection = duckdb.DuckDBPyConnection
INPUT_MISSING = "input.missing"
UNREAD = "it is missing, or is not a table as the policy describes it"


def reserve_candidate_id(con: Connection, series: str, period: str) -> str:
    """Return the next free candidate id of a period; nobody else is given the same."""
    check_series(series)
    check_period(period)
    taken = {
        row[0]
        for row in con.execute(
            "SELECT candidate_id FROM candidate_name UNION SELECT candidate_id FROM candidate"
        ).fetchall()
    }
    number = 1
    while (candidate_id := f"{series}-{period}-c{number}") in taken:
        number += 1
    con.execute("INSERT INTO candidate_name VALUES (?, ?, ?)", [candidate_id, series, period])
    return candidate_id


def record_validation(
    con: Connection,
    *,
    series: str,
    period: str,
    input_digest: str,
    n_rows: int,
    n_columns: int,
    passed: bool,
    results: Sequence[Mapping[str, Any]],
    actor: str,
) -> None:
    """Keep how an input met its expectations."""
    check_series(series)
    check_period(period)
    _keep_input(con, input_digest, n_rows, n_columns)
    found = con.execute("SELECT coalesce(max(number), 0) + 1 FROM validation").fetchone()
    number = found[0] if found else 1
    # The log holds a digest of them, which would tell the counts of a table to whoever tries them all.
    salted = [*results, {SALT: secrets.token_hex(16)}]
    results_text = canonical_json(salted).decode()
    con.execute(
        "INSERT INTO validation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            number,
            series,
            period,
            input_digest,
            n_rows,
            n_columns,
            passed,
            results_text,
            actor,
            iso(utc_now()),
        ],
    )
    payload = {
        "validation": number,
        "input": input_digest,
        "rows": n_rows,
        "columns": n_columns,
        "expectations": len(results),
        "results": digest_of(salted),
    }
    action = "input.validated" if passed else "input.refused"
    audit.append(con, actor, action, f"{series}/{period}", "", payload)


def record_unread_input(con: Connection, series: str, period: str, *, actor: str) -> None:
    """Keep that the input of a period could not be read, so that nothing could be expected of it."""
    check_series(series)
    check_period(period)
    audit.append(con, actor, "input.refused", f"{series}/{period}", UNREAD, {})


def record_missing_input(
    con: Connection, series: str, period: str, *, reason: str, n_looks: int, deadline: datetime, actor: str
) -> None:
    """Keep that the input of a period did not come in time."""
    check_series(series)
    check_period(period)
    payload = {"series": series, "period": period, "looks": n_looks, "deadline": deadline}
    audit.append(con, actor, INPUT_MISSING, f"{series}/{period}", reason, payload)


def add_candidate(
    con: Connection,
    record: CandidateRecord,
    *,
    policy: Mapping[str, Any],
    n_rows: int,
    n_columns: int,
    files: Mapping[str, str],
    people: PersonHashes | None = None,
    maker: Mapping[str, Any] | None = None,
    at_least: int = 0,
) -> CandidateRecord:
    """Keep a new candidate with its policy, input and files, and its people's hashes if there are any.

    `maker` is what tells the person who made it from others under any name, None for a service; `at_least`
    how many people the store asks of every candidate. Returns what is kept: how many must agree to it stands
    in its summary, whatever stood there.
    """
    _check_candidate(con, record, policy, files)
    doubts = record.summary.doubts
    approval = approval_requirement(policy, _before(con, record.series), at_least, doubts)
    record = replace(record, summary=record.summary.with_approvals(approval))
    if not _exists(con, "policy", record.policy_digest):
        con.execute(
            "INSERT INTO policy VALUES (?, ?, ?)",
            [record.policy_digest, canonical_json(policy).decode(), iso(utc_now())],
        )
    _keep_input(con, record.input_digest, n_rows, n_columns)
    con.execute(
        "INSERT INTO candidate SELECT ?, coalesce(max(position), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? "
        "FROM candidate",
        [
            record.candidate_id,
            record.series,
            record.period,
            record.state.value,
            record.made_by,
            iso(record.made_at),
            record.policy_digest,
            record.input_digest,
            record.candidate_digest,
            record.history_head,
            iso(record.expires_at) if record.expires_at else None,
            canonical_json(record.summary.document).decode(),
        ],
    )
    con.executemany(
        "INSERT INTO candidate_file VALUES (?, ?, ?)",
        [[record.candidate_id, name, digest] for name, digest in sorted(files.items())],
    )
    payload: dict[str, Any] = {
        "candidate": record.candidate_id,
        "state": record.state,
        "series": record.series,
        "period": record.period,
        "made_at": record.made_at,
        "expires_at": record.expires_at,
        "candidate_digest": record.candidate_digest,
        "policy_digest": record.policy_digest,
        "input_digest": record.input_digest,
        "history_head": record.history_head,
        "files": dict(files),
        "summary": dict(record.summary.document),
    }
    if people is not None:
        write_people(con, record.candidate_id, people)
        payload["people"] = person_hash_statement(con, record.candidate_id)
    if maker is not None:
        payload["maker"] = dict(maker)
    audit.append(con, record.made_by, "candidate.staged", record.candidate_id, "", payload)
    return record


def _before(con: Connection, series: str) -> PreviousRelease | None:
    """Return what a candidate's policy is compared with: the last release of its series."""
    found = con.execute(
        "SELECT release_id, candidate_id FROM release WHERE series = ? ORDER BY number DESC LIMIT 1", [series]
    ).fetchone()
    if found is None:
        return None
    record = queries.candidate(con, found[1])
    try:
        policy = queries.policy(con, record.policy_digest)
    except ReleaseGateError:
        return PreviousRelease(found[0], None, needed_by({}, record.summary))
    kept = policy if digest_of(policy) == record.policy_digest else None
    return PreviousRelease(found[0], kept, needed_by(policy, record.summary))


def record_gates(
    con: Connection,
    candidate_id: str,
    results: Sequence[GateResult],
    *,
    to: CandidateState,
    actor: str,
    key: Ed25519PrivateKey,
    asked: Collection[str] = (),
    figures: Mapping[str, Any] | None = None,
) -> None:
    """Keep the gate results of a staged candidate, and take it through `assessed` to where they lead.

    `asked` names the gates that were to be asked; those that a field of the policy asks for are to be in any
    case. `figures` are kept with them, and their digest stands in the event. `key`, the store's, seals it.
    """
    opens = to in (CandidateState.APPROVED, CandidateState.AWAITING_APPROVAL)
    if not opens and to is not CandidateState.BLOCKED:
        raise StoreError(f"gate results lead to blocked, awaiting_approval or approved, not to {to}")
    if opens and not (results and all(result.verdict is Verdict.PASS for result in results)):
        raise StoreError("every gate must pass first", where=candidate_id)
    record = queries.candidate(con, candidate_id)
    demanded = sorted({*asked, *demanded_gates(queries.policy(con, record.policy_digest))})
    missing = sorted({*demanded} - {result.gate for result in results})
    if opens and missing:
        raise StoreError(f"gates that were not run: {', '.join(missing)}", where=candidate_id)
    if to is CandidateState.APPROVED and approvers_demanded(con, candidate_id) > 0:
        raise StoreError("approval by people is required", where=candidate_id)
    check_transition(record.state, CandidateState.ASSESSED)
    for position, result in enumerate(results):
        _insert_gate(con, candidate_id, position, result)
    payload: dict[str, Any] = {"gates": [gate_json(result) for result in results], "asked": demanded}
    if figures is not None:
        payload["figures"] = write_figures(con, candidate_id, figures)
    seal(con, key, set_state(con, candidate_id, CandidateState.ASSESSED, actor=actor, payload=payload))
    if opens:
        _take_place(con, record, actor)
    if any(result.verdict not in (Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN) for result in results):
        delete_people(con, candidate_id)  # nobody can override a gate that broke
    failed = ", ".join(result.gate for result in results if result.verdict is not Verdict.PASS)
    set_state(
        con, candidate_id, to, actor=actor, reason=f"gates that did not pass: {failed}" if failed else ""
    )


def _take_place(con: Connection, record: CandidateRecord, actor: str) -> None:
    """End the candidates of the same period that wait: of two that wait, both could be approved."""
    now = utc_now()
    for other in queries.waiting_for(con, record.series, record.period):
        what = [
            word
            for word, own, of in (
                ("input", record.input_digest, other.input_digest),
                ("policy", record.policy_digest, other.policy_digest),
                ("history", record.history_head, other.history_head),
            )
            if own != of
        ]
        made = f"made of another {' and another '.join(what)}" if what else "made since"
        too_old = other.expires_at is not None and now >= other.expires_at
        to = CandidateState.EXPIRED if too_old else CandidateState.STALE
        reason = f"{record.candidate_id} takes its place, {made}"
        set_state(con, other.candidate_id, to, actor=actor, reason=reason)


def record_review(
    con: Connection,
    series: str,
    *,
    policy_digest: str | None,
    releases: Sequence[Mapping[str, Any]],
    actor: str,
) -> None:
    """Keep that what was published of a series was judged again."""
    payload = {"policy_digest": policy_digest, "releases": list(releases)}
    audit.append(con, actor, "series.audited", series, "", payload)


def set_state(
    con: Connection,
    candidate_id: str,
    to: CandidateState,
    *,
    actor: str,
    action: str = "",
    object: str = "",  # noqa: A002 -- the event's own word
    reason: str = "",
    payload: Mapping[str, Any] | None = None,
) -> AuditEvent:
    """Take a candidate to state `to`, and return the event that says so. Raises StoreError if it may not."""
    check_transition(queries.candidate(con, candidate_id).state, to)
    con.execute("UPDATE candidate SET state = ? WHERE candidate_id = ?", [to.value, candidate_id])
    if to in WITHOUT_PEOPLE:
        delete_people(con, candidate_id)
    return audit.append(
        con,
        actor,
        action or f"candidate.{to}",
        object or candidate_id,
        reason,
        {**(payload or {}), "candidate": candidate_id, "state": to.value},
    )


def approvers_demanded(con: Connection, candidate_id: str) -> int:
    """Return how many people must agree to a candidate, as it was found when it was staged."""
    record = queries.candidate(con, candidate_id)
    return needed_by(queries.policy(con, record.policy_digest), record.summary)


def gate_json(result: GateResult) -> dict[str, Any]:
    """Return a gate result as plain JSON."""
    document: dict[str, Any] = plain(
        {
            "gate": result.gate,
            "verdict": result.verdict,
            "value": result.value,
            "threshold": result.threshold,
            "relation": result.relation,
            "attacker": result.attacker,
            "seconds": result.seconds,
            "detail": result.detail,
            "witness": result.witness,
        }
    )
    return document


def _insert_gate(con: Connection, candidate_id: str, position: int, result: GateResult) -> None:
    con.execute(
        "INSERT INTO gate_result VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            candidate_id,
            position,
            result.gate,
            result.verdict.value,
            result.value,
            result.threshold,
            result.relation,
            result.attacker,
            result.seconds,
            result.detail,
            canonical_json(result.witness).decode(),
        ],
    )


def _check_candidate(
    con: Connection, record: CandidateRecord, policy: Mapping[str, Any], files: Mapping[str, str]
) -> None:
    check_series(record.series)
    check_period(record.period)
    check_series(record.candidate_id.replace(".", "_"))
    for name in files:
        check_file_name(name)
    where = record.candidate_id
    if record.state is not CandidateState.STAGED:
        raise StoreError(f"a new candidate has the state staged, not {record.state}", where=where)
    check_permission(Act.PREPARE, Person(record.made_by), where)
    if not files or {MANIFEST, REPORT} & files.keys():
        finding = "a candidate has files, and its manifest and report are written at publication"
        raise StoreError(finding, where=where)
    if record.candidate_digest != tree_digest(files):
        raise StoreError("the candidate's digest does not match its files", where=where)
    if record.policy_digest != digest_of(policy):
        raise StoreError("the policy's digest does not match its text", where=where)
    if con.execute("SELECT 1 FROM candidate WHERE candidate_id = ?", [where]).fetchone():
        raise StoreError("a candidate with that id exists already", where=where, hint="Take the next id.")


def _keep_input(con: Connection, digest: str, n_rows: int, n_columns: int) -> None:
    if not _exists(con, "input", digest):
        con.execute("INSERT INTO input VALUES (?, ?, ?, ?)", [digest, n_rows, n_columns, iso(utc_now())])


def _exists(con: Connection, table: str, digest: str) -> bool:
    return con.execute(f"SELECT 1 FROM {table} WHERE digest = ?", [digest]).fetchone() is not None
