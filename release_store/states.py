"""Which state may follow which: one table for candidates and one for releases."""

from __future__ import annotations

from policy.errors import StoreError
from release_store.records import CandidateState as C
from release_store.records import ReleaseState as R

CANDIDATE_TRANSITIONS: dict[C, frozenset[C]] = {
    C.STAGED: frozenset({C.ASSESSED, C.STALE, C.FAILED}),
    C.ASSESSED: frozenset({C.BLOCKED, C.AWAITING_APPROVAL, C.APPROVED, C.STALE, C.FAILED}),
    C.AWAITING_APPROVAL: frozenset({C.APPROVED, C.REJECTED, C.EXPIRED, C.STALE, C.FAILED}),
    C.APPROVED: frozenset({C.PUBLISHING, C.REJECTED, C.EXPIRED, C.STALE, C.FAILED}),
    # Back to approved: an interrupted publication of which nothing became public is undone.
    C.PUBLISHING: frozenset({C.PUBLISHED, C.APPROVED, C.FAILED}),
    C.BLOCKED: frozenset(),
    C.PUBLISHED: frozenset(),
    C.REJECTED: frozenset(),
    C.EXPIRED: frozenset(),
    C.STALE: frozenset(),
    C.FAILED: frozenset(),
}

RELEASE_TRANSITIONS: dict[R, frozenset[R]] = {
    R.PUBLISHED: frozenset({R.SUPERSEDED, R.WITHDRAWN}),
    R.SUPERSEDED: frozenset({R.WITHDRAWN}),
    R.WITHDRAWN: frozenset(),
}


def check_transition(frm: C | R, to: C | R) -> None:
    """Raise StoreError unless a candidate or release in state `frm` may go to state `to`."""
    allowed: frozenset[C] | frozenset[R] = (
        CANDIDATE_TRANSITIONS[frm] if isinstance(frm, C) else RELEASE_TRANSITIONS[frm]
    )
    if type(frm) is not type(to) or to not in allowed:
        kind = "candidate" if isinstance(frm, C) else "release"
        raise StoreError(f"a {kind} cannot go from {frm} to {to}")
