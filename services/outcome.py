"""What became of a run: the few facts that the command line shows."""

from __future__ import annotations

from dataclasses import dataclass

from release_store.records import CandidateRecord, GateResult
from release_store.summary import Repair
from reports.advice_text import advice_document
from reports.documents import Document, gate_document
from services.stages import StageFigures
from tasks.risk.advice import Advice


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
    stages: tuple[StageFigures, ...] = ()
    message: str = ""
    report: str = ""  # the path of the page that shows it all, empty where there is none
    repair: Repair | None = None
    over_max_group_size: int = 0
    advice: tuple[Advice, ...] = ()  # for the gates that block the candidate
    stale: tuple[CandidateRecord, ...] = ()  # what waited until this release was published

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds of each stage."""
        return {one.stage: one.seconds for one in self.stages}


def outcome_document(outcome: Outcome) -> Document:
    """Return a run's outcome as JSON values."""
    return {
        "series": outcome.series,
        "period": outcome.period,
        "state": outcome.state,
        "candidate": outcome.candidate_id,
        "release": outcome.release_id,
        "message": outcome.message,
        "report": outcome.report or None,
        "rows": outcome.n_source,
        "published_rows": outcome.n_published,
        "classes": outcome.n_classes,
        "ncp": outcome.ncp,
        "repaired": outcome.repair.document() if outcome.repair else {},
        "over_max_group_size": outcome.over_max_group_size,
        "seconds": {name: round(value, 3) for name, value in outcome.seconds.items()},
        "stages": [figures.document() for figures in outcome.stages],
        "gates": [gate_document(result) for result in outcome.gates],
        "stale": [{"candidate": one.candidate_id, "period": one.period} for one in outcome.stale],
        "advice": [advice_document(advice) for advice in outcome.advice],
    }
