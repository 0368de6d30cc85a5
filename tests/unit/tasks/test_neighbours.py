"""The neighbours of groups come in the order that looking at all groups gives, also after merges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks import threads
from tasks.geometry.space import space_of
from tasks.recoding.generalize import generalized
from tasks.repair import neighbours
from tasks.repair.closing import closing_of
from tasks.repair.groups import Groups, groups_of
from tasks.repair.measure import Measure
from tasks.repair.neighbours import LEAST, TRIES, Neighbours
from tasks.utility.ncp import scale_of
from tests.support.small import MIXED, mixed_rows, prepared, small_policy

POLICY = small_policy(MIXED)
LARGEST = 4


def groups_and_measure(rows: list[Any], sizes: list[int]) -> tuple[Groups, Measure]:
    table = prepared(POLICY, rows)
    cut = np.repeat(np.arange(len(sizes)), sizes)
    labels = np.append(cut, np.arange(len(sizes), len(sizes) + len(rows)))[: len(rows)]
    classes = generalized(table, labels, POLICY)
    space = space_of([classes], table)
    groups = groups_of(labels, classes, space, closing_of(POLICY, table, space))
    return groups, Measure(scale_of(table, POLICY), space)


def nearest_of_all(groups: Groups, measure: Measure, group: int) -> list[int]:
    others = np.array([one for one in groups.living.tolist() if one != group], dtype=np.int64)
    size = groups.size[others]
    cost = (
        (size + groups.size[group]) * measure.ncp(groups.merged(group, others))
        - size * measure.ncp(groups.boxes.take(others))
        - groups.size[group] * measure.ncp(groups.boxes.take(np.array([group])))
    )
    within = size + groups.size[group] <= LARGEST
    order = np.argsort(cost, kind="stable")
    return others[
        np.concatenate([order[within[order]][: TRIES[True]], order[~within[order]][: TRIES[False]]])
    ].tolist()


def listed(near: Neighbours, group: int) -> list[int]:
    return [other for part in near.nearest(group) for other in part.tolist()]


@pytest.mark.integration
@given(
    rows=mixed_rows(4, 60),
    sizes=st.lists(st.integers(1, 3), max_size=20),
    merges=st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=6),
    again=st.booleans(),
)
def test_neighbours_come_as_from_all_groups(
    rows: list[Any], sizes: list[int], merges: list[tuple[int, int]], again: bool
) -> None:
    groups, measure = groups_and_measure(rows, sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "LEAST", 2)
        patch.setattr(neighbours, "MORE", 2)
        patch.setattr(neighbours, "WIDE", 3)
        patch.setattr(neighbours, "TRIES", {True: 5, False: 9})
        patch.setattr(threads, "LEAST", 2)
        patch.setattr(threads, "_processors", lambda: 3)
        patch.setitem(TRIES, True, 5)
        patch.setitem(TRIES, False, 9)
        near = Neighbours(groups, measure, LARGEST)
        for within in (True, False):
            near.look_for(groups.living.tolist(), LEAST, within=within)
        for one, other in merges:
            living = groups.living
            group, partner = int(living[one % len(living)]), int(living[other % len(living)])
            if group != partner:
                groups.join(group, partner)
                near.note(group, partner)
        if again:
            near.look_again()
        for group in groups.living.tolist():
            assert listed(near, group) == nearest_of_all(groups, measure, group)
