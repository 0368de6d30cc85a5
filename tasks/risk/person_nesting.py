"""Classes of two releases of which one holds all people of the other, and what their difference tells.

Whoever knows that everybody of the smaller class is in the larger one takes its values away from the larger
one's, and has the values of the others (Riyana, 2025, section 2.2; there by cells, here by person).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from release_store.records import EquivalenceClasses, PersonHashes
from tasks.risk.space import counts_of, space_of
from tasks.types import BoolArray, IntArray


def nested_by_people(
    own: PersonHashes, classes: EquivalenceClasses, people: PersonHashes, earlier: EquivalenceClasses
) -> IntArray:
    """Return the pairs of classes, (p, 2), of which one strictly holds the other's people.

    A class with a row of nobody, or with two rows of one person, is in no pair: who is in it is not known.
    O(people).
    """
    mine = pd.DataFrame({"person": list(own.hashes), "own": list(own.classes or ())})
    theirs = pd.DataFrame({"person": list(people.hashes), "earlier": list(people.classes or ())})
    both = mine.merge(theirs, on="person")
    shared = both.groupby(["own", "earlier"]).size().reset_index(name="n")
    one, other, n = (shared[name].to_numpy(dtype=np.int64) for name in ("own", "earlier", "n"))
    size, size_then = classes.size[one], earlier.size[other]
    told = np.bincount(mine["own"].to_numpy(dtype=np.int64), minlength=classes.n_classes)[one] == size
    told &= (
        np.bincount(theirs["earlier"].to_numpy(dtype=np.int64), minlength=earlier.n_classes)[other]
        == size_then
    )
    nested = told & (n == np.minimum(size, size_then)) & (size != size_then)
    return np.column_stack([one[nested], other[nested]])


def undone(
    pairs: IntArray, classes: EquivalenceClasses, earlier: EquivalenceClasses, attribute: str, l_least: int
) -> BoolArray:
    """Tell for each pair whether what one class leaves of the other's values has 1 to l - 1 different ones.

    Both ways: a value that the smaller class has too many was another's before. (p,).
    """
    space = space_of([classes, earlier])
    mine = counts_of(classes, space)[attribute][pairs[:, 0]]
    theirs = counts_of(earlier, space)[attribute][pairs[:, 1]]
    return few_left(mine, theirs, l_least)


def few_left(one: IntArray, other: IntArray, l_least: int) -> BoolArray:
    """Tell whether two multisets (..., values) differ, either way, by 1 to l - 1 different values."""
    left = np.stack([(one > other).sum(axis=-1), (other > one).sum(axis=-1)])
    return np.asarray(((left > 0) & (left < l_least)).any(axis=0))
