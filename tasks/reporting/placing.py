"""What placing everybody in the release at once tells, of releases that no limit holds to it too."""

from __future__ import annotations

from typing import Any

from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates.forced import possible_of

DECIMALS = 4
MOST_PEOPLE = 100_000  # the time grows with the pairs of a person and a class that contains them


def placing_figures(evidence: Evidence) -> dict[str, Any] | None:
    """Return how many people fit one class only, and have a value that is certain by it.

    `classes` is a share of `people`, `values` one for each sensitive attribute, `effective_k` the fewest rows
    that can be a person's, and `rows` their mean. None where it cannot be told, as where cells exclude
    nobody, and of more than `MOST_PEOPLE`, whom the gate `forced` alone asks about. The cost is that of
    `possible_classes`.
    """
    if evidence.table is None or not 0 < evidence.n_published <= MOST_PEOPLE:
        return None
    try:
        found = possible_of(evidence)
    except (CannotTell, NotAtHand):
        return None
    return {
        "people": len(found.classes),
        "classes": round(float((found.classes == 1).mean()), DECIMALS),
        "values": {name: round(float(each.mean()), DECIMALS) for name, each in found.certain.items()},
        "effective_k": int(found.rows.min()),
        "rows": round(float(found.rows.mean()), 1),
    }
