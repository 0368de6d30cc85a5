"""What a piece of work costs: wall seconds, CPU seconds, and the largest resident memory while it ran."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import ParamSpec, TypeVar

from services.runtime import Stage
from tasks.types import Progress, no_progress

P = ParamSpec("P")
R = TypeVar("R")

MIB = 2**20


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, seconds of all cores together, and peak resident memory in bytes."""

    wall: float
    cpu: float
    peak: int


class Meter:
    """Runs named stages and keeps what each cost."""

    def __init__(self) -> None:
        self.costs: dict[str, Cost] = {}

    def run(self, name: str, work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Return `work(*args, **kwargs)` and keep its cost under `name`."""
        _forget_peak()
        wall, cpu = perf_counter(), process_time()
        result = work(*args, **kwargs)
        self.costs[name] = Cost(perf_counter() - wall, process_time() - cpu, peak_memory())
        return result

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out a stage of the pipeline, and keep its cost under its name."""
        return self.run(stage.name, work, no_progress)

    def total(self, names: tuple[str, ...] | None = None) -> Cost:
        """Add the seconds of these stages, or of all; the peak is the largest of theirs."""
        chosen = [cost for name, cost in self.costs.items() if names is None or name in names]
        return Cost(
            sum(c.wall for c in chosen), sum(c.cpu for c in chosen), max((c.peak for c in chosen), default=0)
        )


def peak_memory() -> int:
    """Return the peak resident memory in bytes: since the last reset on Linux, else of the process's life."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def _forget_peak() -> None:
    # Linux lets a process reset its own high-water mark; elsewhere a stage's peak is the process's so far.
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return
