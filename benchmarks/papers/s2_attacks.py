"""The five attackers of Majeed, Lee and Hwang (2025, section 3.3) on one release, and their averages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.trial import Figures, Trial
from tasks.risk.attacks.attack import attack
from tasks.risk.attacks.attackers import ALL, HALF, HALF_AND_SENSITIVE, OUTSIDE, SENSITIVE

ATTACKERS = {"i": HALF, "ii": ALL, "iii": SENSITIVE, "iv": HALF_AND_SENSITIVE, "v": OUTSIDE}
GUESS = ("i", "ii", "v")  # these do not know the sensitive value


def five_attacks(made: Trial) -> Figures:
    """Return SADR, right guesses, and Pr(DR) of rows and cells by attacker, and the means of each."""
    found = attacks(made, tuple(ATTACKERS))
    for what in ("row", "cells", "sadr", "right"):
        found[what] = _mean([value for key, value in found.items() if key.startswith(f"{what} ")])
    return found


def attacks(made: Trial, numbers: Sequence[str]) -> Figures:
    """Return the figures of some of the attackers, and the share of the most frequent sensitive value."""
    (name,) = made.policy.roles.sensitive
    found: Figures = {"majority": float(made.evidence.target.frequency[name].max())}
    for number in numbers:
        one = made.evidence.attack(ATTACKERS[number])
        found[f"row {number}"] = one.identity.mean
        if one.cells is not None:
            found[f"cells {number}"] = one.cells.mean
        if name in one.sadr:
            found[f"sadr {number}"] = one.sadr[name].mean
            found[f"right {number}"] = one.sadr[name].hits
    return found


def one_draw(made: Trial, draw: int) -> Figures:
    """Return SADR and Pr(DR) of rows of each attacker on the people of one draw of the attacked."""
    (name,) = made.policy.roles.sensitive
    evidence, errors = made.evidence, made.policy.linkage.errors
    found: Figures = {}
    for number, attacker in ATTACKERS.items():
        result = attack(evidence.target, attacker, [evidence.attacked[draw]], errors=errors)
        found[f"row {number}"] = result.identity.mean
        if name in result.sadr:
            found[f"sadr {number}"] = result.sadr[name].mean
    return found


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))
