"""A release as attackers see it: its classes, or its classes divided by a sensitive value that they know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from release_store.records import EquivalenceClasses
from tasks.geometry.candidates import ClassMatches
from tasks.geometry.cells import Cells, format_cells, true_cells, unit_of
from tasks.geometry.space import Space, distinct_rows
from tasks.risk.attacks.attackers import People
from tasks.types import FloatArray, IntArray

FEW_VALUES = 64
TOTALS = 4_000_000


class Tally:
    """How many rows of each of N units have each of V sensitive values, to be added up over units."""

    def __init__(self, unit: IntArray, value: IntArray, rows: IntArray, n_units: int, n_values: int) -> None:
        self.n_values = n_values
        self._columns: IntArray | None = None
        if n_values <= FEW_VALUES:
            self._columns = np.zeros((n_values, n_units), dtype=np.int64)
            np.add.at(self._columns, (value, unit), rows)
            return
        order = np.argsort(unit, kind="stable")
        self._value, self._rows = value[order], rows[order]
        self._first = np.searchsorted(unit[order], np.arange(n_units + 1))

    def over(self, found: ClassMatches) -> Iterator[tuple[slice, IntArray]]:
        """Yield the sums (V, m) over the units of each person found, for a few people at a time."""
        step = max(1, TOTALS // max(self.n_values, 1))
        ends = np.append(found.starts, len(found.classes))
        for first in range(0, len(found.people), step):
            last = min(first + step, len(found.people))
            units = found.classes[ends[first] : ends[last]]
            starts = ends[first:last] - ends[first]
            if self._columns is not None:
                totals = np.stack([np.add.reduceat(column[units], starts) for column in self._columns])
            else:
                totals = self._sparse(units, starts)
            yield slice(first, last), totals

    def _sparse(self, units: IntArray, starts: IntArray) -> IntArray:
        person = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(units)))
        entries = self._first[units + 1] - self._first[units]
        ends = np.cumsum(entries)
        at = np.repeat(self._first[units] - ends + entries, entries) + np.arange(int(entries.sum()))
        key = np.repeat(person, entries) * self.n_values + self._value[at]
        totals = np.bincount(key, weights=self._rows[at], minlength=len(starts) * self.n_values)
        return totals.astype(np.int64).reshape(len(starts), self.n_values).T


@dataclass(frozen=True)
class Units:
    """N classes, or parts of them with one sensitive value each: `owner` (N,) the class, `size` (N,) rows.

    `tallies` are of the sensitive attributes that are not known. The value of a part is one more number in
    `cells`, after all others.
    """

    cells: Cells
    owner: IntArray
    size: IntArray
    tallies: dict[str, Tally]


class Target:
    """A release that is attacked.

    `rows` gives the published rows as `read_rows` does, and is asked if an attacker knows a sensitive value
    or if quasi-identifiers are `noised`: then rows are told apart by their numbers.
    `source` tells how many values a cell has to choose from, and how frequent each sensitive value is.
    `groups[attribute]` (values,) are the similar values of an attribute, which are guessed as one, and
    `alike` has the counts of these; None where there are none.
    """

    def __init__(
        self,
        classes: EquivalenceClasses,
        space: Space,
        source: People,
        rows: Callable[[], pd.DataFrame],
        noised: Sequence[str] = (),
        groups: Mapping[str, IntArray] | None = None,
        alike: EquivalenceClasses | None = None,
    ) -> None:
        self._groups, self.guessed = groups or {}, (alike or classes).counts
        self.classes, self.space, self.source = classes, space, source
        self.noised = [space.numeric.index(name) for name in noised]
        self.cells = format_cells(classes, space, source.numbers)
        self.sensitive = list(classes.counts)
        self._rows = rows
        self._units: dict[str | None, Units] = {}

    def units(self, known: str | None) -> Units:
        """Return the classes, divided by the values of the attribute that is known."""
        if known not in self._units:
            whole = known is None and not self.noised
            self._units[known] = self._whole() if whole else self._divided(known)
        return self._units[known]

    def _whole(self) -> Units:
        n = self.classes.n_classes
        tallies = {}
        for name, counts in self.guessed.items():
            unit, value = np.nonzero(counts)
            tallies[name] = Tally(unit, value, counts[unit, value], n, counts.shape[1])
        return Units(self.cells, np.arange(n), self.classes.size, tallies)

    def _divided(self, known: str | None) -> Units:
        place = {name: f"value_{i}" for i, name in enumerate(self.sensitive)}
        frame = self._frame
        rows = frame["rows"].to_numpy(dtype=np.int64)
        columns = ["class_number", *(f"noised_{i}" for i in range(len(self.noised)))]
        columns += [] if known is None else [place[known]]
        first, unit = distinct_rows([frame[column].to_numpy() for column in columns])
        owner = frame["class_number"].to_numpy(dtype=np.int64)[first]
        cells = self.cells.take(owner)
        for i, column in enumerate(self.noised):
            number = frame[f"noised_{i}"].to_numpy(dtype=np.float64)[first]
            cells = cells.with_number(column, number, unit_of(self.source.numbers[:, column]))
        if known is not None:
            value = frame[place[known]].to_numpy(dtype=np.float64)[first][:, None]
            cells = cells.beside(true_cells(value, value, ()))
        size = np.bincount(unit, weights=rows, minlength=len(first)).astype(np.int64)
        tallies = {
            name: Tally(
                unit,
                self._as_guessed(name, frame[place[name]].to_numpy(dtype=np.int64)),
                rows,
                len(first),
                self.guessed[name].shape[1],
            )
            for name in self.sensitive
            if name != known
        }
        return Units(cells, owner, size, tallies)

    def _as_guessed(self, name: str, values: IntArray) -> IntArray:
        return self._groups[name][values] if name in self._groups else values

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return self._rows()

    @cached_property
    def choices(self) -> FloatArray:
        """How many values each cell leaves to choose from, (n_classes, p + q), at least 1.

        Of an interval those that stand in the source: to know fewer is to guess better.
        """
        found = np.ones((len(self.cells), self.cells.low.shape[1] + len(self.cells.member)))
        for column, numbers in enumerate(self.source.numbers.T):
            values = np.unique(numbers[~np.isnan(numbers)])
            most = np.searchsorted(values, self.cells.high[:, column], side="right")
            found[:, column] = most - np.searchsorted(values, self.cells.low[:, column], side="left")
        for column, member in enumerate(self.cells.member, self.cells.low.shape[1]):
            found[:, column] = member.sum(axis=1)
        return np.maximum(found, 1.0)

    @cached_property
    def frequency(self) -> dict[str, FloatArray]:
        """The share of the source's people who have each sensitive value of the release, (n_values,).

        Of similar values together, where there are any.
        """
        shares = {}
        for name in self.source.values:
            values, n_values = self.source.guessed(name), self.guessed[name].shape[1]
            shares[name] = np.bincount(values[values >= 0], minlength=n_values) / max(len(values), 1)
        return shares
