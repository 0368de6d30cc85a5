"""How much memory what is done with each record takes at its peak, as Python's allocators count it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np

from tasks.geometry.space import distinct_rows, placed, space_of
from tasks.recoding.generalize import generalized, generalized_rows
from tasks.types import IntArray, PreparedTable
from tests.support.small import prepared, small_policy

POLICY = small_policy()
FEW, MANY = 20_000, 60_000  # records
CELL = 8  # bytes


def table_of(n: int) -> tuple[PreparedTable, IntArray]:
    """Return n records, of which most differ, and groups of ten."""
    ages, cities = np.arange(n) * 100 / n, [f"city {i % 40}" for i in range(n)]
    return prepared(POLICY, list(zip(ages, cities, ["flu", "hiv"] * (n // 2), strict=True))), np.arange(
        n
    ) // 10


def bytes_a_record(work_on: Callable[[int], Callable[[], object]]) -> float:
    """Return by how much the peak of the work grows with each record that a table has more."""
    peaks = []
    for n in (FEW, MANY):
        work = work_on(n)
        work()  # what is made once is not counted
        tracemalloc.start()
        try:
            work()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return (peaks[1] - peaks[0]) / (MANY - FEW)


def test_published_rows_take_their_cells_and_their_order() -> None:
    def work_on(n: int) -> Callable[[], object]:
        table, labels = table_of(n)
        return lambda: generalized_rows(table, labels, POLICY)

    n_columns = 4
    assert bytes_a_record(work_on) < 2 * n_columns * CELL + 4 * CELL  # copies of all cells took 173


def test_people_are_placed_in_the_space_of_their_own_table_without_copies() -> None:
    table, labels = table_of(100)
    numbers, codes = placed(table, space_of([generalized(table, labels, POLICY)], table))
    assert numbers is table.numeric
    assert codes is table.codes


def test_distinct_rows_take_no_more_where_there_are_more_columns() -> None:
    def work_on(n_columns: int) -> Callable[[int], Callable[[], object]]:
        return lambda n: lambda: distinct_rows(np.arange(n) // (i + 2) for i in range(n_columns))

    assert bytes_a_record(work_on(9)) < 1.2 * bytes_a_record(work_on(3))
