"""What subtracting one table's totals from another's tells of the people who left, and of those who joined.

Of two tables about much the same people, the records of those who are in both cancel out. What the earlier
one has more of is the values of who left, what the later one has more of those of who joined. Where nobody is
followed by a key, it is not known how many they are: no fewer than what does not cancel.

Of three tables and more, somebody who is in one and missing from several others has a value that the one has
more of than each of these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.history.required import Required
from tasks.types import BoolArray, IntArray

ROWS = 1024
MOST_BITS, SMALL = 64, 1_000_000  # tables, and pairs of values in all, that are compared at once by bits


def exposed(surplus: IntArray, l_least: int, k: int, groups: IntArray | None = None) -> BoolArray:
    """Tell for each side of each difference whether it exposes those who are only there, (n, 2).

    `surplus` (n, values) is how many more records of each value the earlier table has: side 0 are those who
    left (over 0), side 1 those who joined (under 0). A side of under `l_least` values exposes them, unless at
    least `k` records are on it and somebody is on the other side too: then more people may have left and
    joined than what does not cancel. A side without records exposes nobody. Values of one of `groups`
    (values,) count as one. O(n values).
    """
    left, joined = np.maximum(surplus, 0), np.maximum(-surplus, 0)
    counted = Required(l_least, groups).counted
    values = np.stack([counted(left > 0), counted(joined > 0)], axis=1)
    records = np.stack([left.sum(axis=1), joined.sum(axis=1)], axis=1)
    hidden = (records >= k) & (records[:, ::-1] > 0)
    return np.asarray((values > 0) & (values < l_least) & ~hidden)


@dataclass(frozen=True)
class Several:
    """What r tables together tell of those who are in one and not in several others, or the reverse.

    `read[side, one, other, value]`, side 0: the one table has more of the value than the other, and what the
    two differ by is not hidden; side 1: it has fewer. `failing[side, one, value]`: who is in the one and in
    none of the others by which `value` is read, or the reverse, has one of under l values.
    """

    read: BoolArray
    failing: BoolArray

    def others(self, side: int, one: int, value: int) -> IntArray:
        """Return the tables by which a value of the one is read."""
        return np.flatnonzero(self.read[side, one, :, value])


def several(totals: IntArray, l_least: int, k: int, groups: IntArray | None = None) -> Several:
    """Compare r tables, whose `totals` (r, values) count the records of each value, the candidate last.

    A set of others leaves those values of which the one table has more than each of them; fewer others leave
    no fewer values, so that each value is asked about with all others by which it is read. Differences that
    `exposed` calls hidden tell nothing. What fails has two others or more, and the candidate among them or as
    the one. Values of one of `groups` (values,) count as one. O(r^2 (values + s^2)) for s different sets of
    others.
    """
    more = totals[:, None] - totals[None]  # (one, other, values)
    records = np.maximum(more, 0).sum(axis=2)
    hidden = (records >= k) & (records.T > 0)
    readable = (more > 0) & ~hidden[:, :, None]
    read = np.stack([readable, readable.transpose(1, 0, 2)])
    here = np.arange(len(totals)) == len(totals) - 1
    asked = (read.sum(axis=2) > 1) & (read[:, :, -1] | here[:, None])
    return Several(read, asked & (_values_left(read, asked, groups) < l_least))


def _values_left(read: BoolArray, asked: BoolArray, groups: IntArray | None) -> IntArray:
    """Return for each value of each side and table how many values all the others by which it is read leave,
    itself among them, (2, one, values); where it is not `asked`, any number.
    """
    sides, r, _, n_values = read.shape
    if r <= MOST_BITS and sides * r * n_values**2 <= SMALL:
        # The others by which each value is read, a bit each.
        bit = np.uint64(1) << np.arange(r, dtype=np.uint64)[:, None]
        words = np.bitwise_or.reduce(np.where(read, bit, np.uint64(0)), axis=2)
        held = (words[..., :, None] & ~words[..., None, :]) == 0
        if groups is None:
            return np.asarray(held.sum(axis=-1))
        return np.asarray((held @ np.eye(int(groups.max(initial=0)) + 1)[groups] > 0).sum(axis=-1))
    found = np.zeros((sides, r, n_values), dtype=np.int64)
    for side, one in zip(*np.nonzero(asked.any(axis=2)), strict=True):
        found[side, one] = _values_left_by_sets(read[side, one], groups)
    return found


def _values_left_by_sets(sets: BoolArray, groups: IntArray | None) -> IntArray:
    """Return for each of `sets` (others, values) how many hold all of it, itself among them, (values,)."""
    distinct, number, count = np.unique(sets.T, axis=0, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    has = count[:, None]
    if groups is not None:
        has = np.zeros((len(distinct), int(groups.max(initial=0)) + 1), dtype=np.int64)
        has[number, groups] = 1
    found = np.zeros(len(distinct), dtype=np.int64)
    for first in range(0, len(distinct), ROWS):
        lacks = distinct[first : first + ROWS].astype(np.int64) @ (~distinct.T).astype(np.int64)
        held = (lacks == 0).astype(np.int64) @ has
        found[first : first + ROWS] = (held if groups is None else held > 0).sum(axis=1)
    return found[number]


def surpluses(
    own: IntArray, here: IntArray, theirs: IntArray, there: IntArray, n: int
) -> tuple[IntArray, IntArray]:
    """Return what an earlier release has more of: in each component that both have, and at last as a whole.

    `own` (classes, values) and `theirs` count the records of the candidate's classes and of the earlier
    ones, `here` and `there` are which of `n` components these are in. The surplus has shape (rows, values).
    Beside it, (n,), the row of each component: -1 where one release alone has it, and where it is the whole.
    """
    mine, others = _summed(own, here, n), _summed(theirs, there, n)
    both = mine.any(axis=1) & others.any(axis=1) & (n > 1)
    row = np.where(both, np.cumsum(both) - 1, -1)
    whole = (others - mine).sum(axis=0, keepdims=True)
    return np.concatenate([(others - mine)[both], whole]), row


def _summed(counts: IntArray, component: IntArray, n: int) -> IntArray:
    totals = np.zeros((n, counts.shape[1]), dtype=np.int64)
    np.add.at(totals, component, counts)
    return totals
