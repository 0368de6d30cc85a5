"""Numbers before they are replaced or perturbed."""

from __future__ import annotations

import numpy as np
import pytest

from policy.roles import NumericQuasiIdentifier
from tasks.recoding.numbers import imputed, within_bounds


def test_a_missing_number_is_its_groups_median_or_the_middle_of_the_bounds() -> None:
    values = np.array([4.0, np.nan, 9.0, 7.0, np.nan, np.nan])
    labels = np.array([0, 0, 0, 0, 1, 1])
    assert imputed(values, labels, (0, 50)).tolist() == [4, 7, 9, 7, 25, 25]


@pytest.mark.parametrize(
    ("kind", "bounds", "kept"),
    [
        ("numeric", (0.5, 9.5), [0.5, 2.4, 9.5]),
        ("integer", (0.5, 9.5), [1, 2, 9]),
    ],
)
def test_numbers_stay_inside_the_bounds(kind: str, bounds: tuple[float, float], kept: list[float]) -> None:
    qi = NumericQuasiIdentifier(type=kind, bounds=bounds)
    assert within_bounds(np.array([-3, 2.4, 11]), qi).tolist() == kept
