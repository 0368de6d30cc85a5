"""Who may do what, and when: both tables are walked, in themselves and through the store."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from policy.errors import ReleaseGateError, StoreError, UsageError
from release_store.audit.keys import load_key
from release_store.db.changes import set_state
from release_store.db.connection import transaction
from release_store.db.release_changes import start_publication
from release_store.permission import (
    REQUIRED_RULES,
    Act,
    Person,
    Rule,
    broken_rule,
    check_permission,
    holds,
    refusal,
)
from release_store.publishing import publication
from release_store.publishing.publication import publish
from release_store.records import CandidateState, ReleaseState
from release_store.states import CANDIDATE_TRANSITIONS, WHEN, may
from release_store.store import ReleaseStore
from tests.support.at_work import agreed, restore, withdraw
from tests.support.store.hand_made import approved, awaiting, classes_of_two, publish_one, stage, word

GOOD = Person("bob", "looked at it", made_by="ann", decided=("cid",))
BREAKS = {
    Rule.NAME: Person(" ", "looked at it", made_by="ann", decided=("cid",)),
    Rule.REASON: Person("bob", "\n", made_by="ann", decided=("cid",)),
    Rule.NOT_THE_MAKER: Person("Ann", "looked at it", made_by="ann", decided=("cid",)),
    Rule.HAS_NOT_DECIDED: Person("C-ID", "looked at it", made_by="ann", decided=("cid",)),
}
STATES = (*CandidateState, *ReleaseState)


def test_every_act_has_its_row_in_both_tables() -> None:
    assert set(REQUIRED_RULES) == set(WHEN) == set(Act)
    assert set(BREAKS) == set(Rule)


@pytest.mark.parametrize(("act", "rule"), list(itertools.product(Act, Rule)))
def test_a_rule_binds_an_act_exactly_when_the_table_says_so(act: Act, rule: Rule) -> None:
    assert all(holds(one, GOOD) for one in Rule)
    assert [one for one in Rule if not holds(one, BREAKS[rule])] == [rule]
    check_permission(act, GOOD, "it")
    if rule in REQUIRED_RULES[act]:
        assert broken_rule(act, BREAKS[rule]) is rule
        with pytest.raises(UsageError) as caught:
            check_permission(act, BREAKS[rule], "it")
        assert caught.value.where == "it"
        assert caught.value.hint
    else:
        assert refusal(act, BREAKS[rule], "it") is None


def test_nobody_acts_without_a_name_and_nobody_decides_twice_or_on_their_own() -> None:
    assert all(Rule.NAME in rules for rules in REQUIRED_RULES.values())
    decisions = {Act.APPROVE, Act.REJECT, Act.OVERRIDE}
    assert {act for act, rules in REQUIRED_RULES.items() if Rule.NOT_THE_MAKER in rules} == {
        *decisions,
        Act.ASK,
        Act.RESTORE,
    }
    assert {act for act, rules in REQUIRED_RULES.items() if Rule.HAS_NOT_DECIDED in rules} == decisions
    assert {act for act, rules in REQUIRED_RULES.items() if Rule.REASON not in rules} == {
        Act.PREPARE,
        Act.REJUDGE,
    }


@pytest.mark.parametrize("act", Act)
def test_an_act_may_be_done_in_the_states_of_one_kind_that_the_table_names(act: Act) -> None:
    def told(states: Iterable[CandidateState | ReleaseState]) -> list[str]:
        return sorted(repr(state) for state in states)

    # By their repr: a candidate's and a release's `published` are equal as texts.
    assert told(state for state in STATES if may(act, state)) == told(WHEN[act])
    assert len({type(state) for state in WHEN[act]}) <= 1 or act is Act.PURGE  # of both


# Through the store -----------------------------------------------------------------------------------


def walk(to: CandidateState) -> list[CandidateState]:
    """The shortest way from staged to a state by the table of transitions."""
    ways = {CandidateState.STAGED: [CandidateState.STAGED]}
    while to not in ways:
        ways.update(
            {
                following: [*way, following]
                for state, way in list(ways.items())
                for following in sorted(CANDIDATE_TRANSITIONS[state])
                if following not in ways
            }
        )
    return ways[to][1:]


def candidate_in(store: ReleaseStore, state: CandidateState) -> str:
    """A candidate of ann's in a state, with what the real way there leaves where an act may go on from it."""
    if state is CandidateState.AWAITING_APPROVAL:
        return awaiting(store, approvers=1).candidate_id
    if state is CandidateState.APPROVED:
        return approved(store)
    if state is CandidateState.PUBLISHED:
        candidate_id = approved(store)
        publish_one(store, candidate_id)
        return candidate_id
    candidate_id = stage(store).candidate_id
    for step in walk(state):
        with transaction(store.root) as con:
            set_state(con, candidate_id, step, actor="ann")
    return candidate_id


def decided(store: ReleaseStore, candidate_id: str, decision: str) -> None:
    agreed(store, word(store.candidate(candidate_id), "bob", decision), 1)


def published(store: ReleaseStore, candidate_id: str) -> None:
    record = store.candidate(candidate_id)
    key = load_key(store.root)
    with transaction(store.root) as con:
        start_publication(con, store.root, record.candidate_id, classes_of_two(), "bob", {}, key)


def prepared(store: ReleaseStore, candidate_id: str) -> None:
    record = store.candidate(candidate_id)
    policy = store.policy(record.policy_digest)
    store.add_candidate(
        replace(record, state=CandidateState.STAGED),
        policy=policy,
        n_rows=7,
        n_columns=3,
        files=store.files(candidate_id),
    )


TO_CANDIDATES: dict[Act, Callable[[ReleaseStore, str], None]] = {
    Act.PREPARE: prepared,
    Act.APPROVE: lambda store, name: decided(store, name, "approve"),
    Act.REJECT: lambda store, name: decided(store, name, "reject"),
    Act.PUBLISH: published,
}


@pytest.mark.parametrize(("act", "state"), list(itertools.product(TO_CANDIDATES, CandidateState)))
def test_the_store_lets_an_act_be_done_to_a_candidate_exactly_when_the_table_says_so(
    store: ReleaseStore, act: Act, state: CandidateState
) -> None:
    candidate_id = candidate_in(store, state)
    if may(act, state):
        TO_CANDIDATES[act](store, candidate_id)
        assert store.candidate(candidate_id).state is not state
    else:
        with pytest.raises(ReleaseGateError):
            TO_CANDIDATES[act](store, candidate_id)
        assert store.candidate(candidate_id).state is state


@pytest.mark.parametrize("state", ReleaseState)
@pytest.mark.by_day(1)
def test_a_release_is_withdrawn_and_restored_exactly_when_the_table_says_so(
    store: ReleaseStore, state: ReleaseState
) -> None:
    name = publish_one(store, approved(store)).release_id
    if state is ReleaseState.SUPERSEDED:
        publish_one(store, approved(store, content="other\n"))
    elif state is ReleaseState.WITHDRAWN:
        withdraw(store, name, by="bob", reason="wrong")
    assert store.release(name).state is state
    for act, do, refused in (
        (Act.WITHDRAW, withdraw, f"is {state} already"),
        (Act.RESTORE, restore, f"is {state}; only a withdrawn release"),
    ):
        if not may(act, state):
            with pytest.raises(UsageError, match=refused):
                do(store, name, by="bob", reason="seen")
    done, to = (restore, "published") if may(Act.RESTORE, state) else (withdraw, "withdrawn")
    assert done(store, name, by="bob", reason="seen").state == to


def test_a_candidate_has_the_name_of_its_maker(store: ReleaseStore) -> None:
    with pytest.raises(UsageError, match="the candidate has no name"):
        stage(store, made_by=" ")
    assert store.candidates() == []


def test_the_reason_of_a_publication_by_hand_stands_in_its_events(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    candidate_id = approved(store)
    with store.series_lock("clinic"), monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish(
                store,
                candidate_id,
                classes_of_two(),
                actor="bob",
                manifest_extra={},
                reason="the disk was full",
            )
    publication.recover(store)
    said = [
        (event.action, event.actor, event.reason)
        for event in store.events()
        if event.action in ("publication.started", "release.published")
    ]
    assert said == [
        ("publication.started", "bob", "the disk was full"),
        ("release.published", "bob", "the disk was full"),
    ]
    with pytest.raises(StoreError, match="only an approved candidate"):
        publish_one(store, candidate_id)
