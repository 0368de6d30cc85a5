"""People and boxes cut into tiles: by hand, against a double loop, and how many pairs remain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tasks.geometry import tiles as module
from tasks.geometry.cells import Cells, true_cells
from tasks.geometry.tiles import Tile, tiles
from tasks.types import FloatArray
from tests.unit.tasks.test_candidate_classes import crowds, gathered, looped

NAN = float("nan")


def tiles_of(numbers: FloatArray, codes: Any, cells: Cells) -> list[Tile]:
    return [*tiles(numbers, codes, cells.low, cells.high, cells.member)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut as long as a tile has two people and a cut saves anything."""
    monkeypatch.setattr(module, "PAIRS", 1)
    monkeypatch.setattr(module, "FEWEST", 1)
    monkeypatch.setattr(module, "GAIN", 1.0)


def test_a_tile_keeps_the_boxes_that_reach_into_it(small: None) -> None:
    """People at 1, 2, 8 and one unknown; boxes [0, 3], [2, 9] and [8, 9]. The cut is at 2, then at 1."""
    numbers = np.array([[1.0], [8.0], [NAN], [2.0]])
    cells = true_cells(np.array([[0.0], [2.0], [8.0]]), np.array([[3.0], [9.0], [9.0]]), ())
    codes = np.zeros((4, 0), dtype=np.int32)
    found = [(tile.people.tolist(), tile.boxes.tolist()) for tile in tiles_of(numbers, codes, cells)]
    assert found == [([0], [0]), ([3], [0, 1]), ([1], [1, 2]), ([2], [0, 1, 2])]


def test_a_tile_keeps_the_sets_that_have_one_of_its_codes(small: None) -> None:
    """Codes 0, 2 and unknown; sets {0, 1}, {2}, {1} and none: nobody has 1."""
    codes = np.array([[0], [2], [-1]], dtype=np.int32)
    member = np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]], dtype=bool)
    cells = true_cells(np.zeros((4, 0)), np.zeros((4, 0)), (member,))
    found = [(tile.people.tolist(), tile.boxes.tolist()) for tile in tiles_of(np.zeros((3, 0)), codes, cells)]
    assert found == [([0], [0]), ([1], [1]), ([2], [0, 1, 2, 3])]


@given(crowds())
def test_everybody_is_in_one_tile_with_all_boxes_that_they_are_in(
    crowd: tuple[FloatArray, Any, Cells],
) -> None:
    numbers, codes, cells = crowd
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in (("PAIRS", 1), ("FEWEST", 1), ("GAIN", 1.0), ("SAMPLE", 4)):
            monkeypatch.setattr(module, name, value)
        found = tiles_of(numbers, codes, cells)
        people = np.concatenate([np.zeros(0, dtype=np.int64), *(tile.people for tile in found)])
        assert sorted(people.tolist()) == list(range(len(numbers)))
        inside = looped(numbers, codes, cells)
        for tile in found:
            outside = np.setdiff1d(np.arange(len(cells)), tile.boxes)
            assert not inside[np.ix_(tile.people, outside)].any()
        if len(cells):
            assert np.array_equal(gathered(numbers, codes, cells), inside)


def grid(side: int) -> tuple[FloatArray, Any, Cells]:
    """A person in each cell of a grid whose boxes have four cells each, and overlap by one."""
    x, y = np.divmod(np.arange(side * side), side)
    numbers = np.stack([x, y], axis=1).astype(np.float64)
    first = numbers[(x % 2 == 0) & (y % 2 == 0)]
    return numbers, np.zeros((len(numbers), 0), dtype=np.int32), true_cells(first, first + 2, ())


def test_the_pairs_that_remain_grow_with_the_people_not_with_their_square() -> None:
    remain, everything = [], []
    for side in (128, 256, 512):
        numbers, codes, cells = grid(side)
        found = tiles_of(numbers, codes, cells)
        remain.append(sum(len(tile.people) * len(tile.boxes) for tile in found))
        everything.append(len(numbers) * len(cells))
    slope = np.polyfit(np.log([128**2, 256**2, 512**2]), np.log(remain), 1)[0]
    assert slope < 1.2
    assert remain[-1] < everything[-1] / 40


def test_boxes_that_are_everywhere_are_not_cut() -> None:
    numbers = np.arange(10_000.0)[:, None]
    ends = np.full((4_000, 1), np.inf)
    [tile] = tiles_of(numbers, np.zeros((10_000, 0), dtype=np.int32), true_cells(-ends, ends, ()))
    assert (len(tile.people), len(tile.boxes)) == (10_000, 4_000)
