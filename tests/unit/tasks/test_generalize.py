"""Groups become classes, classes become rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from tasks.recoding.cells import read_set
from tasks.recoding.generalize import generalized, generalized_rows
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, small_policy

POLICY = small_policy()
ROWS = [
    (20, "Hull", "flu"),
    (40, "York", "hiv"),
    (30, "Hull", None),
    (60, "Bath", "flu"),
    (50, "Bath", "flu"),
    (None, "York", "hiv"),
]
LABELS = np.array([0, 0, 0, 1, 1, 1])


def test_numbers_become_intervals_and_categories_sets() -> None:
    classes = generalized(prepared(POLICY, ROWS), LABELS, POLICY)
    assert classes.size.tolist() == [3, 3]
    assert classes.intervals["age"].tolist() == [[20, 40], [50, 60]]
    assert classes.sets["city"].values == ("Bath", "Hull", "York")
    assert classes.sets["city"].member.tolist() == [[False, True, True], [True, False, True]]
    assert not classes.sets["city"].whole.any()
    assert classes.sensitive_values["illness"] == ("flu", "hiv", "missing")
    assert classes.counts["illness"].tolist() == [[1, 1, 1], [2, 1, 0]]


def test_one_row_a_record_in_an_order_of_its_own() -> None:
    frame = generalized_rows(prepared(POLICY, ROWS), LABELS, POLICY).frame
    assert list(frame.columns) == ["age_min", "age_max", "city", "illness"]
    assert [tuple(row) for row in frame.to_numpy()] == [
        (20, 40, "Hull|York", "flu"),
        (20, 40, "Hull|York", "hiv"),
        (20, 40, "Hull|York", "missing"),
        (50, 60, "Bath|York", "flu"),
        (50, 60, "Bath|York", "flu"),
        (50, 60, "Bath|York", "hiv"),
    ]


def test_all_values_of_the_table_are_a_star_and_a_domain_of_one_value_is_not() -> None:
    everybody = np.zeros(6, dtype=np.int64)
    classes = generalized(prepared(POLICY, ROWS), everybody, POLICY)
    assert classes.sets["city"].whole.tolist() == [True]
    alike = prepared(POLICY, [(1, "*", "flu"), (2, "*", "hiv")])
    frame = generalized_rows(alike, np.zeros(2, dtype=np.int64), POLICY).frame
    assert frame["city"].tolist() == [r"\*", r"\*"]


def test_suppressed_records_are_left_out_and_widen_nothing() -> None:
    table = prepared(POLICY, ROWS)
    labels = np.array([0, -1, 0, 1, 1, -1])
    frame = generalized_rows(table, labels, POLICY).frame
    assert len(frame) == 4
    assert generalized(table, labels, POLICY).intervals["age"].tolist() == [[20, 30], [50, 60]]
    assert frame["city"].tolist() == ["Hull", "Hull", "Bath", "Bath"]


def test_a_group_without_a_known_number_has_the_policys_bounds() -> None:
    table = prepared(POLICY, [(None, "a", "x"), (None, "a", "x"), (5, "a", "x"), (6, "a", "x")])
    classes = generalized(table, np.array([0, 0, 1, 1]), POLICY)
    assert classes.intervals["age"].tolist() == [[0, 120], [5, 6]]


def test_everybody_suppressed_is_an_empty_table_with_its_columns() -> None:
    frame = generalized_rows(prepared(POLICY, ROWS), np.full(6, -1), POLICY).frame
    assert list(frame.columns) == ["age_min", "age_max", "city", "illness"]
    assert len(frame) == 0


def test_clipped_and_imputed_values_reach_no_published_cell() -> None:
    table = prepared(POLICY, [(age, "a", "x") for age in [*range(1, 100), 119]])
    frame = generalized_rows(table, np.zeros(100, dtype=np.int64), POLICY).frame
    assert frame["age_max"].unique().tolist() == [119]


def test_kept_columns_stay_with_their_records() -> None:
    policy = small_policy(roles={"kept": ["year"]})
    rows = [(*row, str(2020 + i)) for i, row in enumerate(ROWS)]
    frame = generalized_rows(prepared(policy, rows), np.array([0, -1, 0, 1, 1, -1]), policy).frame
    assert sorted(frame["year"]) == ["2020", "2022", "2023", "2024"]
    assert frame.loc[frame["year"] == "2022", "illness"].tolist() == ["missing"]


def test_numbers_that_are_no_integers_keep_their_fraction() -> None:
    policy = small_policy({"income": {"type": "numeric", "bounds": [0, 9]}})
    frame = generalized_rows(prepared(policy, [(0.5, "a"), (2, "b")]), np.array([0, 0]), policy).frame
    assert frame[["income_min", "income_max"]].to_numpy().tolist() == [[0.5, 2.0]] * 2


@given(mixed_rows(), st.data())
def test_every_record_lies_inside_its_own_cells(rows: list[Any], data: st.DataObject) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    table = prepared(policy, rows)
    n_groups = data.draw(st.integers(1, len(rows)))
    labels = np.array([i % n_groups for i in range(len(rows))])
    classes = generalized(table, labels, policy)
    assert classes.size.sum() == len(rows)
    for i, row in enumerate(rows):
        for value, name in zip(row, policy.roles.quasi_identifiers, strict=False):
            if name in classes.intervals:
                low, high = classes.intervals[name][labels[i]]
                assert value is None or low <= value <= high
            else:
                cells = classes.sets[name]
                covered = {
                    v for v, inside in zip(cells.values, cells.member[labels[i]], strict=True) if inside
                }
                assert (value if value is not None else "missing") in covered
    frame = generalized_rows(table, labels, policy).frame
    for name in policy.roles.categorical:
        assert all(read_set(text) is None or read_set(text) for text in frame[name])


@given(mixed_rows(2), st.randoms())
def test_rows_do_not_tell_the_order_of_the_input(rows: list[Any], random: Any) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    labels = np.array([i % 2 for i in range(len(rows))])
    order = list(range(len(rows)))
    random.shuffle(order)
    frame = generalized_rows(prepared(policy, rows), labels, policy).frame
    again = generalized_rows(prepared(policy, [rows[i] for i in order]), labels[order], policy).frame
    pd.testing.assert_frame_equal(frame, again)
