"""The stable order of whole numbers is that of numpy's stable argsort, whichever way it is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks import sorting
from tasks.sorting import stable_order


def test_equal_numbers_keep_their_order() -> None:
    assert stable_order(np.array([2, 1, 2, 1], dtype=np.int64)).tolist() == [1, 3, 0, 2]
    assert stable_order(np.array([], dtype=np.int64)).tolist() == []


@pytest.mark.parametrize("few", [0, 1 << 16], ids=["sorted", "counted"])
@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-3, 3), max_size=30))
def test_the_order_is_that_of_a_stable_argsort(few: int, numbers: list[int]) -> None:
    key = np.array(numbers, dtype=np.int64)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sorting, "FEW", few)
        found = stable_order(key)
    assert found.tolist() == np.argsort(key, kind="stable").tolist()


@pytest.mark.parametrize("bits", [12, 20, 63])
@pytest.mark.parametrize("span", [1, 7, 300, 70_000])
def test_numbers_that_do_not_fit_beside_their_places_are_sorted_in_rounds(
    monkeypatch: pytest.MonkeyPatch, bits: int, span: int
) -> None:
    monkeypatch.setattr(sorting, "BITS", bits)
    monkeypatch.setattr(sorting, "FEW", 0)
    for n in (1, 2, 500):
        key = np.random.default_rng(n).integers(-5, span - 5, n)
        assert stable_order(key).tolist() == np.argsort(key, kind="stable").tolist()
