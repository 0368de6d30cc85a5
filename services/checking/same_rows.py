"""Rows that are nearly those of the last release, or too few to hold them, against `population`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from release_store.db.connection import DATABASE
from release_store.records import EquivalenceClasses
from services.checking.findings import Finding, finding_of
from tasks.history.following import follows_people
from tasks.intake.cell_table import TABLE, Cells
from tasks.sql import identifier
from tasks.types import BoolArray, FloatArray, IntArray

MOST_CELLS = 200  # of the last release, in which rows are counted: enough to tell, and soon counted
_HINT = "Check the table, or `population`: the gates of a run look at it, too."


def same_rows_findings(cells: Cells, policy: ReleasePolicy, store: Path, period: str) -> list[Finding]:
    """Return a warning where the rows beside the last release contradict `population`, if nobody is followed.

    `store` may be none. The rows are counted in the cells of the release, as the gate `pairwise` counts them
    in equal cells once they are published. O(n) for up to MOST_CELLS cells.
    """
    if follows_people(policy) or not (store / DATABASE).exists():
        return []
    from release_store.store import ReleaseStore  # it takes long to import

    try:
        kept = ReleaseStore.open(store)
        last = [one.release_id for one in kept.releases(policy.series) if one.period != period][-1:]
        earlier = [(name, kept.classes(name)) for name in last]
    except ReleaseGateError as error:
        return [finding_of(error)]
    return [
        Finding(cells.where, "population", said, _HINT, None)
        for name, classes in earlier
        for said in _contradictions(cells, policy, name, classes)
    ]


def _contradictions(
    cells: Cells, policy: ReleasePolicy, name: str, classes: EquivalenceClasses
) -> Iterator[str]:
    before = int(classes.size.sum())
    if policy.population == "cumulative":
        if cells.rows < before:
            yield f"{cells.rows:,} rows are fewer than the {before:,} of {name}: not cumulative"
        return
    from tasks.history.same_people import close_sizes  # these take long to import
    from tasks.history.selection import by_leaves

    chosen = np.unique(np.linspace(0, classes.n_classes - 1, MOST_CELLS).astype(np.int64))
    now = _rows_in(cells, policy, by_leaves(classes, policy), chosen)
    if now is None:
        return
    both = now > 0
    close = close_sizes(
        classes.size[chosen][both], now[both], policy.privacy.k, one_way=policy.population != "independent"
    )
    if close is not None:
        yield f"beside {name}, {close.said(policy.privacy.k)}"


def _rows_in(
    cells: Cells, policy: ReleasePolicy, classes: EquivalenceClasses, chosen: IntArray
) -> IntArray | None:
    """Return how many rows lie in each chosen cell, None where the cells are not those of the columns."""
    names = tuple(policy.roles.quasi_identifiers)
    known = {*classes.intervals, *classes.sets}
    if known != {*names} or classes.replaced or not all(map(cells.has, names)):
        return None
    read = [cells.number(one) if one in classes.intervals else identifier(one) for one in names]
    rows = cells.all(f"SELECT count(*), {', '.join(read)} FROM {TABLE} GROUP BY ALL")
    counts, *columns = (np.array(one) for one in zip(*rows, strict=True))
    read_as: dict[str, FloatArray | IntArray] = {}
    for name, values in zip(names, columns, strict=True):
        if name in classes.intervals:
            read_as[name] = values.astype(np.float64)
        else:
            places = {value: place for place, value in enumerate(classes.sets[name].values)}
            label = policy.source.missing_label
            read_as[name] = np.array([places.get(label if one is None else str(one), -1) for one in values])
    return np.array([counts[_inside(classes, cell, read_as)].sum() for cell in chosen], dtype=np.int64)


def _inside(
    classes: EquivalenceClasses, cell: int, columns: Mapping[str, FloatArray | IntArray]
) -> BoolArray:
    """Tell which rows lie in a cell, (n,), by their numbers and the places of their values, -1 for none."""
    inside = np.ones(len(next(iter(columns.values()))), dtype=bool)
    for name, values in columns.items():
        if name in classes.intervals:
            low, high = classes.intervals[name][cell]
            inside &= (low <= values) & (values <= high)
        elif not classes.sets[name].whole[cell]:
            inside &= np.append(classes.sets[name].member[cell], [False])[values]
    return inside
