"""One run of a trial, in a worker process: the rows that it would publish, their figures and their gates."""

from __future__ import annotations

import signal
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from policy.errors import PolicyError, ReleaseGateError
from policy.model import ReleasePolicy
from policy.trusted import Memory
from services.evaluation.own_gates import InputTable, gates_of
from services.evaluation.run import figures_of_rows, new_people
from services.evaluation.search.goal import WORST
from services.evaluation.search.ranking import TableRun
from services.pipeline import prepare, preprocessed, publishable_rows
from services.runtime import Runtime
from tasks.memory import memory_in_use, use_memory
from tasks.methods.base import BoundMethod
from tasks.methods.registry import bound_method
from tasks.packages import trust_packages
from tasks.representation.parts import REPRESENTATIONS
from tasks.types import PreparedTable, Progress, Representation, SourceTable

SHARED = {"autoencoder": False, "isomap": True, "lle": True}
"""The representations that are costly to make and small, and whether k has a say in them."""


cpu_clock = time.process_time
"""The seconds of processor time of this process; a budget of seconds counts them."""


@dataclass(frozen=True)
class Job:
    """A run to be made: its number in its trial, the place of its table, and its policy, with the parameters
    and the seed.

    `learned` is the representation, where another run made the same one.
    """

    trial: int
    run: int
    table: int
    policy: ReleasePolicy
    measures: tuple[str, ...]
    packages: tuple[str, ...] = ()
    learned: Representation | None = None
    memory: Memory = field(default_factory=memory_in_use)

    @cached_property
    def shared(self) -> Hashable:
        """What the run's representation depends on, where it may be shared with others; else None."""
        try:
            method = bound_method(self.policy)
        except PolicyError:  # which the run tells
            return None
        name = method.parts[0]
        if name not in SHARED:
            return None
        own = method.parameters.model_dump(include=set(REPRESENTATIONS[name].parameters.model_fields))
        k = self.policy.privacy.k if SHARED[name] else None
        return (name, *sorted(own.items()), k, self.policy.seed, self.table)


@dataclass(frozen=True)
class Done:
    """What came of a job, and the representation that it made, where that may be shared."""

    run: TableRun
    learned: Representation | None = None


class Worker:
    """What a process keeps between runs: the tables, each prepared once, and a folder for staged files."""

    def __init__(self, tables: Sequence[InputTable], scratch: Path) -> None:
        self.tables, self.scratch = tables, scratch
        self._prepared: dict[int, tuple[PreparedTable, SourceTable]] = {}

    def run(self, job: Job) -> Done:
        """Carry out one run. An error becomes its finding, in names and counts only."""
        start = cpu_clock()
        table = self.tables[job.table]
        trust_packages(job.packages)
        use_memory(job.memory)
        try:
            done = self._run(job, table)
        except ReleaseGateError as error:
            text = f"{error.where}: {error.message}" if error.where else error.message
            done = Done(TableRun(table.period, job.policy.seed, text))
        except Exception as error:  # its text may quote cells
            text = f"unexpected error ({type(error).__name__})"
            done = Done(TableRun(table.period, job.policy.seed, text))
        return replace(done, run=replace(done.run, cpu_seconds=cpu_clock() - start))

    def _run(self, job: Job, given: InputTable) -> Done:
        policy, runtime = job.policy, Runtime()
        if job.table not in self._prepared:
            self._prepared[job.table] = preprocessed(given.source, policy, runtime)
        table, source = self._prepared[job.table]
        method, learned = bound_method(policy), _Learned(job)
        if table.n_records <= method.fragment_size:
            method = learned.kept(method)
        prepared = prepare(source, table, policy, method, runtime)
        made = publishable_rows(prepared, given.period, runtime, lambda: ([], new_people()))
        figures = figures_of_rows(made, job.measures)
        for what in WORST:
            shares = policy.linkage.ext_frac
            figures[what] = max(float(figures[f"{what}_{share:g}"] or 0.0) for share in shares)
        gates = gates_of(made, given, self.scratch)
        return Done(TableRun(given.period, policy.seed, "", figures, gates), learned.new)


class _Learned:
    """The representation of a run: the one that it was given, else the one that it makes."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.new: Representation | None = None

    def kept(self, method: BoundMethod) -> BoundMethod:
        """Return the method with its representation given, or kept when it is made."""
        if self.job.shared is None:
            return method

        def represent(table: PreparedTable, progress: Progress) -> Representation:
            if self.job.learned is not None:
                return self.job.learned
            self.new = method.represent(table, progress)
            return self.new

        return replace(method, represent=represent)


class _Process:
    """The worker of this process."""

    worker: Worker


def init_worker(tables: Sequence[InputTable], scratch: Path) -> None:
    """Set a worker process up: tables are handed over once, and an interrupt is the parent's to answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Process.worker = Worker(tables, scratch)


def run_job(job: Job) -> Done:
    """Carry one job out in a worker process."""
    return _Process.worker.run(job)
