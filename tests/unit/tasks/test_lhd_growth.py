"""lHD-Diversity beside earlier releases: the history inside its growth, where a policy asks for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, Release, ReleaseState
from tasks.composition import History, repaired
from tasks.methods.registry import bound_method
from tasks.recoding.generalize import generalized
from tasks.types import IntArray, Partition, PreparedTable, no_progress
from tests.support.small import anonymized, counts_of, groups_of, prepared, small_policy

GENDER_AND_ZIP = {
    "gender": {"type": "categorical"},
    "zip": {"type": "categorical", "hierarchy": {"6063": ["60632", "60635", "60636", "60639"]}},
}
SALARY = {"salary": {"stability": "stable"}}
# Gender, zip code and salary of the seven people of Table 4 (Riyana, 2025), in its order.
SEVEN = [
    ("Male", "60636", "10000"),
    ("Female", "60632", "13000"),
    ("Male", "60635", "14000"),
    ("Male", "60639", "15000"),
    ("Female", "60632", "16000"),
    ("Female", "60632", "17000"),
    ("Female", "60632", "18000"),
]


def lhd_policy(columns: Any, sensitive: Any, **parameters: Any) -> ReleasePolicy:
    method = {"name": "lhd", "history": "repair", "parameters": parameters}
    return small_policy(columns, sensitive, method=method, privacy={"k": 2, "l": 2, "e": 1, "p_max": 1})


def history_of(*releases: EquivalenceClasses) -> History:
    made = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        (Release(f"r{i}", "small", f"p{i}", 1, f"c{i}", ReleaseState.PUBLISHED, made, {}, {}), classes)
        for i, classes in enumerate(releases)
    ]


def second(table: PreparedTable, policy: ReleasePolicy, history: History) -> Partition:
    method = bound_method(policy)
    there = method.represent(table, no_progress)
    groups = anonymized(table, policy)
    return repaired(table, there, groups, method, policy, history, "now", no_progress)


def test_classes_that_hold_beside_table_7_are_those_of_table_11() -> None:
    # Table 7 told salaries by gender alone: any gender 10000 and 13000, men 14000 and 15000, women the rest.
    genders = small_policy({"gender": {"type": "categorical"}}, SALARY)
    rows = [("Male", "10000"), ("Female", "13000"), ("Male", "14000"), ("Male", "15000")]
    rows += [("Female", salary) for salary in ("16000", "17000", "18000")]
    first = generalized(prepared(genders, rows), np.array([0, 0, 1, 1, 2, 2, 2]), genders)
    policy = lhd_policy(GENDER_AND_ZIP, SALARY, history_in_growth=True)
    found = second(prepared(policy, SEVEN), policy, history_of(first))
    # The first man and the second share 10000 and 14000 with two classes, one value each. With all men and
    # the first woman they share two with both; the other women share two and more with theirs.
    assert groups_of(found.labels) == [[0, 1, 2, 3], [4, 5, 6]]
    assert counts_of(found).failing_groups == 0
    # Grown blind, [0, 2] is a class that fails, and the repair merges.
    plain = second(prepared(policy, SEVEN), lhd_policy(GENDER_AND_ZIP, SALARY), history_of(first))
    assert counts_of(plain).failing_groups > 0


def test_a_first_release_grows_as_it_did() -> None:
    table = prepared(lhd_policy(GENDER_AND_ZIP, SALARY), SEVEN)
    policies = [lhd_policy(GENDER_AND_ZIP, SALARY, history_in_growth=asked) for asked in (False, True)]
    found = [second(table, policy, []).labels.tolist() for policy in policies]
    assert found[0] == found[1]


def classes_of(labels: IntArray) -> list[list[int]]:
    return [np.flatnonzero(labels == label).tolist() for label in range(labels.max() + 1)]


AGES = {"age": {"type": "integer", "bounds": [0, 100]}}
ILLNESS = {"illness": {"stability": "stable"}}
VALUES = ["flu", "hiv", "cold", "cough"]
ROW = st.tuples(st.integers(0, 9), st.sampled_from(VALUES))


@settings(max_examples=20)
@given(st.lists(ROW, min_size=4, max_size=9), st.lists(ROW, min_size=4, max_size=9))
def test_what_is_grown_beside_a_release_has_no_single_value_in_common_with_it(
    rows: list[Any], before: list[Any]
) -> None:
    policy = lhd_policy(AGES, ILLNESS, history_in_growth=True)
    earlier = prepared(policy, before)
    labels = anonymized(earlier, policy).labels
    table = prepared(policy, rows)
    if not (labels >= 0).any() or not (anonymized(table, policy).labels >= 0).any():
        return
    found = second(table, policy, history_of(generalized(earlier, labels, policy)))
    for group in classes_of(found.labels):
        assert len({rows[i][1] for i in group}) >= 2
        for other in classes_of(labels):
            ages, theirs = [rows[i][0] for i in group], [before[i][0] for i in other]
            if min(ages) <= max(theirs) and min(theirs) <= max(ages):
                assert len({rows[i][1] for i in group} & {before[i][1] for i in other}) != 1
    assert found.n_groups == 0 or counts_of(found).failing_groups == 0
