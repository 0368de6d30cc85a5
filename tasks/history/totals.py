"""What subtracting one table's totals from another's tells of the people who left, and of those who joined.

Of two tables about much the same people, the records of those who are in both cancel out. What the earlier
one has more of is the values of who left, what the later one has more of those of who joined. Where nobody is
followed by a key, it is not known how many they are: no fewer than what does not cancel.
"""

from __future__ import annotations

import numpy as np

from tasks.types import BoolArray, IntArray


def exposed(surplus: IntArray, l_least: int, k: int) -> BoolArray:
    """Tell for each side of each difference whether it exposes those who are only there, (n, 2).

    `surplus` (n, values) is how many more records of each value the earlier table has: side 0 are those who
    left (over 0), side 1 those who joined (under 0). A side of under `l_least` values exposes them, unless at
    least `k` records are on it and somebody is on the other side too: then more people may have left and
    joined than what does not cancel. A side without records exposes nobody. O(n values).
    """
    sides = np.stack([np.maximum(surplus, 0), np.maximum(-surplus, 0)], axis=1)
    values, records = (sides > 0).sum(axis=2), sides.sum(axis=2)
    hidden = (records >= k) & (records[:, ::-1] > 0)
    return np.asarray((values > 0) & (values < l_least) & ~hidden)


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
