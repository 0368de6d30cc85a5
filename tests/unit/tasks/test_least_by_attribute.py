"""Each sensitive attribute has its own l in the comparison with earlier releases: gates, repair, reports."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_persons import AGE, told

from policy.errors import PolicyError
from policy.load import policy_document
from policy.loosening import loosened
from policy.model import ReleasePolicy
from release_store.records import Verdict
from reports.documents import gate_document
from reports.protection import measurement_sentence
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.repair.merge import repair
from tasks.reporting.narrowing import narrowing_figures
from tasks.risk.gates.history import difference_gate, pairwise_gate, whole_history_gate
from tasks.risk.gates.totals import totals_gate
from tasks.validation.feasible import feasible
from tests.support.small import Published, anonymized, prepared, published, small_policy, source_of

BOTH: dict[str, Any] = {
    "illness": {"stability": "stable"},
    "wage": {"stability": "stable", "type": "numeric"},
}


def with_least(least: int, own: dict[str, int], **more: Any) -> ReleasePolicy:
    privacy = {"k": 2, "e": 1, "p_max": 1, "spread": 0, "l": least}
    privacy["attributes"] = {name: {"l": each} for name, each in own.items()}
    return small_policy(AGE, BOTH, **{"roles": {"key": "person"}, "privacy": privacy, **more})


# Four people are in a class of each release. Both classes have flu and hiv, and wages of 100 and 200.
FIRST = "ann 10 flu 100, bob 11 hiv 200, cyd 12 flu 300, dan 13 hiv 200"
SECOND = "ann 10 flu 100, bob 11 hiv 200, eve 12 flu 400, dan 13 hiv 200"
INTERSECTED = ("pairwise", "whole_history", "person")


@pytest.mark.parametrize(
    ("least", "own", "failing"),
    [
        (2, {}, []),
        (3, {}, ["illness", "wage"]),
        (2, {"wage": 3}, ["wage"]),
        (2, {"illness": 3}, ["illness"]),
        (3, {"wage": 2}, ["illness"]),
        (3, {"illness": 2, "wage": 2}, []),
    ],
)
def test_two_releases_leave_two_illnesses_and_two_wages(
    tmp_path: Path, least: int, own: dict[str, int], failing: list[str]
) -> None:
    policy = with_least(least, own)
    first, second = (told(tmp_path, text, policy) for text in (FIRST, SECOND))
    for gate in INTERSECTED:
        found = second.asked(gate, first)
        assert (found.verdict is Verdict.FAIL) == bool(failing), gate
        assert [name for name in ("illness", "wage") if name in (found.witness or {})] == failing, gate


@pytest.mark.parametrize(
    ("own", "pinned"), [({}, 0), ({"wage": 3}, 4), ({"illness": 3}, 4), ({"illness": 2, "wage": 2}, 0)]
)
def test_all_worlds_leave_each_attribute_its_own_values(
    tmp_path: Path, own: dict[str, int], pinned: int
) -> None:
    """Whoever is in the class has either of two illnesses, and either of two wages."""
    policy = with_least(2, own)
    text = "ann 10 flu 100, bob 11 hiv 200, cyd 12 flu 200, dan 13 hiv 100"
    first, second = (told(tmp_path, text, policy) for _ in range(2))
    for release in ((second, first), (first,)):  # with an earlier one, and by itself
        found = release[0].asked("worlds", *release[1:])
        assert (found.verdict is Verdict.FAIL, found.value) == (pinned > 0, pinned)


def test_a_detail_and_a_witness_name_the_attribute_that_is_nearest_to_its_limit(tmp_path: Path) -> None:
    policy = with_least(2, {"wage": 4})
    text = "ann 10 flu 1, bob 11 hiv 2, cyd 12 cough 3, dan 13 hiv 4, eve 14 flu 5"
    first, second = (told(tmp_path, text, policy) for _ in range(2))
    for gate in ("whole_history", "person", "worlds"):
        found = second.asked(gate, first)
        witness = found.witness or {}
        assert found.verdict is Verdict.PASS
        # Three illnesses are one above two; five wages are one above four, and stand after these.
        assert "nearest to its limit is illness: 3 values, l = 2" in found.detail
        assert (witness if gate == "worlds" else witness["coverage"])["fewest"] == {"illness": 3, "wage": 5}
        assert "l = 2 (wage 4)" in found.detail
    assert "nearest" not in told(tmp_path, text, with_least(2, {})).asked("person", first).detail


def test_a_report_says_how_many_values_of_each_are_left(tmp_path: Path) -> None:
    policy = with_least(2, {"wage": 3})
    text = "ann 10 flu 1, bob 11 hiv 2, cyd 12 cough 3"
    first, second = (told(tmp_path, text, policy) for _ in range(2))
    found = gate_document(second.asked("whole_history", first))
    sentence = measurement_sentence(found, policy_document(policy))
    assert "at least 2 values of illness" in sentence
    assert "at least 3 values of wage" in sentence
    curves = narrowing_figures(second.evidence(first), frozenset({"whole_history"}))
    assert {(one["attribute"], one["least"]) for one in curves} == {("illness", 2), ("wage", 3)}


def test_what_nested_classes_and_totals_differ_by_is_held_to_the_own_l(tmp_path: Path) -> None:
    before = [(10, "flu", 1), (11, "hiv", 2), (12, "hiv", 3)]
    rows = [*before, (10, "flu", 1), (11, "hiv", 3)]  # two joined: two illnesses, two wages
    for own, failing in (({}, []), ({"wage": 3}, ["wage"]), ({"illness": 3}, ["illness"])):
        policy = with_least(2, own, roles={}, population="cumulative")
        made = [
            published(policy, prepared(policy, each), [0] * len(each), tmp_path / f"{own}{number}")
            for number, each in enumerate((before, rows))
        ]
        for gate in (difference_gate, totals_gate):
            found = gate(made[1].evidence(made[0]))
            assert [name for name in ("illness", "wage") if name in (found.witness or {})] == failing


def test_a_class_has_the_own_l_of_values_from_the_first_release_on() -> None:
    rows = [(None, 10, "flu", 1), (None, 11, "hiv", 2), (None, 12, "flu", 3)]
    policy = with_least(2, {"wage": 3})
    limits = constraints_of(prepared(policy, rows), policy)
    assert not limits.group_holds(np.arange(2))
    assert limits.group_holds(np.arange(3))
    four = with_least(2, {"wage": 4})
    said = [one.detail for one in feasible(source_of(four, rows), four) if not one.passed]
    assert len(said) == 1
    assert "'wage' has 3 distinct values, fewer than privacy.attributes.wage.l (4)" in said[0]


ROWS = st.lists(
    st.tuples(
        st.integers(0, 12), st.sampled_from(("flu", "hiv", "cough", "cold")), st.sampled_from((1.0, 2.0, 3.0))
    ),
    min_size=4,
    max_size=16,
)


@pytest.mark.integration
@given(st.lists(ROWS, min_size=2, max_size=3), st.integers(2, 4), st.integers(2, 3))
def test_the_repair_makes_what_the_gates_accept(tables: list[list[Any]], of_illness: int, least: int) -> None:
    policy = with_least(least, {"illness": of_illness}, roles={}, method={"name": "mondrian"})
    with tempfile.TemporaryDirectory() as name:
        releases: list[Published] = []
        for number, rows in enumerate(tables):
            table = prepared(policy, rows)
            earlier = [(str(at), each.classes) for at, each in enumerate(releases)]
            largest = bound_method(policy).max_group_size
            found = repair(table, anonymized(table, policy), policy, earlier, max_group_size=largest)
            made = published(policy, table, found, Path(name) / str(number))
            if not made.classes.n_classes:
                break
            for gate in (pairwise_gate, whole_history_gate):
                assert gate(made.evidence(*releases)).value == 0
            releases.append(made)


def test_a_policy_without_an_own_l_keeps_its_document() -> None:
    policy = small_policy(AGE, BOTH, privacy={"attributes": {"wage": {"e": 2}}})
    assert "l" not in policy_document(policy)["privacy"]["attributes"]["wage"]
    own = small_policy(AGE, BOTH, privacy={"attributes": {"wage": {"l": 3}}})
    assert policy_document(own)["privacy"]["attributes"]["wage"]["l"] == 3


def test_a_smaller_l_of_an_attribute_is_looser() -> None:
    two, three, four = (with_least(2, own) for own in ({}, {"wage": 3}, {"wage": 4}))
    assert loosened(four, three) == ["attributes.wage.l 3 instead of 4"]
    assert loosened(three, two) == ["attributes.wage.l 2 instead of 3"]
    assert loosened(two, four) == []


def test_an_l_of_one_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"privacy\.attributes\.wage\.l"):
        with_least(2, {"wage": 1})
