"""A series in which each release holds all earlier records: what nested classes show by what they differ in.

Where the cells of one class lie inside those of another of an earlier release, or the other way round,
taking the one's values from the other's leaves those of the records that are not in both: {flu, flu, hiv}
inside {flu, flu, hiv, hiv} leaves the newcomer's hiv, which sets hide (Riyana, 2025, section 2.2). Classes of
one release that lie inside the same class are looked at one by one and all together.

Quasi-identifiers move. Cells are nested as if everybody had moved alike: an earlier class's intervals are
shifted by any one step that `moves` allows over the periods between; its sets are taken as published,
`may_change` or not, for those who stayed. `*`, and a set of all values that anybody names, cover every value;
so does a release the quasi-identifiers that it does not publish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.risk.bitsets import AnyOf, AtMost, Words, packed, set_bits
from tasks.risk.comparison import Comparison, one_apart, steps
from tasks.risk.space import Boxes, Space, boxes_of, concatenated, counts_of
from tasks.types import BoolArray, FloatArray, IntArray

ROWS = 512
CELLS = 4_000_000
ROUNDING = 1e-9


@dataclass(frozen=True)
class Side:
    """The classes of the candidate, or of all earlier releases.

    `boxes` (n) as published; `least`, `greatest` (n, p) how far people's numbers can have moved since;
    `size`, `release` (n,), numbered from the oldest; `counts[a]` (n, |values|) records a sensitive value.
    """

    boxes: Boxes
    least: FloatArray
    greatest: FloatArray
    size: IntArray
    release: IntArray
    names: tuple[str, ...]
    counts: dict[str, IntArray]


def side_of(
    releases: Sequence[tuple[str, EquivalenceClasses]],
    space: Space,
    policy: ReleasePolicy,
    apart: Sequence[tuple[int, int]] | None = None,
) -> Side:
    """Place the classes of these releases (oldest first, at least one) in the space; `apart` as in `history_of`.

    The candidate alone is a side with `apart` [(0, 0)].
    """
    n = [classes.n_classes for _, classes in releases]
    apart = one_apart(len(releases)) if apart is None else apart
    moved = np.array([[steps(policy, name, periods) for name in space.numeric] for periods in apart])
    moved = moved.reshape(len(releases), len(space.numeric), 2).repeat(n, axis=0)
    counts = [counts_of(classes, space) for _, classes in releases]
    return Side(
        concatenated([boxes_of(classes, space) for _, classes in releases]),
        moved[:, :, 0],
        moved[:, :, 1],
        np.concatenate([classes.size for _, classes in releases]),
        np.repeat(np.arange(len(releases)), n),
        tuple(name for name, _ in releases),
        {name: np.concatenate([each[name] for each in counts]) for name in space.sensitive},
    )


def difference(
    candidate: Side, earlier: Side, space: Space, attributes: Iterable[str], l_least: int
) -> list[Comparison]:
    """Compare the multisets of values of nested classes, both ways.

    What is left of either class's values after the other's are taken away must be nothing, or have at least
    l distinct values. Cost: candidate classes times earlier classes, in bits, and nested pairs times values.
    """

    def few(left: IntArray) -> BoolArray:
        distinct = np.stack([(left > 0).sum(axis=1), (left < 0).sum(axis=1)])
        return np.asarray(((distinct > 0) & (distinct < l_least)).any(axis=0))

    names = list(space.sensitive)
    return [
        _compared(name, candidate, earlier, lambda side, name=name: side.counts[name], few, names.index(name))
        for name in attributes
    ]


def sizes(candidate: Side, earlier: Side, k_least: int) -> Comparison:
    """Compare the sizes of nested classes: those that differ by 1 to k - 1 set so few people apart."""

    def few(left: IntArray) -> BoolArray:
        apart = np.abs(left[:, 0])
        return np.asarray((apart > 0) & (apart < k_least))

    return _compared("size", candidate, earlier, lambda side: side.size[:, None], few)


def _compared(
    name: str,
    candidate: Side,
    earlier: Side,
    counts: Callable[[Side], IntArray],
    few: Callable[[IntArray], BoolArray],
    attribute: int | None = None,
) -> Comparison:
    """Ask of every nested pair, and of all classes of a release inside the same class, what the sides leave."""
    failing = np.zeros(len(candidate.boxes), dtype=bool)
    pairs = together = failed = 0
    witness: dict[str, int | str] = {}
    for outer, inner in ((candidate, earlier), (earlier, candidate)):
        newer_outside = outer is candidate
        width = counts(inner).shape[1]
        for line, place in _nests(outer, inner, attribute, width):
            left = counts(outer)[line] - counts(inner)[place]
            bad = few(left)
            if not newer_outside:
                # A pair that is nested both ways was looked at from the other side.
                again = _inside(outer, line, inner, place)
                bad &= ~again
                pairs -= int(again.sum())
            pairs += len(line)
            failed += int(bad.sum())
            failing[(line if newer_outside else place)[bad]] = True
            starts, many = _groups(line, inner.release[place])
            sums = np.add.reduceat(counts(inner)[place], starts, axis=0) if len(starts) else left
            left_of_all = counts(outer)[line[starts]] - sums
            bad_group = few(left_of_all) & (many > 1)
            together += int((many > 1).sum())
            failed += int(bad_group.sum())
            in_bad = np.repeat(bad_group, many)
            failing[(line if newer_outside else place)[in_bad]] = True
            if not witness and bad.any():
                first = int(np.argmax(bad))
                witness = _witness(candidate, earlier, line, place, first, 1, newer_outside, left[first])
            elif not witness and bad_group.any():
                group = int(np.argmax(bad_group))
                first, n = int(starts[group]), int(many[group])
                rest = left_of_all[group]
                witness = _witness(candidate, earlier, line, place, first, n, newer_outside, rest)
    return Comparison(name, failing, pairs, failed, witness, together=together)


def _groups(line: IntArray, release: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each run of equal line and release begins, and how long it is; both come sorted."""
    if not len(line):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    new = np.concatenate([[True], (np.diff(line) != 0) | (np.diff(release) != 0)])
    starts = np.flatnonzero(new)
    return starts, np.diff(np.append(starts, len(line)))


def _witness(
    candidate: Side,
    earlier: Side,
    line: IntArray,
    place: IntArray,
    first: int,
    n_inside: int,
    newer_outside: bool,
    left: IntArray,
) -> dict[str, int | str]:
    """Name one failure: the outer class, the first of those inside it, and what is left on either side."""
    a, b = (line[first], place[first]) if newer_outside else (place[first], line[first])
    more, less = int(left[left > 0].sum()), -int(left[left < 0].sum())
    return {
        "candidate_class": int(a),
        "earlier_release": earlier.names[int(earlier.release[b])],
        "earlier_class": int(b - np.searchsorted(earlier.release, earlier.release[b])),
        "outer": "candidate" if newer_outside else "earlier",
        "classes_inside": n_inside,
        "records_of_the_outer_left": more,
        "records_of_the_inner_left": less,
    }


def _nests(
    outer: Side, inner: Side, attribute: int | None, width: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield outer classes and the inner classes inside them, sorted by both; all of an outer one at once."""
    index = _Inside(inner)
    for first in range(0, len(outer.boxes), ROWS):
        rows = np.arange(first, min(first + ROWS, len(outer.boxes)))
        found = index.of(outer, rows)
        if attribute is not None:
            found &= packed(inner.boxes.knows[:, attribute])
            found[~outer.boxes.knows[rows, attribute]] = 0
        n_inside = np.bitwise_count(found).sum(axis=1, dtype=np.int64)
        part = np.cumsum(n_inside) * width // CELLS
        for number in np.unique(part[n_inside > 0]).tolist():
            chosen = np.flatnonzero((part == number) & (n_inside > 0))
            line, place = set_bits(found[chosen])
            yield rows[chosen[line]], place


def _bounds(side: Side, rows: IntArray, *, as_outer: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the bounds that decide and the widths; the outer side gives way to rounding."""
    low, high, least, greatest = (
        each[rows] for each in (side.boxes.low, side.boxes.high, side.least, side.greatest)
    )
    width = high - low
    if not as_outer:
        return low + greatest, high + least, width
    slack = ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return low + least - slack, high + greatest + slack, width + slack


class _Inside:
    """The inner classes, indexed so that those that lie inside any outer class are found by bits."""

    def __init__(self, inner: Side) -> None:
        low, high, width = _bounds(inner, np.arange(len(inner.boxes)), as_outer=False)
        self._low = [AtMost.of(-column) for column in low.T]
        self._high = [AtMost.of(column) for column in high.T]
        self._width = [AtMost.of(column) for column in width.T]
        self._member = [AnyOf.of(member) for member in inner.boxes.member]
        self._everyone = packed(np.ones(len(inner.boxes), dtype=bool))

    def of(self, outer: Side, rows: IntArray) -> Words:
        """Return the inner classes inside each outer class of `rows`, (rows, words)."""
        low, high, width = _bounds(outer, rows, as_outer=True)
        found = np.repeat(self._everyone[None, :], len(rows), axis=0)
        for column in range(low.shape[1]):
            found &= self._low[column].at(-low[:, column])
            found &= self._high[column].at(high[:, column])
            found &= self._width[column].at(width[:, column])
        for member, having in zip(outer.boxes.member, self._member, strict=True):
            if member.shape[1]:
                found &= ~having.at(~member[rows])
        return found


def _inside(inner: Side, i: IntArray, outer: Side, o: IntArray) -> BoolArray:
    """Tell for pairs of classes whether the inner one lies inside the outer one, (pairs,)."""
    low, high, width = _bounds(inner, i, as_outer=False)
    outer_low, outer_high, outer_width = _bounds(outer, o, as_outer=True)
    found = ((low >= outer_low) & (high <= outer_high) & (width <= outer_width)).all(axis=1)
    for mine, theirs in zip(inner.boxes.member, outer.boxes.member, strict=True):
        found &= ~(mine[i] & ~theirs[o]).any(axis=1)
    return np.asarray(found)
