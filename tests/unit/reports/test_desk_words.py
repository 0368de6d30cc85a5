"""What a report says: of which gate what, and which verdict follows from what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from policy.loosening import RULES
from policy.rounding import bound_text
from release_store.summary import RequiredApprovals
from reports.compared import n_earlier
from reports.gate_wording import GATES as WORDS
from reports.pictures import pictures_of, used
from reports.protection import measurement_sentence, not_protected, protected
from reports.summary_text import making_of, verdict
from tasks.risk.registry import GATES
from tests.support.pages.sheets import facts, gate, kept

POLICY = kept().policy
TWO = RequiredApprovals(2, 0, "clinic-2025-r1", (), RULES).document()


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


def _history(gate_name: str = "whole_history", **coverage: Any) -> dict[str, Any]:
    told = {"releases": 0, "combinations": {}, "pairs": {}, "not_run": [], **coverage}
    return gate(gate_name, witness={"coverage": told})


def test_a_comparison_protects_what_it_compared() -> None:
    """Nothing compared is no protection, and only the attributes that were are named."""
    looked = _history("pairwise", releases=2, pairs={"disease": 7, "cost": 0})
    assert protected([looked], POLICY) == [
        (
            "No class, combined with one of the 2 earlier releases, leaves people in both fewer than 2 "
            "values of disease."
        )
    ]
    for nothing in (
        _history("pairwise", releases=2, pairs={"disease": 0}),
        _history("whole_history", releases=2),
        _history("person", releases=1, followed=0),
        gate("pairwise"),
    ):
        assert protected([nothing], POLICY) == []
    assert protected([_history("person", releases=1, followed=9)], POLICY) == [
        (
            "Combining each person's class with their classes in the earlier release leaves everyone at "
            "least 2 possible values of disease."
        )
    ]


def test_how_sure_all_releases_leave_an_attacker_is_told() -> None:
    def said(**sure: Any) -> list[str]:
        witness = {"people": 1500, "releases": 3, "sure": {"limit": 0.95, "sweeps": 20, "moved": 9, **sure}}
        lines = not_protected([gate("worlds", value=0.0, witness=witness)], POLICY)
        return [line for line in lines if "somebody with all releases" in line]

    known = "Likely guesses: somebody with all releases can be over 95% sure of a value of 150 people (10%)."
    open_ = (
        "Likely guesses: whether somebody with all releases can be over 95% sure of a value of 30 people "
        "(2%) was not measured: samples that begin at different tables disagree."
    )
    none = {"unmeasured": 0, "unmeasured_share": 0.0}
    assert said(people=150, share=0.1, **none) == [known]
    assert said(people=0, share=0.0, **none) == []
    assert said(people=150, share=0.1, unmeasured=30, unmeasured_share=0.02) == [known, open_]
    # All samples of earlier versions began at the true table: what they say is no measurement.
    assert said(people=30, share=0.02) == [open_]


def test_what_was_not_compared_is_named_once_and_checks_that_were_not_asked_are_not() -> None:
    left_out = {"what": "clinic-2023-r1", "why": "of another period"}
    asked = {"what": "difference", "why": "the population is overlapping"}
    gates = [_history(name, releases=1, not_run=[left_out, asked]) for name in ("pairwise", "whole_history")]
    lines = [line for line in not_protected(gates, POLICY) if line.startswith("Not compared")]
    assert lines == ["Not compared: clinic-2023-r1: of another period."]


def test_a_report_says_whom_somebody_knows_who_places_everybody_at_once() -> None:
    placing = {"classes": 0.4444, "values": {"disease": 0.0, "cost": 0.02}, "effective_k": 4, "rows": 6.7}

    def told(found: dict[str, object] | None) -> list[str]:
        lines = not_protected([], POLICY, {"placing": found})
        return [line for line in lines if "assigns all people to classes jointly" in line]

    (line,) = told(placing)
    assert "can identify the class of 44.5% of people and the cost of 2%." in line
    assert line.endswith("Each person is still hidden among at least 4 rows (6.7 on average).")
    (line,) = told({**placing, "values": {"disease": 0.0}})
    assert "44.5% of people, but the value of nobody." in line
    assert told(None) == []


def test_how_many_releases_were_compared_is_told_or_unknown() -> None:
    assert n_earlier([_history(releases=3)]) == 3
    assert n_earlier([gate("whole_history", "unknown", None)]) is None
    assert n_earlier([]) is None
    of_its_own = {"coverage": {"failing_classes": 1}, "coverage_": {"releases": 2}}
    assert n_earlier([gate("whole_history", "fail", 1.0, witness=of_its_own)]) == 2
    lines = not_protected([gate("whole_history", "unknown", None)], POLICY)
    assert "It could not be compared with earlier releases of its series." in lines
    assert not any("Nothing was compared" in line for line in lines)


def test_an_attack_is_told_with_its_own_attacker() -> None:
    half = gate("sadr", value=0.4, threshold=0.8, attacker="knows half of the quasi-identifiers")
    assert measurement_sentence(half, POLICY) == (
        "An attacker who knows half of the quasi-identifiers is at most 40% sure of a sensitive value "
        "of the people drawn."
    )
    listed = {**POLICY, "gates": {"models": {"lkc": {"values": {"disease": ["flu"]}}}}}
    lkc = gate("lkc", value=0.5, threshold=0.6, attacker="knows at most 2 of them")
    assert "at most 50% sure of a sensitive value that the policy lists" in measurement_sentence(lkc, listed)
    assert "that the policy lists" not in measurement_sentence(lkc, POLICY)


def test_limits_of_single_attributes_are_told_of_each() -> None:
    e = gate(
        "e", value=3.0, threshold=3.0, relation=">=", witness={"measured": {"disease": 3.0, "cost": 900.0}}
    )
    assert measurement_sentence(e, POLICY) == (
        "disease: every class has at least 3 different sensitive values, or a range that wide; "
        "cost: every class has at least 900 different sensitive values, or a range that wide."
    )
    p_max = gate("p_max", value=0.5, threshold=0.5, witness={"measured": {"disease": 0.5, "cost": 0.75}})
    assert any("one sensitive value has 75% of the rows" in line for line in not_protected([p_max], POLICY))
    alike = gate("p_max", value=0.5, threshold=0.5)
    assert any("one sensitive value has 50% of the rows" in line for line in not_protected([alike], POLICY))


def test_only_what_passed_is_called_protected() -> None:
    gates = [
        gate("k", value=8.0, threshold=8.0, relation=">="),
        gate("umr", "fail", 0.7, threshold=0.6),
        gate("sadr", "unknown", None),
        gate("pairwise"),
    ]
    found = protected(gates, POLICY)
    assert found == [
        "Somebody who knows a person's quasi-identifiers finds at least 8 rows that could be theirs."
    ]
    against = not_protected([*gates, _history()], POLICY)
    assert any("not differential privacy" in line for line in against)
    assert any("Nothing was compared" in line for line in against)
    assert any("not followed" in line for line in not_protected([_history(releases=1)], POLICY))


def test_what_holds_of_every_table_is_no_protection() -> None:
    nothing = [
        gate("umr", value=1.0, threshold=1.0),
        gate("p_max", value=1.0, threshold=1.0),
        gate("k", value=1.0, threshold=1.0, relation=">="),
        gate("distinct_l", value=1.0, threshold=1.0, relation=">="),
    ]
    assert protected(nothing, POLICY) == []
    telling = [{**one, "value": 0.9 if one["relation"] == "<=" else 2.0} for one in nothing]
    assert len(protected(telling, POLICY)) == 4


def test_what_waits_says_how_many_agreed_and_until_when() -> None:
    said = facts(
        gate("k"), decisions=[{"decision": "approve", "by": "Ada", "at": "2026-01-02", "reason": "seen"}]
    )
    said["summary"] = {**said["summary"], "approval": TWO}
    said["expires_at"] = "2026-02-03T04:05:06+00:00"
    assert (
        "1 of 2 approvals given; it expires at 2026-02-03 04:05 UTC."
        in verdict(said, None, "awaiting_approval")[2]
    )
    assert not any("given" in line for line in verdict(said, None, "expired")[2])
    del said["summary"]["approval"]  # of an earlier releasegate
    assert "1 approval given; it expires at" in " ".join(verdict(said, None, "awaiting_approval")[2])


def test_how_far_people_can_be_narrowed_is_told_to_20_values_and_more() -> None:
    curve = {
        "attribute": "a",
        "basis": "alone",
        "least": 2,
        "counts": [[n, 0] for n in range(1, 20)] + [[20, 5]],
    }
    (picture,) = pictures_of([], {"narrowing": [curve]}).risk
    assert picture.words == "From this release alone, everyone keeps 20 or more possible values."
    assert [(row["values"], row["people"]) for row in picture.rows] == [
        ("1", 0),
        ("2", 0),
        ("3", 0),
        ("4 to 5", 0),
        ("6 and more", 5),
    ]
    some = {**curve, "counts": [[1, 3], [2, 4]]}
    (picture,) = pictures_of([], {"narrowing": [some]}).risk
    assert picture.words.endswith("everyone keeps 1 or more possible values; 3 people keep fewer than 2.")
    assert [row["people"] for row in picture.rows] == [3, 4, 0, 0, 0]
    assert [row["share"] for row in picture.rows[:2]] == [3 / 7, 4 / 7]
    # The parts of a bar meet at the attribute's own l, which stands apart from fewer values.
    (picture,) = pictures_of([], {"narrowing": [{**curve, "least": 5}]}).risk
    assert [row["values"] for row in picture.rows] == ["1 to 4", "5", "6", "7 to 11", "12 and more"]
    (picture,) = pictures_of([], {"narrowing": [{**curve, "least": 20}]}).risk
    assert [(row["values"], row["people"]) for row in picture.rows] == [("1 to 19", 0), ("20 and more", 5)]


def test_what_all_releases_together_leave_is_drawn_from_the_gate() -> None:
    witness = {"people": 10, "releases": 3, "by_sets": {"1": 0, "2": 4, "more": 6}}
    gate = {"gate": "worlds", "verdict": "fail", "value": 3, "relation": "<=", "threshold": 0}
    known = {"pinned": 2, "undecided": 1, "by_worlds": {"1": 3, "2": 2, "more": 5}}
    told = gate | {"witness": witness | known}
    (picture,) = pictures_of([told], None).risk
    assert "narrows 2 of 10 people in 3 releases to fewer than l values." in picture.words
    assert "The search ended undecided for 1 more." in picture.words
    assert [(row["basis"], row["values"], row["people"]) for row in picture.rows] == [
        ("class by class", "1", 0),
        ("class by class", "2", 4),
        ("class by class", "3 and more", 6),
        ("all classes at once", "1", 3),
        ("all classes at once", "2", 2),
        ("all classes at once", "3 and more", 5),
    ]
    # A first release asks nothing, and what is not counted is not drawn.
    assert pictures_of([gate | {"witness": {}}], None).risk == ()
    assert pictures_of([gate | {"witness": witness}], None).risk == ()


def test_what_is_kept_or_may_change_is_named() -> None:
    roles = {
        **POLICY["roles"],
        "kept": ["ward"],
        "sensitive": [{"name": "cost", "stability": "transient"}],
        "key": "person",
    }
    said = " ".join(not_protected([_history(releases=1)], {**POLICY, "roles": roles}))
    assert (
        "Published as it is: ward. The gates `leak` and `unique` look for names and personal numbers there"
    ) in said
    assert "cost may change between releases: classes are compared as if it did not. Published" in said
    assert "not followed" not in said
    solved = {"gate": "worlds", "verdict": "pass", "value": 0.0, "witness": {}}
    said = " ".join(not_protected([_history(releases=1), solved], {**POLICY, "roles": roles}))
    assert "or their numbers follow one rule, and in each of the others by itself." in said
    ignored = {**POLICY, "roles": roles, "gates": {"transient": "ignore"}}
    said = " ".join(not_protected([_history(releases=1), solved], ignored))
    assert "cost may change between releases: it is not compared." in said


@pytest.mark.parametrize(
    ("gates", "release", "state", "word", "mood"),
    [
        ([gate("k")], None, "awaiting_approval", "Passes every gate and awaits approval by two", "open"),
        ([gate("k")], None, "approved", "Passes every gate; approved", "good"),
        ([gate("k")], None, "stale", "Stale: another release appeared after its gates ran", "open"),
        ([gate("k")], None, "expired", "Expired before approval; it passed", "open"),
        ([gate("k")], None, "rejected", "Rejected; it passed every gate", "bad"),
        ([gate("k"), gate("umr", "fail")], None, "blocked", "Blocked by umr", "bad"),
        ([gate("k", "not_run", None)], None, "blocked", "Blocked by k", "bad"),
        ([], None, "failed", "Not assessed", "bad"),
        ([gate("k")], "r", "", "Published", "good"),
        ([gate("k")], "r", "withdrawn", "Withdrawn", "bad"),
        ([gate("k")], "r", "superseded", "Superseded", "open"),
        ([gate("k", "fail")], "r", "", "Published, by override", "bad"),
        ([gate("k", "fail")], "r", "withdrawn", "Withdrawn, by override", "bad"),
    ],
)
def test_the_verdict(gates: list[dict], release: str | None, state: str, word: str, mood: str) -> None:
    said = facts(*gates)
    said["summary"] = {**said["summary"], "approval": TWO}
    found = verdict(said, release, state)
    assert found[0].startswith(word.replace("two", "2 people"))
    assert found[1] == mood


def test_that_more_people_must_agree_is_said_while_that_can_change_anything() -> None:
    said = facts(gate("k"))
    said["summary"] = {**said["summary"], "approval": {**TWO, "looser": ["k 2 instead of 5"]}}
    told = {
        state: " ".join(verdict(said, None, state)[2]) for state in ("awaiting_approval", "rejected", "stale")
    }
    assert [state for state, words in told.items() if "More approvals are needed" in words] == [
        "awaiting_approval"
    ]


@pytest.mark.parametrize("value", [0.1234, 3.0, 12.5, 0.0, 17_574.0])
@pytest.mark.parametrize("name", list(WORDS))
def test_every_gate_can_say_every_value(name: str, value: float) -> None:
    relation = ">=" if name in ("k", "e", "distinct_l", "entropy_l", "h_min", "km") else "<="
    coverage = {
        "releases": 1,
        "combinations": {"disease": 1},
        "pairs": {"disease": 1},
        "differences": {"disease": 1},
        "followed": 1,
        "not_run": [],
    }
    witness = {"coverage": coverage, "people": 9, "releases": 2}
    told = measurement_sentence(
        gate(name, value=value, threshold=20_000.0, relation=relation, witness=witness), POLICY
    )
    assert bool(told) == bool(WORDS[name][1])
    assert "{" not in told


@pytest.mark.parametrize(
    ("name", "value", "relation", "said"),
    [
        ("p_max", 0.60049, "<=", "at most 60.1% of the rows have the same"),
        ("p_max", 0.6, "<=", "at most 60% of the rows have the same"),
        ("k", 17_574.0, ">=", "at least 17,574 rows"),
        ("entropy_l", 2.99999, ">=", "as mixed as 2.999 equally frequent"),
        ("t_closeness", 0.123_41, "<=", "within 0.1235 of that in"),
        ("e", 12.5, ">=", "at least 12.5 different"),
        ("sadr_excess", -0.0123, "<=", "right no more often than about people outside"),
        ("pr_dr_excess", 0.0, "<=", "That chance is no higher"),
        ("inversion", 0.0333, "<=", "reveals the exact quasi-identifiers of 3.4% more people"),
        (
            "inversion",
            -0.004,
            "<=",
            "Knowledge of the method and the policy reveals no more exact quasi-identifiers than guessing.",
        ),
    ],
)
def test_what_is_said_to_hold_is_not_rounded_to_the_better_side(
    name: str, value: float, relation: str, said: str
) -> None:
    assert said in measurement_sentence(gate(name, value=value, threshold=1.0, relation=relation), POLICY)


def test_reasons_name_gate_value_limit_and_who_decided() -> None:
    said = facts(
        gate("umr", "fail", 0.75, threshold=0.6),
        decisions=[{"decision": "override", "by": "Ada", "at": "2026-01-02T03:04:05+00:00", "reason": "law"}],
    )
    reasons = verdict(said, "r", "")[2]
    assert reasons[0] == "0 of 1 gates pass."
    assert reasons[1] == "umr failed: measured 75%, must be at most 60%."
    assert reasons[2] == "Overridden by Ada: law"


@pytest.mark.parametrize(
    ("name", "verdict_", "value", "said"),
    [
        ("worlds", "fail", 667, "failed: 667 people keep too few possible values (allowed: 0)."),
        ("worlds", "fail", 1, "failed: 1 person keeps too few possible values (allowed: 0)."),
        (
            "person",
            "fail",
            667,
            "failed: 667 classes narrow somebody to too few sensitive values (allowed: 0).",
        ),
        ("person", "unknown", 0, "is unknown."),
        ("leak", "error", None, "had an error."),
        ("umr", "not_run", None, "was not run."),
    ],
)
def test_a_reason_says_what_was_counted(name: str, verdict_: str, value: float | None, said: str) -> None:
    reasons = verdict(facts(gate(name, verdict_, value, threshold=0)), "r", "")[2]
    assert reasons[1] == f"{name} {said}"


def test_a_limit_in_words() -> None:
    assert bound_text(">=", 8.0) == "at least 8"
    assert bound_text(">", 0.5) == "over 0.5"
    assert not bound_text(">=", None)


def test_levels_and_reused_cells_are_among_what_made_a_release() -> None:
    made = facts()
    assert {"levels", "reuses"}.isdisjoint(dict(making_of(made)))
    notes = {"levels": {"age": 2, "city": 1}, "reused_release": "clinic-2025-r1", "reusable_cells": 40}
    notes |= {"reused_classes": 31, "reused_cell_records": 1}
    told = dict(making_of({**made, "summary": {**made["summary"], "notes": notes}}))
    assert told["levels"] == "age: 2, city: 1"
    assert told["reuses"] == "31 of 40 cells of clinic-2025-r1, for 1 row"
