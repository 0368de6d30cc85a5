"""Which state may follow which, and when each act may be done: tables for candidates and releases."""

from __future__ import annotations

from policy.errors import StoreError
from release_store.permission import Act
from release_store.records import CandidateState as C
from release_store.records import ReleaseState as R

CANDIDATE_TRANSITIONS: dict[C, frozenset[C]] = {
    C.STAGED: frozenset({C.ASSESSED, C.STALE, C.FAILED}),
    C.ASSESSED: frozenset({C.BLOCKED, C.AWAITING_APPROVAL, C.APPROVED, C.STALE, C.FAILED}),
    C.AWAITING_APPROVAL: frozenset({C.APPROVED, C.REJECTED, C.EXPIRED, C.STALE, C.FAILED}),
    C.APPROVED: frozenset({C.PUBLISHING, C.REJECTED, C.EXPIRED, C.STALE, C.FAILED}),
    # Back to approved: an interrupted publication of which nothing became public is undone.
    C.PUBLISHING: frozenset({C.PUBLISHED, C.APPROVED, C.FAILED}),
    C.BLOCKED: frozenset({C.APPROVED}),  # by override only
    C.PUBLISHED: frozenset(),
    C.REJECTED: frozenset(),
    C.EXPIRED: frozenset(),
    C.STALE: frozenset(),
    C.FAILED: frozenset(),
}

RELEASE_TRANSITIONS: dict[R, frozenset[R]] = {
    R.PUBLISHED: frozenset({R.SUPERSEDED, R.WITHDRAWN}),
    R.SUPERSEDED: frozenset({R.WITHDRAWN}),
    R.WITHDRAWN: frozenset({R.PUBLISHED}),  # restored: the last of its period, with the same files
}

# When a person may do what; who that person must be stands in `permission.REQUIRED_RULES`.
WHEN: dict[Act, frozenset[C] | frozenset[R] | frozenset[C | R]] = {
    Act.PREPARE: frozenset[C](),  # makes a new one: none that is there is prepared again
    Act.APPROVE: frozenset({C.AWAITING_APPROVAL}),
    Act.REJECT: frozenset({C.AWAITING_APPROVAL, C.APPROVED}),
    Act.PUBLISH: frozenset({C.APPROVED}),
    Act.REJUDGE: frozenset({C.STALE, C.EXPIRED}),
    Act.REVISE: frozenset({R.PUBLISHED, R.WITHDRAWN}),
    Act.WITHDRAW: frozenset({R.PUBLISHED, R.SUPERSEDED}),
    Act.RESTORE: frozenset({R.WITHDRAWN}),
    Act.OVERRIDE: frozenset({C.BLOCKED}),
    Act.CLOCK: frozenset[C](),  # done to the log, by its time
    Act.ASK: frozenset({C.AWAITING_APPROVAL}),
    Act.ANSWER: frozenset({C.AWAITING_APPROVAL}),
    # One that is blocked only once nobody can override it any more.
    Act.PURGE: frozenset[C | R]({C.BLOCKED, C.REJECTED, C.EXPIRED, C.STALE, C.FAILED, R.WITHDRAWN}),
}


def may(act: Act, state: C | R) -> bool:
    """Tell whether `act` may be done to a candidate or release in `state`, whoever does it."""
    # Not `in`: a candidate's and a release's `published` are the same text.
    return any(state is one for one in WHEN[act])


def follows(states: type[C | R], before: object, after: object) -> bool:
    """Tell whether the log may take a candidate or release from the state `before` to `after`.

    They are as the log has them; `before` is None at its first event.
    """
    try:
        if before is None:
            return after == (C.STAGED if states is C else R.PUBLISHED)
        check_transition(states(str(before)), states(str(after)))
    except (ValueError, StoreError):
        return False
    return True


def check_transition(frm: C | R, to: C | R) -> None:
    """Raise StoreError unless a candidate or release in state `frm` may go to state `to`."""
    allowed: frozenset[C] | frozenset[R] = (
        CANDIDATE_TRANSITIONS[frm] if isinstance(frm, C) else RELEASE_TRANSITIONS[frm]
    )
    if type(frm) is not type(to) or to not in allowed:
        kind = "candidate" if isinstance(frm, C) else "release"
        raise StoreError(f"a {kind} cannot go from {frm} to {to}")
