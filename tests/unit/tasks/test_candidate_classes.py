"""C(x) by bits, held against a double loop; and the sums over it."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.geometry import candidates
from tasks.geometry.candidates import ClassMatches, find_containing
from tasks.geometry.cells import Cells, cells_of, true_cells
from tasks.geometry.space import boxes_of, placed, space_of
from tasks.recoding.generalize import generalized
from tasks.risk.attacks import target
from tasks.risk.attacks.target import Tally
from tasks.types import BoolArray, FloatArray
from tests.support.small import MIXED, TWO_SENSITIVE, anonymized, mixed_rows, prepared, small_policy

POLICY = small_policy(MIXED, TWO_SENSITIVE)
NAN = float("nan")


def looped(numbers: FloatArray, codes: Any, cells: Cells) -> BoolArray:
    """Which class contains which person, (n, N), from the definition."""
    inside = np.ones((len(numbers), len(cells)), dtype=bool)
    for i in range(len(numbers)):
        for c in range(len(cells)):
            for column, x in enumerate(numbers[i].tolist()):
                inside[i, c] &= isnan(x) or cells.low[c, column] <= x <= cells.high[c, column]
            for column, member in enumerate(cells.member):
                if member.shape[1] and codes[i, column] >= 0:
                    inside[i, c] &= member[c, codes[i, column]]
    return inside


def gathered(numbers: FloatArray, codes: Any, cells: Cells) -> BoolArray:
    inside = np.zeros((len(numbers), len(cells)), dtype=bool)
    for found in find_containing(numbers, codes, cells):
        ends = np.append(found.starts, len(found.classes))
        assert (np.diff(ends) > 0).all()
        for person, first, last in zip(found.people, ends[:-1], ends[1:], strict=True):
            classes = found.classes[first:last]
            assert (np.diff(classes) > 0).all()
            assert not inside[person].any(), "a person comes once"
            inside[person, classes] = True
    return inside


@st.composite
def crowds(draw: st.DrawFn) -> tuple[FloatArray, Any, Cells]:
    n, n_classes = draw(st.integers(0, 12)), draw(st.integers(0, 70))
    p, sizes = draw(st.integers(0, 3)), draw(st.lists(st.integers(0, 4), max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numbers = rng.choice([NAN, -1.5, 0, 1, 2, 3, 4, np.inf], (n, p))
    codes = np.column_stack(
        [np.zeros((n, 0), dtype=np.int32), *(rng.integers(-1, max(v, 1), n, dtype=np.int32) for v in sizes)]
    ).astype(np.int32)
    ends = np.sort(rng.choice([-np.inf, -1.5, 0, 0.5, 2, 3, np.inf], (2, n_classes, p)), axis=0)
    member = tuple(rng.random((n_classes, v)) < 0.6 for v in sizes)
    return numbers, codes, true_cells(ends[0], ends[1], member)


@pytest.mark.parametrize(
    ("column", "joined", "chunk"),
    [(4_000_000, 16_000_000, 262_144), (4, 9, 3), (1, 1, 1)],
)
def test_the_classes_found_are_those_of_a_double_loop(
    column: int, joined: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where values share their bits, where few tables may be joined, and a chunk is one person."""
    monkeypatch.setattr(candidates, "COLUMN_WORDS", column)
    monkeypatch.setattr(candidates, "JOINED_WORDS", joined)
    monkeypatch.setattr(candidates, "CHUNK_WORDS", chunk)

    @given(crowds())
    def holds(crowd: tuple[FloatArray, Any, Cells]) -> None:
        numbers, codes, cells = crowd
        expected = looped(numbers, codes, cells)
        assert np.array_equal(gathered(numbers, codes, cells), expected)
        person, place = np.nonzero(np.ones_like(expected))
        each = cells.contain(place, numbers[person], codes[person])
        assert np.array_equal(each, expected.ravel())

    holds()


def test_values_do_share_their_bits_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "COLUMN_WORDS", 4)
    x = np.arange(10.0)[:, None]
    cells = true_cells(x, x, ())
    table, exact = candidates._numeric_table(x[:, 0], cells.low[:, 0], cells.high[:, 0], 1)
    assert (exact, len(table.rows)) == (False, 4 + 2)
    assert np.array_equal(gathered(x, np.zeros((10, 0), dtype=np.int32), cells), np.eye(10, dtype=bool))


@given(mixed_rows(1, 16), mixed_rows(1, 16))
def test_people_who_are_not_in_the_release_are_found_where_its_cells_hold_them(
    source: list[Any], released: list[Any]
) -> None:
    table, other = prepared(POLICY, source), prepared(POLICY, released)
    classes = generalized(other, anonymized(other, POLICY).labels, POLICY)
    space = space_of([classes], table)
    cells = cells_of(boxes_of(classes, space))
    numbers, codes = placed(table, space)
    assert np.array_equal(gathered(numbers, codes, cells), looped(numbers, codes, cells))


@pytest.mark.parametrize("few", [64, 0])
def test_sums_over_classes_are_those_of_a_loop(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few values, column by column; of many, entry by entry; and a few people at a time."""
    monkeypatch.setattr(target, "FEW_VALUES", few)
    monkeypatch.setattr(target, "TOTALS", 12)
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 3, (20, 5))
    counts[4] = 0  # a unit without a row of any value
    classes = [sorted(rng.choice(20, size, replace=False).tolist()) for size in (1, 3, 7, 20, 2, 1)]
    starts = np.cumsum([0, *map(len, classes)])[:-1]
    found = ClassMatches(np.arange(6), starts, np.concatenate(classes))
    unit, value = np.nonzero(counts)
    tally = Tally(unit, value, counts[unit, value], 20, 5)
    totals = np.full((5, 6), -1)
    for part, sums in tally.over(found):
        totals[:, part] = sums
    assert totals.T.tolist() == [counts[chosen].sum(axis=0).tolist() for chosen in classes]
    assert found.total(counts.sum(axis=1)).tolist() == totals.sum(axis=0).tolist()
    assert found.n_classes().tolist() == [1, 3, 7, 20, 2, 1]
