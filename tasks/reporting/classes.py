"""How large the published classes are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from release_store.records import EquivalenceClasses
from tasks.types import IntArray

MOST = 24
GROWTH = (1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)


def class_figures(classes: EquivalenceClasses) -> dict[str, Any]:
    """Return how many classes and records there are, and the classes' sizes in at most 24 bins.

    Bins are whole numbers, both ends included, without a gap from the least size to the greatest. They hold
    one size each where that is enough; else they grow in proportion, as little as is needed. None for the
    sizes of no classes. O(n_classes log n_classes).
    """
    size = classes.size
    if not len(size):
        return {"n": 0, "records": 0, "least": None, "median": None, "greatest": None, "sizes": []}
    least, greatest = int(size.min()), int(size.max())
    lows = _lows(least, greatest)
    place = np.searchsorted(lows, size, side="right") - 1
    n_classes = np.bincount(place, minlength=len(lows))
    records = np.bincount(place, weights=size, minlength=len(lows))
    ends = zip(pairwise([*lows.tolist(), greatest + 1]), n_classes.tolist(), records.tolist(), strict=True)
    return {
        "n": len(size),
        "records": int(size.sum()),
        "least": least,
        "median": float(np.median(size)),
        "greatest": greatest,
        "sizes": [
            {"low": low, "high": above - 1, "classes": n, "records": int(rows)}
            for (low, above), n, rows in ends
        ],
    }


def _lows(least: int, greatest: int) -> IntArray:
    """Return the least size of each bin, ascending."""
    if greatest - least < MOST:
        return np.arange(least, greatest + 1)
    for growth in GROWTH:
        lows = [least]
        while len(lows) <= MOST:
            above = max(lows[-1] + 1, int(np.ceil(lows[-1] * growth)))
            if above > greatest:
                return np.array(lows, dtype=np.int64)
            lows.append(above)
    raise ValueError("a class of more records than can be counted")
