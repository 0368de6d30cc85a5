"""The attacker's tables that linkage is measured on: drawn from the source, with errors in some cells, and
about people who are not in the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tasks.risk.attacks.attackers import People, joined, with_errors
from tasks.risk.attacks.linkage import Links, draws, link_people
from tasks.risk.attacks.target import Target
from tasks.types import IntArray

MOST_WITH_ERRORS = 500_000  # people of a table; a share of so many has a standard error of 0.0007 at most


@dataclass(frozen=True)
class External:
    """One kind of table: the links of everybody in it, the draws of each `ext_frac` as their places, and of
    those who match one class only the share whose row may be in it (None: not asked, or of too few people).
    """

    kind: str
    links: Links
    draws: dict[float, list[IntArray]]
    right: float | None = None


def from_source(links: Links, tables: dict[float, list[IntArray]]) -> External:
    """Return the tables that are copies of the source's rows."""
    return External("of the source", links, tables)


def erroneous(target: Target, tables: dict[float, list[IntArray]], share: float, fewest: int) -> External:
    """Return tables of these rows with a share of wrong cells; each has errors of its own.

    Of a table of more than 500,000 rows so many are in it, the first ones: they were drawn in any order.

    Whose row may be in a class depends on sensitive values: of under `fewest` people it is not told.
    """
    source = target.source
    drawn = [(seed, rows[:MOST_WITH_ERRORS]) for found in tables.values() for seed, rows in enumerate(found)]
    rows = np.concatenate([rows for _, rows in drawn])
    drawn_people = (source.take(source.of_rows(rows)) for _, rows in drawn)
    people = joined(
        [with_errors(each, source, share, seed) for each, (seed, _) in zip(drawn_people, drawn, strict=True)]
    )
    units = target.units(None)
    links = link_people(people.numbers, people.codes, units.cells, units.size)
    places = iter(_places([len(rows) for _, rows in drawn]))
    placed = {f: [next(places) for _ in found] for f, found in tables.items()}
    unique = np.flatnonzero(links.only >= 0)
    right = None
    if len(np.unique(rows[unique])) >= fewest:
        right = _may_hold(target, source.take(source.of_rows(rows[unique])), units.owner[links.only[unique]])
    fewer = any(len(one) > MOST_WITH_ERRORS for found in tables.values() for one in found)
    kind = f"with errors in {share:.0%} of the cells"
    kind += f", of at most {MOST_WITH_ERRORS:,} people" if fewer else ""
    return External(kind, links, placed, right)


def hold_out(target: Target, control: People, ext_fracs: Sequence[float], seeds: int) -> External:
    """Return tables drawn from people who are not in the source: whoever of them matches is mistaken."""
    units = target.units(None)
    links = link_people(control.numbers, control.codes, units.cells, units.size)
    return External(
        "of people outside", links, {f: draws(len(control), f, seeds) for f in ext_fracs}, right=0.0
    )


def _may_hold(target: Target, people: People, classes: IntArray) -> float:
    """Return the share of people whose true cells and sensitive values stand in the class they matched."""
    inside = target.cells.contain(classes, people.numbers, people.codes)
    for name, counts in target.classes.counts.items():
        value = people.values[name]
        inside &= (value >= 0) & (counts[classes, np.maximum(value, 0)] > 0)
    return float(inside.mean())


def _places(sizes: Sequence[int]) -> list[IntArray]:
    ends = np.cumsum([0, *sizes]).tolist()
    return [np.arange(first, last) for first, last in pairwise(ends)]
