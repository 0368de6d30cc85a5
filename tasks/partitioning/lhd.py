"""lHD-Diversity: classes grown by the record that costs least precision (Riyana, 2025, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from policy.roles import Roles
from tasks.partitioning.constraints import Constraints, SensitiveColumn, number_range
from tasks.partitioning.nearby import Nearby
from tasks.partitioning.precision import Boxes, Precision, precision_of
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable, Progress, no_progress

Accept = Callable[[IntArray], bool]
"""`accept(records)` tells whether these records may be a class, whatever else they hold."""


@dataclass(frozen=True)
class LhdRule:
    """How far the greedy search goes.

    `block` is how many of the nearest records left are candidates at first, and a quarter as many of those
    whose value of a sensitive attribute is another; four times as many each time that no class is found. A
    class is given up at `most` times its least size. After `tries` records in a row from which none grows,
    with all that is left to choose from, the rest is left over, unless `accept` has a say; as many classes
    are asked to accept a record that is left over.
    """

    block: int = 128
    most: int = 4
    tries: int = 16


def partition(
    table: PreparedTable,
    roles: Roles,
    constraints: Constraints,
    *,
    l: int,  # noqa: E741 -- the field's own name for it
    accept: Accept | None = None,
    rule: LhdRule | None = None,
    progress: Progress = no_progress,
) -> IntArray:
    """Return one class label a record, -1 for a suppressed one.

    Every class has at least k and l records, l distinct values of every sensitive attribute, satisfies
    `constraints` and is accepted. A class starts from the first record left, in the table's order (the
    paper: an arbitrary one), and takes the record that adds least PREC (eq. 1; ties: the first record).

    The printed loop takes whatever is cheapest until the values suffice; here a class takes only records that
    bring what it lacks, in all attributes if one does, once it is large enough or has room for no others:
    else an attribute with one frequent value would make it swallow the table. A first record from which no
    class grows is left over, and so are those at the end. Each of them joins the class that stays valid at
    least PREC, and is suppressed where there is none; the paper suppresses them all. Where no class grows at
    all, and all records together hold and have l values, they are one class: a model may ask for more records
    than a class may grow to. `accept` asks for the comparison with earlier releases (`tasks.repair.growth`);
    without it, this is the repair's.

    O(n^2) with a small constant: what is left is ranked once a class (by PREC up to 50,000 records, above
    that among the nearest in a KD-tree), the greedy steps look at the block.
    """
    growth = _Growth(precision_of(table, roles), constraints, l, accept, rule or LhdRule())
    labels = growth.placed(growth.classes(progress))
    everybody = np.arange(table.n_records)
    varied = all(len(np.unique(column.codes)) >= l for column in constraints.columns)
    if (labels >= 0).any() or not varied or not constraints.group_holds(everybody):
        return labels
    return np.zeros_like(labels) if accept is None or accept(everybody) else labels


class _Growth:
    """The records while they are put into classes."""

    def __init__(
        self,
        precision: Precision,
        constraints: Constraints,
        distinct: int,
        accept: Accept | None,
        rule: LhdRule,
    ) -> None:
        self.precision, self.limits, self.rule = precision, constraints, rule
        self.accept = accept
        self.columns = constraints.columns
        self.least = max(constraints.k, distinct)
        self.needed = [
            max(distinct, int(np.ceil(constraints.limits_of(c).e))) if c.numbers is None else distinct
            for c in self.columns
        ]
        self.most_alike = [
            max(1, int(constraints.limits_of(c).p_max * self.least + 1e-9)) for c in self.columns
        ]

    def classes(self, progress: Progress) -> IntArray:
        """Return labels (n,) of the grown classes, -1 for records that are left over."""
        n = self.precision.n_records
        labels = np.full(n, -1, dtype=np.int64)
        free = np.ones(n, dtype=bool)
        nearby = Nearby(self.precision, free)
        n_classes = failed = 0
        for first in range(n):
            if not free[first]:
                continue
            group, exhausted = self._grown(first, nearby)
            free[first] = False
            if group is not None:
                labels[group] = n_classes
                free[group] = False
                n_classes += 1
                progress(first / n, f"{n_classes} classes")
            failed = failed + 1 if group is None and exhausted else 0
            if failed == self.rule.tries and self.accept is None:
                break
        return labels

    def _grown(self, first: int, nearby: Nearby) -> tuple[IntArray | None, bool]:
        """Return a valid class from `first` or None, and whether all records left were candidates."""
        block = self.rule.block
        while True:
            candidates, everyone = nearby.to(first, block, [column.codes for column in self.columns])
            group = self._greedy(first, candidates) if len(candidates) >= self.least - 1 else None
            if group is not None or everyone:
                return group, everyone
            block *= 4

    def _greedy(self, first: int, candidates: IntArray) -> IntArray | None:
        """Return `first` with the candidates (b,) that it takes in turn; None where they do not suffice."""
        box = self.precision.alone(np.array([first]))
        with_each = self.precision.joined(box, candidates)
        codes = [column.codes[candidates] for column in self.columns]
        counts = [np.bincount(c.codes[[first]], minlength=c.n_values) for c in self.columns]
        left = np.ones(len(candidates), dtype=bool)
        chosen = [first]
        while True:
            group = np.array(chosen)
            lacking = self._lacking(counts, group) if len(chosen) >= self.least else []
            if len(chosen) >= self.least and not lacking and (self.accept is None or self.accept(group)):
                return group
            usable = self._usable(left, counts, codes, candidates, group, lacking)
            if len(chosen) >= self.rule.most * self.least or not usable.any():
                return None
            best = int(np.where(usable, self.precision.penalty(with_each), np.inf).argmin())
            with_each = _widened(with_each, best)
            left[best] = False
            chosen.append(int(candidates[best]))
            for count, code in zip(counts, codes, strict=True):
                count[code[best]] += 1

    def _lacking(self, counts: list[IntArray], group: IntArray) -> list[int]:
        """Return the sensitive attributes whose conditions a group does not satisfy."""
        return [
            i
            for i, (column, count) in enumerate(zip(self.columns, counts, strict=True))
            if (count > 0).sum() < self.needed[i]
            or not self.limits.column_holds(column, count, *number_range(column, group))
        ]

    def _usable(
        self,
        left: BoolArray,
        counts: list[IntArray],
        codes: list[IntArray],
        candidates: IntArray,
        group: IntArray,
        lacking: list[int],
    ) -> BoolArray:
        """Tell which of the candidates that are left may be taken next."""
        missing = [n - int((count > 0).sum()) for n, count in zip(self.needed, counts, strict=True)]
        room = self.least - len(group)
        usable = left.copy()
        brings = []
        if room > 0:
            for i, (count, code) in enumerate(zip(counts, codes, strict=True)):
                usable &= count[code] < self.most_alike[i]
                if missing[i] >= room:
                    brings.append(count[code] == 0)
        for i in lacking:
            here = counts[i][codes[i]]
            if missing[i] > 0:
                brings.append(here == 0)
            else:
                brings.append((here < counts[i].max()) | _beyond(self.columns[i], group, candidates))
        if not brings:
            return usable
        everything = usable & np.all(brings, axis=0)
        return everything if everything.any() else np.asarray(usable & np.any(brings, axis=0))

    def placed(self, labels: IntArray) -> IntArray:
        """Return labels with each record left over in the class that stays valid at least PREC, if any."""
        n_classes = int(labels.max(initial=-1)) + 1
        rest = np.flatnonzero(labels < 0)
        if not n_classes or not len(rest):
            return labels
        labels = labels.copy()
        inside = np.flatnonzero(labels >= 0)
        boxes = _boxes_of(self.precision, labels, inside, n_classes)
        size = np.bincount(labels[inside], minlength=n_classes)
        counts = [
            np.bincount(labels[inside] * c.n_values + c.codes[inside], minlength=n_classes * c.n_values)
            for c in self.columns
        ]
        counts = [c.reshape(n_classes, -1) for c in counts]
        penalty = self.precision.penalty(boxes)
        for record in rest.tolist():
            wider = self.precision.joined(boxes, np.array([record]))
            wider_penalty = self.precision.penalty(wider)
            valid = np.ones(n_classes, dtype=bool)
            for column, count in zip(self.columns, counts, strict=True):
                count[:, column.codes[record]] += 1
                # A valid class's range of numbers does not become smaller.
                valid &= self.limits.column_holds(column, count, None, None)
                count[:, column.codes[record]] -= 1
            added = np.where(valid, (size + 1) * wider_penalty - size * penalty, np.inf)
            place = self._accepting(record, labels, added)
            if place is None:
                continue
            labels[record] = place
            size[place] += 1
            penalty[place] = wider_penalty[place]
            boxes.share[:, place] = wider.share[:, place]
            boxes.low[:, place], boxes.high[:, place] = wider.low[:, place], wider.high[:, place]
            for column, count in zip(self.columns, counts, strict=True):
                count[place, column.codes[record]] += 1
        return labels

    def _accepting(self, record: int, labels: IntArray, added: FloatArray) -> int | None:
        """Return the class that takes a record at the least penalty `added` (n_classes,), or None."""
        if self.accept is None:
            place = int(added.argmin())
            return place if np.isfinite(added[place]) else None
        for place in np.argsort(added, kind="stable")[: self.rule.tries].tolist():
            if np.isfinite(added[place]) and self.accept(np.append(np.flatnonzero(labels == place), record)):
                return int(place)
        return None


def _widened(boxes: Boxes, chosen: int) -> Boxes:
    """Return the class with each candidate once `chosen` is part of it."""
    return Boxes(
        boxes.first,
        np.maximum(boxes.share, boxes.share[:, [chosen]]),
        np.fmin(boxes.low, boxes.low[:, [chosen]]),
        np.fmax(boxes.high, boxes.high[:, [chosen]]),
    )


def _boxes_of(precision: Precision, labels: IntArray, inside: IntArray, n_classes: int) -> Boxes:
    """Return what the classes of the records `inside` are generalized to."""
    first = np.empty(n_classes, dtype=np.int64)
    first[labels[inside[::-1]]] = inside[::-1]
    members = labels[inside]
    grown = precision.alone(first)
    pairs = precision.joined(precision.alone(first[members]), inside)
    for share, each in zip(grown.share, pairs.share, strict=True):
        np.maximum.at(share, members, each)
    low, high = grown.low.copy(), grown.high.copy()
    for least, greatest, numbers in zip(low, high, precision.numbers[:, inside], strict=True):
        np.fmin.at(least, members, numbers)
        np.fmax.at(greatest, members, numbers)
    return Boxes(first, grown.share, low, high)


def _beyond(column: SensitiveColumn, group: IntArray, candidates: IntArray) -> BoolArray:
    """Tell which candidates would widen a group's range of a numeric attribute."""
    low, high = number_range(column, group)
    if column.numbers is None or low is None or high is None:
        return np.zeros(len(candidates), dtype=bool)
    numbers = column.numbers[candidates]
    return np.asarray(~np.isnan(numbers) & ~((numbers >= low) & (numbers <= high)))
