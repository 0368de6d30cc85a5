"""The source as arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from expectations.numbers import number_text
from policy.errors import InputError
from tasks.preprocessing.prepare import prepare
from tests.support.small import prepared, small_policy, source_of

POLICY = small_policy()


def test_codes_stand_for_the_sorted_values_that_are_present() -> None:
    table = prepared(POLICY, [(30, "York", "flu"), (20, "Hull", "hiv"), (40, "York", "flu")])
    assert table.domains == {"city": ("Hull", "York")}
    assert table.codes[:, 0].tolist() == [1, 0, 1]
    assert table.numeric[:, 0].tolist() == [30, 20, 40]
    assert table.sensitive_values == {"illness": ("flu", "hiv")}
    assert table.sensitive[:, 0].tolist() == [0, 1, 0]
    assert table.n_records == 3


def test_the_policys_order_of_values_is_kept_and_absent_values_left_out() -> None:
    qis = {"size": {"type": "categorical", "values": ["small", "medium", "large"]}}
    table = prepared(small_policy(qis), [("large", "a"), ("small", "a")])
    assert table.domains == {"size": ("small", "large")}
    assert table.codes[:, 0].tolist() == [1, 0]


def test_leaves_of_a_hierarchy_are_neighbours() -> None:
    qis = {"town": {"type": "categorical", "hierarchy": {"north": ["York", "Hull"], "south": ["Bath"]}}}
    table = prepared(small_policy(qis), [("Bath", "a"), ("Hull", "a"), ("York", "a")])
    assert table.domains == {"town": ("York", "Hull", "Bath")}


def test_missing_categories_are_one_value_and_missing_numbers_stay_missing() -> None:
    table = prepared(POLICY, [(None, None, None), (20, "Hull", "flu"), (21, None, None)])
    assert np.isnan(table.numeric[0, 0])
    assert table.domains["city"] == ("Hull", "missing")
    assert table.codes[:, 0].tolist() == [1, 0, 1]
    assert table.sensitive_values["illness"] == ("flu", "missing")
    assert table.sensitive[:, 0].tolist() == [1, 0, 1]


def test_numeric_sensitive_values_are_in_the_order_of_numbers() -> None:
    policy = small_policy(sensitive={"wage": {"stability": "stable", "type": "numeric"}})
    table = prepared(policy, [(1, "a", 9.5), (2, "a", 10), (3, "a", None), (4, "a", -2), (5, "a", 10)])
    assert table.sensitive_values["wage"] == ("-2", "9.5", "10", "missing")
    assert table.sensitive[:, 0].tolist() == [1, 2, 3, 0, 2]
    assert np.isnan(table.sensitive_numbers["wage"][2])


def test_categories_that_are_all_missing_are_one_value() -> None:
    table = prepared(POLICY, [(1, None, None), (2, None, None)])
    assert table.domains["city"] == ("missing",)
    assert table.sensitive_values["illness"] == ("missing",)


def test_a_number_that_is_always_missing_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="column 'age'") as caught:
        prepared(POLICY, [(None, "Hull", "flu"), (None, "York", "secret")])
    assert "secret" not in str(caught.value)


def test_a_label_for_missing_values_that_is_a_value_is_refused() -> None:
    rows = [(1, "missing", "flu"), (2, None, "flu")]
    with pytest.raises(InputError, match="also a value"):
        prepared(POLICY, rows)
    other = small_policy(source={"missing_label": "unknown"})
    assert prepared(other, rows).domains["city"] == ("missing", "unknown")


def test_only_kept_columns_travel_on() -> None:
    policy = small_policy(roles={"key": "id", "kept": ["year"], "dropped": ["note"]})
    source = source_of(policy, [("id-1", 1, "Hull", "flu", "2026", "a note")])
    assert list(prepare(source, policy).frame.columns) == ["year"]
    assert list(source.frame.columns) == ["id", "age", "city", "illness", "year", "note"]


@pytest.mark.parametrize(("number", "text"), [(3.0, "3"), (-0.0, "0"), (2.5, "2.5"), (1e17, "1" + 17 * "0")])
def test_whole_numbers_are_written_without_a_point(number: float, text: str) -> None:
    assert number_text(number) == text


def test_text_of_any_dtype_is_coded_alike() -> None:
    source = source_of(POLICY, [(1, "b", "x"), (2, None, "y")])
    for dtype in ("object", "str", "category"):
        frame = source.frame.assign(city=pd.Series(source.frame["city"], dtype=dtype))
        table = prepare(type(source)(frame, source.digest, source.origin), POLICY)
        assert table.domains["city"] == ("b", "missing")
        assert table.codes[:, 0].tolist() == [0, 1]
