"""Attackers who know only some columns, and the smallest sets of columns that single people out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from tasks.geometry.space import distinct_rows
from tasks.risk.gates.population import LARGEST
from tasks.risk.suda import dis_suda, suda
from tasks.table_measures.counts import ValueCounts
from tasks.table_measures.rows import CodedTable, RowClasses, n_people_under
from tasks.types import FloatArray, IntArray

MOST_WORK = 100_000_000  # rows times combinations: some ten CPU seconds
MOST_SETS = 10
SEVERAL_ROWS = "some people have several rows, and the scores count rows"
TOO_MUCH = "the table has too many rows and columns"


@dataclass(frozen=True)
class ColumnRisk:
    """One quasi-identifier: how many different `cells` it has, and who is alone without it, all others known.

    `suda_share` is its share of all SUDA scores; None where there are none.
    """

    cells: int
    alone_without: int
    suda_share: float | None


@dataclass(frozen=True)
class SmallSet:
    """A smallest set of columns on which `rows` rows are alone, and on no part of it."""

    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class SinglingOut:
    """What singles people out, by column and by the sets of up to `largest` columns that do so most often.

    `sets` are those of the most rows, at most 10 of `n_sets`. `dis` is the greatest DIS-SUDA probability.
    """

    columns: dict[str, ColumnRisk]
    largest: int | None
    n_sets: int
    sets: tuple[SmallSet, ...]
    dis: float | None
    not_measured: str = ""


@dataclass(frozen=True)
class PartialKnowledge:
    """An attacker who knows any `columns` quasi-identifiers of somebody in the table.

    `fewest_rows` match what is known (k of k^m-anonymity with m = `columns`, and K of LKC-privacy). Of those
    rows at most the share `greatest_share[attribute]` has one sensitive value, with that many known or fewer
    (C of LKC-privacy with L = `columns`).
    """

    columns: int
    fewest_rows: int
    greatest_share: dict[str, float]


def singling_out(table: CodedTable, classes: RowClasses, fraction: float | None) -> SinglingOut:
    """Find what singles people out; `fraction` of the population is in the table, None where unknown.

    A class counts as at most three rows, which no score tells from more. O(n) for each combination.
    """
    names = list(table.quasi_identifiers)
    without = {
        name: n_people_under(
            (codes for other, codes in table.quasi_identifiers.items() if other != name),
            table.person,
            table.n_rows,
            2,
        )
        for name in names
    }
    cells = {name: len(np.unique(codes)) for name, codes in table.quasi_identifiers.items()}
    rows = np.repeat(classes.first, np.minimum(classes.people, 3))
    largest = _largest(len(rows), len(names), LARGEST)
    if table.person is not None or not largest:
        reason = TOO_MUCH if table.person is None else SEVERAL_ROWS
        columns = {name: ColumnRisk(cells[name], without[name], None) for name in names}
        return SinglingOut(columns, None, 0, (), None, reason)
    codes = np.column_stack([codes[rows] for codes in table.quasi_identifiers.values()])
    scores = suda(codes, largest)
    scored = bool((scores.score > 0).any())
    shares = dict(zip(names, scores.by_attribute().tolist(), strict=True))
    ranked = sorted(scores.records.items(), key=lambda one: (-one[1], len(one[0]), one[0]))
    return SinglingOut(
        {name: ColumnRisk(cells[name], without[name], shares[name] if scored else None) for name in names},
        largest,
        len(ranked),
        tuple(SmallSet(tuple(names[q] for q in chosen), n) for chosen, n in ranked[:MOST_SETS]),
        None if fraction is None or not scored else float(dis_suda(codes, scores, fraction).max()),
    )


def partial_knowledge(
    table: CodedTable, classes: RowClasses, counts: Mapping[str, ValueCounts]
) -> tuple[PartialKnowledge, ...]:
    """Measure what attackers find who know up to 3 quasi-identifiers, as cells of the table.

    `counts` are those of each sensitive attribute.
    Nothing where people have several rows or households count: rows that match are then not people. O(n) for
    each combination, of as many columns as the limit of work has room for.
    """
    if table.unit is not None:
        return ()
    codes = [each[classes.first] for each in table.quasi_identifiers.values()]
    n = len(classes.first) + sum(len(each.n) for each in counts.values())
    return tuple(_by_size(codes, classes.people, counts, _largest(n, len(codes), LARGEST)))


def _largest(n_rows: int, n_columns: int, most: int) -> int:
    """Return the largest size of combinations, up to `most`, for which there is room; 0: for none."""
    sizes = range(1, min(most, n_columns) + 1)
    work = np.cumsum([n_rows * comb(n_columns, size) for size in sizes])
    return int((work <= MOST_WORK).sum())


def _by_size(
    codes: list[IntArray], size: IntArray, counts: Mapping[str, ValueCounts], largest: int
) -> Iterator[PartialKnowledge]:
    greatest = dict.fromkeys(counts, 0.0)
    for n_known in range(1, largest + 1):
        fewest = int(size.sum())
        for chosen in combinations(codes, n_known):
            _, group = distinct_rows(chosen)
            rows = np.asarray(np.bincount(group, weights=size), dtype=np.float64)
            fewest = min(fewest, int(rows.min()))
            for name, each in counts.items():
                if greatest[name] == 1:
                    continue
                greatest[name] = max(greatest[name], _greatest_share(each, group, rows))
        yield PartialKnowledge(n_known, fewest, dict(greatest))


def _greatest_share(counts: ValueCounts, group: IntArray, rows: FloatArray) -> float:
    """Return the largest share of one value in a `group` (n_classes,) of classes, of `rows` (n_groups,)."""
    of_group = group[counts.of_class]
    first, pair = distinct_rows([of_group, counts.value])
    with_value = np.bincount(pair, weights=counts.n)
    return float((with_value / rows[of_group[first]]).max())
