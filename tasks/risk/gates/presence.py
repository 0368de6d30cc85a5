"""The gate `delta_presence`: how likely is it of anybody in a population that they are in the release?"""

from __future__ import annotations

import numpy as np

from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.presence import presence
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.forced import check_cells
from tasks.risk.gates.linkage_and_loss import EMPTY, NO_CONTROL
from tasks.risk.gates.models.checks import SHOWN, model_of

KNOWS_EVERYBODY = "knows all quasi-identifiers of everybody who may be in the table"
OTHERS = "some classes have more rows than people who fit them, so the population lacks people of the release"


def delta_presence_gate(evidence: Evidence) -> GateResult:
    """Everybody's probability of being in the release is between two limits (Nergiz et al., 2007).

    The population is the source's people and those of `linkage.control`. Raises CannotTell where cells need
    not contain their people or the population lacks some of them, and NotAtHand without the file.
    """
    asked = model_of(evidence.policy.gates.delta_presence)
    if not evidence.classes.n_classes:
        return _result(Verdict.UNKNOWN, None, "<=", asked.max, EMPTY, {})
    check_cells(evidence.policy)
    others = evidence.control_group
    if others is None:
        raise NotAtHand(NO_CONTROL)
    source, size = evidence.target.source, evidence.classes.size
    found = presence(
        np.vstack([source.numbers, others.numbers]),
        np.vstack([source.codes, others.codes]),
        evidence.target.cells,
        size,
    )
    if (found.fitting < size).any():
        raise CannotTell(OTHERS)
    least, most = float(found.low.min()), float(found.high.max())
    bounds = "" if np.array_equal(found.low, found.high) else "; classes overlap, so these are bounds"
    detail = (
        f"each of {number_of(len(found.low), 'person', 'people')} of the population is in the release with "
        f"a probability from {least:.4g} to {most:.4g}{bounds}"
    )
    too_sure = found.high > asked.max + 1e-12
    too_absent = found.low < asked.min - 1e-12
    witness: dict[str, object] = {}
    if too_sure.any() or too_absent.any():
        share = size / found.fitting
        worst = np.flatnonzero((share > asked.max + 1e-12) | (share < asked.min - 1e-12))
        witness = {
            "people_over_max": int(too_sure.sum()),
            "people_under_min": int(too_absent.sum()),
            "probability": [least, most],
            "first": worst[:SHOWN].tolist(),
        }
    verdict = Verdict.FAIL if witness else Verdict.PASS
    if too_absent.any() and not too_sure.any():
        return _result(verdict, least, ">=", asked.min, detail, witness)
    return _result(verdict, most, "<=", asked.max, detail, witness)


def _result(
    verdict: Verdict,
    value: float | None,
    relation: str,
    limit: float,
    detail: str,
    witness: dict[str, object],
) -> GateResult:
    return GateResult(
        "delta_presence", verdict, value, limit, relation, KNOWS_EVERYBODY, 0.0, detail, witness
    )
