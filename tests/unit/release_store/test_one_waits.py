"""Of one period never two candidates wait: one that passes its gates ends those before it, in the log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from policy.errors import Blocked
from release_store.records import CandidateState, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed
from tests.support.store.hand_made import K_PASSES, approved, awaiting, publish_one, stage, word


def reasons(store: ReleaseStore, action: str) -> list[tuple[str, str]]:
    return [(one.object, one.reason) for one in store.events() if one.action == action]


def test_a_new_candidate_ends_the_one_that_waits_and_says_why(store: ReleaseStore) -> None:
    first = awaiting(store)
    assert [one.candidate_id for one in store.waiting_for("clinic", "2024")] == [first.candidate_id]
    second = awaiting(store, content="other\n", input_digest="f" * 64)
    assert [one.candidate_id for one in store.waiting_for("clinic", "2024")] == [second.candidate_id]
    assert store.candidate(first.candidate_id).state is CandidateState.STALE
    told = "clinic-2024-c2 takes its place, made of another input"
    assert reasons(store, "candidate.stale") == [(first.candidate_id, told)]
    with pytest.raises(Blocked, match="stale"):
        agreed(store, word(first), 1)
    assert verify(store) == []


@pytest.mark.parametrize(
    ("approvers", "said"), [(1, "made since"), (2, "made of another policy")], ids=["same", "policy"]
)
def test_the_log_tells_what_differs(store: ReleaseStore, approvers: int, said: str) -> None:
    awaiting(store)
    awaiting(store, approvers=approvers)
    assert reasons(store, "candidate.stale") == [
        ("clinic-2024-c1", f"clinic-2024-c2 takes its place, {said}")
    ]


def test_one_that_is_too_old_is_expired(store: ReleaseStore) -> None:
    awaiting(store, expires_at=datetime.now(UTC) - timedelta(hours=1))
    awaiting(store)
    assert store.candidate("clinic-2024-c1").state is CandidateState.EXPIRED


def test_an_approved_one_is_ended_too(store: ReleaseStore) -> None:
    first = approved(store)
    second = approved(store, content="other\n")
    with pytest.raises(Blocked, match="stale"):
        publish_one(store, first)
    publish_one(store, second)
    assert verify(store) == []


def test_a_blocked_candidate_takes_nobodys_place(store: ReleaseStore) -> None:
    first = awaiting(store)
    second = stage(store)
    store.record_gates(second.candidate_id, [K_PASSES], to=CandidateState.BLOCKED, actor="ann")
    assert store.candidate(first.candidate_id).state is CandidateState.AWAITING_APPROVAL


def test_other_periods_and_series_are_left_alone(store: ReleaseStore) -> None:
    names = [
        awaiting(store, **where).candidate_id
        for where in ({}, {"period": "2025"}, {"series": "ward"}, {"period": "2024-Q1"})
    ]
    waiting = {one.candidate_id for one in store.candidates() if one.state == "awaiting_approval"}
    assert waiting == set(names)


def test_a_period_of_another_spelling_is_the_same_period(store: ReleaseStore) -> None:
    """As stores hold them that were written before a period had one spelling."""
    publish_one(store, approved(store, period="2024-Q1"))
    assert store.last_release_of("clinic", "2024Q1") == store.release("clinic-2024-Q1-r1")
    awaiting(store, period="2024-Q1", made_by="eve")
    again = approved(store, period="2024Q1", content="other\n", made_by="eve")
    assert store.candidate("clinic-2024-Q1-c2").state is CandidateState.STALE
    publish_one(store, again)
    assert [(one.release_id, one.state) for one in store.releases()] == [
        ("clinic-2024-Q1-r1", ReleaseState.SUPERSEDED),
        ("clinic-2024Q1-r1", ReleaseState.PUBLISHED),
    ]
    assert verify(store) == []
