"""The latent space of a learned representation, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from tasks.methods.registry import bound_method
from tasks.reporting.suppression import rounded
from tasks.types import BoolArray, FloatArray, IntArray, Recoded, Representation
from tasks.utility.latent_view import centres_of, hexagons

LEARNED = frozenset({"autoencoder", "isomap", "lle"})
MOST = 1_500


def latent_figures(
    representation: Representation, rows: Recoded, labels: IntArray, policy: ReleasePolicy
) -> dict[str, Any] | None:
    """Return where the records of published rows lie in the first two dimensions, and their groups' centres.

    `before`: hexagons with k records or more, `before_not_told` how many records lie in others, none or at
    least 2k, both to the nearest multiple of k. `after`: the centre and size of each of the groups `labels`
    (n,) with k published records or more, `after_not_told` how many groups have fewer; of over 1,500 groups,
    hexagons with the records of the groups whose centres lie in them, and `after_of` says which of the two it
    is. Numbers have 4 digits.

    None where nothing was learned. Only the method's part tells that (autoencoder, Isomap, LLE): the notes of
    an embedding are those of its blocks, which features have too. A part that a method brings itself is not
    known to be learned. None too for a table that was decided in fragments, for one dimension, and where
    nothing is published. O(m log m).
    """
    learned = representation.of_method and bound_method(policy).parts[0] in LEARNED
    if not learned or representation.latent.shape[1] < 2 or not rows.n_rows:
        return None
    least = policy.privacy.k
    chosen = np.sort(rows.of_rows)  # the order of the rows is not to change how sums are rounded
    points, groups = representation.latent[chosen, :2], labels[chosen]
    number, step, centre_of = hexagons(points)
    distinct, count = np.unique(number, return_counts=True)
    shown = _shown(count, least)
    _, own = np.unique(groups, return_inverse=True)
    centres, size = centres_of(points, own)
    kept = size >= least
    if kept.sum() <= MOST:
        after, of = _listed(centres[kept], size[kept]), "classes"
    else:
        place, _, middle_of = hexagons(centres[kept])
        hexagon, inside = np.unique(place, return_inverse=True)
        after, of = _listed(middle_of(hexagon), np.bincount(inside, weights=size[kept])), "hexagons"
    return {
        "dimensions": int(representation.latent.shape[1]),
        "step": [_digits(each) for each in step.tolist()],
        "before": _listed(centre_of(distinct[shown]), rounded(count[shown], least)),
        "before_not_told": int(rounded(count[~shown].sum(keepdims=True), least)[0]),
        "after": after,
        "after_of": of,
        "after_not_told": int((~kept).sum()),
    }


def _shown(count: IntArray, least: int) -> BoolArray:
    """Return which hexagons are told: not the small ones, nor more of the smallest until 2k are not told."""
    shown = np.asarray(count >= least)
    for one in np.argsort(count, kind="stable").tolist():
        if shown.all() or count[~shown].sum() >= 2 * least:
            break
        shown[one] = False
    return shown


def _listed(places: FloatArray, amounts: np.ndarray) -> list[list[float]]:
    found = [
        [_digits(x), _digits(y), int(n)] for (x, y), n in zip(places.tolist(), amounts.tolist(), strict=True)
    ]
    return sorted(found)


def _digits(value: float) -> float:
    """Return the number with 4 significant digits, and no minus before a zero."""
    return float(f"{value:.4g}") + 0.0
