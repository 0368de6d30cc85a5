"""How many must agree to a candidate: a looser policy, and the least that the people of a store ask for."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from policy.errors import StoreError, UsageError
from policy.load import parse_policy, policy_document
from policy.loosening import RULES
from release_store.approval.approvals import PreviousRelease, approval_requirement, needed_by
from release_store.approval.reviewers import load_reviewers, people_path
from release_store.audit import keys
from release_store.canonical import digest_of, sha256_hex, tree_digest, utc_now
from release_store.evidence.bundle import write_evidence
from release_store.evidence.examine import examine
from release_store.publishing.public_files import candidate_folder
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from release_store.summary import RequiredApprovals, Summary
from release_store.verification.verify import verify
from tests.faults.small_work import PASSES
from tests.support.at_work import agreed, decide, withdraw, write_people
from tests.support.store.hand_made import publish_one, word

STRICT = {"k": 5}
NOBODY = {"needed": 0, "at_least": 0, "compared_with": None, "looser": [], "rules": RULES}


def document(approvers: int = 0, privacy: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the document of a small policy."""
    text = {
        "series": "clinic",
        "roles": {
            "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}},
            "sensitive": {"disease": {"stability": "stable"}},
        },
        "privacy": privacy or STRICT,
        "approval": {"approvers": approvers},
        **more,
    }
    return policy_document(parse_policy(yaml.safe_dump(text), Path("policy.yaml")))


def staged(
    store: ReleaseStore, policy: dict[str, Any], period: str = "2026", **summary: Any
) -> CandidateRecord:
    """Stage a candidate of that policy, and return what the store keeps of it."""
    candidate_id = store.next_candidate_id("clinic", period)
    folder = candidate_folder(store.root, candidate_id)
    folder.mkdir()
    contents = {"data.csv": b"age_min,age_max\n20,29\n", "datapackage.json": b"{}\n"}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    files = {name: sha256_hex(data) for name, data in contents.items()}
    record = CandidateRecord(
        candidate_id,
        "clinic",
        period,
        CandidateState.STAGED,
        "ann",
        utc_now(),
        digest_of(policy),
        sha256_hex(period.encode()),
        tree_digest(files),
        store.history_head("clinic"),
        None,
        Summary(summary),
    )
    return store.add_candidate(record, policy=policy, n_rows=7, n_columns=3, files=files)


def required(record: CandidateRecord) -> RequiredApprovals:
    """Return how many people must agree to a candidate of this version."""
    found = record.summary.required_approvals
    assert found is not None
    return found


def judged(store: ReleaseStore, record: CandidateRecord, to: CandidateState) -> CandidateRecord:
    """Let the gates pass a candidate."""
    store.record_gates(record.candidate_id, PASSES, to=to, actor="ann")
    return store.candidate(record.candidate_id)


@pytest.fixture(scope="module")
def one_release(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has one release of a strict policy that asks for nobody."""
    folder = tmp_path_factory.mktemp("one_release") / "folder"
    shutil.copytree(fresh_store, folder)
    store = ReleaseStore.open(folder / "store")
    record = judged(store, staged(store, document(), "2025"), CandidateState.APPROVED)
    publish_one(store, record.candidate_id)
    return folder


@pytest.fixture
def series(one_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    shutil.copytree(one_release, tmp_path / "copy", symlinks=True)
    return ReleaseStore.open(tmp_path / "copy" / "store")


def test_who_makes_a_policy_looser_does_not_publish_alone(series: ReleaseStore) -> None:
    record = staged(series, document(privacy={"k": 2}))
    assert required(record).needed == series.approvers_needed(record.candidate_id) == 1
    assert required(record).why == "looser than clinic-2025-r1: k 2 instead of 5; 1 approval required"
    with pytest.raises(StoreError, match="approval by people is required"):
        judged(series, record, CandidateState.APPROVED)
    waiting = judged(series, record, CandidateState.AWAITING_APPROVAL)
    with pytest.raises(UsageError, match="ann made it, and cannot decide on it"):
        agreed(series, word(waiting, by="ann"), 0)
    assert agreed(series, word(waiting), 0) is CandidateState.APPROVED
    release = publish_one(series, waiting.candidate_id)
    assert verify(series) == []
    bundle = write_evidence(series, release.release_id, series.root.parent / "bundle.zip")
    assert examine(bundle).findings == []
    (event,) = (one for one in series.events_about(waiting.candidate_id) if one.action == "candidate.staged")
    assert event.payload["summary"]["approval"] == required(record).document()
    again = staged(series, document(privacy={"k": 2}), "2027")
    assert required(again).needed == 0  # what was agreed to is what the next one is compared with


def test_fewer_approvers_are_agreed_to_by_as_many_as_before(series: ReleaseStore) -> None:
    two = judged(series, staged(series, document(approvers=2)), CandidateState.AWAITING_APPROVAL)
    for name in ("bob", "cleo"):
        agreed(series, word(two, by=name), 2)
    publish_one(series, two.candidate_id)
    record = staged(series, document(approvers=0), "2027")
    told = "looser than clinic-2026-r1: approvers 0 instead of 2; 2 approvals required"
    assert (required(record).needed, required(record).why) == (2, told)
    waiting = judged(series, record, CandidateState.AWAITING_APPROVAL)
    assert agreed(series, word(waiting), 0) is CandidateState.AWAITING_APPROVAL
    assert agreed(series, word(waiting, by="cleo"), 0) is CandidateState.APPROVED
    assert verify(series) == []


def test_a_release_in_any_state_is_what_is_compared_with(series: ReleaseStore) -> None:
    withdraw(series, "clinic-2025-r1", by="bob", reason="wrong")
    assert required(staged(series, document(privacy={"k": 2}))).compared_with == "clinic-2025-r1"


def test_a_table_in_doubt_is_nobodys_to_publish_alone(series: ReleaseStore) -> None:
    doubt = "a column that is not published has 6 values in 12 rows"
    record = staged(series, document(), doubts=[doubt])
    assert required(record).why == f"in doubt: {doubt}; 1 approval required"
    waiting = judged(series, record, CandidateState.AWAITING_APPROVAL)
    assert agreed(series, word(waiting), 0) is CandidateState.APPROVED
    publish_one(series, waiting.candidate_id)
    assert verify(series) == []
    both = staged(series, document(privacy={"k": 2}), "2027", doubts=[doubt])
    said = f"looser than clinic-2026-r1: k 2 instead of 5; in doubt: {doubt}; 1 approval required"
    assert required(both).why == said
    assert required(staged(series, document(), "2028")).needed == 0  # of a table without doubts


def test_the_number_is_the_stores_and_not_the_callers(series: ReleaseStore) -> None:
    said = {"needed": 0, "at_least": 0, "compared_with": None, "looser": [], "rules": 1}
    record = staged(series, document(privacy={"k": 2}), approval=said)
    assert required(record).needed == 1


@pytest.mark.parametrize(
    ("earlier", "now", "needed"),
    [
        (None, document(), 1),
        ({"series": "clinic"}, document(), 1),
        ({"series": "clinic", "roles": [7]}, document(), 1),
        (document(), {"series": "clinic", "approval": {"approvers": 3}}, 3),
        ({"series": "clinic"}, {"series": "clinic"}, 0),
        (document(), document(privacy={"k": 9}), 0),
        (document(approvers=1), document(approvers=2, privacy={"k": 2}), 2),
    ],
)
def test_what_cannot_be_compared_counts_as_looser(
    earlier: dict[str, Any] | None, now: dict[str, Any], needed: int
) -> None:
    found = approval_requirement(now, PreviousRelease("clinic-2025-r1", earlier, 0), 0)
    assert found.needed == needed
    assert len(found.why.splitlines()) <= 1


def test_a_long_list_is_told_in_one_line() -> None:
    privacy = {"k": 2, "e": 1, "p_max": 1.0, "h_min": 0, "l": 2}
    before = document(
        privacy={"k": 9, "e": 4, "p_max": 0.5, "h_min": 0.5, "l": 3}, gates={"err": {"max": 0.1}}
    )
    before["approval"]["expires_days"] = 1.0
    found = approval_requirement(document(privacy=privacy), PreviousRelease("clinic-2025-r1", before, 0), 0)
    assert len(found.looser) == 7
    assert found.why.endswith("and 1 more; 1 approval required")


def test_a_candidate_of_an_earlier_version_has_its_policys_number() -> None:
    assert needed_by(document(approvers=2), Summary()) == 2
    fewer = RequiredApprovals(0, 0, None, (), RULES)
    assert needed_by(document(approvers=2), Summary().with_approvals(fewer)) == 2
    assert fewer.why == ""


@pytest.mark.parametrize(
    "told",
    [3, [], {"needed": 0}, {**NOBODY, "needed": "2"}, {**NOBODY, "needed": True}, {**NOBODY, "rules": None}],
)
def test_how_many_must_agree_is_never_guessed(told: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        needed_by(document(), Summary({"approval": told}))


# The store's own least -----------------------------------------------------------------------------------


def ask_for(root: Path, number: object) -> Path:
    """Write the file of people, which asks for so many."""
    path = write_people(root)
    path.write_text(f"approvers_at_least: {number}\n" + path.read_text())
    return path


def test_no_candidate_of_a_store_needs_fewer_than_its_people_ask(store: ReleaseStore) -> None:
    ask_for(store.root, 2)
    record = staged(store, document())
    assert (required(record).needed, required(record).at_least) == (2, 2)
    assert required(record).why == "people.yaml requires at least 2 approvals; 2 approvals required"
    changed, made = store.events()[-2:]
    assert (changed.action, changed.payload["approvers_at_least"]) == ("people.changed", 2)
    assert made.action == "candidate.staged"
    assert required(staged(store, document(approvers=3))).needed == 3
    waiting = judged(store, record, CandidateState.AWAITING_APPROVAL)
    assert agreed(store, word(waiting), 0) is CandidateState.AWAITING_APPROVAL
    assert agreed(store, word(waiting, by="cleo"), 0) is CandidateState.APPROVED
    release = publish_one(store, waiting.candidate_id)
    assert verify(store) == []
    assert examine(write_evidence(store, release.release_id, store.root.parent / "b.zip")).findings == []


def test_what_people_ask_for_since_holds_for_what_waits_too(store: ReleaseStore) -> None:
    waiting = judged(store, staged(store, document(approvers=1)), CandidateState.AWAITING_APPROVAL)
    ask_for(store.root, 2)
    outcome = decide(store, waiting.candidate_id, "approve", by="bob", reason="seen")
    assert outcome.message == f"{waiting.candidate_id} has 1 of 2 approvals"


def test_without_the_file_the_log_remembers_what_it_asked_for(store: ReleaseStore) -> None:
    ask_for(store.root, 1)
    staged(store, document())
    people_path(store.root).unlink()
    assert required(staged(store, document())).needed == 1
    write_people(store.root)  # asks for nobody, and the log is told
    assert required(staged(store, document())).needed == 0
    assert [one.action for one in store.events()].count("people.changed") == 2
    assert verify(store) == []


@pytest.mark.parametrize("number", [-1, 21, "two", 1.5, "true"])
def test_it_is_a_whole_number(store: ReleaseStore, number: object) -> None:
    path = ask_for(store.root, number)
    with pytest.raises(UsageError) as caught:
        load_reviewers(store.root)
    assert str(caught.value).startswith(f"{path}: approvers_at_least: is a whole number from 0 to 20\n")


# What verify finds ---------------------------------------------------------------------------------------


def kept_as(series: ReleaseStore, monkeypatch: pytest.MonkeyPatch, **said: Any) -> list[str]:
    """Stage a looser candidate by a store that writes another number, and return what verify finds of it."""

    def other(*args: Any) -> RequiredApprovals:
        return replace(approval_requirement(*args), **said)

    monkeypatch.setattr("release_store.db.changes.approval_requirement", other)
    record = staged(series, document(privacy={"k": 2}))
    return [one.what for one in verify(series) if one.where == record.candidate_id]


@pytest.mark.parametrize(
    "said",
    [
        {"needed": 0},
        {"needed": 0, "compared_with": None, "looser": []},
        {"compared_with": "clinic-2024-r1"},
        {"at_least": 1},
        {"needed": "x"},
        {"needed": 5},
    ],
)
def test_a_number_that_does_not_follow_is_found(
    series: ReleaseStore, monkeypatch: pytest.MonkeyPatch, said: dict[str, Any]
) -> None:
    assert len(kept_as(series, monkeypatch, **said)) == 1


def test_by_other_rules_the_least_is_what_is_checked(
    series: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_as(series, monkeypatch, rules=0, needed=7) == []


def test_a_candidate_without_the_number_is_found_once_one_has_it(
    series: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("release_store.db.changes.replace", lambda record, **_: record)
    record = staged(series, document(privacy={"k": 2}))
    assert [(one.where, one.what) for one in verify(series)] == [
        (record.candidate_id, "does not give the required number of approvals")
    ]
