"""Full-domain generalization: one level of the hierarchy a quasi-identifier, the same in the whole table.

Samarati (2001), doi:10.1109/69.971193; LeFevre, DeWitt and Ramakrishnan (2005), Incognito,
doi:10.1145/1066157.1066164. The levels are optimal by NCP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

import numpy as np

from policy.categorical import CategoricalQuasiIdentifier
from policy.errors import PolicyError
from policy.roles import NumericQuasiIdentifier, Roles
from tasks.counting import counted
from tasks.geometry.space import distinct_rows
from tasks.partitioning.constraints import Constraints
from tasks.partitioning.lattice import Check, Node, cheapest
from tasks.recoding.closure import covers_of
from tasks.recoding.intervals import covering_intervals, with_levels
from tasks.recoding.levels import Levels, number_levels
from tasks.types import BoolArray, FloatArray, IntArray, Note, Partition, PreparedTable, Progress

MOST_NODES = 4_000_000
COUNTS = 8_000_000  # of sensitive values of groups that are looked at together
KEPT = 8  # nodes whose groups are kept, to make those of other nodes of


def check_levels(roles: Roles, fixed: Mapping[str, int]) -> None:
    """Raise PolicyError where the policy decides on a level that a quasi-identifier does not have."""
    for name, level in fixed.items():
        highest = n_levels(roles.quasi_identifiers[name]) - 1
        if level > highest:
            raise PolicyError(
                f"is {level}, and the highest level is {highest}",
                where=f"method.levels.{name}",
                hint="Level 0 is the values themselves, the highest one the whole column.",
            )


def check_size(roles: Roles, fixed: Mapping[str, int]) -> None:
    """Raise PolicyError where the lattice has more than MOST_NODES nodes."""
    levels = {name: 1 if name in fixed else n_levels(qi) for name, qi in roles.quasi_identifiers.items()}
    if prod(levels.values()) > MOST_NODES:
        listed = ", ".join(f"{name} {number}" for name, number in levels.items())
        raise PolicyError(
            f"the lattice of levels has {prod(levels.values()):,} nodes, more than {MOST_NODES:,}: {listed}",
            where="roles.quasi_identifiers",
            hint="Give fewer widths or flatter hierarchies, or name another method.",
        )


def n_levels(qi: NumericQuasiIdentifier | CategoricalQuasiIdentifier) -> int:
    """Return how many levels a quasi-identifier has, the values and the whole counted."""
    if isinstance(qi, NumericQuasiIdentifier):
        return len(with_levels(qi).widths) + 2
    return len(covers_of(qi.tree, ()).node)


@dataclass(frozen=True)
class Column:
    """One quasi-identifier: `codes` (n,) of the records' values, with `levels`; a node has the code of its
    first value.

    `penalty[level, value]` is the NCP of a value's node, `weight` that of the column in the mean, of a sum
    of 1 over the columns. A record may stand for several `rows` (n,).
    """

    name: str
    codes: IntArray
    levels: Levels
    penalty: FloatArray
    weight: float
    rows: IntArray | None = None

    def at(self, level: int) -> Column:
        """Return the column with that level alone."""
        levels, penalty = Levels(self.levels.node[[level]]), self.penalty[[level]]
        return replace(self, levels=levels, penalty=penalty)

    def bounds(self, most_suppressed: int) -> FloatArray:
        """Return the weighted mean penalty of each level without the costliest `most_suppressed` records."""
        count = counted(self.codes, self.rows, self.levels.n_values)
        n_left = int(count.sum()) - most_suppressed
        found = []
        for penalty in self.penalty:
            order = np.argsort(penalty, kind="stable")
            left = np.minimum(np.cumsum(count[order]), n_left)
            found.append(float(np.diff(left, prepend=0) @ penalty[order]))
        return self.weight * np.array(found) / n_left


def columns_of(table: PreparedTable, roles: Roles) -> tuple[Column, ...]:
    """Return the quasi-identifiers of a table with the NCP of every value at every level.

    O(n log n) a number, O(values) a level.
    """
    total = sum(qi.weight for qi in roles.quasi_identifiers.values())
    found = []
    for i, name in enumerate(table.numeric_names):
        qi = with_levels(roles.numeric[name])
        codes, levels = number_levels(table.numeric[:, i], qi.bounds[0], qi.widths)
        penalty = _number_penalties(table.numeric[:, i], qi, levels.height)
        found.append(Column(name, codes, _by_first(levels.node), penalty, qi.weight / total, table.rows))
    for i, name in enumerate(table.categorical_names):
        domain, category = table.domains[name], roles.categorical[name]
        covers = covers_of(category.tree, domain)
        size = np.stack([np.bincount(node)[node] for node in covers.node])
        size[-1] = len(covers.values)
        penalty = np.where(size > 1, np.minimum(size / max(len(domain), 1), 1.0), 0.0)
        penalty[-1] = float(len(domain) > 1)
        own, codes = slice(len(domain)), table.codes[:, i].astype(np.int64)
        levels = _by_first(covers.node[:, own])
        found.append(Column(name, codes, levels, penalty[:, own], category.weight / total, table.rows))
    return tuple(found)


def _by_first(node: IntArray) -> Levels:
    """Return levels whose nodes have the code of their first value.

    Numbers that floating point puts into one interval of a level and two of the next are one there too.
    """
    found = [np.arange(node.shape[1])]
    for own in node[1:]:
        _, first, place = np.unique(own[found[-1]], return_index=True, return_inverse=True)
        found.append(first[place])
    return Levels(np.stack(found))


def _number_penalties(values: FloatArray, qi: NumericQuasiIdentifier, height: int) -> FloatArray:
    """Return the NCP of each value at each level, (height + 1, values); a missing one is the last."""
    known = np.unique(values)
    missing = np.isnan(known)
    ends = np.column_stack([known, known])
    ends[missing] = qi.bounds
    span = float(np.ptp(known[~missing])) if not missing.all() else 0.0
    if span <= 0:
        return np.zeros((height + 1, len(known)))
    found = []
    for level in range(height + 1):
        cells = covering_intervals(ends, qi, np.where(missing, height, level))
        found.append(np.minimum((cells[:, 1] - cells[:, 0]) / span, 1.0))
    return np.stack(found)


def partition(
    table: PreparedTable,
    roles: Roles,
    constraints: Constraints,
    *,
    max_suppression: float,
    most_checks: int,
    fixed: Mapping[str, int],
    progress: Progress,
) -> Partition:
    """Return the classes of the levels with the least NCP, -1 for the records of classes that fail.

    Levels of the quasi-identifiers in `fixed` are given. At most the share `max_suppression` of the records
    is left out; more only where the given levels allow no other classes, for a gate to see. The NCP is that
    of the published records.
    Two groups without a person in common that hold `constraints` hold them together, as all of that model do;
    no more is assumed: a group that has a part that holds may fail. So where records may be left out, or a
    person may have several, nodes are ruled out by k and by bounds of the NCP alone. If no levels will do,
    all records are one group. The notes tell the lowest levels at which the classes are nodes, how many nodes
    of the lattice were checked, and whether the optimum is proven.

    A check of a node costs O(m + pairs) for m distinct records and pairs of these with sensitive values; the
    search O(N log N) for N nodes, at most `most_checks` checks, and 17 bytes a node.
    """
    columns = tuple(one.at(fixed[one.name]) if one.name in fixed else one for one in columns_of(table, roles))
    n_most = most_suppressed(table.n_rows, max_suppression)
    groups = Groups(table, constraints, columns)
    together = not n_most and constraints.person is None

    def check(node: Node) -> Check:
        rolled = groups.at(node)
        holds = groups.large(rolled)
        if rolled.size[~holds].sum() > n_most:
            return Check(None, none_below=True)
        holds = groups.hold(rolled, holds)
        if rolled.size[~holds].sum() > n_most or not holds.any():
            return Check(None, none_below=together)
        return Check(groups.ncp(node, rolled, holds))

    found = cheapest(
        [column.bounds(n_most) for column in columns],
        check,
        most_checks,
        lambda share: progress(share, "levels of the lattice"),
    )
    top = tuple(column.levels.height for column in columns)
    rolled = groups.at(found.node or top)
    holds = groups.hold(rolled, groups.large(rolled))
    if found.node is None and not (fixed and holds.any()):
        groups = Groups(table, constraints, columns_of(table, roles))
        rolled, holds, fixed = groups.one(), np.ones(1, dtype=bool), {}
    levels = groups.levels(rolled, holds) | dict(fixed)
    number = np.where(holds, np.cumsum(holds) - 1, -1)
    labels = number[rolled.of[groups.of_record]]
    notes: dict[str, Note] = {
        "levels": levels,
        "lattice_nodes": prod(level + 1 for level in top),
        "lattice_nodes_checked": found.n_checked,
        "lattice_optimum": "proven" if found.proven else "not proven",
        "suppressed_by_partition": int(rolled.size[~holds].sum()),
    }
    return Partition(labels, notes)


def levels_of_groups(
    table: PreparedTable, roles: Roles, labels: IntArray, least: Mapping[str, int]
) -> dict[str, int]:
    """Return the lowest level of each quasi-identifier, from `least`, at which each group is one node.

    `labels` (n,) are those of groups, -1 for the records that are left out. O(n) a level.
    """
    kept = np.flatnonzero(labels >= 0)
    _, first, group = np.unique(labels[kept], return_index=True, return_inverse=True)
    found = {}
    for column in columns_of(table, roles):
        codes = column.codes[kept]
        alike = codes[first][group.reshape(-1)]
        found[column.name] = max(
            least.get(column.name, 0),
            next(
                level
                for level, node in enumerate(column.levels.node)
                if np.array_equal(node[codes], node[alike])
            ),
        )
    return found


def most_suppressed(n_records: int, share: float) -> int:
    """Return how many of n records are at most that share of them, and fewer than all."""
    most = int(share * n_records) + 1
    while most / n_records > share:
        most -= 1
    return min(most, n_records - 1)


@dataclass(frozen=True)
class Rolled:
    """The g groups of a node: `of` (m,) the group of each distinct record, `first` (g,) one of these, `size`
    (g,) the records.
    """

    node: Node
    of: IntArray
    first: IntArray
    size: IntArray


@dataclass
class Groups:
    """The distinct records of a table, and the groups that they are at the nodes of a lattice.

    Groups of a node are made of those of a node below it that was looked at before.
    """

    table: PreparedTable
    constraints: Constraints
    columns: tuple[Column, ...]
    of_record: IntArray = field(init=False)
    _kept: deque[Rolled] = field(init=False)

    def __post_init__(self) -> None:
        first, place = distinct_rows([column.codes for column in self.columns])
        # In the order of their values: groups are numbered so whatever the order of the rows.
        order = np.lexsort([column.codes[first] for column in self.columns])
        rank = np.empty(len(first), dtype=np.int64)
        rank[order] = np.arange(len(first))
        first, self.of_record = first[order], rank[place]
        self._first = first
        base = (0,) * len(self.columns)
        rows = self.constraints.rows
        size = counted(self.of_record, rows, len(first))
        self._base = Rolled(base, np.arange(len(first)), np.arange(len(first)), size)
        self._kept = deque(maxlen=KEPT)
        person = self.constraints.person
        whose = [] if person is None else [person]
        self._people = distinct_rows([self.of_record, *whose])[0] if whose else None
        self._pairs = []
        for column in self.constraints.columns:
            pair, place = distinct_rows([self.of_record, column.codes, *whose])
            self._pairs.append((pair, counted(place, rows, len(pair))))
        self._ranges = [
            None if column.numbers is None else _ranges(self.of_record, column.numbers, len(first))
            for column in self.constraints.columns
        ]

    def at(self, node: Node) -> Rolled:
        """Return the groups of a node."""
        below = [
            one for one in self._kept if all(low <= level for low, level in zip(one.node, node, strict=True))
        ]
        source = min(below, key=lambda one: len(one.size), default=self._base)
        record = self._first[source.first]
        nodes = (
            column.levels.node[level][column.codes[record]]
            for column, level in zip(self.columns, node, strict=True)
        )
        first, place = distinct_rows(nodes)
        size = np.bincount(place, weights=source.size, minlength=len(first)).astype(np.int64)
        rolled = Rolled(node, place[source.of], source.first[first], size)
        if 2 * len(first) <= len(source.size):
            self._kept.append(rolled)
        return rolled

    def one(self) -> Rolled:
        """Return all records as one group."""
        n_records = np.array([self._base.size.sum()])
        return Rolled(
            self._base.node,
            np.zeros(len(self._first), dtype=np.int64),
            np.zeros(1, dtype=np.int64),
            n_records,
        )

    def large(self, rolled: Rolled) -> BoolArray:
        """Tell which groups have at least k records, or people where a person may have several, (g,)."""
        return np.asarray(self._n_people(rolled) >= self.constraints.k)

    def hold(self, rolled: Rolled, among: BoolArray) -> BoolArray:
        """Tell which of the groups `among` (g,) satisfy the conditions on all sensitive attributes, (g,).

        Models that compare with the table compare with the records that would be published: groups that
        fail beside these are left out as well, until none does.
        """
        holds = self._hold(rolled, among, self.constraints)
        while self.constraints.compares and holds.any():
            kept = np.flatnonzero(holds[rolled.of[self.of_record]])
            left = self._hold(rolled, holds, self.constraints.among(kept))
            if np.array_equal(left, holds):
                break
            holds = left
        return holds

    def _hold(self, rolled: Rolled, among: BoolArray, constraints: Constraints) -> BoolArray:
        holds = among.copy()
        size = None if self._people is None else self._n_people(rolled)
        for column, (pair, number), ranges in zip(
            constraints.columns, self._pairs, self._ranges, strict=True
        ):
            group, code, count = rolled.of[self.of_record[pair]], column.codes[pair], number
            if size is not None:  # a person counts once in a group for each value
                one, _ = distinct_rows([group, code, self._person(pair)])
                group, code, count = group[one], code[one], np.ones(len(one), dtype=np.int64)
            low, high = (None, None) if ranges is None else _joined(ranges, rolled)
            asked = np.flatnonzero(holds)
            step = max(1, COUNTS // column.n_values)
            for at in range(0, len(asked), step):
                part = asked[at : at + step]
                holds[part] = constraints.column_holds(
                    column,
                    _counts(group, code, count, part, len(holds), column.n_values),
                    None if low is None else low[part],
                    None if high is None else high[part],
                    None if size is None else size[part],
                )
        return holds

    def ncp(self, node: Node, rolled: Rolled, holds: BoolArray) -> float:
        """Return the NCP of the records of the groups that hold, (g,); there is one at least."""
        total, records = 0.0, self._first[rolled.first[holds]]
        size = rolled.size[holds]
        for column, level in zip(self.columns, node, strict=True):
            own = column.levels.node[level][column.codes[records]]
            # Node by node: the sum must not depend on the order of the records.
            count = np.bincount(own, size, column.levels.n_values)
            total += column.weight * float(count @ column.penalty[level])
        return total / float(size.sum())

    def levels(self, rolled: Rolled, holds: BoolArray) -> dict[str, int]:
        """Return the lowest level of each column at which each group that holds, (g,), is one node."""
        of = rolled.of[holds[rolled.of]]
        own, first = self._first[holds[rolled.of]], self._first[rolled.first][of]
        return {
            column.name: next(
                level
                for level, node in enumerate(column.levels.node)
                if np.array_equal(node[column.codes[own]], node[column.codes[first]])
            )
            for column in self.columns
        }

    def _n_people(self, rolled: Rolled) -> IntArray:
        if self._people is None:
            return rolled.size
        group = rolled.of[self.of_record[self._people]]
        one, _ = distinct_rows([group, self._person(self._people)])
        return np.bincount(group[one], minlength=len(rolled.size))

    def _person(self, records: IntArray) -> IntArray:
        person = self.constraints.person
        assert person is not None  # noqa: S101 -- asked of people alone
        return person[records]


def _counts(
    group: IntArray, code: IntArray, count: IntArray, part: IntArray, n_groups: int, n_values: int
) -> IntArray:
    """Return how often each value stands in each of the groups `part` (p,), (p, n_values)."""
    place = np.full(n_groups, -1)
    place[part] = np.arange(len(part))
    mine = place[group] >= 0
    flat = place[group[mine]] * n_values + code[mine]
    found = np.bincount(flat, weights=count[mine], minlength=len(part) * n_values)
    return found.reshape(len(part), n_values).astype(np.int64)


def _ranges(group: IntArray, numbers: FloatArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Return the least and greatest known number of each group, (n_groups,) twice; NaN where none is."""
    low, high = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
    np.fmin.at(low, group, numbers)
    np.fmax.at(high, group, numbers)
    return low, high


def _joined(ranges: tuple[FloatArray, FloatArray], rolled: Rolled) -> tuple[FloatArray, FloatArray]:
    number = len(rolled.size)
    return _ranges(rolled.of, ranges[0], number)[0], _ranges(rolled.of, ranges[1], number)[1]
