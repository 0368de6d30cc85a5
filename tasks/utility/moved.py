"""How far values were moved where they were replaced or noised: there a cell has no width to measure.

The earth mover's distance between the source's values and the published ones (Rubner, Tomasi and Guibas,
2000): for numbers the area between the two distribution functions, in units of the source's span; for
categories, each as far from each, the total variation. It is what a marginal loses; who was moved where
cannot be seen from what is published.
"""

from __future__ import annotations

import numpy as np

from tasks.types import FloatArray, IntArray


def numbers_moved(source: FloatArray, published: FloatArray, rows: IntArray) -> float:
    """Return the distance between known `source` (n,) and `published` values (m,) of so many `rows` (m,).

    Between 0 and 1; 1 where nothing is published. O((n + m) log(n + m)).
    """
    source = source[~np.isnan(source)]
    if not len(source) or not rows.sum():
        return 1.0 if len(source) else 0.0
    span = float(np.ptp(source))
    if span == 0:
        return float(np.average(published != source[0], weights=rows))
    at = np.sort(np.concatenate([source, published]))
    order = np.argsort(published, kind="stable")
    running = np.concatenate([[0], np.cumsum(rows[order])]) / rows.sum()
    theirs = running[np.searchsorted(published[order], at[:-1], side="right")]
    ours = np.searchsorted(np.sort(source), at[:-1], side="right") / len(source)
    return min(float((np.abs(ours - theirs) * np.diff(at)).sum()) / span, 1.0)


def categories_moved(source: FloatArray, published: FloatArray) -> float:
    """Return the total variation between the frequencies (v,) of the same values in both."""
    if not published.sum():
        return 1.0
    return float(np.abs(source / source.sum() - published / published.sum()).sum() / 2)
