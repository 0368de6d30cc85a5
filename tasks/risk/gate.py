"""The risk gate: every gate that the policy asks for, on what would be public.

A new gate is one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from release_store.records import GateResult, Verdict
from tasks.risk import history_gates, integrity, measured, models
from tasks.risk.evidence import Evidence
from tasks.types import Progress, no_progress

GateFunction = Callable[[Evidence], GateResult | None]

GATES: dict[str, GateFunction] = {
    "files": integrity.files_gate,
    "truth": integrity.truth_gate,
    "k": models.k_gate,
    "p_max": models.p_max_gate,
    "h_min": models.h_min_gate,
    "e": models.e_gate,
    "err": measured.err_gate,
    "umr": measured.umr_gate,
    "sadr": measured.sadr_gate,
    "pairwise": history_gates.pairwise_gate,
    "whole_history": history_gates.whole_history_gate,
    "suppression": measured.suppression_gate,
    "ncp": measured.ncp_gate,
}


@dataclass(frozen=True)
class GateReport:
    """What every demanded gate said."""

    results: tuple[GateResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every gate passed; false where no gate was asked."""
        return bool(self.results) and all(result.verdict is Verdict.PASS for result in self.results)

    @property
    def failing(self) -> tuple[GateResult, ...]:
        """The results that hold the candidate back."""
        return tuple(result for result in self.results if result.verdict is not Verdict.PASS)


def assess(
    evidence: Evidence, gates: dict[str, GateFunction] | None = None, progress: Progress = no_progress
) -> GateReport:
    """Ask every gate. One that breaks says `error`, with the kind of failure and nothing of the data."""
    asked = GATES if gates is None else gates
    results: list[GateResult] = []
    for number, (name, gate) in enumerate(asked.items()):
        progress(number / len(asked), f"gate {name}")
        result = _asked(name, gate, evidence)
        if result is not None:
            results.append(result)
    return GateReport(tuple(results))


def _asked(name: str, gate: GateFunction, evidence: Evidence) -> GateResult | None:
    start = perf_counter()
    try:
        result = gate(evidence)
    except Exception as error:  # whatever breaks a gate must block, not pass
        broken = f"the gate broke ({type(error).__name__})"
        return GateResult(name, Verdict.ERROR, None, None, "<=", "", perf_counter() - start, broken)
    return replace(result, seconds=perf_counter() - start) if result is not None else None


def summary_line(results: Sequence[GateResult]) -> str:
    """Say in one line which gates hold a candidate back, with value and limit."""
    return "; ".join(
        f"{r.gate} {r.verdict}"
        + (
            f" ({r.value:.4g}, must be {r.relation} {r.threshold:.4g})"
            if r.value is not None and r.threshold is not None
            else ""
        )
        for r in results
        if r.verdict is not Verdict.PASS
    )
