"""The gate `forced`: whose class is certain to an attacker who places everybody in the release at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from policy.recoding import Form
from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.forced import NoAssignment, Possible, an_assignment, possible_classes
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.linkage_and_loss import EMPTY
from tasks.risk.record_classes import record_classes
from tasks.types import IntArray

PLACES_EVERYBODY = "knows all quasi-identifiers of everybody in the release, and who is in it"
NOT_PLACED = "only the run that made the rows knows which records were left out: run the period again"
SEVERAL_ROWS = "people may have several rows, but this gate counts rows"


def forced_gate(evidence: Evidence) -> GateResult:
    """Share of people whose class, or else whose value, is certain once everybody is placed in a class.

    Raises CannotTell and NotAtHand as `possible_of` does.
    """
    limit, n_source = evidence.policy.gates.forced, evidence.n_source
    if limit is None:
        raise ValueError("the policy does not use this gate")
    if not evidence.classes.n_classes:
        return GateResult("forced", Verdict.UNKNOWN, None, limit.max, "<=", PLACES_EVERYBODY, 0.0, EMPTY)
    found = possible_of(evidence)
    n = len(found.classes)
    by_class = float((found.classes == 1).mean())
    by_value = {name: float(certain.mean()) for name, certain in found.certain.items()}
    told = [f"{name} {value:.1%}" for name, value in by_value.items()]
    share = max(by_class, *by_value.values())
    verdict = Verdict.PASS if share <= limit.max + 1e-12 else Verdict.FAIL
    detail = (
        f"{by_class:.1%} of {number_of(n, 'person', 'people')} fit one class only, "
        f"{(found.fitting == 1).mean():.1%} by their own cells alone; certain values: {', '.join(told)}; "
        f"each person is hidden among at least {number_of(int(found.rows.min()), 'row')} "
        f"({found.rows.mean():,.1f} on average)"
    )
    if n < n_source:
        detail += f"; records known to be left out: {n_source - n:,}"
    witness: dict[str, Any] = {
        "people": n,
        "possible_pairs": found.pairs,
        "forced_classes": by_class,
        "certain_values": by_value,
        "effective_k": int(found.rows.min()),
    }
    return GateResult("forced", verdict, share, limit.max, "<=", PLACES_EVERYBODY, 0.0, detail, witness)


def possible_of(evidence: Evidence) -> Possible:
    """Find the possible classes of everybody published, in the order of the source.

    Raises CannotTell where cells need not contain their people or somebody is in none that contains them, and
    NotAtHand where it is not known which records were left out.
    """
    check_cells(evidence.policy)
    own, target = own_classes(evidence), evidence.target
    people, placed = target.source.take(np.flatnonzero(own >= 0)), own[own >= 0]
    try:
        return possible_classes(people.numbers, people.codes, placed, target.cells, target.guessed)
    except NoAssignment as reason:
        raise CannotTell(str(reason)) from None


def check_cells(policy: ReleasePolicy) -> None:
    """Raise CannotTell where cells need not contain their people, or people may have several rows."""
    if policy.rows == "several":
        raise CannotTell(SEVERAL_ROWS)
    untrue = [name for name in policy.roles.quasi_identifiers if policy.form(name) is not Form.CONTAINS]
    if untrue:
        raise CannotTell(f"{', '.join(untrue)}: values were replaced or noised, so cells exclude nobody")


def own_classes(evidence: Evidence) -> IntArray:
    """Return the class of each record of the source, (n,), -1 for those that were left out.

    Where it is not known and nobody was left out, that of some assignment. Raises CannotTell where there is
    none, and NotAtHand where it is not known which records were left out.
    """
    own = record_classes(evidence)
    if own is not None:
        return own
    if evidence.n_published < evidence.n_source:
        raise NotAtHand(NOT_PLACED)
    target = evidence.target
    people = target.source
    try:
        return an_assignment(people.numbers, people.codes, evidence.classes.size, target.cells)
    except NoAssignment as reason:
        raise CannotTell(str(reason)) from None
