"""Levels of hierarchies and the medoids that their distances give."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.hierarchy import checked, from_tree
from tasks.partitioning.medoids import central_values, medians
from tasks.recoding.levels import Levels, category_levels, number_levels

COUNTRIES = from_tree({"Europe": {"North": ["Norway", "Sweden"], "South": ["Italy"]}, "Asia": ["Japan"]})
TABLE = ("Norway", "Sweden", "Italy", "Japan", "missing")


@pytest.mark.parametrize(
    ("one", "other", "level"),
    [
        ("Norway", "Norway", 0),
        ("Norway", "Sweden", 1),
        ("Norway", "Italy", 2),
        ("Norway", "Japan", 3),
        ("missing", "missing", 0),
        ("missing", "Japan", 3),
    ],
)
def test_the_distance_is_the_level_of_the_lowest_common_node(one: str, other: str, level: int) -> None:
    levels = category_levels(TABLE, COUNTRIES)
    codes = np.array([TABLE.index(one)]), np.array([TABLE.index(other)])
    assert levels.height == 3
    assert levels.distance(*codes).tolist() == levels.distance(*codes[::-1]).tolist() == [level]


def test_without_a_hierarchy_values_are_equal_or_one_level_apart() -> None:
    levels = category_levels(("a", "b", "c"), None)
    assert levels.distance(np.arange(3)[:, None], np.arange(3)).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_numbers_have_the_levels_of_their_interval_widths() -> None:
    values = np.array([3.0, np.nan, 4.0, 7.0, 12.0, 3.0])
    code, levels = number_levels(values, 0.0, (5, 10))
    # [0, 5) holds 3 and 4, [0, 10) also 7, the whole also 12; a missing one is with nobody below the whole.
    away = levels.distance(code[:, None], code)
    assert away[0].tolist() == [0, 3, 1, 2, 3, 0]
    assert away[1].tolist() == [3, 0, 3, 3, 3, 3]


@st.composite
def trees(draw: st.DrawFn) -> tuple[Levels, tuple[str, ...]]:
    n = draw(st.integers(1, 7))
    depths = [draw(st.integers(0, 2)) for _ in range(n)]
    rows = []
    for leaf, depth in enumerate(depths):
        nodes = ([f"n{leaf % 2}"] if depth > 1 else []) + ([f"m{leaf % 2 % 2}"] if depth > 0 else [])
        rows.append((f"v{leaf}", *nodes, "*"))
    try:
        hierarchy = checked(rows)
    except ValueError:
        return category_levels(tuple(f"v{i}" for i in range(n)), None), ()
    domain = tuple(f"v{i}" for i in range(n)) + (("missing",) if draw(st.booleans()) else ())
    return category_levels(domain, hierarchy), domain


@given(trees(), st.data())
def test_the_distance_is_an_ultrametric_and_the_medoid_a_member(
    made: tuple[Levels, tuple[str, ...]], data: st.DataObject
) -> None:
    levels, _ = made
    every = np.arange(levels.n_values)
    away = levels.distance(every[:, None], every)
    assert (away == away.T).all()
    assert ((away == 0) == np.eye(levels.n_values, dtype=bool)).all()
    for a, b, c in itertools.product(every, repeat=3):
        assert away[a, c] <= max(away[a, b], away[b, c])
    n = data.draw(st.integers(1, 12))
    codes = np.array(data.draw(st.lists(st.sampled_from(list(every)), min_size=n, max_size=n)))
    labels = np.arange(n) % data.draw(st.integers(1, n))
    found = central_values(codes, labels, int(labels.max()) + 1, levels)
    for group, value in enumerate(found):
        members = codes[labels == group]
        sums = away[:, members].sum(axis=1)
        assert value in members
        assert value == np.flatnonzero(sums == sums.min())[0]


def test_medians_are_members_known_numbers_only_and_nobody_is_in_minus_one() -> None:
    values = np.array([5.0, 1.0, 3.0, np.nan, 9.0, np.nan, 100.0])
    labels = np.array([0, 0, 0, 0, 0, 1, -1])
    # 1, 3, 5, 9: the lower of the two in the middle; nothing is known of the second group.
    assert medians(values, labels, 2)[0] == 3
    assert np.isnan(medians(values, labels, 2)[1])


@given(st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 2)), min_size=1, max_size=20))
def test_no_value_has_a_smaller_sum_of_differences_than_the_median(pairs: list[tuple[int, int]]) -> None:
    values = np.array([float(v) for v, _ in pairs])
    labels = np.array([g for _, g in pairs])
    for group, median in enumerate(medians(values, labels, 3)):
        members = values[labels == group]
        if len(members):
            sums = [np.abs(members - v).sum() for v in range(-4, 5)]
            assert np.abs(members - median).sum() == min(sums)
