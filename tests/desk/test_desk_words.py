"""What a report says: of which gate what, and which verdict follows from what was measured."""

from __future__ import annotations

import pytest

from flows.desk.pictures import used
from flows.desk.told import bound, verdict
from flows.desk.words import GATES as WORDS
from flows.desk.words import not_protected, protected
from tasks.risk.gate import GATES
from tests.desk.sheets import facts, gate, kept

POLICY = kept().policy


def test_every_gate_has_words_and_no_other() -> None:
    assert list(WORDS) == list(GATES)


@pytest.mark.parametrize(
    ("relation", "value", "threshold", "share"),
    [
        ("<=", 0.3, 0.6, 0.5),
        ("<=", 0.9, 0.6, 1.5),
        ("<=", 0.0, 0.0, 0.0),
        ("<=", 3.0, 0.0, 2.0),
        (">=", 8.0, 8.0, 1.0),
        (">=", 16.0, 8.0, 0.5),
        (">=", 0.7, 0.0, 0.0),
        (">=", 0.0, 2.0, 2.0),
        ("<=", None, 0.6, None),
        ("<=", 0.3, None, None),
    ],
)
def test_how_much_of_a_limit_is_used(
    relation: str, value: float | None, threshold: float | None, share: float | None
) -> None:
    assert used(gate("k", value=value, threshold=threshold, relation=relation)) == share


def test_only_what_passed_is_called_protected() -> None:
    gates = [
        gate("k", value=8.0, threshold=8.0, relation=">="),
        gate("umr", "fail", 0.7, threshold=0.6),
        gate("sadr", "unknown", None),
        gate("pairwise"),
    ]
    alone = protected(gates, POLICY, 0)
    assert alone == ["Who knows a person's quasi-identifiers finds at least 8 rows that could be theirs."]
    assert len(protected(gates, POLICY, 2)) == 2  # with earlier releases the comparison says something
    against = not_protected(gates, POLICY, 0)
    assert against[0].startswith("umr does not pass (fail)")
    assert against[1].startswith("sadr does not pass (unknown)")
    assert any("no differential privacy" in line for line in against)
    assert any("Nothing was compared" in line for line in against)
    assert any("not followed" in line for line in not_protected(gates, POLICY, 1))


def test_what_is_kept_or_may_change_is_named() -> None:
    roles = {
        **POLICY["roles"],
        "kept": ["ward"],
        "sensitive": [{"name": "cost", "stability": "transient"}],
        "key": "person",
    }
    said = " ".join(not_protected([], {**POLICY, "roles": roles}, 1))
    assert "ward are published as they are" in said
    assert "cost may change between releases" in said
    assert "not followed" not in said


@pytest.mark.parametrize(
    ("gates", "release", "state", "word", "mood"),
    [
        ([gate("k")], None, "awaiting_approval", "Passes every gate, and waits for two", "open"),
        ([gate("k")], None, "approved", "Passes every gate; approved", "good"),
        ([gate("k")], None, "stale", "Passes every gate; stale", "open"),
        ([gate("k"), gate("umr", "fail")], None, "blocked", "Held back by umr", "bad"),
        ([gate("k", "not_run", None)], None, "blocked", "Held back by k", "bad"),
        ([], None, "failed", "Was not judged", "bad"),
        ([gate("k")], "r", "", "Published", "good"),
        ([gate("k")], "r", "withdrawn", "Withdrawn", "open"),
        ([gate("k")], "r", "superseded", "Superseded", "open"),
        ([gate("k", "fail")], "r", "", "Published, by override", "bad"),
        ([gate("k", "fail")], "r", "withdrawn", "Withdrawn, by override", "bad"),
    ],
)
def test_the_verdict(gates: list[dict], release: str | None, state: str, word: str, mood: str) -> None:
    said = facts(*gates)
    said["summary"] = {**said["summary"], "approval": {"needed": 2}}
    found = verdict(said, release, state)
    assert found[0].startswith(word.replace("two", "2 people"))
    assert found[1] == mood


def test_reasons_name_gate_value_limit_and_who_decided() -> None:
    said = facts(
        gate("umr", "fail", 0.75, threshold=0.6),
        decisions=[{"decision": "override", "by": "Ada", "at": "2026-01-02T03:04:05+00:00", "reason": "law"}],
    )
    reasons = verdict(said, "r", "")[2]
    assert reasons[0] == "0 of 1 gates pass."
    assert "Measured 0.75, may be at most 0.6." in reasons[1]
    assert reasons[2] == "override by Ada: law"


def test_a_limit_in_words() -> None:
    assert bound(gate("k", threshold=8.0, relation=">=")) == "at least 8"
    assert bound(gate("recursive_cl", threshold=0.5, relation=">")) == "over 0.5"
    assert not bound(gate("k", threshold=None))
