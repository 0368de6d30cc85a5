"""The gate over totals: who leaves or joins a series in which nobody is followed must not do so alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.geometry.components import components
from tasks.geometry.space import counts_of
from tasks.history.following import follows_nobody_into
from tasks.history.required import least_of_each
from tasks.history.totals import Several, exposed, several, surpluses
from tasks.risk.evidence import Evidence
from tasks.risk.gates.history import COVERAGE
from tasks.types import BoolArray, IntArray

SUBTRACTS = "has every earlier release of the series, and knows who is in one of two releases only"
SIDES = ("left", "joined")


def totals_gate(evidence: Evidence) -> GateResult:
    """Nobody who left since an earlier release, or joined, is exposed by the difference of two totals."""
    policy, history = evidence.policy, evidence.history
    chosen = [
        (number, name, classes)
        for number, (name, classes) in enumerate(evidence.selected_history.earlier)
        if follows_nobody_into(policy, name)
    ]
    coverage: dict[str, Any] = {"releases": len(chosen), "differences": {}, "not_run": []}
    if history is None or not chosen:
        return _result(0, "there is no earlier release whose people are not followed", {COVERAGE: coverage})
    own = counts_of(evidence.classes, evidence.space)
    n_failing, witness = 0, {}
    totals: dict[str, list[tuple[str, IntArray]]] = {attribute: [] for attribute in evidence.compared}
    for number, name, classes in chosen:
        here, there, n = components(evidence.boxes, history.by_release[number])
        theirs = counts_of(classes, evidence.space)
        for attribute in evidence.compared:
            if attribute not in classes.counts:
                what = f"{attribute} beside {name}"
                coverage["not_run"].append({"what": what, "why": "not published in it"})
                continue
            totals[attribute].append((name, theirs[attribute].sum(axis=0)))
            surplus, _ = surpluses(own[attribute], here, theirs[attribute], there, n)
            one = evidence.required[attribute]
            failing = exposed(surplus, one.least, policy.privacy.k, one.groups)
            n_failing += int(failing.any(axis=1).sum())
            counted = coverage["differences"]
            counted[attribute] = counted.get(attribute, 0) + int(surplus.any(axis=1).sum())
            if failing.any() and attribute not in witness:
                witness[attribute] = _witness(surplus, failing, name)
    for attribute, earlier in totals.items():
        every = [*earlier, ("the candidate", own[attribute].sum(axis=0))]
        one, numbers = evidence.required[attribute], np.array([each for _, each in every])
        found = several(numbers, one.least, policy.privacy.k, one.groups)
        n_failing += int(found.failing.any(axis=2).sum())
        if found.failing.any() and attribute not in witness:
            witness[attribute] = _of_several(found, [name for name, _ in every])
    detail = (
        "differences of totals that expose who left or joined, against "
        f"{number_of(len(chosen), 'earlier release')} whose people are not followed "
        f"({least_of_each(policy)}, k = {policy.privacy.k})"
    )
    key = COVERAGE
    while key in witness:
        key += "_"
    return _result(n_failing, detail, {**witness, key: coverage})


def _witness(surplus: IntArray, failing: BoolArray, release: str) -> dict[str, int | str]:
    row, side = (int(found[0]) for found in np.nonzero(failing))
    only = surplus[row] if side == 0 else -surplus[row]
    return {
        "earlier_release": release,
        "side": SIDES[side],
        "records": int(only[only > 0].sum()),
        "values": int((only > 0).sum()),
        "of": "all classes" if row == len(surplus) - 1 else "classes that overlap no others",
    }


def _of_several(found: Several, names: list[str]) -> dict[str, int | str]:
    side, one, value = (int(place[0]) for place in np.nonzero(found.failing))
    others = [names[other] for other in found.others(side, one, value).tolist()]
    return {
        "release": names[one],
        "side": ("only there", "missing there alone")[side],
        "beside": ", ".join(others),
        "of": "all classes",
    }


def _result(n_failing: int, detail: str, witness: dict[str, Any]) -> GateResult:
    verdict = Verdict.FAIL if n_failing else Verdict.PASS
    return GateResult("totals", verdict, float(n_failing), 0.0, "<=", SUBTRACTS, 0.0, detail, witness)
