"""Records in the cells of an earlier release, one record and one cell after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.types import PreparedTable


def place_records(
    table: PreparedTable,
    cells: EquivalenceClasses,
    policy: ReleasePolicy,
    holds: Callable[[Sequence[int]], bool],
) -> list[int]:
    """Return the cell of each record; -1 for one that no cell in use takes."""
    every = range(cells.n_classes)
    loss = [round(_loss(table, cells, policy, cell), 12) for cell in every]
    fits = [[cell for cell in every if contains(table, cells, cell, i)] for i in range(table.n_records)]
    stands = set(every)
    while True:
        chosen = [
            min((cell for cell in mine if cell in stands), key=lambda cell: (loss[cell], cell), default=-1)
            for mine in fits
        ]
        members = {cell: [i for i, one in enumerate(chosen) if one == cell] for cell in {*chosen} - {-1}}
        failing = sorted((len(records), cell) for cell, records in members.items() if not holds(records))
        if not failing:
            return chosen
        stands -= {cell for _, cell in failing[: math.ceil(len(failing) / 2)]}


def contains(table: PreparedTable, cells: EquivalenceClasses, cell: int, record: int) -> bool:
    """Tell whether a cell holds a record; what is missing is in every interval."""
    for column, name in enumerate(table.numeric_names):
        value = table.numeric[record, column]
        low, high = cells.intervals[name][cell]
        if not math.isnan(value) and not low <= value <= high:
            return False
    for column, name in enumerate(table.categorical_names):
        value = table.domains[name][table.codes[record, column]]
        if not cells.sets[name].whole[cell] and value not in _values(cells, name, cell):
            return False
    return True


def _loss(table: PreparedTable, cells: EquivalenceClasses, policy: ReleasePolicy, cell: int) -> float:
    weights = {name: qi.weight for name, qi in policy.roles.quasi_identifiers.items()}
    total = 0.0
    for column, name in enumerate(table.numeric_names):
        known = [value for value in table.numeric[:, column].tolist() if not math.isnan(value)]
        span = max(known) - min(known)
        low, high = cells.intervals[name][cell]
        total += weights[name] * (min((high - low) / span, 1.0) if span > 0 else 0.0)
    for name in table.categorical_names:
        n_values = len(table.domains[name])
        n_covered = len(_values(cells, name, cell))
        if cells.sets[name].whole[cell]:
            n_covered = len({*table.domains[name], *cells.sets[name].values})
        if n_values > 1 and n_covered > 1:
            total += weights[name] * min(n_covered / n_values, 1.0)
    return total / sum(weights.values())


def _values(cells: EquivalenceClasses, name: str, cell: int) -> set[str]:
    each = cells.sets[name]
    return {value for value, is_in in zip(each.values, each.member[cell], strict=True) if is_in}
