"""Periods whose candidates became stale because another release of their series came first."""

from __future__ import annotations

import shlex

from policy.errors import ReleaseGateError
from policy.load import policy_from_document
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore

_WAITING = (CandidateState.AWAITING_APPROVAL, CandidateState.APPROVED)


def waiting_candidates(store: ReleaseStore, series: str, but: str) -> tuple[str, ...]:
    """Return the candidates of a series that wait, but for one; the series' lock must be held."""
    found = store.candidates(series)
    return tuple(one.candidate_id for one in found if one.state in _WAITING and one.candidate_id != but)


def now_stale(store: ReleaseStore, candidates: tuple[str, ...]) -> tuple[CandidateRecord, ...]:
    """Return those of the candidates that are stale now."""
    records = (store.candidate(name) for name in candidates)
    return tuple(one for one in records if one.state is CandidateState.STALE)


def command_to_run_again(store: ReleaseStore, stale: CandidateRecord, policy: str = "POLICY") -> str:
    """Return the command that makes another candidate of a stale one's period; `policy` is the policy's file.

    The store keeps neither the path of the policy nor that of the table: TABLE stands for a table that the
    policy does not name.
    """
    words = ["releasegate", "run", policy, "--period", shlex.quote(stale.period)]
    try:
        source = policy_from_document(store.policy(stale.policy_digest)).source
        named = bool(source.path) or source.query is not None
    except ReleaseGateError:  # of another version
        named = False
    revision = stale.summary.revision
    if not named:
        words += ["--input", "TABLE"]
    if revision is not None:
        words += ["--revise", shlex.quote(revision.reason)]
    return " ".join(words)
