"""Linkage by an attacker who knows all quasi-identifiers (Hu et al., 2026, eq. 8 to 12).

For a person x, C(x) are the classes whose every cell contains x, and m(x) is the smallest of their sizes.
An unknown (missing) number of x fits every cell. Where published values were put in place of people's own,
C(x) are the nearest classes instead (`tasks.geometry.nearest`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from release_store.records import EquivalenceClasses
from tasks.geometry.candidates import ClassMatches, find_containing
from tasks.geometry.cells import Cells, format_cells
from tasks.geometry.space import distinct_rows, placed, space_of
from tasks.types import FloatArray, IntArray, PreparedTable


@dataclass(frozen=True)
class Links:
    """What an attacker finds for each person: `smallest` m(x) (0: C(x) is empty), `candidates` |C(x)|, and
    `only`, the class where there is just one (-1: none or several). All have shape (n,).
    """

    smallest: NDArray[np.int32]
    candidates: NDArray[np.int32]
    only: NDArray[np.int32]

    @classmethod
    def of_nobody(cls, n: int) -> Links:
        """Return the links of n people who are in no class, to be added to."""
        return cls(np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32), np.full(n, -1, dtype=np.int32))

    def add(self, found: ClassMatches, size: IntArray) -> None:
        """Fill in some people's classes, of `size` (N,) rows each."""
        self.smallest[found.people] = np.minimum.reduceat(size[found.classes], found.starts)
        self.candidates[found.people] = found.n_classes()
        self.only[found.people] = np.where(found.n_classes() == 1, found.classes[found.starts], -1)

    def take(self, people: NDArray[np.signedinteger]) -> Links:
        """Return the links of the people at these places."""
        return Links(self.smallest[people], self.candidates[people], self.only[people])


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (ddof 1) over draws of the attacker's table."""

    mean: float
    std: float


def link(table: PreparedTable, classes: EquivalenceClasses) -> Links:
    """Find C(x) and m(x) for every record of a table."""
    space = space_of([classes], table)
    numbers, codes = placed(table, space)
    return link_people(numbers, codes, format_cells(classes, space, numbers), classes.size)


def link_people(numbers: FloatArray, codes: NDArray[np.int32], cells: Cells, size: IntArray) -> Links:
    """Find C(x) and m(x) for people `numbers` (n, p), `codes` (n, q) among N classes of `size` (N,) rows.

    Equal people are counted once. Cost: see `candidates.find`.
    """
    first, place = distinct_rows([*numbers.T, *codes.T])
    links = Links.of_nobody(len(numbers))
    for found in find_containing(numbers, codes, cells, first):
        links.add(found, size)
    return links.take(first[place])


def draws(n_records: int, ext_frac: float, seeds: int, secret: int | None = None) -> list[IntArray]:
    """Return the attacker's tables: for each seed 0, 1, ... a share of the source's rows, none twice.

    With a `secret` nobody who does not have it can draw them again.
    """
    size = max(1, round(ext_frac * n_records))
    seeded = [np.random.default_rng(seed if secret is None else [secret, seed]) for seed in range(seeds)]
    return [each.choice(n_records, size=size, replace=False) for each in seeded]


def expected_risk(links: Links, tables: list[IntArray]) -> Spread:
    """ERR: mean over the attacker's table of 1/m(x), 0 where C(x) is empty (eq. 11)."""
    risk = np.where(links.smallest > 0, 1 / np.maximum(links.smallest, 1), 0.0)
    return over_draws([float(risk[rows].mean()) for rows in tables])


def unique_match_rate(links: Links, tables: list[IntArray]) -> Spread:
    """UMR: share of the attacker's table with exactly one candidate class (eq. 12)."""
    return over_draws([float((links.candidates[rows] == 1).mean()) for rows in tables])


def over_draws(values: list[float]) -> Spread:
    """Return the mean and the standard deviation (ddof 1; 0 for a single draw)."""
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)
