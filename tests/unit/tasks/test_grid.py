"""Grids of decimals: a number on the grid begins a step, and ends are written as a policy writes them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from policy.roles import NumericQuasiIdentifier
from tasks.recoding.grid import points_of, steps_of
from tasks.recoding.intervals import covering_intervals, grid_steps, interval_levels, rounded_intervals

decimals = st.builds(
    lambda n, places: float(Decimal(n).scaleb(-places)), st.integers(-9999, 9999), st.integers(0, 6)
)


def unit(*widths: float) -> NumericQuasiIdentifier:
    return NumericQuasiIdentifier(type="numeric", bounds=(0, 1), widths=widths)


def test_tenths_lie_on_their_grid() -> None:
    tenths = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert steps_of(tenths, 0, 0.1).tolist() == [*range(11)]
    assert points_of(np.arange(11.0), 0, 0.1).tolist() == tenths.tolist()
    assert steps_of(np.nextafter(tenths, -1), 0, 0.1).tolist() == [*range(-1, 10)]
    assert steps_of(np.array([np.nan, 0.3]), 0, 0.1).tolist()[1] == 3
    assert steps_of(np.empty((0, 2)), 0, 0.1).shape == (0, 2)


@given(st.lists(decimals, min_size=1, max_size=20), decimals, decimals.filter(lambda x: x > 0))
def test_steps_are_those_of_decimal_arithmetic(values: list[float], low: float, step: float) -> None:
    def exact(value: float) -> int:
        return int(
            ((Decimal(repr(value)) - Decimal(repr(low))) / Decimal(repr(step))).to_integral_value(
                "ROUND_FLOOR"
            )
        )

    found = steps_of(np.array(values), low, step)
    assert found.tolist() == [exact(value) for value in values]
    begin = points_of(found, low, step)
    assert begin.tolist() == [float(Decimal(repr(low)) + exact(one) * Decimal(repr(step))) for one in values]


def test_intervals_of_decimal_widths_have_the_rows_between_their_ends() -> None:
    numbers = np.repeat(np.arange(100) / 100, 2)
    alone = np.column_stack([numbers, numbers])
    for width, n in ((0.1, 10), (0.2, 5), (0.05, 20)):
        ends, count = np.unique(
            covering_intervals(alone, unit(width), np.ones(200, dtype=np.int64)), axis=0, return_counts=True
        )
        assert count.tolist() == [200 // n] * n
        assert [str(one) for one in ends[:, 0]] == [str(round(k / n, 10)) for k in range(n)]
        assert ends[1:, 0].tolist() == ends[:-1, 1].tolist()


def test_an_interval_between_two_points_is_of_that_level() -> None:
    pairs = np.array([[0.3, 0.39], [0.6, 0.69], [0.29, 0.3]])
    assert interval_levels(pairs, unit(0.1, 0.3)).tolist() == [1, 1, 3]
    assert grid_steps(np.array([[0.3, 0.6], [0.6, 0.7]]), unit(0.1)).tolist() == [[3, 5], [6, 6]]
    assert rounded_intervals(np.array([[0.31, 0.6], [0.65, 0.7]]), unit(0.1)).tolist() == [
        [0.3, 0.6],
        [0.6, 0.7],
    ]


@pytest.mark.parametrize("widths", [(0.1, 0.3), (0.1, 0.7), (0.05, 0.15, 0.6), (1e-5, 3e-5)])
def test_a_multiple_is_one_of_decimals(widths: tuple[float, ...]) -> None:
    assert unit(*widths).widths == widths


@pytest.mark.parametrize("widths", [(0.1, 0.25), (0.3, 0.1), (0.1, 0.30000000000000004)])
def test_what_is_no_multiple_is_refused(widths: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError, match="each a multiple"):
        unit(*widths)
