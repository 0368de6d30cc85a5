"""Scaled attributes."""

from __future__ import annotations

import numpy as np
import pytest

from policy.errors import PolicyError
from tasks.representation import features
from tasks.representation.features import ranks, unit_ranges, z_scored
from tests.support.small import prepared, small_policy

POLICY = small_policy()
ROWS = [(10, "a", "x"), (20, "b", "x"), (30, "c", "x"), (None, "a", "x")]


def test_numbers_are_z_scored_and_missing_ones_imputed_by_the_median() -> None:
    features = z_scored(prepared(POLICY, ROWS), clip=0)
    # 10, 20, 30 and the median 20: mean 20, variance 200 / 4.
    assert features[:, 0] == pytest.approx(np.array([-10, 0, 10, 0]) / np.sqrt(50))
    assert features[:, 1:].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_outliers_are_clipped_in_the_features_alone() -> None:
    rows = [(age, "a", "x") for age in [*range(99), 120]]
    table = prepared(POLICY, rows)
    clipped, free = z_scored(table, clip=0.02)[:, 0], z_scored(table, clip=0)[:, 0]
    assert clipped[-1] == clipped[-2] == clipped.max()
    assert free[-1] > free[-2]
    assert table.numeric[-1, 0] == 120


def test_integer_codes_are_z_scored() -> None:
    features = z_scored(prepared(POLICY, ROWS[:3]), encoding="integer", clip=0)
    assert features.shape == (3, 2)
    assert features[:, 1] == pytest.approx(np.array([-1, 0, 1]) / np.sqrt(2 / 3))


def test_a_long_constant_stretch_does_not_clip_a_number_away() -> None:
    rows = [(0, "a", "x")] * 99 + [(1, "a", "x")]
    assert np.ptp(z_scored(prepared(POLICY, rows), clip=0.05)[:, 0]) > 0


def test_unit_ranges_are_between_0_and_1() -> None:
    unit = unit_ranges(prepared(POLICY, ROWS))
    assert unit[:, 0].tolist() == [0, 0.5, 1, 0.5]
    assert unit[:, 1].tolist() == [0, 0.5, 1, 0]


def test_ranks_are_middle_ranks_and_categories_weigh_half() -> None:
    table = prepared(POLICY, [(10, "a", "x"), (10, "b", "x"), (90, "a", "x"), (20, "a", "x")])
    assert ranks(table).tolist() == [[0.25, 0.5, 0], [0.25, 0, 0.5], [0.875, 0.5, 0], [0.625, 0.5, 0]]


@pytest.mark.parametrize("features", [z_scored, unit_ranges, ranks])
def test_constants_are_no_distance(features: object) -> None:
    made = features(prepared(POLICY, [(5, "a", "x")] * 3))  # type: ignore[operator]
    assert np.isfinite(made).all()
    assert not np.ptp(made, axis=0).any()


def test_a_table_of_one_kind_of_attribute_has_features() -> None:
    numbers = small_policy({"age": {"type": "integer", "bounds": [0, 9]}})
    words = small_policy({"city": {"type": "categorical"}})
    for policy in (numbers, words):
        rows = [(1, "x"), (2, "x")] if policy is numbers else [("a", "x"), ("b", "x")]
        table = prepared(policy, rows)
        assert {len(f(table)) for f in (z_scored, unit_ranges, ranks)} == {2}
        assert len(z_scored(table, encoding="integer")) == 2


def test_one_hot_features_that_would_not_fit_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = prepared(small_policy({"city": {"type": "categorical"}}), [("a", "flu"), ("b", "hiv")])
    monkeypatch.setattr(features, "MOST_BYTES", 31)
    with pytest.raises(PolicyError, match="2 columns and 2 records"):
        features.z_scored(table)
    assert features.z_scored(table, encoding="integer").shape == (2, 1)
