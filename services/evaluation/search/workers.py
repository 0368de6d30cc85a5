"""The processes that carry out the runs of a search: kept from run to run, ended when it is interrupted."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from services.evaluation.evaluate import DIED, one_thread
from services.evaluation.own_gates import InputTable
from services.evaluation.search.ranking import TableRun
from services.evaluation.search.trial import Done, Job, Worker, init_worker, run_job

Carry = Callable[[Sequence[Job]], Iterator[tuple[Job, Done]]]
"""Carries out jobs and yields each with what came of it, in whatever order they end."""


class Workers(Protocol):
    """Where jobs are carried out."""

    def __call__(self, tables: Sequence[InputTable], n_jobs: int) -> AbstractContextManager[Carry]:
        """Return what carries out jobs on these tables, `n_jobs` at a time."""


@contextmanager
def in_this_process(tables: Sequence[InputTable], n_jobs: int) -> Iterator[Carry]:
    """Carry out one job after the other, here."""
    del n_jobs
    with _scratch() as folder:
        worker = Worker(tables, folder)
        yield lambda jobs: ((job, worker.run(job)) for job in jobs)


@contextmanager
def in_processes(tables: Sequence[InputTable], n_jobs: int) -> Iterator[Carry]:
    """Carry out jobs in `n_jobs` new processes of one thread each, which are handed the tables once."""
    others = set(multiprocessing.active_children())
    ended = False
    with one_thread(), _scratch() as folder:
        pool = _Pool(tables, folder, n_jobs)
        try:
            yield pool.carry
            ended = True
        finally:
            if not ended:  # a run may take minutes, and nobody waits for it
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
            pool.close()


@contextmanager
def _scratch() -> Iterator[Path]:
    """Give a folder for staged files, which goes whatever becomes of the processes that write there."""
    with tempfile.TemporaryDirectory(prefix="releasegate-") as folder:
        yield Path(folder)


class _Pool:
    """A pool of processes; a new one takes its place where one of them dies."""

    def __init__(self, tables: Sequence[InputTable], scratch: Path, n_jobs: int) -> None:
        self.tables, self.scratch, self.n_jobs = tables, scratch, n_jobs
        self._executor: ProcessPoolExecutor | None = None

    def carry(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Done]]:
        """Carry out jobs. Those that were lost with a process are made again, each with a pool to itself."""
        waiting = {self._submit(job): job for job in jobs}
        lost = []
        for future in as_completed(waiting):
            try:
                yield waiting[future], future.result()
            except BrokenProcessPool:
                lost.append(waiting[future])
        for job in sorted(lost, key=lambda job: (job.trial, job.run)):
            self.close()
            try:
                yield job, self._submit(job).result()
            except BrokenProcessPool:
                yield job, Done(TableRun(self.tables[job.table].period, job.policy.seed, DIED))
        if lost:
            self.close()

    def _submit(self, job: Job) -> Future[Done]:
        if self._executor is None:
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(
                self.n_jobs,
                mp_context=context,
                initializer=init_worker,
                initargs=(self.tables, self.scratch),
            )
        return self._executor.submit(run_job, job)

    def close(self) -> None:
        """End the processes, once what they do has ended."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None
