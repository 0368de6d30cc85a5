"""Distinct numbers by a table, held against sorting."""

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
