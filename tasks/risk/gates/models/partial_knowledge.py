"""k^m-anonymity and LKC-privacy: an attacker who knows the values of only some quasi-identifiers.

What they ask is in `tasks.privacy.partial_knowledge`, what is known and what matches in
`tasks.privacy.atoms`. All combinations of atoms that some class covers are looked at, so nothing passes that
somebody who holds true values of a published person could break; only published rows are needed. What is in
a class but true of nobody is looked at too: a release may fail by people who do not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from release_store.records import GateResult, Verdict
from tasks.privacy.atoms import NoAtoms, atoms_of
from tasks.privacy.combinations import Known, Matches, Unfinished
from tasks.privacy.listed import protected_counts
from tasks.privacy.partial_knowledge import Question, km_question, lkc_question
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.gates.models.checks import SHOWN, model_of, sensitive_counts
from tasks.types import BoolArray


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
        self.too_few += int(block.too_few(k).sum())
        least = np.where(standing, rows, np.inf)
        at = np.unravel_index(int(least.argmin()), least.shape)
        known = block.known(int(at[0]), int(at[1]))
        subset = tuple(sorted(q for q, _ in known))
        self.fewest_by[subset] = min(float(least[at]), self.fewest_by.get(subset, np.inf))
        if least[at] < self.fewest:
            self.fewest, self.fewest_known = float(least[at]), known
        if len(block.rows) > 1:
            share = block.shares
            self.too_sure += int(block.too_sure(c).sum())
            at = np.unravel_index(int(share.argmax()), share.shape)
            if share[at] > self.greatest:
                self.greatest, self.greatest_known = float(share[at]), block.known(int(at[0]), int(at[1]))


def _looked_at(covers: Sequence[BoolArray], question: Question) -> Found:
    found = Found()
    try:
        for block in question.blocks(covers):
            found.add(block, question.k, question.c)
    except Unfinished:
        found.finished = False
    return found


def km_gate(evidence: Evidence) -> GateResult:
    """Whatever at most m quasi-identifiers are known of a person, at least k published rows match."""
    asked = model_of(evidence.policy.gates.models.km)
    _check_rows_are_people(evidence)
    covers = _covers(evidence)
    found = _looked_at(list(covers.values()), km_question(asked, evidence.units.size, len(covers)))
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

    Value and threshold are those of C, unless K alone fails.
    """
    asked = model_of(evidence.policy.gates.models.lkc)
    _check_rows_are_people(evidence)
    sensitive_counts(evidence)
    covers, protected = _covers(evidence), protected_counts(evidence.units, asked.values, evidence.policy)
    question = lkc_question(asked, evidence.units.size, protected, len(covers))
    found = _looked_at(list(covers.values()), question)
    # Of a value that was not looked at, the share in a class is a bound.
    surest = max(found.greatest, question.bound)
    fewest = found.fewest if np.isfinite(found.fewest) else 0
    detail = (
        f"greatest confidence {'' if found.too_sure else 'at most '}{surest:.4g}, C = {asked.c:g}; "
        f"fewest rows {fewest:g}, K = {asked.k}; L = {asked.l}"
    )
    attacker = _attacker(asked.l)
    if not found.too_sure and (found.too_few or not evidence.units.n_classes):
        return _by_rows("lkc", attacker, found, asked.k, detail, evidence, covers)
    witness = _witness(found.too_sure, found.greatest_known, covers) if found.too_sure else {}
    if found.too_few and found.too_sure:
        witness["fewest_rows"] = int(found.fewest)
    return _result("lkc", attacker, found, surest, "<=", asked.c, detail, witness, evidence.units.n_classes)


def _check_rows_are_people(evidence: Evidence) -> None:
    """Raise CannotTell where a person may be in several classes: their people cannot be added up."""
    if evidence.policy.rows != "one_per_person":
        raise CannotTell("adds up rows, which are not people with rows: several")
    if evidence.policy.roles.household is not None:
        raise CannotTell("adds up rows, which are not households with roles.household")


def _covers(evidence: Evidence) -> dict[str, BoolArray]:
    try:
        return atoms_of(evidence.units, evidence.policy)
    except NoAtoms as reason:
        raise CannotTell(str(reason)) from None


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
        witness = {**witness, "unfinished": True}
        detail += "; there are too many combinations: the figures are of those examined"
    verdict = Verdict.FAIL if failing else Verdict.PASS if found.finished else Verdict.UNKNOWN
    measured = None if verdict is Verdict.UNKNOWN else value
    return GateResult(gate, verdict, measured, threshold, relation, attacker, 0.0, detail, witness)
