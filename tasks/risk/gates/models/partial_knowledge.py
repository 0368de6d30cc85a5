"""k^m-anonymity and LKC-privacy: an attacker who knows the values of only some quasi-identifiers.

k^m-anonymity (Terrovitis et al., 2008), read for tables as Riyana (2025) does: whatever at most m
quasi-identifiers somebody knows of a person in the release, at least k published rows match. LKC-privacy
(Mohammed et al., 2009): the same with L and K, and no sensitive value has a share over C in those rows.

What is known and what matches is in `atoms`. All combinations of atoms that some class covers are looked at,
so nothing passes that somebody who holds true values of a published person could break; only published rows
are needed. What is in a class but true of nobody is looked at too: a release may fail by people who do not
exist. More known means fewer rows, so for k only the combinations of m are looked at; shares have no such
order, and are looked at for 1, 2, ..., L.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from release_store.records import GateResult, Verdict
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.gates.models.atoms import atoms_of
from tasks.risk.gates.models.checks import SHOWN, model_of, select_values, sensitive_counts
from tasks.types import BoolArray, FloatArray, IntArray

# In multiplications: a start counts as a million of them, a number copied as twenty.
MOST_WORK = 5e10
START = 1e6
COPY = 20
CELLS = 4_000_000

Rows = NDArray[np.floating[Any]]
Known = tuple[tuple[int, int], ...]  # (quasi-identifier, atom), each quasi-identifier once


class Unfinished(Exception):
    """There is more to look at than may be spent."""


@dataclass
class Budget:
    """How much work is left."""

    left: float = MOST_WORK

    def spend(self, work: float) -> None:
        """Take the work off. Raises Unfinished where not so much is left."""
        self.left -= work
        if self.left < 0:
            raise Unfinished


@dataclass(frozen=True)
class Matches:
    """How many rows match: `rows` (w, a, b) for the atoms `fixed` and any atom of each of `last`.

    The first of w is the number of rows, the others those with one sensitive value. Where only one
    quasi-identifier is known, `last` has one and a is 1.
    """

    rows: Rows
    fixed: Known
    last: tuple[int, ...]
    first_atom: int

    def known(self, a: int, b: int) -> Known:
        """Return the combination at [:, a, b]."""
        atoms = (a + self.first_atom, b)[-len(self.last) :]
        return (*self.fixed, *zip(self.last, atoms, strict=True))


def matches(covers: Sequence[BoolArray], weights: Rows, size: int, budget: Budget) -> Iterator[Matches]:
    """Yield the matching rows of every combination of atoms of `size` quasi-identifiers, 0 where none is.

    `covers[q]` (n_classes, n_atoms), `weights` (w, n_classes). Cost: for each subset of quasi-identifiers
    w n_classes times the product of their numbers of atoms at most, as products of matrices of the two
    with most atoms; the others are walked. Raises Unfinished where the budget is spent.
    """
    everyone = np.arange(weights.shape[1])
    for chosen in combinations(range(len(covers)), size):
        rest = sorted(chosen, key=lambda q: covers[q].shape[1])
        yield from _walk(covers, weights, everyone, (), rest, budget)


def _walk(
    covers: Sequence[BoolArray],
    weights: Rows,
    classes: IntArray,
    fixed: Known,
    rest: list[int],
    budget: Budget,
) -> Iterator[Matches]:
    if not len(classes):
        return
    if len(rest) > 2:
        for atom in range(covers[rest[0]].shape[1]):
            budget.spend(START + COPY * len(classes))
            inside = classes[covers[rest[0]][classes, atom]]
            yield from _walk(covers, weights, inside, (*fixed, (rest[0], atom)), rest[1:], budget)
        return
    dtype = weights.dtype
    budget.spend(COPY * len(classes) * covers[rest[-1]].shape[1])
    last = covers[rest[-1]][classes].astype(dtype)
    beside = covers[rest[0]][classes].astype(dtype) if len(rest) > 1 else np.ones((len(classes), 1), dtype)
    step = max(1, CELLS // (last.shape[1] * len(weights)))
    for first in range(0, beside.shape[1], step):
        part = beside[:, first : first + step].T
        budget.spend(START + len(weights) * part.size * (last.shape[1] + COPY))
        rows = np.stack([(part * weight[classes]) @ last for weight in weights])
        yield Matches(rows, fixed, tuple(rest), first)


@dataclass
class Found:
    """What was seen so far: how many combinations fail, and the worst one with its rows and its share.

    `fewest_by` are the fewest rows for each subset of the quasi-identifiers.
    """

    fewest: float = np.inf
    fewest_known: Known = ()
    fewest_by: dict[tuple[int, ...], float] = field(default_factory=dict)
    greatest: float = 0.0
    greatest_known: Known = ()
    too_few: int = 0
    too_sure: int = 0
    finished: bool = True

    def add(self, block: Matches, k: int, c: float) -> None:
        """Look at a block: at least k rows, and no share over c."""
        rows = block.rows[0]
        standing = rows > 0
        self.too_few += int((standing & (rows < k)).sum())
        least = np.where(standing, rows, np.inf)
        at = np.unravel_index(int(least.argmin()), least.shape)
        known = block.known(int(at[0]), int(at[1]))
        subset = tuple(sorted(q for q, _ in known))
        self.fewest_by[subset] = min(float(least[at]), self.fewest_by.get(subset, np.inf))
        if least[at] < self.fewest:
            self.fewest, self.fewest_known = float(least[at]), known
        if len(block.rows) > 1:
            share = block.rows[1:].max(axis=0) / np.maximum(rows, 1).astype(np.float64)
            self.too_sure += int((standing & (share > c + 1e-9)).sum())
            at = np.unravel_index(int(share.argmax()), share.shape)
            if share[at] > self.greatest:
                self.greatest, self.greatest_known = float(share[at]), block.known(int(at[0]), int(at[1]))


def _looked_at(
    covers: Sequence[BoolArray], weights: FloatArray, sizes: Sequence[int], k: int, c: float
) -> Found:
    # Whole numbers under 2**24 are exact in single precision.
    exact: Rows = weights.astype(np.float32 if weights[0].sum() < 2**24 else np.float64)
    found, budget = Found(), Budget(MOST_WORK)
    try:
        for size in sizes:
            for block in matches(covers, exact, size, budget):
                found.add(block, k, c)
    except Unfinished:
        found.finished = False
    return found


def km_gate(evidence: Evidence) -> GateResult:
    """Whatever at most m quasi-identifiers are known of a person, at least k published rows match."""
    asked = model_of(evidence.policy.gates.models.km)
    _check_rows_are_people(evidence)
    covers = atoms_of(evidence.units, evidence.policy)
    found = _looked_at(list(covers.values()), _rows(evidence), [min(asked.m, len(covers))], asked.k, 1.0)
    worst = _worst_subsets(found, list(covers))
    listed = "; ".join(f"{', '.join(names)} {rows}" for names, rows in worst)
    detail = f"fewest rows that match what is known, m = {asked.m}; by quasi-identifiers: {listed}"
    attacker = _attacker(asked.m)
    result = _by_rows("km", attacker, found, asked.k, detail, evidence, covers)
    if result.witness:
        result.witness["worst_subsets"] = [
            {"quasi_identifiers": names, "rows": rows} for names, rows in worst
        ]
    return result


def _worst_subsets(found: Found, names: list[str]) -> list[tuple[list[str], int]]:
    """Return the subsets of quasi-identifiers that the fewest rows match, with these rows, fewest first."""
    ranked = sorted((rows, subset) for subset, rows in found.fewest_by.items() if np.isfinite(rows))
    return [([names[q] for q in subset], int(rows)) for rows, subset in ranked[:SHOWN]]


def lkc_gate(evidence: Evidence) -> GateResult:
    """At least K rows match at most L known values, and no sensitive value has a share over C in them.

    Only values with a share over C in some class are looked at: the share in classes together is at most the
    largest of their shares. Value and threshold are those of C, unless K alone fails.
    """
    asked = model_of(evidence.policy.gates.models.lkc)
    _check_rows_are_people(evidence)
    classes = evidence.units
    covers = atoms_of(classes, evidence.policy)
    weights, largest = [_rows(evidence)], 0.0
    for name, counts in sensitive_counts(evidence).items():
        chosen = counts[:, select_values(evidence, name, asked.values)]
        shares = chosen / classes.size[:, None]
        over = (shares > asked.c).any(axis=0)
        weights.append(chosen[:, over].T.astype(np.float64))
        largest = max(largest, float(shares[:, ~over].max(initial=0.0)))
    together = np.concatenate(weights)
    n_known = min(asked.l, len(covers))
    # Without a value to look at, only k is left, and for that the largest combinations are enough.
    sizes = range(1, n_known + 1) if len(together) > 1 else [n_known]
    found = _looked_at(list(covers.values()), together, sizes, asked.k, asked.c)
    # Of a value that was not looked at, the share in a class is a bound.
    surest = max(found.greatest, largest)
    fewest = found.fewest if np.isfinite(found.fewest) else 0
    detail = (
        f"greatest confidence {'' if found.too_sure else 'at most '}{surest:.4g}, C = {asked.c:g}; "
        f"fewest rows {fewest:g}, K = {asked.k}; L = {asked.l}"
    )
    attacker = _attacker(asked.l)
    if not found.too_sure and (found.too_few or not classes.n_classes):
        return _by_rows("lkc", attacker, found, asked.k, detail, evidence, covers)
    witness = _witness(found.too_sure, found.greatest_known, covers) if found.too_sure else {}
    return _result("lkc", attacker, found, surest, "<=", asked.c, detail, witness, classes.n_classes)


def _check_rows_are_people(evidence: Evidence) -> None:
    """Raise CannotTell where a person may be in several classes: their people cannot be added up."""
    if evidence.policy.rows != "one_per_person":
        raise CannotTell("adds up rows, which are not people with rows: several")
    if evidence.policy.roles.household is not None:
        raise CannotTell("adds up rows, which are not households with roles.household")


def _rows(evidence: Evidence) -> FloatArray:
    return evidence.units.size[None, :].astype(np.float64)


def _attacker(n_known: int) -> str:
    return f"knows at most {n_known} of the quasi-identifiers of a person in the release"


def _by_rows(
    gate: str,
    attacker: str,
    found: Found,
    k: int,
    detail: str,
    evidence: Evidence,
    covers: dict[str, BoolArray],
) -> GateResult:
    value = found.fewest if np.isfinite(found.fewest) else 0.0
    witness = _witness(found.too_few, found.fewest_known, covers) if found.too_few else {}
    return _result(gate, attacker, found, value, ">=", k, detail, witness, evidence.units.n_classes)


def _witness(n_failing: int, known: Known, covers: dict[str, BoolArray]) -> dict[str, Any]:
    names = list(covers)
    matching = np.all([covers[names[q]][:, atom] for q, atom in known], axis=0)
    return {
        "failing_combinations": n_failing,
        "quasi_identifiers": [names[q] for q, _ in known],
        "matching_classes": int(matching.sum()),
        "first": np.flatnonzero(matching)[:SHOWN].tolist(),
    }


def _result(
    gate: str,
    attacker: str,
    found: Found,
    value: float,
    relation: str,
    threshold: float,
    detail: str,
    witness: dict[str, Any],
    n_classes: int,
) -> GateResult:
    failing = found.too_few + found.too_sure > 0 or not n_classes
    if not found.finished:
        detail += "; there are too many combinations: the figures are of those examined"
    verdict = Verdict.FAIL if failing else Verdict.PASS if found.finished else Verdict.UNKNOWN
    measured = None if verdict is Verdict.UNKNOWN else value
    return GateResult(gate, verdict, measured, threshold, relation, attacker, 0.0, detail, witness)
