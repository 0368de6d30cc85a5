"""Intervals of means over draws and over groups of people."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tasks.risk.attacks.intervals import group_interval, interval, student_t

NAN = float("nan")


def test_the_interval_is_students() -> None:
    # Mean 2, deviation 1, of three: 4.303 / sqrt(3).
    assert interval(np.array([1.0, 2.0, 3.0])) == (2.0, pytest.approx(4.303 / 3**0.5))
    mean, within = interval(np.array([np.nan, 0.5]))
    assert mean == 0.5
    assert np.isnan(within)
    assert np.isnan(interval(np.array([np.nan]))[0])
    # As printed in tables of the distribution.
    printed = {1: 12.706, 4: 2.776, 10: 2.228, 11: 2.201, 15: 2.131, 30: 2.042, 120: 1.980, 999: 1.962}
    assert {n: round(student_t(n), 3) for n in printed} == printed


def test_a_groups_interval_by_hand() -> None:
    # One person in four is guessed; with two more of either kind it is three in eight.
    half, n = group_interval(np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert n == 4
    assert half == pytest.approx((3 / 8 - 1 / 4) + 2.365 * (3 / 8 * 5 / 8 / 7) ** 0.5)
    # Two ways: whoever is guessed in one is not in the other, so that the mean over both is certain but for
    # the four who are added.
    half, n = group_interval(np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]))
    assert (n, half) == (4, pytest.approx(2.365 * (4 * (1 / 2 / 8) ** 2 * 8 / 7) ** 0.5))


def test_who_gives_no_value_is_left_out_and_the_way_with_fewest_people_counts() -> None:
    assert group_interval(np.array([[1.0, NAN, 0.0]])) == group_interval(np.array([[1.0, 0.0]]))
    both = np.array([[1.0, 0.0, 0.0], [NAN, 1.0, NAN]])
    assert group_interval(both)[1] == 1
    assert group_interval(both)[0] > group_interval(both[:1])[0]
    assert group_interval(np.array([[1.0, 0.0, 0.0], [NAN, NAN, NAN]])) == group_interval(both[:1])
    half, n = group_interval(np.full((2, 3), NAN))
    assert (np.isnan(half), n) == (True, 0)


SHARES = arrays.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(2, 40)), elements=st.floats(0, 1, width=16)
)


@given(SHARES)
def test_a_persons_values_in_several_ways_are_one_observation(values: Any) -> None:
    assert group_interval(values) == pytest.approx(group_interval(values.mean(axis=0, keepdims=True)))


@given(SHARES, st.integers(2, 10))
def test_a_group_several_times_as_large_is_surer_and_never_sure(values: Any, times: int) -> None:
    assert 0 < group_interval(np.tile(values, times))[0] < group_interval(values)[0]


@pytest.mark.parametrize("n", [30, 60, 200])
def test_the_interval_of_a_group_covers_what_it_says(n: int) -> None:
    """Over all outcomes of n people with any chance: the group is told too high, or wrong, as rarely."""
    low, high = np.zeros(n + 1), np.zeros(n + 1)
    for hits in range(n + 1):
        half, _ = group_interval(np.repeat([[1.0, 0.0]], [hits, n - hits], axis=1))
        low[hits], high[hits] = hits / n - half, hits / n + half
    k = np.arange(n + 1)
    ways = np.array([float(comb(n, int(hits))) for hits in k])
    for p in np.linspace(0.005, 0.995, 199):
        chance = ways * p**k * (1 - p) ** (n - k)
        assert chance[p < low].sum() < 0.035
        assert chance[(p < low) | (p > high)].sum() < 0.06
