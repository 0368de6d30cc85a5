"""What k^m-anonymity and LKC-privacy ask of the rows that match what somebody knows.

k^m-anonymity (Terrovitis et al., 2008), read for tables as Riyana (2025) does: whatever at most m
quasi-identifiers somebody knows of a person in the release, at least k published rows match. LKC-privacy
(Mohammed et al., 2009): the same with L and K, and no sensitive value has a share over C in those rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from policy.privacy_models import KM, LKC
from policy.recoding import contains_its_people
from tasks.privacy.combinations import Matches, matches
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Question:
    """At least `k` rows match any combination of `sizes` quasi-identifiers, and no value's share is over `c`.

    `weights` (w, n_classes): the rows of each class, then those with one sensitive value each. Of values that
    are not looked at, `bound` is the largest share in a class, at most `c`.
    """

    sizes: Sequence[int]
    weights: FloatArray
    k: int
    c: float
    bound: float = 0.0

    def blocks(self, covers: Sequence[BoolArray]) -> Iterator[Matches]:
        """Yield what matches each combination; `covers[q]` (n_classes, n_atoms). Raises Unfinished."""
        return matches(covers, self.weights, self.sizes)


def held_by_each_class(recoding: str) -> bool:
    """Tell whether methods hold both models in every class by itself, which is more than they ask.

    So it is where cells need not contain their people: two groups as one may then match less than before.
    And with full-domain recoding: two groups as one raise the cells of all others.
    """
    return recoding == "full-domain" or not contains_its_people(recoding)


def km_question(model: KM, size: IntArray, n_quasi_identifiers: int) -> Question:
    """Return what k^m-anonymity asks of classes of `size` (n_classes,).

    More known means fewer rows, so that the combinations of m are enough.
    """
    return Question([min(model.m, n_quasi_identifiers)], size[None, :].astype(np.float64), model.k, 1.0)


def lkc_question(
    model: LKC, size: IntArray, protected: Mapping[str, IntArray], n_quasi_identifiers: int
) -> Question:
    """Return what LKC-privacy asks of classes of `size` (n_classes,).

    `protected` (n_classes, n_values) are the counts of each attribute's values that it protects. Only values
    with a share over C in some class are looked at: the share in classes together is at most the largest of
    their shares. Shares have no order as rows have, and are looked at for 1, 2, ..., L.
    """
    weights, bound = [size[None, :].astype(np.float64)], 0.0
    for counts in protected.values():
        shares = counts / size[:, None]
        over = (shares > model.c).any(axis=0)
        weights.append(counts[:, over].T.astype(np.float64))
        bound = max(bound, float(shares[:, ~over].max(initial=0.0)))
    together = np.concatenate(weights)
    n_known = min(model.l, n_quasi_identifiers)
    # Without a value to look at, only k is left, and for that the largest combinations are enough.
    sizes = range(1, n_known + 1) if len(together) > 1 else [n_known]
    return Question(sizes, together, model.k, model.c, bound)
