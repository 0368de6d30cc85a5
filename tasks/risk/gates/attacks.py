"""Gates on what the five attackers get: SADR, Pr(DR), and how much more than against people who are not in
the release (doi:10.3390/app152111849, section 3.3 and eq. 11).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

from policy.gates import AttackLimit
from policy.text import number_of
from release_store.records import GateResult, Verdict
from tasks.risk.attacks.attack import Attack, Figure
from tasks.risk.attacks.attackers import (
    ALL,
    HALF,
    HALF_AND_SENSITIVE,
    KNOW_A_SENSITIVE_VALUE,
    KNOWS,
    OUTSIDE,
    SENSITIVE,
)
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.gates.linkage_and_loss import EMPTY, NO_CONTROL

EVERYBODY = (HALF, ALL, SENSITIVE, HALF_AND_SENSITIVE, OUTSIDE)


FEWEST_OUTSIDERS = 30
"""The smallest group of people outside whose mean is taken for that of people like them."""

NOBODY_FITS = "nobody drawn fits a class"
NO_OUTSIDER_FITS = "nobody of the control group fits"

Said = tuple[float, str]
"""The value that is held to the limit, and how the figure is told; nan, and why it was not measured."""


def sadr_gate(evidence: Evidence) -> GateResult:
    """SADR: the surest guess of a sensitive value of anybody drawn (eq. 11)."""
    limit = evidence.policy.gates.sadr
    return _judged(evidence, "sadr", limit, (ALL,), _sadr, _greatest, _interval)


def sadr_excess_gate(evidence: Evidence) -> GateResult:
    """How much more often the surest guess is right of the people drawn than of the control group.

    Raises CannotTell where the file of the control group has too few people.
    """
    limit = evidence.policy.gates.sadr_excess
    _enough_outsiders(evidence)
    can_guess = [a for a in EVERYBODY if a not in KNOW_A_SENSITIVE_VALUE or _has_others(evidence)]
    return _judged(evidence, "sadr_excess", limit, can_guess, _sadr, _excess, _group)


def pr_dr_gate(evidence: Evidence) -> GateResult:
    """Pr(DR): the chance to name a person's row, or all unknown quasi-identifiers; mean over the draws."""
    limit = evidence.policy.gates.pr_dr
    return _judged(evidence, "pr_dr", limit, EVERYBODY, _pr_dr, _mean, _interval)


def pr_dr_excess_gate(evidence: Evidence) -> GateResult:
    """How much greater Pr(DR) is for the people drawn than for the control group.

    Raises CannotTell where the file of the control group has too few people.
    """
    limit = evidence.policy.gates.pr_dr_excess
    _enough_outsiders(evidence)
    return _judged(evidence, "pr_dr_excess", limit, EVERYBODY, _pr_dr, _excess, _group)


def _sadr(attack: Attack) -> dict[str, Figure]:
    return attack.sadr


def _pr_dr(attack: Attack) -> dict[str, Figure]:
    cells = {} if attack.cells is None else {"unknown cells": attack.cells}
    return {"identity": attack.identity, **cells}


def _enough_outsiders(evidence: Evidence) -> None:
    group = evidence.control
    if group is not None and group.n_records < FEWEST_OUTSIDERS:
        raise CannotTell(
            f"the file of linkage.control has {number_of(group.n_records, 'row')}; "
            f"it needs at least {FEWEST_OUTSIDERS}"
        )


def _greatest(figure: Figure) -> Said:
    if isnan(figure.greatest):
        return figure.greatest, NOBODY_FITS
    return figure.greatest, f"{figure.greatest:.4f} (mean {_with_interval(figure)})"


def _mean(figure: Figure) -> Said:
    if isnan(figure.mean):
        return figure.mean, NOBODY_FITS
    return figure.mean, f"{_with_interval(figure)} (greatest {figure.greatest:.4f})"


def _excess(figure: Figure) -> Said:
    """Return the upper end of the interval, so that nothing passes because too few were looked at."""
    unmeasured = float("nan")
    if isnan(figure.hits):
        return unmeasured, NOBODY_FITS
    if figure.n_control is not None and figure.n_control < FEWEST_OUTSIDERS:
        n_fit = f"{figure.n_control} of the control group fit" if figure.n_control else NO_OUTSIDER_FITS
        return unmeasured, f"{n_fit} a class, and {FEWEST_OUTSIDERS} must"
    if isnan(figure.excess_within):
        return unmeasured, "a single draw has no interval: linkage.seeds must be 2 or more"
    told = f"{figure.excess:.4f} ± {figure.excess_within:.4f} ({figure.hits:.4f} - {figure.control:.4f})"
    return min(figure.excess + figure.excess_within, 1.0), told


def _few(figure: Figure, k: int) -> str:
    people = number_of(figure.n_people, "person", "people")
    return (
        f"a draw has {people} who can be attacked, and a figure about fewer than k = {k} could reveal a "
        "value: raise linkage.ext_frac"
    )


def _with_interval(figure: Figure) -> str:
    return f"{figure.mean:.4f}" + ("" if isnan(figure.within) else f" ± {figure.within:.4f}")


def _has_others(evidence: Evidence) -> bool:
    return len(evidence.classes.counts) > 1


def _judged(
    evidence: Evidence,
    gate: str,
    limit: AttackLimit | None,
    default: Sequence[str],
    figures_of: Callable[[Attack], dict[str, Figure]],
    say: Callable[[Figure], Said],
    explain: Callable[[Evidence], str],
) -> GateResult:
    """Carry out the attacks; the worst figure is held to the limit, and what is not measured is no pass."""
    if limit is None:
        raise ValueError("the policy does not use this gate")
    attackers = limit.attackers or default
    who = "knows " + "; or ".join(KNOWS[attacker] for attacker in attackers)

    def unmeasured(verdict: Verdict, detail: str) -> GateResult:
        return GateResult(gate, verdict, None, limit.max, "<=", who, 0.0, detail)

    if evidence.policy.linkage.control is not None and evidence.control is None:
        return unmeasured(Verdict.NOT_RUN, NO_CONTROL)
    if not evidence.classes.n_classes:
        return unmeasured(Verdict.UNKNOWN, EMPTY)
    told, missing = [], []
    worst, witness = float("-inf"), {}
    for attacker in attackers:
        attack = evidence.attack(attacker)
        figures = figures_of(attack)
        words = []
        if not figures:
            missing.append(f"{attacker}: not measured, there is no other sensitive attribute")
        for about, figure in figures.items():
            value, said = say(figure)
            if not isnan(value) and figure.n_people < evidence.policy.privacy.k:
                value, said = float("nan"), _few(figure, evidence.policy.privacy.k)
            if isnan(value):
                missing.append(f"{attacker}: {about} not measured, {said}")
                continue
            words.append(f"{about} {said}")
            if value > worst:
                worst, witness = value, _witness(attack, about, figure)
        if words:
            told.append(f"{attacker}: {', '.join(words)}")
    if not told:
        return unmeasured(Verdict.UNKNOWN, "; ".join(missing))
    over = worst > limit.max + 1e-12
    verdict = Verdict.FAIL if over else Verdict.NOT_RUN if missing else Verdict.PASS
    detail = "; ".join([*told, *missing, explain(evidence)])
    if missing:
        witness = {**witness, "not_measured": len(missing)}
    return GateResult(gate, verdict, worst, limit.max, "<=", who, 0.0, detail, witness if over else {})


def _witness(attack: Attack, about: str, figure: Figure) -> dict[str, Any]:
    found = {"attacker": attack.attacker, "about": about, "people_drawn": attack.n_people}
    return {**found, "ways": attack.n_ways, **figure.witness}


def _interval(evidence: Evidence) -> str:
    n = evidence.policy.linkage.seeds
    return f"± is a 95% interval (Student's t) over {n} draws" if n > 1 else "one draw, no interval"


def _group(evidence: Evidence) -> str:
    group = evidence.control_group
    of = "of people made up from those drawn" if group is None else f"of {len(group):,} people outside"
    over = f"{evidence.policy.linkage.seeds} draws" + ("" if group is None else " and the people outside")
    return (
        f"difference in accuracy from a control group {of}; ± is a 95% interval over {over}, and its upper "
        "end is compared with the limit"
    )
