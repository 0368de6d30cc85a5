"""Which groups match too few rows together, or too sure ones, by what k^m and LKC let somebody know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.privacy.atoms import NoAtoms, atoms_of
from tasks.privacy.combinations import TOLERANCE, Unfinished
from tasks.privacy.listed import protected_counts
from tasks.privacy.partial_knowledge import Question, km_question, lkc_question
from tasks.types import BoolArray, FloatArray, IntArray

MOST = 20_000  # sets of groups that are looked for at once
NUMBERS = 2**40  # a sum of up to 8,192 of them is exact


@dataclass(frozen=True)
class Shortage:
    """The sets of groups that match what fails of a question, `matching`, each once, fewest rows first.

    `weights` (w, n_groups), `k` and `c` as in the question.
    """

    weights: FloatArray
    k: int
    c: float
    matching: list[IntArray]

    def fails(self, sums: FloatArray) -> bool:
        """Tell whether groups with these sums of weights (w,) match too few rows, or too sure ones."""
        return bool(sums[0] < self.k or (sums[1:] > (self.c + TOLERANCE) * sums[0]).any())


def shortages(classes: EquivalenceClasses, policy: ReleasePolicy) -> list[Shortage]:
    """Return what fails of k^m and LKC, as far as the policy asks for them, in the classes of groups.

    Nothing where cells cannot be cut into atoms. What is beyond the work that the gate may spend is not
    looked at, and of more than `MOST` sets of groups the others; as many products of matrices again.
    """
    try:
        covers = list(atoms_of(classes, policy).values())
    except NoAtoms:
        return []
    found = [_shortage(question, covers) for question in questions_of(classes, policy)]
    return [one for one in found if one.matching]


def questions_of(classes: EquivalenceClasses, policy: ReleasePolicy) -> list[Question]:
    """Return what the policy's models ask of classes."""
    models, n_known = policy.gates.models, len(policy.roles.quasi_identifiers)
    found = []
    if models.km is not None:
        found.append(km_question(models.km, classes.size, n_known))
    if models.lkc is not None:
        protected = protected_counts(classes, models.lkc.values, policy)
        found.append(lkc_question(models.lkc, classes.size, protected, n_known))
    return found


def _shortage(question: Question, covers: Sequence[BoolArray]) -> Shortage:
    """Look at every combination; the groups that match one are told from others by a sum of their numbers."""
    drawn = np.random.default_rng(0).random(question.weights.shape[1])
    numbers: FloatArray = np.floor(drawn * NUMBERS)
    found: dict[float, IntArray] = {}
    try:
        for block in question.blocks(covers):
            failing = block.too_few(question.k) | block.too_sure(question.c)
            if not failing.any():
                continue
            a, b = np.nonzero(failing)
            sums, first = np.unique(block.sums(numbers)[a, b], return_index=True)
            for one, place in zip(sums.tolist(), first.tolist(), strict=True):
                if one not in found:
                    found[one] = block.matching(int(a[place]), int(b[place]))
            if len(found) >= MOST:
                break
    except Unfinished:
        pass
    rows = question.weights[0]
    ordered = sorted(found.values(), key=lambda each: (float(rows[each].sum()), each.tolist()))
    return Shortage(question.weights, question.k, question.c, ordered)
