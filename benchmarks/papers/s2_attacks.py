"""The five attackers of Majeed, Lee and Hwang (2025, section 3.3) on one release, and their averages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.trial import Figures, Trial
from tasks.risk.attacks.attackers import ALL, HALF, HALF_AND_SENSITIVE, OUTSIDE, SENSITIVE

ATTACKERS = {"i": HALF, "ii": ALL, "iii": SENSITIVE, "iv": HALF_AND_SENSITIVE, "v": OUTSIDE}
GUESS = ("i", "ii", "v")  # these do not know the sensitive value


def five_attacks(made: Trial) -> Figures:
    """Return SADR, right guesses, and Pr(DR) of rows and cells by attacker, and the means of each."""
    (name,) = made.policy.roles.sensitive
    found: Figures = {"majority": float(made.evidence.target.frequency[name].max())}
    for number, attacker in ATTACKERS.items():
        attack = made.evidence.attack(attacker)
        found[f"row {number}"] = attack.identity.mean
        if attack.cells is not None:
            found[f"cells {number}"] = attack.cells.mean
        if name in attack.sadr:
            found[f"sadr {number}"] = attack.sadr[name].mean
            found[f"right {number}"] = attack.sadr[name].hits
    for what in ("row", "cells", "sadr", "right"):
        found[what] = _mean([value for key, value in found.items() if key.startswith(f"{what} ")])
    return found


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))
