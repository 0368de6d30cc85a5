"""A candidate beside every earlier release of its series: what the two together, and all together, pin down.

Two classes are compatible if their cells overlap in every quasi-identifier that both releases publish.
For a person in both, the sensitive value stands in both classes, so it is in the intersection; a
non-empty intersection of under l values is a failure (Riyana, 2025, section 3.1, its operator read as in
its example). An empty one says that nobody is in both, as long as the value does not change. Each attribute
has its own l, and similar values of what is left count as one (`required`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.bitsets import ClassIndex, Words, packed, places
from tasks.geometry.box_tree import Asked, pack_boxes
from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import cells_of
from tasks.geometry.overlaps import Overlaps
from tasks.geometry.space import Boxes, Points, Space, boxes_of, concatenated
from tasks.history.required import Required, sizes_of
from tasks.types import BoolArray, IntArray

ROWS = 512
FEW = 4096  # so many rows are intersected sooner than looked through for equal ones
UNCONSTRAINED = np.iinfo(
    np.int64
).max  # more values than any set has: what is left where nothing was taken away


@dataclass(frozen=True)
class History:
    """All classes of all earlier releases in one space: `boxes` (N), `release` (N,) numbered from the oldest.

    `overlaps` finds the classes that overlap a box.
    """

    boxes: Boxes
    release: IntArray
    names: tuple[str, ...]
    overlaps: Overlaps

    @cached_property
    def values(self) -> tuple[Words, ...]:
        """The sensitive values of each class as bits, an attribute."""
        return tuple(packed(present) for present in self.boxes.present)

    @cached_property
    def by_release(self) -> tuple[Overlaps, ...]:
        """The classes of each release by themselves."""
        if self.n_releases == 1:
            return (self.overlaps,)
        return tuple(Overlaps(self.boxes.take(self.release == one)) for one in range(self.n_releases))

    @cached_property
    def in_common(self) -> tuple[list[Words], ...]:
        """The values that all classes of a node have, at every height of the tree, an attribute."""
        return tuple(self.overlaps.tree.in_common(values) for values in self.values)

    @property
    def index(self) -> ClassIndex:
        """The classes as bits."""
        return self.overlaps.bits

    @property
    def n_releases(self) -> int:
        """How many earlier releases there are."""
        return len(self.names)


@dataclass(frozen=True)
class Comparison:
    """What one check found for one sensitive attribute.

    `failing` (n_classes,) candidate classes that fail; `compared` how many pairs (pairwise) or
    combinations of a person and a class (whole history) were looked at; `failed` how many of them failed;
    `witness` names one failure by class numbers and sizes; `untouched` (pairwise) the earlier releases none
    of whose classes is compatible with one of the candidate's; `together` (nested classes) how many times
    several classes of one release were taken together; `left` (whole history) (points,) the least number of
    values, but not none, that any of a person's classes leaves with any choice of earlier releases or none,
    `NOTHING` for whom no candidate class contains.
    """

    attribute: str
    failing: BoolArray
    compared: int
    failed: int
    witness: dict[str, int | str]
    untouched: tuple[str, ...] = ()
    together: int = 0
    left: IntArray | None = None


def history_of(
    earlier: Sequence[tuple[str, EquivalenceClasses]],
    space: Space,
    policy: ReleasePolicy,
    apart: Sequence[tuple[int, int]] | None = None,
) -> History | None:
    """Place the earlier releases (oldest first) in the space, moved as the policy says that people move.

    A release is widened by as many times `moves` as its period is before the candidate's: `apart` gives the
    least and the most for each (`policy.period.periods_apart`), where None counts one period a release. A
    categorical quasi-identifier that `may_change` is compatible with everything. None where there is no
    earlier release.
    """
    if not earlier:
        return None
    placed = [
        _moved(boxes_of(classes, space), space, policy, periods)
        for periods, (_, classes) in zip(apart or one_apart(len(earlier)), earlier, strict=True)
    ]
    release = np.repeat(np.arange(len(placed)), [len(boxes) for boxes in placed])
    boxes = concatenated(placed)
    return History(boxes, release, tuple(name for name, _ in earlier), Overlaps(boxes))


def one_apart(n_releases: int) -> list[tuple[int, int]]:
    """Return how many periods each of so many releases lies back, oldest first, where each is of its own."""
    return [(back, back) for back in range(n_releases, 0, -1)]


def _moved(boxes: Boxes, space: Space, policy: ReleasePolicy, periods: tuple[int, int]) -> Boxes:
    low, high, whole = boxes.low.copy(), boxes.high.copy(), boxes.whole.copy()
    member = [m.copy() for m in boxes.member]
    for column, name in enumerate(space.numeric):
        least, greatest = steps(policy, name, periods)
        low[:, column] += least
        high[:, column] += greatest
    for column, name in enumerate(space.domains):
        if name in policy.roles.categorical and policy.roles.categorical[name].may_change:
            member[column][:] = True
            whole[:, column] = True
    return replace(boxes, low=low, high=high, member=tuple(member), whole=whole)


def steps(policy: ReleasePolicy, name: str, periods: tuple[int, int]) -> tuple[float, float]:
    """Return how far a numeric quasi-identifier can have moved over so many periods: least and greatest."""
    if name not in policy.roles.numeric:
        return 0.0, 0.0
    moved = [step * count for step in policy.roles.numeric[name].moves for count in periods]
    return min(moved), max(moved)


def compared_attributes(policy: ReleasePolicy) -> list[str]:
    """Return the sensitive attributes that the policy wants compared with earlier releases."""
    return [
        name
        for name, attribute in policy.roles.sensitive.items()
        if attribute.stability == "stable" or policy.gates.transient == "compare"
    ]


def by_column(space: Space, required: Mapping[str, Required]) -> dict[int, Required]:
    """Return what is required by the places of the attributes in the space, in place of their names."""
    return {list(space.sensitive).index(name): one for name, one in required.items()}


def pairwise(
    boxes: Boxes, history: History, space: Space, required: Mapping[str, Required]
) -> list[Comparison]:
    """Compare every class with every compatible class of every earlier release.

    A pair fails where 0 < |A & B| < l, by the attributes of which something is `required`. Cost: that of
    `Overlaps.pairs`.
    """
    columns = by_column(space, required)
    failing = {c: np.zeros(len(boxes), dtype=bool) for c in columns}
    compared = dict.fromkeys(columns, 0)
    failed = dict.fromkeys(columns, 0)
    witness: dict[int, dict[str, int | str]] = {c: {} for c in columns}
    met = np.zeros(history.n_releases, dtype=bool)
    in_blocks = _blocks_of_pairs if history.overlaps.meets_few(boxes) else _blocks_of_bits
    for block in in_blocks(boxes, history, columns):
        met |= block.met
        for c in columns:
            compared[c] += block.compared[c]
            failed[c] += block.failed[c]
            failing[c][block.lines[c]] = True
            if not witness[c] and len(block.lines[c]):
                witness[c] = _witness(boxes, history, c, columns[c], int(block.lines[c][0]), block.first[c])
    names = list(space.sensitive)
    untouched = tuple(name for name, here in zip(history.names, met, strict=True) if not here)
    return [Comparison(names[c], failing[c], compared[c], failed[c], witness[c], untouched) for c in columns]


@dataclass
class _Block:
    """Some classes compared: the releases `met` (releases,), and for each attribute how many pairs were
    compared and failed, the classes of these (`lines`), and the first one's first earlier class (`first`).
    """

    met: BoolArray
    compared: dict[int, int] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    lines: dict[int, IntArray] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)


def _blocks_of_pairs(boxes: Boxes, history: History, columns: Mapping[int, Required]) -> Iterator[_Block]:
    """Compare pair by pair."""
    own = {c: packed(boxes.present[c]) for c in columns}
    for line, place in history.overlaps.pairs(boxes):
        block = _Block(np.bincount(history.release[place], minlength=history.n_releases) > 0)
        for c, required in columns.items():
            known, bad = _failing_pairs(boxes, own[c], history, c, required, line, place)
            block.compared[c], block.failed[c] = int(known.sum()), len(bad)
            block.lines[c] = line[bad]
            block.first[c] = int(place[bad[0]]) if len(bad) else -1
        yield block


def _blocks_of_bits(boxes: Boxes, history: History, columns: Mapping[int, Required]) -> Iterator[_Block]:
    """Compare many pairs at once, a bit each."""
    for first in range(0, len(boxes), ROWS):
        part = boxes.take(np.arange(first, min(first + ROWS, len(boxes))))
        overlapping = history.index.overlapping(part)
        touched = places(np.bitwise_or.reduce(overlapping, axis=0))
        block = _Block(np.bincount(history.release[touched], minlength=history.n_releases) > 0)
        for c, required in columns.items():
            pairs = overlapping & history.index.comparable(part, c)
            bad = pairs & history.index.sharing_some_but_few(part, c, required.least, required.groups)
            lines = np.flatnonzero(bad.any(axis=1))
            block.compared[c] = int(np.bitwise_count(pairs).sum())
            block.failed[c] = int(np.bitwise_count(bad).sum())
            block.lines[c] = first + lines
            block.first[c] = int(places(bad[lines[0]])[0]) if len(lines) else -1
        yield block


def pairwise_fails(boxes: Boxes, history: History, columns: Mapping[int, Required]) -> BoolArray:
    """Tell for a few classes whether any of their compatible pairs fails, (n_classes,)."""
    failing = np.zeros(len(boxes), dtype=bool)
    own = {c: packed(boxes.present[c]) for c in columns}
    if history.overlaps.meets_few(boxes, _may_fail(own, history, columns)):
        failing[pairwise_failures(boxes, history, columns)[0]] = True
        return failing
    overlapping = history.index.overlapping(boxes)
    for c, required in columns.items():
        pairs = overlapping & history.index.comparable(boxes, c)
        few = history.index.sharing_some_but_few(boxes, c, required.least, required.groups)
        failing |= (pairs & few).any(axis=1)
    return failing


def pairwise_failures(boxes: Boxes, history: History, columns: Mapping[int, Required]) -> IntArray:
    """Return the compatible pairs that fail, (3, m): a class, the earlier class, and the attribute."""
    own = {c: packed(boxes.present[c]) for c in columns}
    asked = _may_fail(own, history, columns)
    if history.overlaps.meets_few(boxes, asked):
        blocks = history.overlaps.tree.pairs(pack_boxes(boxes), asked)
    else:
        blocks = history.overlaps.pairs(boxes)
    found = [np.empty((3, 0), dtype=np.int64)]
    for line, place in blocks:
        for c, required in columns.items():
            _, bad = _failing_pairs(boxes, own[c], history, c, required, line, place)
            found.append(np.stack([line[bad], place[bad], np.full(len(bad), c)]))
    return np.concatenate(found, axis=1)


def _may_fail(own: Mapping[int, Words], history: History, columns: Mapping[int, Required]) -> Asked:
    """Return what tells which boxes with the values `own[a]` may fail beside a class of a node.

    Classes that all have enough of the same values as a box pass beside it: a tree need not be looked at
    below them.
    """

    def asked(height: int, line: IntArray, node: IntArray) -> BoolArray:
        few = np.zeros(len(line), dtype=bool)
        for c, required in columns.items():
            few |= required.sizes(own[c][line] & history.in_common[c][height][node]) < required.least
        return few

    return asked


def _failing_pairs(
    boxes: Boxes,
    own: Words,
    history: History,
    column: int,
    required: Required,
    line: IntArray,
    place: IntArray,
) -> tuple[BoolArray, IntArray]:
    """Tell which of the pairs (n,) publish an attribute on both sides, and return those of them that fail.

    `own` (boxes, words) are the values of the boxes.
    """
    common = required.sizes(own[line] & history.values[column][place])
    known = boxes.knows[line, column] & history.boxes.knows[place, column]
    return known, np.flatnonzero(known & (common > 0) & (common < required.least))


def _witness(
    boxes: Boxes, history: History, column: int, required: Required, line: int, place: int
) -> dict[str, int | str]:
    release = int(history.release[place])
    first = int(np.searchsorted(history.release, release))
    common = boxes.present[column][line] & history.boxes.present[column][place]
    return {
        "candidate_class": line,
        "earlier_release": history.names[release],
        "earlier_class": place - first,
        "values_in_common": int(required.counted(common)),
    }


@dataclass(frozen=True)
class Allowed:
    """What each earlier release allows each person: `masks[a]` (points, releases, words) bits of the
    sensitive values of all classes that contain the point; `seen` (points, releases) whether any class does.
    """

    masks: dict[int, NDArray[np.uint64]]
    seen: dict[int, BoolArray]

    def by_all(self) -> dict[int, Words]:
        """Return what all releases that any class contains a person in allow together, (points, words)."""
        return {
            c: np.bitwise_and.reduce(np.where(self.seen[c][:, :, None], masks, ~np.uint64(0)), axis=1)
            for c, masks in self.masks.items()
        }


def allowed_values(points: Points, history: History, columns: Sequence[int]) -> Allowed:
    """Return for each person the union of the values in the earlier classes that contain them, a release.

    Cost: that of `find_containing`.
    """
    own = {c: packed(history.boxes.present[c]) for c in columns}
    shape = len(points), history.n_releases
    masks = {c: np.zeros((*shape, own[c].shape[1]), dtype=np.uint64) for c in columns}
    seen = {c: np.zeros(shape, dtype=bool) for c in columns}
    for matches in find_containing(points.numbers, points.codes, cells_of(history.boxes)):
        point = np.repeat(matches.people, matches.n_classes())
        for c in columns:
            known = history.boxes.knows[matches.classes, c]
            x, classes = point[known], matches.classes[known]
            j = history.release[classes]
            # Classes come in the order of their releases: equal people and releases are neighbours.
            starts = np.flatnonzero(np.append(True, (np.diff(x) != 0) | (np.diff(j) != 0))[: len(x)])
            if len(starts):
                masks[c][x[starts], j[starts]] = np.bitwise_or.reduceat(own[c][classes], starts, axis=0)
                seen[c][x[starts], j[starts]] = True
    return Allowed(masks, seen)


def whole_history(
    boxes: Boxes, points: Points, allowed: Allowed, space: Space, required: Mapping[str, Required]
) -> list[Comparison]:
    """Compare each person's classes over all releases together.

    For each person x of the source and each candidate class that contains x, the class's values are
    intersected with what the earlier releases allow x, for every choice of earlier releases that x may have
    been in; 0 < size < l fails. How many values are left is kept too. Cost: that of `find_containing`, and of
    `least_left` for each pair of distinct people and classes.
    """
    names, columns = list(space.sensitive), by_column(space, required)
    failing = {c: np.zeros(len(boxes), dtype=bool) for c in columns}
    compared = dict.fromkeys(columns, 0)
    failed = dict.fromkeys(columns, 0)
    witness: dict[int, dict[str, int | str]] = {c: {} for c in columns}
    own = {c: packed(boxes.present[c]) for c in columns}
    left = {c: np.full(len(points), UNCONSTRAINED, dtype=np.int64) for c in columns}
    for matches in find_containing(points.numbers, points.codes, cells_of(boxes)):
        person, candidate = np.repeat(matches.people, matches.n_classes()), matches.classes
        for c, one in columns.items():
            mine = own[c][candidate]
            taken = least_left(mine, allowed.masks[c][person], allowed.seen[c][person], alike=one.alike)
            bad = taken < one.least
            left[c][matches.people] = np.minimum.reduceat(np.minimum(taken, one.sizes(mine)), matches.starts)
            compared[c] += len(bad)
            failed[c] += int(bad.sum())
            failing[c][candidate[bad]] = True
            if not witness[c] and bad.any():
                witness[c] = {"candidate_class": int(candidate[bad][0]), "combinations": int(bad.sum())}
    return [
        Comparison(names[c], failing[c], compared[c], failed[c], witness[c], left=left[c]) for c in columns
    ]


def narrowed(
    own: Words, allowed: Words, seen: BoolArray, l_least: int, alike: Words | None = None
) -> BoolArray:
    """Tell for each row whether some choice of releases narrows `own` to 0 < size < l values.

    Shapes and cost are those of `least_left`.
    """
    return least_left(own, allowed, seen, enough=l_least, alike=alike) < l_least


def least_left(
    own: Words, allowed: Words, seen: BoolArray, *, enough: int = 2, alike: Words | None = None
) -> IntArray:
    """Return the least size, but not 0, that any choice of one release or more narrows `own` to, (n,).

    Shapes: own (n, words), allowed (n, releases, words), seen (n, releases). `NOTHING` where no release
    allows a value of `own`. Values of one row of `alike` (g, words) count as one. A row that is known to
    come under `enough` is not looked at further: its size is then one that some choice leaves, the least
    where `enough` is 2. Of all choices that leave a value v, that of every release which allows v leaves the
    fewest others: so it is enough to try each value of `own`. Cost: rows times the most values of a row
    times releases. Equal rows are tried once.
    """
    n, n_releases, words = allowed.shape
    if n > FEW:
        table = np.concatenate([own, allowed.reshape(n, n_releases * words), seen.astype(np.uint64)], axis=1)
        distinct, place = _distinct(table)
        if len(distinct) < n:
            first = np.zeros(len(distinct), dtype=np.int64)
            first[place[::-1]] = np.arange(n)[::-1]
            return least_left(own[first], allowed[first], seen[first], enough=enough, alike=alike)[place]
    least = np.full(n, UNCONSTRAINED, dtype=np.int64)
    untried = own.copy()
    lines = np.flatnonzero(untried.any(axis=1))
    while len(lines):
        word = (untried[lines] != 0).argmax(axis=1)
        held = untried[lines, word]
        value = held & (~held + np.uint64(1))  # the lowest bit
        untried[lines, word] = held ^ value
        left = own[lines]
        in_some = np.zeros(len(lines), dtype=bool)
        for j in range(n_releases):
            theirs = allowed[lines, j]
            allows = seen[lines, j] & ((theirs[np.arange(len(lines)), word] & value) != 0)
            left = np.where(allows[:, None], left & theirs, left)
            in_some |= allows
        size = np.where(in_some, np.minimum(least[lines], sizes_of(left, alike)), least[lines])
        least[lines] = size
        lines = lines[(size >= enough) & untried[lines].any(axis=1)]
    return least


def _distinct(rows: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], IntArray]:
    key = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        part, found = pd.factorize(column)
        key, _ = pd.factorize(key * np.int64(len(found)) + part)
    first = np.empty(int(key.max(initial=-1)) + 1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    return rows[first], key.astype(np.int64)
