"""Which counts of the source may be told.

The attacker has the document, the published rows, and so the total. From the rows they take what is certain
(`tasks.reporting.certain`). What is left, the *free* records of a bin, comes from classes that lie in several
bins; bins that these join make a component, whose free records they can count. Everything else they find by
subtraction: in each component, and over all, the sum of what is not told.

So a count is told only if it, and its free part, are at least k. Where any in a component is not, others go
with it, at least one and until the sum of the component's free records that are not told is 2k (or none is
left to tell): no told counts leave a single one, nor a sum under k. They are chosen by what is published, the
least first, and with one goes every bin of its component in which the rows let an analyst expect as few. So
all that a choice tells of the source is up to which bin it goes. Where cells can be read in several ways, all
this is kept in each of them.

Not covered: whoever sets one class beside a told count may find how many of that class a bin holds, as where
all free records of a bin must come from it. Up to which bin a choice goes depends on the counts: whoever
tries all tables under this rule may learn from it. In none of the random small tables of
`tests/unit/tasks/test_certain.py` do they find a count under k, even where counts are told as they are.
And who knows all quasi-identifiers of all people knows these counts before they are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tasks.types import BoolArray, FloatArray, IntArray

NO_COMPONENT = -1
EXPECTED_DECIMALS = 6  # what is spread evenly is equal but for the rounding of sums


@dataclass(frozen=True)
class Public:
    """What one reading of the published cells tells of b bins.

    `certain` (b,) people lie in the bin for certain; `component` (b,) numbers the bins that classes join, -1
    for one in which nobody lies but those; `after` (b,) rows as an analyst estimates them.
    """

    certain: IntArray
    component: IntArray
    after: FloatArray


def nothing_certain(after: FloatArray) -> Public:
    """Return what cells tell that need not hold their people: nothing, anybody may be in any bin."""
    return Public(np.zeros(len(after), dtype=np.int64), np.zeros(len(after), dtype=np.int64), after)


def components(linked: BoolArray) -> IntArray:
    """Return the component of each bin (b,), from which pairs are linked (b, b): a bin with itself where any
    cell lies in it and in others.
    """
    if not len(linked):
        return np.zeros(0, dtype=np.int64)
    reached = linked.copy()
    for _ in range(max(len(linked) - 1, 1).bit_length()):
        reached = reached | (reached @ reached)
    first = np.where(reached.any(axis=1), reached.argmax(axis=1), NO_COMPONENT)
    return first.astype(np.int64)


def rounded(counts: IntArray, least: int) -> IntArray:
    """Return counts (n,) to the nearest multiple of `least`, halves up.

    So two releases, or two candidates of one table, do not differ by a few people to whoever subtracts them.
    """
    return (counts + least // 2) // least * least


def describe_suppression(counts: IntArray, readings: Sequence[Public], least: int) -> BoolArray:
    """Return which `counts` (b,) of the published people may be told, (b,), in each of the `readings`.

    A reading may be untrue of the people, as where numbers are missing: what it expects and what is there are
    then `least` apart, or equal where it leaves nothing free. O(b^3) a reading.
    """
    hidden = counts < least
    untrue = False
    groups: list[tuple[IntArray, IntArray, FloatArray, bool]] = []
    for public in readings:
        free = np.abs(counts - public.certain)
        known = public.component == NO_COMPONENT
        hidden = hidden | ((free < least) & (~known | (free > 0)))
        joined = [np.flatnonzero(public.component == one) for one in np.unique(public.component[~known])]
        groups += [(bins, free, np.round(public.after, EXPECTED_DECIMALS), True) for bins in joined]
        everywhere = np.flatnonzero(~known | (counts > 0))  # of others anybody sees that they are empty
        groups.append((everywhere, counts, public.after, False))
        untrue = untrue or bool(free[known].any())
    if untrue and hidden.sum() == 1 < len(hidden):  # found from the total, though large: another goes with it
        left = np.flatnonzero(~hidden)
        hidden[left[readings[0].after[left].argmin()]] = True
    while True:
        before = int(hidden.sum())
        for bins, amounts, expected, one_large in groups:
            _cover(hidden, bins, amounts, expected, least, one_large=one_large)
        if hidden.sum() == before:
            return np.asarray(~hidden)


def _cover(
    hidden: BoolArray, bins: IntArray, amounts: IntArray, expected: FloatArray, least: int, *, one_large: bool
) -> None:
    """Hide more of `bins` until no hidden amount, and no sum under `least`, is found from those told.

    With `one_large`, one of `least` must be among them: that all are less would tell more than their sum. And
    whatever is expected to be as few as one that is hidden goes with it.
    """
    if not hidden[bins].any():
        return
    if one_large:
        hidden[bins[expected[bins] <= expected[bins[hidden[bins]]].max()]] = True
    left = bins[~hidden[bins]]
    left = left[np.argsort(expected[left], kind="stable")]
    enough = not one_large or bool((amounts[bins[hidden[bins]]] >= least).any())
    for one in left.tolist():
        if enough and amounts[bins[hidden[bins]]].sum() >= 2 * least:
            return
        hidden[one], enough = True, True
