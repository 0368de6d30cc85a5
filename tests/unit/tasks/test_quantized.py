"""Outliers moved and crowds stirred: eq. 5 to 10 on Miche et al.'s Table 1, and on random tables."""

from __future__ import annotations

from math import inf, log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.partitioning.epsilon_ball import BallRule
from tasks.recoding.cells import read_set
from tasks.recoding.crowd import Bound, Column, draw_members, noisy_centroids, pushed_back, stirred
from tasks.recoding.divergence import divergences
from tasks.recoding.levels import category_levels
from tasks.recoding.quantized import QuantizedRule, quantized
from tasks.types import Recoded, Representation
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, small_policy

NOWHERE = Representation(np.empty((0, 0)))
ZIP = {"130": ["13053", "13068"], "148": ["14853"]}
HEALTH = {
    "zip": {"type": "categorical", "hierarchy": ZIP},
    "age": {"type": "integer", "bounds": [0, 120]},
    "nationality": {"type": "categorical"},
}
CONDITION = {"condition": {"stability": "stable"}}
POLICY = small_policy(HEALTH, CONDITION, method={"name": "mondrian", "recoding": "quantized"})
TABLE_1 = [
    ("13053", 28, "Russian", "Heart Disease"),
    ("13068", 29, "American", "Heart Disease"),
    ("13068", 21, "Japanese", "Viral Infection"),
    ("13053", 23, "American", "Viral Infection"),
    ("14853", 50, "Indian", "Cancer"),
]
TABLE = prepared(POLICY, TABLE_1)
CROWD = np.zeros(5, dtype=np.int64)
CORE = np.array([0, 0, 0, 0, -1])
AGES = Column(TABLE.numeric[:, 0])
ZIPS = Column(TABLE.codes[:, 0].astype(float), category_levels(TABLE.domains["zip"], None))


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def made(seed: int = 3, **rule: Any) -> Recoded:
    # With epsilon 0.6 the fifth is the outlier (tests of the partition).
    rule = {"balls": BallRule(epsilon=0.6), **rule}
    return quantized(TABLE, NOWHERE, CROWD, POLICY, seed, rule=QuantizedRule(**rule))


def by_record(recoded: Recoded) -> pd.DataFrame:
    return recoded.frame.set_axis(recoded.records, axis=0).sort_index()


def test_eq_5_changes_only_what_lies_outside_the_crowd() -> None:
    rows = by_record(made(outliers="centroid", stir="shuffle", sensitive="keep"))
    # The crowd's centroid is (13053, 23, American). A region away is farther than anybody's zip code, 27
    # years are more than the 6 of the oldest; being Indian is as far from American as being Russian is.
    moved = [
        pushed_back(column, CROWD, CORE, "centroid", draw())
        for column in (ZIPS, AGES, Column(TABLE.codes[:, 1].astype(float), category_levels(("a",) * 4, None)))
    ]
    assert [n for _, n in moved] == [0, 1, 0]
    with_regions = Column(ZIPS.values, category_levels(TABLE.domains["zip"], _hierarchy()))
    assert pushed_back(with_regions, CROWD, CORE, "centroid", draw())[1] == 1
    # Eq. 7: the zip code and the age become the centroid's, the nationality stays.
    assert sorted(rows["zip"]) == ["13053"] * 3 + ["13068"] * 2
    assert sorted(rows["age"]) == [21, 23, 23, 28, 29]
    assert sorted(rows["nationality"]) == ["American", "American", "Indian", "Japanese", "Russian"]
    assert rows["condition"].tolist() == [row[3] for row in TABLE_1]
    assert made().notes["outliers"] == 1
    assert made().notes["moved_values"] == {"zip": 1, "age": 1, "nationality": 0}


def _hierarchy() -> Any:
    return POLICY.roles.categorical["zip"].hierarchy


def test_eq_6_the_centroid_and_noise_within_the_bound() -> None:
    # Distances of the crowd to 23: 5, 6, 2, 0, each in a bin of its own. A fifth doubles one of them:
    # KL = 3/4 ln(5/4) + 1/4 ln(5/8) = 0.0499, whichever it is.
    doubled = 0.75 * log(5 / 4) + 0.25 * log(5 / 8)
    found = {
        float(noisy_centroids(AGES, CORE, np.array([0]), draw(seed), Bound(doubled + 1e-6))[0])
        for seed in range(60)
    }
    assert found == {23, 23 - 2, 23 + 2, 23 - 5, 23 + 5, 23 - 6, 23 + 6}
    # Where no draw keeps the bound, the outlier gets the centroid.
    assert noisy_centroids(AGES, CORE, np.array([0]), draw(), Bound(doubled - 1e-6)).tolist() == [23]
    # Noise stays inside the limits.
    limited = [
        float(noisy_centroids(AGES, CORE, np.array([0]), draw(seed), Bound(1.0), (20, 24))[0])
        for seed in range(60)
    ]
    assert (min(limited), max(limited)) == (20, 24)


def test_eq_8_a_value_of_a_member() -> None:
    ages = {int(pushed_back(AGES, CROWD, CORE, "member", draw(seed))[0][4]) for seed in range(60)}
    assert ages == {21, 23, 28, 29}
    assert set(draw_members(CORE, np.zeros(200, dtype=np.int64), draw()).tolist()) == {0, 1, 2, 3}


def test_eq_9_flattens_all_to_the_centroid() -> None:
    rows = by_record(made(outliers="centroid"))
    # With the moved one 13053 stands three times, and 23 is in the middle of 21, 23, 23, 28, 29.
    assert rows[["zip", "age", "nationality"]].to_numpy().tolist() == [["13053", 23, "American"]] * 5
    flat = by_record(made(outliers="centroid", sensitive="flatten"))
    # Heart disease and viral infection stand twice each: the first in order.
    assert flat["condition"].tolist() == ["Heart Disease"] * 5


def test_eq_10_shuffles_within_the_group() -> None:
    seen = set()
    for seed in range(20):
        rows = by_record(made(seed, outliers="centroid", sensitive="shuffle"))
        assert sorted(rows["condition"]) == sorted(row[3] for row in TABLE_1)
        seen.add(tuple(rows["condition"]))
    assert len(seen) > 5
    labels = np.array([0, 1, 0, 1, 0])
    position = stirred(AGES, labels, "shuffle", draw())
    assert sorted(position) == [*range(5)]
    assert (labels[position] == labels).all()


def test_eq_10_draws_again_only_within_the_bound() -> None:
    away = np.abs(AGES.values - 28)
    for seed in range(20):
        position = stirred(AGES, CROWD, "resample", draw(seed), bound=Bound(0.4, 30))
        kl = divergences(away, CROWD, away[position], CROWD, np.array([22.0]))
        assert kl[0] <= 0.4 or sorted(position) == [*range(5)]
    # A bound that nothing keeps leaves the permutation.
    assert sorted(stirred(AGES, CROWD, "resample", draw(), bound=Bound(-1.0))) == [*range(5)]
    # A wide one lets through draws that are none.
    loose = [sorted(stirred(AGES, CROWD, "resample", draw(s), bound=Bound(inf, 1))) for s in range(20)]
    assert [*range(5)] != loose[0] or [*range(5)] != loose[1]


@pytest.mark.parametrize(
    ("before", "after", "kl"),
    [
        ([0, 0, 10, 10], [0, 10, 0, 10], 0.0),
        ([0, 0, 10, 10], [0, 0, 0, 10], 0.5 * log(0.5 / 0.75) + 0.5 * log(0.5 / 0.25)),
        ([0, 0, 10, 10], [0, 0, 0, 0], inf),
        ([0, 0, 0, 10], [0, 0, 30, 0], 0.0),  # beyond the reach is in the last bin
        ([0, 0], [0, 0], 0.0),
    ],
)
def test_divergence_by_hand(before: list[float], after: list[float], kl: float) -> None:
    group = np.zeros(len(before), dtype=np.int64)
    reach = np.array([max(before)], dtype=float)
    found = divergences(np.array(before, float), group, np.array(after, float), group, reach)
    assert found == pytest.approx([kl])


@given(
    mixed_rows(n_min=2, n_max=24),
    st.integers(1, 4),
    st.sampled_from(["noise", "centroid", "member"]),
    st.sampled_from(["flatten", "shuffle", "resample"]),
    st.sampled_from(["keep", "flatten", "shuffle", "resample"]),
    st.sampled_from([0.0, 0.3, 0.7]),
)
def test_properties_on_random_tables(
    rows: list[Any], n_groups: int, move: Any, how: Any, sensitive: Any, epsilon: float
) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, method={"name": "mondrian", "recoding": "quantized"})
    table = prepared(policy, rows)
    labels = np.arange(len(rows)) % min(n_groups, len(rows))
    rule = QuantizedRule(outliers=move, stir=how, sensitive=sensitive, balls=BallRule(epsilon=epsilon))
    recoded = quantized(table, NOWHERE, labels, policy, 5, rule=rule)
    pd.testing.assert_frame_equal(
        recoded.frame, quantized(table, NOWHERE, labels, policy, 5, rule=rule).frame
    )
    found = by_record(recoded)
    assert len(found) == len(rows)
    assert found["age"].between(0, 100).all()
    assert found["income"].between(-10, 10).all()
    for name in ("city", "job"):
        assert {read_set(cell) for cell in found[name]} <= {(value,) for value in table.domains[name]}
    groups = found.groupby(labels)
    if how == "flatten":
        assert (groups[["age", "income", "city", "job"]].nunique() == 1).all(axis=None)
    values = np.array(table.sensitive_values["illness"], dtype=object)[table.sensitive[:, 0]]
    wages = table.sensitive_numbers["wage"]
    for label, group in groups:
        mine = labels == label
        if sensitive == "keep":
            assert group["illness"].tolist() == values[mine].tolist()
            assert np.array_equal(group["wage"], wages[mine], equal_nan=True)
        elif sensitive == "shuffle":
            assert sorted(group["illness"]) == sorted(values[mine])
            assert np.array_equal(np.sort(group["wage"]), np.sort(wages[mine]), equal_nan=True)
        else:
            assert set(group["illness"]) <= set(values[mine])
    names = {"outliers", "moved_values", "imputed_numbers", "stir", "sensitive"}
    assert set(recoded.notes) == names


def test_a_permuted_quasi_identifier_keeps_every_groups_values() -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, method={"name": "mondrian", "recoding": "quantized"})
    rows = [(i, i / 4, "ab"[i % 2], "xyz"[i % 3], "flu", 1.0) for i in range(12)]
    table = prepared(policy, rows)
    labels = np.arange(12) // 6
    # Nobody is an outlier where everything is within epsilon.
    rule = QuantizedRule(stir="shuffle", balls=BallRule(epsilon=1.0))
    found = by_record(quantized(table, NOWHERE, labels, policy, 1, rule=rule))
    for group in (0, 1):
        for column, name in enumerate(("age", "income", "city", "job")):
            true = sorted(str(float(r[column])) if column < 2 else r[column] for r in rows[6 * group :][:6])
            cells = found[name][labels == group]
            assert sorted(str(float(c)) if column < 2 else c for c in cells) == true
    assert found["age"].tolist() != [row[0] for row in rows]
