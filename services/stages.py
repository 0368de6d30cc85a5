"""How long each stage of a run took, and how much went through it."""

from __future__ import annotations

import resource
import sys
from dataclasses import asdict, dataclass
from typing import Any

from release_store.records import EquivalenceClasses, Release
from tasks.types import Candidate, Partition, PreparedTable, Recoded, Representation, SourceTable


@dataclass(frozen=True)
class StageFigures:
    """One stage: seconds, and what it gave, as far as that has rows, columns, classes or bytes.

    `peak_memory_bytes` is the most that the process has held since it began, not the stage's own.
    """

    stage: str
    seconds: float
    rows: int | None = None
    columns: int | None = None
    classes: int | None = None
    bytes: int | None = None
    peak_memory_bytes: int | None = None

    def document(self) -> dict[str, Any]:
        """Return what is known, as JSON values."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {**known, "seconds": round(self.seconds, 4)}


def figures_of(stage: str, seconds: float, result: Any) -> StageFigures:
    """Return the figures of a stage that gave `result`."""
    return StageFigures(stage, seconds, **_sizes(result), peak_memory_bytes=peak_memory())


def peak_memory() -> int:
    """Return the most memory that this process has held, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def artifact_row(figures: StageFigures) -> dict[str, str]:
    """Return one stage as a person reads it in a table."""
    return {
        "stage": figures.stage,
        "seconds": f"{figures.seconds:.2f}",
        "rows": _count(figures.rows),
        "columns": _count(figures.columns),
        "classes": _count(figures.classes),
        "MiB written": _mebibytes(figures.bytes, 2),
        "peak MiB": ""
        if figures.peak_memory_bytes is None
        else f"{figures.peak_memory_bytes / 1024**2:,.0f}",
    }


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def _mebibytes(number: int | None, digits: int) -> str:
    return "" if number is None else f"{number / 1024**2:,.{digits}f}"


def _sizes(result: Any) -> dict[str, int]:
    """Return the sizes of what a stage gave; the columns of a table are those that it has in memory."""
    found: dict[str, int] = {}
    match result:
        case SourceTable():
            found = {"rows": result.n_rows, "columns": result.frame.shape[1]}
        case Recoded():
            found = {"rows": result.n_rows, "columns": result.cells.shape[1]}
        case PreparedTable():
            found = {"rows": result.n_rows}
        case Representation():
            found = {"rows": len(result.latent), "columns": result.latent.shape[1]}
        case Partition():
            found = {"rows": int((result.labels >= 0).sum()), "classes": result.n_groups}
        case Candidate():
            staged = [result.folder / name for name in result.files]
            written = sum(path.stat().st_size for path in staged if path.is_file())
            found = {"rows": result.n_published, "bytes": written}
        case Release():
            found = {"rows": result.summary.n_published or 0}
        case object(classes=EquivalenceClasses() as classes):  # an assessment
            found = {"rows": int(classes.size.sum()), "classes": classes.n_classes}
    return found
