"""What became of a run: the few facts that the command line shows."""

from __future__ import annotations

from dataclasses import dataclass, field

from release_store.records import GateResult


@dataclass(frozen=True)
class Outcome:
    """The end of one run of the release flow."""

    series: str
    period: str
    state: str
    candidate_id: str = ""
    release_id: str = ""
    n_source: int = 0
    n_published: int = 0
    n_classes: int = 0
    ncp: float | None = None
    gates: tuple[GateResult, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    message: str = ""
    repaired: dict[str, int] = field(default_factory=dict)
