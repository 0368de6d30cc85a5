"""A series in which each release holds all earlier records: what nested classes show by what they differ in.

Where the cells of one class lie inside those of another of an earlier release, or the other way round,
taking the one's values from the other's leaves those of the records that are not in both: {flu, flu, hiv}
inside {flu, flu, hiv, hiv} leaves the newcomer's hiv, which sets hide (Riyana, 2025, section 2.2). Classes of
one release that lie inside the same class are looked at one by one and all together.

Quasi-identifiers move. Cells are nested as if everybody had moved alike: an earlier class's intervals are
shifted by any one step that `moves` allows over the periods between; its sets are taken as published,
`may_change` or not, for those who stayed. `*`, and a set of all values that anybody names, cover every value;
so does a release the quasi-identifiers that it does not publish. Where a stable attribute has no value in
common, nobody is in both classes, and they are not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.geometry.bitsets import AnyOf, AtMost, Words, packed, set_bits
from tasks.geometry.space import Boxes, Space, boxes_of, concatenated, counts_of
from tasks.history.intersection import Comparison, one_apart, steps
from tasks.history.required import Required
from tasks.types import BoolArray, FloatArray, IntArray

ROWS = 512
CELLS = 4_000_000
ROUNDING = 1e-9


@dataclass(frozen=True)
class ReleaseGeometry:
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
    stable: tuple[int, ...]  # the places of the attributes that do not change


def side_of(
    releases: Sequence[tuple[str, EquivalenceClasses]],
    space: Space,
    policy: ReleasePolicy,
    apart: Sequence[tuple[int, int]] | None = None,
) -> ReleaseGeometry:
    """Place the classes of these releases, at least one and the oldest first, in the space.

    `apart` is as in `history_of`; the candidate alone is a side with [(0, 0)].
    """
    n = [classes.n_classes for _, classes in releases]
    apart = one_apart(len(releases)) if apart is None else apart
    moved = np.array([[steps(policy, name, periods) for name in space.numeric] for periods in apart])
    moved = moved.reshape(len(releases), len(space.numeric), 2).repeat(n, axis=0)
    counts = [counts_of(classes, space) for _, classes in releases]
    return ReleaseGeometry(
        concatenated([boxes_of(classes, space) for _, classes in releases]),
        moved[:, :, 0],
        moved[:, :, 1],
        np.concatenate([classes.size for _, classes in releases]),
        np.repeat(np.arange(len(releases)), n),
        tuple(name for name, _ in releases),
        {name: np.concatenate([each[name] for each in counts]) for name in space.sensitive},
        tuple(place for place, name in enumerate(space.sensitive) if _is_stable(policy, name)),
    )


def _is_stable(policy: ReleasePolicy, name: str) -> bool:
    return name in policy.roles.sensitive and policy.roles.sensitive[name].stability == "stable"


@dataclass(frozen=True)
class _Check:
    """What is taken from each other, `counts(side)` (n, v), and when what is left (n, v) is too little."""

    name: str
    counts: Callable[[ReleaseGeometry], IntArray]
    few: Callable[[IntArray], BoolArray]
    attribute: int | None  # the place of the sensitive attribute that both must publish


def difference(
    candidate: ReleaseGeometry,
    earlier: ReleaseGeometry,
    space: Space,
    required: Mapping[str, Required],
) -> list[Comparison]:
    """Compare the multisets of values of nested classes, both ways.

    What is left of either class's values after the other's are taken away must be nothing, or have at least
    l values; similar ones count as one. Cost: candidate classes times earlier classes, in bits, and nested
    pairs times values.
    """

    def check(name: str, one: Required) -> _Check:
        def few(left: IntArray) -> BoolArray:
            distinct = np.stack([one.counted(left > 0), one.counted(left < 0)])
            return np.asarray(((distinct > 0) & (distinct < one.least)).any(axis=0))

        return _Check(name, lambda side: side.counts[name], few, list(space.sensitive).index(name))

    return [_compared(check(name, one), candidate, earlier) for name, one in required.items()]


def sizes(candidate: ReleaseGeometry, earlier: ReleaseGeometry, k_least: int) -> Comparison:
    """Compare the sizes of nested classes: those that differ by 1 to k - 1 set so few people apart."""

    def few(left: IntArray) -> BoolArray:
        apart = np.abs(left[:, 0])
        return np.asarray((apart > 0) & (apart < k_least))

    return _compared(_Check("size", lambda side: side.size[:, None], few, None), candidate, earlier)


def equal_cells(candidate: ReleaseGeometry, earlier: ReleaseGeometry) -> tuple[IntArray, IntArray]:
    """Return the classes of both sides, (pairs,) each, that lie inside each other."""
    found = [
        np.stack([line, place])[:, _inside(candidate, line, earlier, place)]
        for line, place in _nests(candidate, earlier, None, 1)
    ]
    mine, theirs = np.concatenate([np.zeros((2, 0), dtype=np.int64), *found], axis=1)
    return mine, theirs


def _compared(check: _Check, candidate: ReleaseGeometry, earlier: ReleaseGeometry) -> Comparison:
    """Ask of every nested pair what is left, and of all classes of a release that lie inside the same one."""
    failing = np.zeros(len(candidate.boxes), dtype=bool)
    pairs = together = failed = 0
    witness: dict[str, int | str] = {}
    for outer, inner in ((candidate, earlier), (earlier, candidate)):
        whole, parts = check.counts(outer), check.counts(inner)
        for line, place in _nests(outer, inner, check.attribute, parts.shape[1]):
            ours = line if outer is candidate else place
            left = whole[line] - parts[place]
            bad = check.few(left)
            pairs += len(line)
            if outer is earlier:
                again = _inside(outer, line, inner, place)  # nested both ways: looked at from the other side
                bad &= ~again
                pairs -= int(again.sum())
            starts, n_inside = _runs(line, inner.release[place])
            left_of_all = whole[line[starts]] - np.add.reduceat(parts[place], starts, axis=0)
            bad_of_all = check.few(left_of_all) & (n_inside > 1)
            together += int((n_inside > 1).sum())
            failed += int(bad.sum()) + int(bad_of_all.sum())
            failing[ours[bad | np.repeat(bad_of_all, n_inside)]] = True
            for marks, n, first, rest in (
                (bad, np.ones(len(bad), dtype=np.int64), np.arange(len(bad)), left),
                (bad_of_all, n_inside, starts, left_of_all),
            ):
                if not witness and marks.any():
                    one = int(np.argmax(marks))
                    pair = int(line[first[one]]), int(place[first[one]])
                    witness = {
                        **_named(pair if outer is candidate else pair[::-1], earlier),
                        "outer": "candidate" if outer is candidate else "earlier",
                        "classes_inside": int(n[one]),
                        "records_left_outside": int(rest[one][rest[one] > 0].sum()),
                        "records_left_inside": -int(rest[one][rest[one] < 0].sum()),
                    }
    return Comparison(check.name, failing, pairs, failed, witness, together=together)


def _runs(line: IntArray, release: IntArray) -> tuple[IntArray, IntArray]:
    """Return where each run of equal line and release begins, and how long it is; both come sorted."""
    starts = np.flatnonzero(np.append(True, (np.diff(line) != 0) | (np.diff(release) != 0)))
    return starts, np.diff(np.append(starts, len(line)))


def _named(pair: tuple[int, int], earlier: ReleaseGeometry) -> dict[str, int | str]:
    """Name a pair of a candidate class and an earlier class."""
    release = int(earlier.release[pair[1]])
    return {
        "candidate_class": pair[0],
        "earlier_release": earlier.names[release],
        "earlier_class": pair[1] - int(np.searchsorted(earlier.release, release)),
    }


def _nests(
    outer: ReleaseGeometry, inner: ReleaseGeometry, attribute: int | None, width: int
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


def _bounds(
    side: ReleaseGeometry, rows: IntArray, *, as_outer: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
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
    """The inner classes, indexed so that those inside any outer class that share values are found by bits."""

    def __init__(self, inner: ReleaseGeometry) -> None:
        low, high, width = _bounds(inner, np.arange(len(inner.boxes)), as_outer=False)
        self._low = [AtMost.of(-column) for column in low.T]
        self._high = [AtMost.of(column) for column in high.T]
        self._width = [AtMost.of(column) for column in width.T]
        self._member = [AnyOf.of(member) for member in inner.boxes.member]
        self._sharing = [
            (a, AnyOf.of(inner.boxes.present[a]), packed(~inner.boxes.knows[:, a])) for a in inner.stable
        ]
        self._everyone = packed(np.ones(len(inner.boxes), dtype=bool))

    def of(self, outer: ReleaseGeometry, rows: IntArray) -> Words:
        """Return the inner classes inside each outer class of `rows` that may share people with it."""
        low, high, width = _bounds(outer, rows, as_outer=True)
        found = np.repeat(self._everyone[None, :], len(rows), axis=0)
        for column in range(low.shape[1]):
            found &= self._low[column].at(-low[:, column])
            found &= self._high[column].at(high[:, column])
            found &= self._width[column].at(width[:, column])
        for member, having in zip(outer.boxes.member, self._member, strict=True):
            if member.shape[1]:
                found &= ~having.at(~member[rows])
        for a, having, without in self._sharing:
            sharing = having.at(outer.boxes.present[a][rows]) | without
            found &= np.where(outer.boxes.knows[rows, a, None], sharing, ~np.uint64(0))
        return found


def _inside(inner: ReleaseGeometry, i: IntArray, outer: ReleaseGeometry, o: IntArray) -> BoolArray:
    """Tell for pairs of classes whether the inner one lies inside the outer one, (pairs,)."""
    low, high, width = _bounds(inner, i, as_outer=False)
    outer_low, outer_high, outer_width = _bounds(outer, o, as_outer=True)
    found = ((low >= outer_low) & (high <= outer_high) & (width <= outer_width)).all(axis=1)
    for mine, theirs in zip(inner.boxes.member, outer.boxes.member, strict=True):
        found &= ~(mine[i] & ~theirs[o]).any(axis=1)
    return np.asarray(found)
