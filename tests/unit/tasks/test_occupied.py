"""What cells that were closed tell of who is in the table, beside every table that could have made them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.risk.attacks.membership import Members
from tasks.risk.gates.forced import own_classes
from tasks.risk.gates.membership import members_of
from tests.support.small import prepared, published, small_policy

NODES = {"north": ["ayr", "bath"], "south": ["cork", "dover", "ely"]}
CITIES = [city for cities in NODES.values() for city in cities]
WIDTHS = (10, 50)
AGE: dict[str, Any] = {"type": "integer", "bounds": [0, 99]}
ROUNDED = ({"x": AGE}, {"name": "mondrian", "ends": "rounded"})
PARTS = ({"x": {**AGE, "widths": [*WIDTHS]}}, {"name": "mondrian", "recoding": "hierarchy"})
BOTH = (PARTS[0], {**PARTS[1], "ends": "rounded"})
HEIGHT = ({"x": {**AGE, "type": "numeric", "widths": [*WIDTHS]}}, PARTS[1])
HEIGHT_ROUNDED = ({"x": {**AGE, "type": "numeric"}}, ROUNDED[1])
CITY = ({"x": {"type": "categorical", "hierarchy": NODES}}, {"name": "mondrian", "recoding": "hierarchy"})
ROUNDED_STEP = 2  # of 0 to 99, at least twenty steps of 1, 2 or 5 times a power of ten


def found(kind: tuple[Any, Any], values: Sequence[Any], own: Sequence[int]) -> Members:
    """Publish those of a class, and ask who of all is certainly in the table; in the order of `values`."""
    columns, method = kind
    policy = small_policy(
        columns, method=method, gates={"membership": {"max": 1.0}}, linkage={"control": "others.csv"}
    )
    inside = [place for place, label in enumerate(own) if label >= 0]
    outside = [place for place, label in enumerate(own) if label < 0]
    mine, others = ([(values[place], "flu") for place in places] for places in (inside, outside))
    table = prepared(policy, mine)
    with TemporaryDirectory() as folder:
        made = published(policy, table, [own[place] for place in inside], Path(folder) / "c")
        evidence = replace(made.evidence(), control=prepared(policy, others))
        group = evidence.control_group
        assert group is not None
        told = members_of(evidence, group, own_classes(evidence))
    back = np.argsort([*inside, *outside])
    return Members(told.by_place[back], told.by_value[back], told.outside[back])


def test_a_rounded_interval_has_somebody_in_its_first_step_and_in_its_last() -> None:
    # 10 to 21: somebody is 10 or 11, and nobody else is; both 20 and 21 may be the other end.
    told = found(ROUNDED, [11, 20, 21, 15], [0, 0, -1, -1])
    assert told.by_value.tolist() == [True, False, False, False]


def test_an_interval_of_a_level_has_somebody_outside_each_of_its_parts() -> None:
    # 0 to 49 for 3 and 44: were 44 not in it, all would be under ten.
    told = found(PARTS, [3, 44, 5, 6], [0, 0, -1, -1])
    assert told.by_value.tolist() == [False, True, False, False]
    # With 31 beside it nobody knows which of the two.
    assert not found(PARTS, [3, 44, 5, 31], [0, 0, -1, -1]).certain.any()
    # A part of ten tells of two different ages: two of 3, and 5.
    assert found(PARTS, [3, 5, 3], [0, 0, -1]).by_value.tolist() == [False, True, False]
    # Where ends are rounded too, a part of ten may be one age; fifty still are two parts.
    assert not found(BOTH, [3, 5, 3], [0, 0, -1]).certain.any()
    assert found(BOTH, [3, 44, 5, 6], [0, 0, -1, -1]).by_value.tolist() == [False, True, False, False]


def test_a_node_has_somebody_outside_each_of_its_children() -> None:
    told = found(CITY, ["ayr", "ely", "bath", "ayr"], [0, 0, -1, -1])
    assert told.by_value.tolist() == [False, True, False, False]
    # South for cork and ely: two are of ely, so that cork is certain; of three cities none is.
    assert found(CITY, ["cork", "ely", "ely"], [0, 0, -1]).by_value.tolist() == [True, False, False]
    assert not found(CITY, ["cork", "ely", "dover"], [0, 0, -1]).certain.any()


def test_nobody_is_told_by_an_unknown_value() -> None:
    told = found(ROUNDED, [11, 20, None, 15], [0, 0, -1, -1])
    assert told.by_value.tolist() == [True, True, False, False]


def rounded(values: Sequence[float]) -> object:
    return min(values) // ROUNDED_STEP, max(values) // ROUNDED_STEP


def rounded_float(values: Sequence[float]) -> object:
    return min(values) // ROUNDED_STEP, -(-max(values) // ROUNDED_STEP)


def part(values: Sequence[float]) -> object:
    if min(values) == max(values):
        return min(values)
    for width in WIDTHS:
        if min(values) // width == max(values) // width:
            return width, min(values) // width
    return "all"


def part_rounded(values: Sequence[float]) -> object:
    cell = part(values)
    return cell if isinstance(cell, str | tuple) else (WIDTHS[0], min(values) // WIDTHS[0])


def node(values: Sequence[str]) -> object:
    if len(set(values)) == 1:
        return values[0]
    return next((name for name, cities in NODES.items() if set(values) <= set(cities)), "*")


def in_every_world(
    values: Sequence[Any], own: Sequence[int], cell: Callable[[Sequence[Any]], object]
) -> list[bool]:
    """Tell who is in a class in every assignment of the population that publishes the same cells."""

    def cells(labels: Sequence[int]) -> list[object]:
        return [
            cell([value for value, label in zip(values, labels, strict=True) if label == number])
            for number in range(max(own) + 1)
        ]

    true, always = cells(own), [True] * len(own)
    for labels in set(permutations(own)):
        if cells(labels) == true:
            always = [known and label >= 0 for known, label in zip(always, labels, strict=True)]
    return always


AGES, HEIGHTS = st.integers(0, 99), st.integers(0, 198).map(lambda half: half / 2)
KINDS: dict[str, tuple[tuple[Any, Any], st.SearchStrategy[Any], Callable[..., object]]] = {
    "rounded": (ROUNDED, AGES, rounded),
    "rounded, no integers": (HEIGHT_ROUNDED, HEIGHTS, rounded_float),
    "parts": (PARTS, AGES, part),
    "parts, no integers": (HEIGHT, HEIGHTS, part),
    "parts, rounded": (BOTH, AGES, part_rounded),
    "nodes": (CITY, st.sampled_from(CITIES), node),
}


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@pytest.mark.by_day(2)
def test_nothing_certain_is_wrong(kind: str, data: st.DataObject) -> None:
    made, values_of, cell = KINDS[kind]
    few = data.draw(st.lists(values_of, min_size=1, max_size=4))
    values = data.draw(st.lists(st.sampled_from(few), min_size=3, max_size=6))
    size = st.lists(st.integers(-1, 1), min_size=len(values), max_size=len(values))
    own = data.draw(size.filter(lambda labels: -1 in labels and max(labels) >= 0))
    number = {label: place for place, label in enumerate(sorted(set(own) - {-1}))}
    own = [number.get(label, -1) for label in own]
    told, true = found(made, values, own).certain, np.array(in_every_world(values, own, cell))
    assert not (told & ~true).any()


@pytest.mark.parametrize(
    ("kind", "values", "own"),
    [
        ("rounded", [11, 20, 21, 15], [0, 0, -1, -1]),
        ("parts", [3, 44, 5, 6], [0, 0, -1, -1]),
        ("nodes", ["cork", "ely", "ely"], [0, 0, -1]),
    ],
)
def test_the_worlds_agree_with_the_examples(kind: str, values: list[Any], own: list[int]) -> None:
    made, _, cell = KINDS[kind]
    assert in_every_world(values, own, cell) == found(made, values, own).certain.tolist()
