"""The gate `membership`: of whom is it certain that they are in the table?"""

from __future__ import annotations

import numpy as np

from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.attackers import People
from tasks.risk.attacks.forced import NoAssignment
from tasks.risk.attacks.membership import Members, members
from tasks.risk.attacks.occupied import occupied
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.forced import check_cells, own_classes
from tasks.risk.gates.linkage_and_loss import EMPTY, NO_CONTROL

KNOWS_EVERYBODY = "knows all quasi-identifiers of everybody who may be in the table, and how cells come about"


def membership_gate(evidence: Evidence) -> GateResult:
    """Share of the people published who are in the table for certain, among those of `linkage.control`.

    Raises CannotTell and NotAtHand as `forced_gate.possible_of` does, and NotAtHand without a control group.
    """
    limit = evidence.policy.gates.membership
    if limit is None:
        raise ValueError("the policy does not use this gate")
    if not evidence.classes.n_classes:
        return GateResult("membership", Verdict.UNKNOWN, None, limit.max, "<=", KNOWS_EVERYBODY, 0.0, EMPTY)
    check_cells(evidence.policy)
    own, others = own_classes(evidence), evidence.control_group
    if others is None:
        raise NotAtHand(NO_CONTROL)
    try:
        found = members_of(evidence, others, own)
    except NoAssignment as reason:
        raise CannotTell(str(reason)) from None
    here = np.flatnonzero(own >= 0)
    share, by_place, by_value = (
        float(each[here].mean()) for each in (found.certain, found.by_place, found.by_value)
    )
    n_outside = len(found.outside) - len(here)
    verdict = Verdict.PASS if share <= limit.max + 1e-12 else Verdict.FAIL
    detail = (
        f"{share:.1%} of {number_of(len(here), 'person', 'people')} are certainly in the table, if "
        f"{number_of(n_outside, 'other')} could be: "
        f"{by_place:.1%} because the classes need them, {by_value:.1%} because only they have a value that "
        f"somebody in the class has; {int(found.outside.sum())} are certainly not in it"
    )
    witness = {
        "people": len(here),
        "others": n_outside,
        "classes": evidence.classes.n_classes,
        "certain": share,
        "by_place": by_place,
        "by_value": by_value,
        "outside": int(found.outside.sum()),
    }
    return GateResult("membership", verdict, share, limit.max, "<=", KNOWS_EVERYBODY, 0.0, detail, witness)


def members_of(evidence: Evidence, others: People, own: np.ndarray) -> Members:
    """Lay the source's people beside the control group; those that were left out are outside too."""
    source, target = evidence.source, evidence.target
    people = target.source
    tables = (source, evidence.control or source)
    return members(
        np.vstack([people.numbers, others.numbers]),
        np.vstack([people.codes, others.codes]),
        np.concatenate([own, np.full(len(others.numbers), -1)]),
        target.cells,
        occupied(evidence.classes, tables, evidence.policy, evidence.reused),
    )
