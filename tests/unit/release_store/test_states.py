from __future__ import annotations

import itertools

import pytest

from policy.errors import StoreError
from release_store.records import CandidateState, ReleaseState
from release_store.states import CANDIDATE_TRANSITIONS, RELEASE_TRANSITIONS, check_transition


@pytest.mark.parametrize(
    ("table", "states"),
    [(CANDIDATE_TRANSITIONS, CandidateState), (RELEASE_TRANSITIONS, ReleaseState)],
    ids=["candidates", "releases"],
)
def test_every_pair_of_states_is_allowed_exactly_when_the_table_says_so(table, states) -> None:
    assert set(table) == set(states)
    for frm, to in itertools.product(states, states):
        if to in table[frm]:
            check_transition(frm, to)
        else:
            with pytest.raises(StoreError, match=f"cannot go from {frm} to {to}"):
                check_transition(frm, to)


def test_every_state_is_reached_from_staged_and_every_walk_can_end() -> None:
    reached = {CandidateState.STAGED}
    while new := {to for frm in reached for to in CANDIDATE_TRANSITIONS[frm]} - reached:
        reached |= new
    assert reached == set(CandidateState)
    ends = {state for state, following in CANDIDATE_TRANSITIONS.items() if not following}
    while new := {s for s, following in CANDIDATE_TRANSITIONS.items() if following & ends} - ends:
        ends |= new
    assert ends == set(CandidateState)


def test_only_approval_opens_publication_and_only_publishing_leads_to_published() -> None:
    def before(to: CandidateState) -> set[CandidateState]:
        return {frm for frm, following in CANDIDATE_TRANSITIONS.items() if to in following}

    assert before(CandidateState.PUBLISHING) == {CandidateState.APPROVED}
    assert before(CandidateState.PUBLISHED) == {CandidateState.PUBLISHING}
    assert before(CandidateState.APPROVED) == {
        CandidateState.ASSESSED,
        CandidateState.AWAITING_APPROVAL,
        CandidateState.PUBLISHING,
        CandidateState.BLOCKED,  # by the word of two administrators: tests/unit/release_store/test_proofs.py
    }


def test_a_candidate_does_not_become_a_release_by_its_state() -> None:
    with pytest.raises(StoreError):
        check_transition(CandidateState.APPROVED, ReleaseState.PUBLISHED)
