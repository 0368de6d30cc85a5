"""Distinct numbers and orders, held against what numpy finds by comparisons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.history import numbering


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(41, 400))
def test_a_table_numbers_codes_as_sorting_does(codes: list[int], span: int) -> None:
    given_codes = np.array(codes, dtype=np.int64)
    known, place = np.unique(given_codes, return_inverse=True)
    n, found = numbering.number_codes(given_codes, span)
    assert (n, found.tolist()) == (len(known), place.reshape(-1).tolist())
    assert numbering.distinct_codes(given_codes, span).tolist() == known.tolist()


@pytest.mark.parametrize("longer", [0, 100])
def test_either_way_is_taken(monkeypatch: pytest.MonkeyPatch, longer: int) -> None:
    monkeypatch.setattr(numbering, "LONGER", longer)
    n, place = numbering.number_codes(np.array([7, 3, 7, 9]), 10)
    assert (n, place.tolist()) == (3, [1, 0, 1, 2])
    assert numbering.distinct_codes(np.array([7, 3, 7, 9]), 10).tolist() == [3, 7, 9]


@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), max_size=30), st.integers(0, 3))
def test_rows_are_numbered_in_the_order_of_their_columns(rows: list[tuple[int, ...]], n_columns: int) -> None:
    codes = np.array(rows, dtype=np.int64).reshape(-1, 3)[:, :n_columns]
    number, any_of = numbering.number_rows(codes, 6)
    if n_columns:
        distinct, place = np.unique(codes, axis=0, return_inverse=True)
        assert number.tolist() == place.reshape(-1).tolist()
        assert codes[any_of].tolist() == distinct.tolist()
    else:
        assert (number.tolist(), len(any_of)) == ([0] * len(codes), min(len(codes), 1))


@pytest.mark.parametrize("bits", [20, 63])
def test_equal_codes_are_ordered_by_what_is_drawn(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    monkeypatch.setattr(numbering, "BITS", bits)
    for n in (0, 1, 500):
        codes = np.random.default_rng(n).integers(0, 9, n)
        expected = np.lexsort((np.random.default_rng(3).random(n), codes))
        assert numbering.random_order(codes, 9, np.random.default_rng(3)).tolist() == expected.tolist()
