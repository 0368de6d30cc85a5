"""Which counts of the source may be told.

The attacker has the document, the published rows of the attribute, and so the total. From the rows they take
what is certain: a cell that lies inside one bin places its rows there. What is left, the *free* records of a
bin, comes from cells that lie in several bins; bins that cells join make a component, whose free records they
can count. Everything else they find by subtraction: in each component, and over all, the sum of what is not
told.

So a count is told only if it, and its free part, are at least k. Where any in a component is not, others go
with it, at least one and until the sum of the component's free records that are not told is 2k (or none is
left to tell): no told counts leave a single one, nor a sum under k. They are chosen by what is published, the
least first, so that which ones they are says nothing of the source.

Not covered: whoever sets one class beside a told count may find how many of that class a bin holds, as where
all free records of a bin must come from it. And who knows all quasi-identifiers of all people knows these
counts before they are told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.types import BoolArray, FloatArray, IntArray

NO_COMPONENT = -1


@dataclass(frozen=True)
class Public:
    """What anybody reads of b bins from the published cells.

    `certain` (b,) rows lie in the bin for certain; `component` (b,) numbers the bins that cells join, -1 for
    one that no cell lies in beside others; `after` (b,) rows as an analyst estimates them.
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


def told(counts: IntArray, public: Public, least: int) -> BoolArray:
    """Return which `counts` (b,) of the published people may be told, (b,). O(b^2)."""
    known = public.component == NO_COMPONENT
    if (counts < public.certain).any() or (counts[known] != public.certain[known]).any():
        public = nothing_certain(public.after)  # the cells do not hold their people
        known = public.component == NO_COMPONENT
    free = counts - public.certain
    hidden = (counts < least) | (~known & (free < least))
    joined = [np.flatnonzero(public.component == number) for number in np.unique(public.component[~known])]
    everywhere = np.flatnonzero(~known | (counts > 0))  # of others anybody sees that they are empty
    for bins, amounts in [*((bins, free) for bins in joined), (everywhere, counts)]:
        _cover(hidden, bins, amounts, public.after, least)
    for bins in joined:
        _cover(hidden, bins, free, public.after, least)
    return np.asarray(~hidden)


def _cover(hidden: BoolArray, bins: IntArray, amounts: IntArray, after: FloatArray, least: int) -> None:
    """Hide more of `bins` until no hidden amount, and no sum under `least`, is found from those told."""
    if not hidden[bins].any():
        return
    left = bins[~hidden[bins]]
    left = left[np.argsort(after[left], kind="stable")]
    big = bool((amounts[bins[hidden[bins]]] >= least).any())
    for one in left.tolist():
        if big and amounts[bins[hidden[bins]]].sum() >= 2 * least:
            return
        hidden[one], big = True, True
