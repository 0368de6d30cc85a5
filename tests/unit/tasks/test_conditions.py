"""The privacy models as conditions on groups: by hand, against exact fractions, and on groups together."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.hierarchy import from_tree
from policy.privacy_models import Models
from release_store.records import Verdict
from tasks.partitioning.constraints import constraints_of
from tasks.privacy.closeness import Closeness
from tasks.privacy.condition import Attribute, Condition
from tasks.privacy.diversity import Distinct, Entropy, Recursive
from tasks.privacy.registry import CONDITIONS, conditions_of
from tasks.privacy.shares import Alpha, Disclosure, Likeness
from tasks.privacy.value_tree import tree_of
from tasks.recoding.levels import category_levels
from tasks.risk.registry import GATES
from tests.support.made_classes import asked, classes_of, policy_with
from tests.support.small import prepared, small_policy

ALL = np.array([5, 3, 3, 1])  # a, b, c, d of a table of 12
EVERY = np.ones(4, dtype=bool)
OF_TWO_NODES = from_tree({"x": ["c", "a"], "y": ["b", "d"]})
TREE = tree_of(category_levels(("a", "b", "c", "d"), OF_TWO_NODES))
WITH_MISSING = tree_of(category_levels(("a", "b", "c", "missing"), OF_TWO_NODES))


@pytest.mark.parametrize(
    ("condition", "counts", "short"),
    [
        (Distinct(3), [2, 1, 0, 0], 1),
        (Distinct(3), [2, 1, 1, 0], 0),
        (Entropy(2), [2, 2, 0, 0], 0),
        (Entropy(2), [4, 0, 0, 0], log(2)),
        # Four records, 2 < c 2 from c over 1 on: one too many where c is 1.
        (Recursive(1.01, 2), [2, 1, 1, 0], 0),
        (Recursive(1, 2), [2, 1, 1, 0], 1),
        # 1/2 and 1/4, 1/4 beside 5/12, 3/12, 3/12, 1/12: a distance of 1/12, of four records 1/3.
        (Closeness(1 / 12, ALL, None), [2, 1, 1, 0], 0),
        (Closeness(0.0, ALL, None), [2, 1, 1, 0], 1 / 3),
        # 1, 2, 3, 4: |1/2 - 5/12| + |3/4 - 8/12| + |1 - 11/12| = 3/12 over three steps.
        (Closeness(0.0, ALL, np.array([1.0, 2, 3, 4])), [2, 1, 1, 0], 1 / 3),
        # {a, c} and {b, d}: 1/12 of the values as before, and 3/4 beside 8/12, so half of 1/12 + 1/12.
        (Closeness(0.0, ALL, None, TREE), [2, 1, 1, 0], 1 / 3),
        (Closeness(1 / 12, ALL, None, TREE), [2, 1, 1, 0], 0),
        # 1/12 and 3/12 too many of a and b, so 4/12; of a node |1/2 - 8/12|, so 2/12: 3/12 of four records.
        (Closeness(0.0, ALL, None, TREE), [2, 2, 0, 0], 1),
        (Alpha(0.5, EVERY), [3, 1, 0, 0], 1),
        (Alpha(0.5, np.array([False, True, True, True])), [3, 1, 0, 0], 0),
        # At most 1.2 times 5/12, 3/12, 3/12, 1/12 of 12: 6, 3.6, 3.6 and 1.2 records.
        (Likeness(0.2, ALL), [6, 3, 3, 0], 0),
        (Likeness(0.2, ALL), [7, 4, 1, 0], 1.4),
        # Between half of them and twice: 2.5 to 10, 1.5 to 6, 1.5 to 6, 1/2 to 2.
        (Disclosure(log(2.0001), ALL), [3, 5, 2, 2], 0),
        (Disclosure(log(2), ALL), [2, 7, 3, 0], 2),
    ],
)
def test_what_a_group_lacks(condition: Condition, counts: list[int], short: float) -> None:
    found = condition.shortfall(np.array(counts), np.array(sum(counts)))
    assert float(found) == pytest.approx(short, abs=1e-3 if isinstance(condition, Disclosure) else 1e-9)
    assert (float(found) > 0) == (short > 0)


def exactly(condition: Condition, counts: list[int], numbers: list[float] | None) -> bool:
    """Tell in exact fractions, as the papers define it, whether a group meets a condition."""
    size, total = sum(counts), int(ALL.sum())
    p = [Fraction(count, size) for count in counts]
    q = [Fraction(int(count), total) for count in ALL]
    falling = sorted(counts, reverse=True)
    match condition:
        case Distinct(least):
            return sum(count > 0 for count in counts) >= least
        case Recursive(c, least):
            return falling[0] < Fraction(c) * sum(falling[least - 1 :])
        case Alpha(most, listed):
            return all(share <= Fraction(most) for share, it in zip(p, listed, strict=True) if it)
        case Closeness(most, _, None):
            return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2 <= Fraction(most)
        case Closeness(most):
            assert numbers is not None
            order = sorted(range(4), key=lambda i: numbers[i])
            apart = [p[i] - q[i] for i in order]
            return sum(abs(sum(apart[: i + 1])) for i in range(3)) / 3 <= Fraction(most)
        case Likeness(most):
            return all(a <= (1 + Fraction(most)) * b for a, b in zip(p, q, strict=True))
    raise AssertionError(condition)


# Eighths are exact as floats; shares of a table of 12, and of a group, are seldom at such a limit.
EIGHTHS = st.integers(1, 7).map(lambda i: i / 8)
EXACT = st.one_of(
    st.builds(Distinct, st.integers(2, 4)),
    st.builds(Recursive, st.sampled_from([0.5, 1.0, 1.5, 2.0]), st.integers(2, 3)),
    st.builds(Alpha, EIGHTHS, st.just(EVERY)),
    st.builds(Closeness, EIGHTHS, st.just(ALL), st.none()),
    st.builds(Closeness, EIGHTHS, st.just(ALL), st.just(np.array([4.0, 1, 3, 2]))),
    st.builds(Likeness, EIGHTHS, st.just(ALL)),
)
GROUPS = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


@given(EXACT, GROUPS)
def test_a_condition_holds_where_it_does_in_exact_fractions(condition: Condition, counts: list[int]) -> None:
    holds = float(condition.shortfall(np.array(counts), np.array(sum(counts)))) <= 0
    assert holds == exactly(condition, counts, [4.0, 1, 3, 2])


@given(st.floats(0.1, 3), GROUPS)
def test_disclosure_is_the_logarithm_of_every_ratio(most: float, counts: list[int]) -> None:
    p, q = np.array(counts) / sum(counts), ALL / ALL.sum()
    with np.errstate(divide="ignore"):
        greatest = float(np.abs(np.log(p / q)).max())
    if abs(greatest - most) > 1e-9:
        found = Disclosure(most, ALL).shortfall(np.array(counts), np.array(sum(counts)))
        assert (float(found) <= 0) == (greatest < most)


CONVEX = st.one_of(
    EXACT,
    st.builds(Entropy, st.floats(1.1, 4)),
    st.builds(Disclosure, st.floats(0.2, 3), st.just(ALL)),
    # c and a of one node, b and d of another; d of no node.
    st.builds(Closeness, EIGHTHS, st.just(ALL), st.none(), st.sampled_from([TREE, WITH_MISSING])),
    # A missing number among them.
    st.builds(Closeness, EIGHTHS, st.just(ALL), st.just(np.array([4.0, np.nan, 3, 2]))),
)


@given(CONVEX, GROUPS, GROUPS)
def test_two_groups_that_meet_a_condition_meet_it_together(
    condition: Condition, one: list[int], other: list[int]
) -> None:
    both = np.array([one, other])
    if (condition.shortfall(both, both.sum(axis=1)) <= 0).all():
        # By rounding the two together may be beyond a limit at which each of them is.
        assert float(condition.shortfall(both.sum(axis=0), both.sum())) <= 1e-9


@given(st.lists(GROUPS, min_size=1, max_size=5), CONVEX)
def test_many_groups_are_asked_as_each_by_itself(groups: list[list[int]], condition: Condition) -> None:
    counts = np.array(groups)
    together = condition.shortfall(counts, counts.sum(axis=1))
    alone = [float(condition.shortfall(each, each.sum())) for each in counts]
    assert together.tolist() == alone


MODELS: dict[str, dict[str, Any]] = {
    "distinct_l": {"min": 2},
    "entropy_l": {"min": 1.6},
    "recursive_cl": {"c": 2, "l": 2},
    "t_closeness": {"max": 0.25},
    "alpha_k": {"alpha": 0.5, "k": 2},
    "beta_likeness": {"max": 0.5},
    "delta_disclosure": {"max": 1.0},
}


@given(st.sampled_from(sorted(MODELS)), st.lists(GROUPS, min_size=1, max_size=4))
def test_a_gate_passes_where_every_class_meets_the_condition(model: str, groups: list[list[int]]) -> None:
    rows = [
        ((frozenset({f"city {number}"}),), ("abcd"[value],))
        for number, counts in enumerate(groups)
        for value, count in enumerate(counts)
        for _ in range(count)
    ]
    policy = policy_with({model: MODELS[model]}, names=["city"])
    classes = classes_of(rows, policy)
    counts = classes.counts["illness"]
    it = Attribute(counts.sum(axis=0), None, np.ones(counts.shape[1], dtype=bool))
    (condition,) = conditions_of(policy.gates.models, lambda _: it)
    k = 2 if model == "alpha_k" else 1  # no other gate asks for a size
    holds = (condition.shortfall(counts, classes.size) <= 0) & (classes.size >= k)
    assert (asked(model, classes, policy).verdict is Verdict.PASS) == bool(holds.all())


def test_delta_disclosure_by_hand() -> None:
    # Hull has aab, York ab; all: a 3, b 2 of 5. York's b: (2/5) / (1/2) = 0.8, the least of all ratios.
    rows = [
        ((frozenset({city}),), (one,)) for city, word in (("Hull", "aab"), ("York", "ab")) for one in word
    ]
    for most, verdict in ((log(1 / 0.8) + 1e-9, Verdict.PASS), (log(1 / 0.8), Verdict.FAIL)):
        policy = policy_with({"delta_disclosure": {"max": most}}, names=["city"])
        result = asked("delta_disclosure", classes_of(rows, policy), policy)
        assert (result.verdict, result.relation) == (verdict, ">")
        assert result.value == pytest.approx(0.8)
        assert result.threshold == pytest.approx(exp(-most))


def test_every_condition_has_its_gate() -> None:
    assert CONDITIONS.keys() == MODELS.keys()
    assert CONDITIONS.keys() <= GATES.keys()
    assert CONDITIONS.keys() <= Models.model_fields.keys()


def test_a_policys_models_are_bound_to_each_sensitive_attribute() -> None:
    policy = small_policy(
        sensitive={
            "illness": {"stability": "stable", "values": ["flu", "hiv", "cough"]},
            "wage": {"stability": "stable", "type": "numeric"},
        },
        gates={
            "models": {
                "alpha_k": {"alpha": 0.5, "k": 3, "values": {"illness": ["hiv"]}},
                "t_closeness": {"max": 0.3},
            }
        },
    )
    rows = [(1, "a", "flu", 3), (2, "a", "hiv", 1), (3, "b", "hiv", None), (4, "b", "cough", 3)]
    table = prepared(policy, rows)
    limits = constraints_of(table, policy)
    assert limits.k == 3
    assert limits.compares
    (closeness, alpha), (of_wages, _) = (column.conditions for column in limits.columns)
    assert isinstance(alpha, Alpha)
    listed = [v for v, it in zip(table.sensitive_values["illness"], alpha.listed, strict=True) if it]
    assert listed == ["hiv"]
    assert isinstance(closeness, Closeness)
    assert closeness.overall.sum() == 4
    assert isinstance(of_wages, Closeness)
    assert of_wages.numbers is not None
    assert sorted(of_wages.numbers.tolist())[:2] == [1, 3]
    fewer = limits.among(np.array([0, 1])).columns[0].conditions[0]
    assert isinstance(fewer, Closeness)
    assert fewer.overall.sum() == 2
