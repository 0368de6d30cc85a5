from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timedelta

import pytest

from policy.errors import Blocked, StoreError, UsageError
from release_store.approval.authentication import system_account
from release_store.canonical import digest_of
from release_store.protocol.demanded_gates import demanded_gates
from release_store.records import CandidateState, GateResult, Verdict
from release_store.store import ReleaseStore
from tests.support.at_work import agreed
from tests.support.store.hand_made import K_FAILS, K_PASSES, approved, awaiting, publish_one, stage, word


def actions(store: ReleaseStore) -> list[str]:
    return [event.action for event in store.events()]


def test_candidate_ids_are_counted_by_period_and_never_given_twice(store: ReleaseStore) -> None:
    given = [store.next_candidate_id("clinic", "2024") for _ in range(3)]
    assert given == ["clinic-2024-c1", "clinic-2024-c2", "clinic-2024-c3"]
    assert store.next_candidate_id("clinic", "2025") == "clinic-2025-c1"
    # The series 'a-b' in period 'c' and the series 'a' in period 'b-c' would share a name.
    assert store.next_candidate_id("a-b", "c") != store.next_candidate_id("a", "b-c")


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "a b", "x" * 65, "a\n"])
def test_a_name_that_is_no_folder_name_is_refused(store: ReleaseStore, name: str) -> None:
    with pytest.raises(UsageError):
        store.next_candidate_id(name, "2024")
    with pytest.raises(UsageError):
        store.next_candidate_id("clinic", name)
    with pytest.raises(UsageError), store.series_lock(name, 1):
        pass


def test_a_candidate_is_kept_as_it_was_given(store: ReleaseStore) -> None:
    record = stage(store, expires_at=datetime(2030, 1, 1, tzinfo=UTC), approvers=2)
    assert store.candidate(record.candidate_id) == record
    assert record.summary.document["approval"]["needed"] == 2
    assert store.candidates("clinic") == store.candidates() == [record]
    assert store.candidates("other") == []
    assert store.policy(record.policy_digest) == {"series": "clinic", "approval": {"approvers": 2}}
    assert sorted(store.files(record.candidate_id)) == ["data.csv", "datapackage.json"]
    assert actions(store)[-1] == "candidate.staged"


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidate_digest": "0" * 64},
        {"policy_digest": "0" * 64},
        {"state": CandidateState.APPROVED},
        {"made_at": datetime(2024, 1, 1)},  # noqa: DTZ001
    ],
)
def test_a_candidate_whose_digests_or_state_are_wrong_is_refused(store: ReleaseStore, wrong: dict) -> None:
    with pytest.raises(StoreError):
        stage(store, **wrong)
    assert store.candidates() == []
    assert actions(store) == ["store.created"]


def test_an_id_is_taken_once(store: ReleaseStore) -> None:
    record = stage(store)
    with pytest.raises(StoreError, match="a candidate with that id exists already"):
        stage(store, candidate_id=record.candidate_id)


def test_the_policy_and_the_input_of_two_candidates_are_kept_once(store: ReleaseStore) -> None:
    first, second = stage(store), stage(store)
    assert (first.policy_digest, first.input_digest) == (second.policy_digest, second.input_digest)
    assert len(store.candidates("clinic")) == 2


def test_validations_are_kept_with_their_results(store: ReleaseStore) -> None:
    for passed in (False, True):
        store.record_validation(
            series="clinic",
            period="2024",
            input_digest="ab",
            n_rows=10,
            n_columns=3,
            passed=passed,
            results=[{"expectation": "unique", "column": "id", "success": passed}],
            actor="ann",
        )
    refused, validated = store.validations("clinic")
    assert (refused.passed, validated.passed) == (False, True)
    assert refused.results == ({"expectation": "unique", "column": "id", "success": False},)
    assert (validated.n_rows, validated.n_columns, validated.actor) == (10, 3, "ann")
    assert actions(store)[1:] == ["input.refused", "input.validated"]


def test_gate_results_are_kept_in_order_with_what_they_measured(store: ReleaseStore) -> None:
    record = stage(store)
    results = [
        GateResult(
            "k", Verdict.PASS, 3.0, 2.0, ">=", "prosecutor", 0.5, "fine", {"class": 4, "sizes": [3, 4]}
        ),
        GateResult("err", Verdict.FAIL, math.inf, 0.1, "<=", "journalist", 0.25),
        GateResult("umr", Verdict.NOT_RUN, None, None, "<=", "journalist", 0.0),
    ]
    store.record_gates(record.candidate_id, results, to=CandidateState.BLOCKED, actor="ann")
    assert store.gates(record.candidate_id) == results
    assert store.candidate(record.candidate_id).state is CandidateState.BLOCKED
    assert actions(store)[-3:] == ["candidate.assessed", "log.sealed", "candidate.blocked"]
    assert store.events()[-1].reason == "gates that did not pass: err, umr"


@pytest.mark.parametrize("to", [CandidateState.APPROVED, CandidateState.AWAITING_APPROVAL])
@pytest.mark.parametrize(
    "verdicts",
    [[], ["fail"], ["pass", "unknown"], ["error"], ["pass", "pass", "not_run"]],
    ids=lambda verdicts: "+".join(verdicts) or "none",
)
def test_only_a_pass_of_every_gate_opens_the_way(
    store: ReleaseStore, to: CandidateState, verdicts: list[str]
) -> None:
    record = stage(store)
    results = [dataclasses.replace(K_PASSES, verdict=Verdict(verdict)) for verdict in verdicts]
    with pytest.raises(StoreError, match="every gate must pass first"):
        store.record_gates(record.candidate_id, results, to=to, actor="ann")
    assert store.candidate(record.candidate_id).state is CandidateState.STAGED
    assert store.gates(record.candidate_id) == []


@pytest.mark.parametrize("to", [CandidateState.APPROVED, CandidateState.AWAITING_APPROVAL])
def test_a_gate_that_was_to_be_asked_and_was_not_does_not_open_the_way(
    store: ReleaseStore, to: CandidateState
) -> None:
    record = stage(store)
    with pytest.raises(StoreError, match="gates that were not run: pairwise, truth"):
        store.record_gates(
            record.candidate_id, [K_PASSES], to=to, actor="ann", asked=["truth", "k", "pairwise"]
        )
    store.record_gates(record.candidate_id, [K_PASSES], to=to, actor="ann", asked=["k"])
    (event,) = [one for one in store.events() if one.action == "candidate.assessed"]
    assert event.payload["asked"] == ["k"]


def test_a_gate_that_a_field_of_the_policy_asks_for_is_to_be_asked() -> None:
    attributes, added = {"wage": {"distinct_l": {"l": 3}}}, {"simpson": {}}
    models = {"km": None, "lkc": {"l": 2}, "attributes": attributes, "added": added}
    limits = {"err": {"max": 0.1}, "umr": None, "k_map": {"k": 5}, "ncp": {"max": 0.5}}
    document = {"gates": {**limits, "transient": "compare", "models": models}}
    assert demanded_gates(document) == ["err", "k_map", "ncp", "distinct_l", "lkc", "simpson"]
    assert demanded_gates({}) == demanded_gates({"gates": None}) == []


def test_a_policy_that_asks_for_people_is_not_passed_over(store: ReleaseStore) -> None:
    record = stage(store, approvers=1)
    with pytest.raises(StoreError, match="approval by people is required"):
        store.record_gates(record.candidate_id, [K_PASSES], to=CandidateState.APPROVED, actor="ann")


def test_gates_are_recorded_once(store: ReleaseStore) -> None:
    candidate_id = approved(store)
    with pytest.raises(StoreError, match="cannot go from approved to assessed"):
        store.record_gates(candidate_id, [K_PASSES], to=CandidateState.APPROVED, actor="ann")
    assert len(store.gates(candidate_id)) == 1


def test_a_move_ends_a_candidate_and_never_lets_it_on(store: ReleaseStore) -> None:
    record = stage(store)
    for to in set(CandidateState) - {"rejected", "expired", "stale", "failed"}:
        with pytest.raises(StoreError):
            store.move(record.candidate_id, to, actor="ann", reason="none")
    store.move(record.candidate_id, CandidateState.FAILED, actor="ann", reason="the run broke off")
    assert store.candidate(record.candidate_id).state is CandidateState.FAILED
    assert (store.events()[-1].action, store.events()[-1].reason) == ("candidate.failed", "the run broke off")
    with pytest.raises(StoreError, match="cannot go from failed"):
        store.move(record.candidate_id, CandidateState.STALE, actor="ann", reason="again")


def test_enough_different_people_approve_a_candidate(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=2)
    assert agreed(store, word(record, "bob"), 2) is CandidateState.AWAITING_APPROVAL
    assert agreed(store, word(record, "cid"), 2) is CandidateState.APPROVED
    assert [one.by for one in store.decisions(record.candidate_id)] == ["bob", "cid"]
    assert actions(store)[-3:] == ["decision.approve", "decision.approve", "candidate.approved"]


def test_the_caller_cannot_ask_for_fewer_people_than_the_policy(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=2)
    assert agreed(store, word(record, "bob"), 1) is CandidateState.AWAITING_APPROVAL


def test_one_rejection_ends_a_candidate(store: ReleaseStore) -> None:
    record = awaiting(store, approvers=2)
    agreed(store, word(record, "bob"), 2)
    assert agreed(store, word(record, "cid", "reject"), 2) is CandidateState.REJECTED
    with pytest.raises(UsageError, match="is rejected"):
        agreed(store, word(record, "dan"), 2)


@pytest.mark.parametrize(
    ("by", "changed", "error", "said"),
    [
        ("ann", {}, UsageError, "made it"),
        (" Ann ", {}, UsageError, "made it"),
        ("\uff41nn", {}, UsageError, "made it"),
        ("bob", {}, UsageError, "decided on it before"),
        ("BOB", {}, UsageError, "decided on it before"),
        ("", {}, UsageError, "has no name"),
        ("cid", {"reason": " \n"}, UsageError, "has no reason"),
        ("cid", {"decision": "maybe"}, UsageError, "approve, reject or override"),
        ("cid", {"candidate_digest": "0" * 64}, Blocked, "other files"),
        ("cid", {"policy_digest": "0" * 64}, Blocked, "another policy"),
        ("cid", {"history_head": "0" * 64}, Blocked, "another history"),
    ],
)
@pytest.mark.by_day(4)
def test_a_decision_that_may_not_be_is_refused_and_logged(
    store: ReleaseStore, by: str, changed: dict, error: type[Exception], said: str
) -> None:
    record = awaiting(store, approvers=2)
    agreed(store, word(record, "bob"), 2)
    with pytest.raises(error, match=said):
        agreed(store, word(record, by, **changed), 2)
    assert store.candidate(record.candidate_id).state is CandidateState.AWAITING_APPROVAL
    assert len(store.decisions(record.candidate_id)) == 1
    refused = store.events()[-1]
    proven = said not in ("has no name", "has no reason", "approve, reject or override")
    assert (refused.action, refused.actor) == ("decision.refused", by if proven else system_account())
    assert refused.payload["by" if proven else "claimed_by"] == by
    assert said in refused.reason


def test_a_candidate_expires(store: ReleaseStore) -> None:
    record = awaiting(store, expires_at=datetime.now(UTC) - timedelta(seconds=1))
    with pytest.raises(Blocked, match="expired"):
        agreed(store, word(record), 1)
    assert store.candidate(record.candidate_id).state is CandidateState.EXPIRED
    assert actions(store)[-2:] == ["candidate.expired", "decision.refused"]
    later = awaiting(store, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert agreed(store, word(later), 1) is CandidateState.APPROVED


def test_a_candidate_is_stale_once_another_release_landed(store: ReleaseStore) -> None:
    waiting = awaiting(store, period="2025")
    elsewhere = awaiting(store, series="other")
    also = approved(store, period="2026")
    release = publish_one(store, approved(store, period="2024"))
    for candidate_id in (waiting.candidate_id, also):
        assert store.candidate(candidate_id).state is CandidateState.STALE
        assert [event.reason for event in store.events_about(candidate_id)][-1] == (
            f"{release.release_id} was published since its gates ran"
        )
    with pytest.raises(Blocked, match="stale"):
        agreed(store, word(waiting), 1)
    with pytest.raises(Blocked, match="stale"):
        publish_one(store, also)
    assert agreed(store, word(elsewhere), 1) is CandidateState.APPROVED


def test_the_history_head_is_the_digest_of_releases_and_their_files(store: ReleaseStore) -> None:
    assert store.history_head("clinic") == digest_of([])
    first = publish_one(store, approved(store, period="2024"))
    head = store.history_head("clinic")
    assert head == digest_of([[first.release_id, digest_of(first.files)]])
    assert store.history_head("other") == digest_of([])
    second = publish_one(store, approved(store, period="2025"))
    assert store.history_head("clinic") == digest_of(
        [[one.release_id, digest_of(one.files)] for one in (first, second)]
    )


def test_a_failing_gate_blocks(store: ReleaseStore) -> None:
    record = stage(store)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    with pytest.raises(UsageError, match="is blocked"):
        agreed(store, word(record), 1)


@pytest.mark.parametrize("read", ["candidate", "release", "policy"])
def test_what_is_not_there_is_told(store: ReleaseStore, read: str) -> None:
    with pytest.raises(UsageError, match="there is no"):
        getattr(store, read)("nothing")
