"""Beside what a candidate was compared, as its gates themselves say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.risk.registry import GATES

Document = Mapping[str, Any]
BY_CELLS = {
    "pairwise": "pairs",
    "whole_history": "combinations",
    "difference": "pairs",
    "size": "pairs",
    "totals": "differences",
}
BY_PERSON = ("person", "person_difference")
_COVERAGE = "coverage"


@dataclass(frozen=True)
class Comparison:
    """What one gate was able to compare: so many earlier releases, and which attributes."""

    releases: int
    attributes: tuple[str, ...]
    anything: bool


def comparison_of(gate: Document, compared_attributes: Sequence[str]) -> Comparison | None:
    """Return what a gate on the history compared; None of another gate, and where its witness does not say.

    The gates on people name no attributes: theirs are those that the policy has compared.
    """
    coverage = _coverage(gate.get("witness") or {})
    if coverage is None or gate["gate"] not in (*BY_CELLS, *BY_PERSON):
        return None
    releases = int(coverage.get("releases", 0))
    if gate["gate"] in BY_PERSON:
        looked = bool(coverage.get("followed")) and bool(releases)
        return Comparison(releases, tuple(compared_attributes) if looked else (), looked)
    counts = coverage.get(BY_CELLS[gate["gate"]])
    found = {str(name): n for name, n in counts.items() if n} if isinstance(counts, Mapping) else {}
    return Comparison(releases, tuple(found), bool(found))


def n_earlier(gates: Sequence[Document]) -> int | None:
    """Return with how many earlier releases a candidate was compared; None where no gate could tell."""
    for gate in gates:
        if gate["gate"] == "whole_history":
            found = comparison_of(gate, ())
            return None if found is None else found.releases
    return None


def not_compared(gates: Sequence[Document]) -> list[str]:
    """Return what the gates say was not compared, and why; checks that were not asked are not named."""
    lines: dict[str, None] = {}
    for gate in gates:
        coverage = _coverage(gate.get("witness") or {}) or {}
        for one in coverage.get("not_run") or ():
            if one.get("what") not in GATES:
                lines[f"{one.get('what')}: {one.get('why')}"] = None
    return list(lines)


def _coverage(witness: Document) -> Document | None:
    """Return the coverage of a witness: under the longest of its names, which an attribute may have too."""
    names = [name for name in witness if name.rstrip("_") == _COVERAGE]
    found = witness[max(names, key=len)] if names else None
    return found if isinstance(found, Mapping) and "releases" in found else None
