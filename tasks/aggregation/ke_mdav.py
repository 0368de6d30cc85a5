"""Local (k,e)-MDAV: groups of nearest records inside each leaf, each with enough different sensitive values.

Domingo-Ferrer and Mateo-Sanz's MDAV (fixed size k, groups grown in turn from both ends) with the condition
on sensitive values of Zhang et al. (2007), as Hu et al. (2026, section 4.3) combine them. A group is
the nearest k records to its seed; where these break the constraints, members are swapped for the
nearest records that mend it. A group of a leaf with m different records costs O(m).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tasks.aggregation.rest import Straight
from tasks.aggregation.swaps import repair_groups, shortfall
from tasks.partitioning.constraints import Constraints
from tasks.types import FloatArray, IntArray, Progress, no_progress


@dataclass(frozen=True)
class LocalRule:
    """How a leaf is cut into groups.

    `max_group_size` is kept where the constraints can be kept with it. `sensitive_weight` is the weight of
    the distance between sensitive distributions for records that are left over, in units of the leaf's
    mean distance. `max_sensitive_spread` is the greatest range (numeric) or number of distinct values
    (categorical) that a group is grown to, the reading of the paper's text for e; None: no such bound.
    `group_size` is the size that groups are grown to, at least k; a leaf is then dealt out evenly to as many
    groups as have that size, or to as many as `max_group_size` asks for. None: groups of k, the last of up
    to 2k - 1, as MDAV's.
    """

    max_group_size: int
    sensitive_weight: float = 0.1
    max_sensitive_spread: float | None = None
    group_size: int | None = None


def planned_sizes(n_records: int, k: int, rule: LocalRule) -> list[int]:
    """Return the sizes of the groups of a leaf, largest first: 16 and 15 for 31 of at most 24 records.

    With a `group_size` the sizes differ by at most 1. They are at most `max_group_size` if groups of at
    least k can be, and at least `group_size` if that leaves none too large.
    """
    if rule.group_size is None:
        n_groups = max(n_records // k, 1)
        return [n_records - k * (n_groups - 1), *[k] * (n_groups - 1)]
    n_groups = max(n_records // max(rule.group_size, k), -(-n_records // rule.max_group_size), 1)
    n_groups = max(min(n_groups, n_records // k), 1)
    small, larger = divmod(n_records, n_groups)
    return [small + 1] * larger + [small] * (n_groups - larger)


def room_for_groups(constraints: Constraints, group_size: int, least_side: int) -> Constraints:
    """Return what a partition has to keep so that groups of `group_size` fit into its leaves.

    A side of a cut has at least `least_side` records. Of 16 records with p_max 0.8 at most 12 can be alike:
    the sides keep 12 / 16, if all records together do.
    """

    def whole(p_max: float) -> float:
        return int(p_max * group_size + 1e-9) / group_size

    tight = replace(
        constraints,
        k=max(constraints.k, least_side),
        p_max=whole(constraints.p_max),
        columns=tuple(
            replace(one, own=replace(one.own, p_max=whole(one.own.p_max))) if one.own else one
            for one in constraints.columns
        ),
    )
    everyone = np.arange(len(constraints.columns[0].codes)) if constraints.columns else np.arange(0)
    holds = replace(tight, k=1).group_holds(everyone) if len(everyone) else True
    return tight if holds else replace(tight, p_max=constraints.p_max, columns=constraints.columns)


def aggregate(
    points: FloatArray,
    labels: IntArray,
    constraints: Constraints,
    rule: LocalRule,
    progress: Progress = no_progress,
) -> IntArray:
    """Return finer labels (n,) for leaves `labels` (n,) of `points` (n, d).

    A leaf that satisfies `constraints` is cut into groups that do; any other is left as it is, and so is
    one of equal points.
    """
    order = np.argsort(labels, kind="stable")
    bounds = np.flatnonzero(np.diff(labels[order], prepend=-1, append=labels[order][-1] + 1))
    finer = np.empty(len(labels), dtype=np.int64)
    n_groups = 0
    n_leaves = len(bounds) - 1
    for leaf in range(n_leaves):
        records = order[bounds[leaf] : bounds[leaf + 1]]
        groups = _Leaf(points, records, constraints, rule).groups()
        for group in groups:
            finer[group] = n_groups
            n_groups += 1
        if leaf % 64 == 0:
            progress((leaf + 1) / n_leaves, f"leaf {leaf + 1} of {n_leaves}, {n_groups} groups")
    return finer


class _Leaf:
    """One leaf's records while they are being grouped."""

    def __init__(
        self, points: FloatArray, records: IntArray, constraints: Constraints, rule: LocalRule
    ) -> None:
        self.records = records
        self.points = points[records]
        self.limits = constraints
        self.rule = rule
        self.local = constraints.take(records)
        self.columns = self.local.columns

    def groups(self) -> list[IntArray]:
        """Return the groups as arrays of record numbers."""
        m = len(self.records)
        everyone = np.arange(m)
        sizes = planned_sizes(m, self.limits.k, self.rule)
        alike = not np.ptp(self.points, axis=0).any() and self.rule.group_size is None
        if len(sizes) < 2 or alike or not self.local.group_holds(everyone):
            return [self.records]
        grown, rest = self._grow(sizes)
        if not grown:
            return [self.records]
        return [self.records[group] for group in self._place(grown, rest)]

    def _grow(self, sizes: list[int]) -> tuple[list[IntArray], IntArray]:
        """Grow groups from both ends; the last size is left, or more where no valid group can be grown."""
        rest = self._everybody()
        grown: list[IntArray] = []
        seed: int | None = None
        for size in sizes[:0:-1]:
            if seed is None:
                start = rest.farthest_from_centre()
            else:
                start, seed = seed, None
            nearest = rest.nearest(start, size)
            group = taken = self._valid_group(nearest, rest)
            if group is None:
                group, taken = self._with_the_others_help(nearest, grown), nearest
            if group is None or taken is None:
                break
            grown.append(group)
            rest.take(taken)
            if len(grown) % 2 == 1:
                seed = rest.farthest_from(start)
        return grown, rest.records()

    def _everybody(self) -> Straight:
        """Return all records, those that are equal to points and constraints as one."""
        limits = self.local
        kind = [*(column.codes for column in self.columns), *(column.numbers for column in self.columns)]
        kind += [limits.person, limits.weights]
        return Straight.of(self.points, *(each for each in kind if each is not None))

    def _valid_group(self, nearest: IntArray, rest: Straight) -> IntArray | None:
        """Return a valid group: the nearest records to a seed, itself first, or with some of the others."""
        if self._valid(nearest):
            return nearest
        others = rest.all_nearest(int(nearest[0]), len(nearest))[len(nearest) :]
        found = repair_groups(nearest, others, self.local, self.rule.max_sensitive_spread)
        return found[0] if found is not None and self._valid(found[0]) else None

    def _valid(self, group: IntArray) -> bool:
        bound = self.rule.max_sensitive_spread
        return self.local.group_holds(group) and (
            bound is None or float(shortfall(group, self.local, bound)) <= 0
        )

    def _place(self, grown: list[IntArray], rest: IntArray) -> list[IntArray]:
        """Make what is left over a group of its own, or add each record to the nearest group it fits."""
        if self.rule.group_size is not None:
            centre = self.points[rest].mean(axis=0)
            inner = rest[np.argsort(_squared(self.points, rest, centre), kind="stable")]
            mended_rest = self._with_the_others_help(inner, grown)
            rest = rest if mended_rest is None else mended_rest
        if self._valid(rest) and len(rest) <= max(self.rule.max_group_size, 2 * self.limits.k - 1):
            return [*grown, rest]
        groups = [group.tolist() for group in grown]
        centres = np.array([self.points[group].mean(axis=0) for group in grown])
        mean_distance = float(np.sqrt(_squared(self.points, rest, self.points.mean(axis=0))).mean()) or 1.0
        size = np.array([len(group) for group in groups])
        counts = [
            np.stack([np.bincount(column.codes[group], minlength=column.n_values) for group in grown])
            for column in self.columns
        ]
        stuck: list[int] = []
        for record in rest.tolist():
            cost = np.sqrt(((centres - self.points[record]) ** 2).sum(axis=1)) / mean_distance
            cost += self.rule.sensitive_weight * self._unlikeness(record, counts, size)
            for place in np.argsort(cost, kind="stable").tolist():
                if len(groups[place]) < self.rule.max_group_size and self.local.group_holds(
                    np.array([*groups[place], record])
                ):
                    groups[place].append(record)
                    size[place] += 1
                    for column, count in zip(self.columns, counts, strict=True):
                        count[place, column.codes[record]] += 1
                    break
            else:
                stuck.append(record)
        arrays = [np.array(group) for group in groups]
        return self._absorb(arrays, np.array(stuck, dtype=np.int64)) if stuck else arrays

    def _with_the_others_help(self, group: IntArray, grown: list[IntArray]) -> IntArray | None:
        """Mend a group by swaps with the groups there are, nearest records first, while these stay valid.

        The groups in `grown` are changed; None, and nothing is changed, where that does not mend it.
        """
        if self._valid(group):
            return group
        if self.rule.group_size is None or len(group) < self.limits.k or not grown:
            return None
        changed = list(grown)
        number_of = np.full(len(self.records), -1)
        for number, members in enumerate(grown):
            number_of[members] = number
        others = np.flatnonzero(number_of >= 0)
        near = others[np.argsort(_squared(self.points, others, self.points[group[0]]), kind="stable")]

        refused: set[tuple[object, ...]] = set()

        def stays_valid(member: int, record: int) -> bool:
            number = number_of[record]
            # Two swaps of equal sensitive values do the same to a group.
            kind = (int(number), self._values(member), self._values(record))
            if number < 0 or kind in refused:
                return False
            swapped = np.where(changed[number] == record, member, changed[number])
            if not self._valid(swapped):
                refused.add(kind)
                return False
            changed[number] = swapped
            number_of[record], number_of[member] = -1, number
            refused.clear()
            return True

        found = repair_groups(group, near, self.local, self.rule.max_sensitive_spread, stays_valid)
        if found is None or not self._valid(found[0]):
            return None
        grown[:] = changed
        return found[0]

    def _values(self, record: int) -> tuple[float, ...]:
        return tuple(float((c.codes if c.numbers is None else c.numbers)[record]) for c in self.columns)

    def _unlikeness(self, record: int, counts: list[IntArray], size: IntArray) -> FloatArray:
        """Total variation distance between a record's sensitive values and each group's, summed.

        `counts[a]` (groups, values) are the groups' sensitive values, `size` (groups,) their records.
        """
        away = np.zeros(len(size))
        for column, count in zip(self.columns, counts, strict=True):
            away += 1 - count[:, column.codes[record]] / size
        return away

    def _absorb(self, groups: list[IntArray], stuck: IntArray) -> list[IntArray]:
        """Join records that fit nowhere with the nearest groups, as many as it takes to be valid together.

        The whole leaf is valid, so this ends at the latest with all groups in one.
        """
        centre = self.points[stuck].mean(axis=0)
        near = sorted(
            groups, key=lambda group: float(((self.points[group].mean(axis=0) - centre) ** 2).sum())
        )
        joined = stuck
        while near and not self.local.group_holds(joined):
            joined = np.concatenate([joined, near.pop(0)])
        return [*near, joined]


def _squared(points: FloatArray, records: IntArray, centre: FloatArray) -> FloatArray:
    return np.asarray(((points[records] - centre) ** 2).sum(axis=1))
