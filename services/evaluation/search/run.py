"""Search the parameters of methods for a goal, on one table or several; nothing is published."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError, UsageError
from policy.load import load_policy
from policy.location import Location
from policy.model import ReleasePolicy
from policy.text import number_of
from policy.trusted import Trusted
from services.evaluation.evaluate import (
    Tell,
    at_least_one,
    cores,
    measure_names,
    parse_list,
    period_of,
    valid_table,
)
from services.evaluation.own_gates import InputTable
from services.evaluation.search.goal import Goal, figures_to_name, parse_goal
from services.evaluation.search.parameters import K, MethodGrid, grid_of, method_lines
from services.evaluation.search.ranking import Ranked, Standing, TableRun, front, ranked
from services.evaluation.search.strategy import Budget, Point, Score, search
from services.evaluation.search.trial import Job
from services.evaluation.search.workers import Carry, Workers, in_processes
from services.trust import trusted_in
from tasks.risk.attacks.control import read_control
from tasks.risk.registry import check_models
from tasks.types import Representation

TRIALS = 20


@dataclass(frozen=True)
class Trial:
    """A method with its parameters: its policy, what that changes of the start, and what came of it."""

    label: str
    policy: ReleasePolicy
    changes: dict[str, Any]
    runs: tuple[TableRun, ...]
    ranked: Ranked

    @property
    def cpu_seconds(self) -> float:
        """The processor time of its runs, gates and all."""
        return sum(run.cpu_seconds for run in self.runs)


@dataclass(frozen=True)
class Search:
    """What was searched for, on which tables, and every trial in its order."""

    goal: Goal
    policy: ReleasePolicy
    grids: tuple[MethodGrid, ...]
    periods: tuple[str, ...]
    seeds: tuple[int, ...]
    rows: tuple[int, ...]
    measures: tuple[str, ...]
    budget: Budget
    trials: tuple[Trial, ...]
    interrupted: bool

    @property
    def best(self) -> int:
        """The place of the best trial, or of the nearest to the goal if none meets it."""
        return min(range(len(self.trials)), key=lambda place: self.trials[place].ranked.score)

    @property
    def met(self) -> bool:
        """Whether the best trial passes the policy's gates and keeps every limit."""
        return self.trials[self.best].ranked.standing is Standing.MET

    @property
    def front(self) -> list[int]:
        """The places of the trials that no other one beats, best objective first."""
        return front(self.goal, [trial.ranked for trial in self.trials])

    @property
    def lines(self) -> str:
        """The lines of a policy's file that make it the best trial's."""
        best = self.trials[self.best]
        return method_lines(best.policy, with_k=K in best.changes)


def search_parameters(
    policy_path: Path,
    *,
    goal: str,
    methods: str | None,
    trials: int | None,
    cpu_seconds: float | None,
    raise_k: int | None,
    seeds: int | None,
    measures: str | None,
    input_path: Location | None,
    period: str | None,
    jobs: int | None,
    store: Path,
    tell: Tell,
    workers: Workers = in_processes,
) -> Search:
    """Check all that was asked, search until the budget is used up or somebody interrupts, and return it.

    Without `methods`, the policy's own is searched; without a budget, 20 trials are made. `period` may list
    several; a trial runs on the table of each with each seed. Raises UsageError, PolicyError or InputError
    before any method runs, and KeyboardInterrupt where no trial had ended when it came.
    """
    trusted = trusted_in(store)
    policy = load_policy(policy_path, trusted)
    wanted = parse_goal(goal, figures_to_name(policy))
    labels = (policy.method.name,) if methods is None else parse_list("--methods", methods)
    budget = _budget(trials, cpu_seconds)
    n_seeds = at_least_one("--seeds", 1 if seeds is None else seeds)
    n_jobs = cores() if jobs is None else at_least_one("--jobs", jobs)
    asked = wanted.measures
    if measures is not None:
        asked = tuple(dict.fromkeys((*asked, *measure_names(measures))))
    check_models(policy, str(policy_path))
    grids = tuple(grid_of(policy, label, raise_k, str(policy_path)) for label in labels)
    periods = _periods(policy, period, input_path)
    tables = _tables(policy, policy_path, periods, input_path, trusted, tell, raise_k)
    drawn = tuple((policy.seed + i) % 2**32 for i in range(n_seeds))
    if budget.trials is not None:
        n_jobs = min(n_jobs, budget.trials * len(tables) * n_seeds)
    meter = _Meter(wanted, grids, drawn, len(tables), asked, trusted.packages, budget, n_jobs, tell)
    interrupted = False
    try:
        with workers(tables, n_jobs) as meter.carry:
            search([each.grid for each in grids], meter.measure, budget, policy.seed)
    except KeyboardInterrupt:
        if not meter.trials:
            raise
        interrupted = True
    rows = tuple(len(table.source.frame) for table in tables)
    return Search(
        wanted, policy, grids, periods, drawn, rows, asked, budget, tuple(meter.trials), interrupted
    )


def _budget(trials: int | None, cpu_seconds: float | None) -> Budget:
    if trials is None and cpu_seconds is None:
        return Budget(TRIALS)
    if cpu_seconds is not None and not 0 < cpu_seconds < float("inf"):
        raise UsageError(f"is {cpu_seconds:g}", where="--cpu-seconds", hint="Give more than 0.")
    return Budget(None if trials is None else at_least_one("--trials", trials), cpu_seconds)


def _periods(policy: ReleasePolicy, period: str | None, input_path: Location | None) -> tuple[str, ...]:
    if period is None:
        return (period_of(policy, None),)
    periods = tuple(period_of(policy, one) for one in parse_list("--period", period))
    if len(set(periods)) < len(periods):
        raise UsageError("names one twice", where="--period", hint="Give each once.")
    if input_path is not None and len(periods) > 1:
        raise UsageError(
            f"is one table, and --period names {len(periods)}",
            where="--input",
            hint="Leave out --input, and have {period} in the policy's source.path.",
        )
    return periods


def _tables(
    policy: ReleasePolicy,
    policy_path: Path,
    periods: Sequence[str],
    input_path: Location | None,
    trusted: Trusted,
    tell: Tell,
    raise_k: int | None,
) -> list[InputTable]:
    tables = []
    base = policy_path.resolve().parent
    largest = ("privacy.k", policy.privacy.k) if raise_k is None else ("--raise-k", raise_k)
    for period in periods:
        source = valid_table(policy, policy_path, period, input_path, trusted, tell, largest)
        control = read_control(policy, source, period, base, trusted)
        tables.append(InputTable(period, source, control))
    return tables


@dataclass
class _Meter:
    """Measures the points of a search, and keeps every trial that has ended."""

    goal: Goal
    grids: Sequence[MethodGrid]
    seeds: Sequence[int]
    n_tables: int
    measures: tuple[str, ...]
    packages: tuple[str, ...]
    budget: Budget
    n_jobs: int
    tell: Tell
    carry: Carry = lambda _jobs: iter(())
    trials: list[Trial] = field(default_factory=list)
    learned: dict[Hashable, Representation] = field(default_factory=dict)

    def measure(self, points: Sequence[Point]) -> list[Score]:
        """Run trials and return their scores, as far as the budget goes.

        As many are begun at a time as there are processes, so that a budget of seconds ends in time.
        """
        scores: list[Score] = []
        while len(scores) < len(points) and self.budget.left != 0:
            scores += self._wave(points[len(scores) : len(scores) + self.n_jobs])
        return scores

    def _wave(self, points: Sequence[Point]) -> list[Score]:
        """Run the trials of some points side by side; those that have ended count if it is interrupted."""
        jobs = [job for trial, point in enumerate(points) for job in self._jobs(trial, point)]
        runs: dict[tuple[int, int], TableRun] = {}
        first = len(self.trials)
        try:
            for some in self._after_one_another(jobs):
                for job, done in self.carry(some):
                    runs[job.trial, job.run] = done.run
                    if done.learned is not None:
                        self.learned[job.shared] = done.learned
                    self._tell(len(runs) / len(jobs) * len(points))
        finally:
            for trial, point in enumerate(points):
                mine = [runs[trial, run] for run in range(self._n_runs) if (trial, run) in runs]
                if len(mine) == self._n_runs:
                    self._keep(point, tuple(mine))
        return [trial.ranked.score for trial in self.trials[first:]]

    @property
    def _n_runs(self) -> int:
        return self.n_tables * len(self.seeds)

    def _jobs(self, trial: int, point: Point) -> list[Job]:
        policy = self.grids[point.grid].policy_at(point.places)
        seeded = [policy.model_copy(update={"seed": seed}) for seed in self.seeds]
        return [
            Job(
                trial,
                run,
                run // len(self.seeds),
                seeded[run % len(self.seeds)],
                self.measures,
                self.packages,
            )
            for run in range(self._n_runs)
        ]

    def _after_one_another(self, jobs: Sequence[Job]) -> Iterator[list[Job]]:
        """Yield the jobs that have a representation to learn, one for each; then all others, which are given
        those that were learned.
        """
        first = {job.shared: job for job in reversed(jobs) if job.shared not in (None, *self.learned)}
        if first:
            yield list(first.values())[::-1]
        led = {(job.trial, job.run) for job in first.values()}
        yield [
            replace(job, learned=self.learned.get(job.shared))
            for job in jobs
            if (job.trial, job.run) not in led
        ]

    def _keep(self, point: Point, runs: tuple[TableRun, ...]) -> None:
        grid = self.grids[point.grid]
        policy, changes = grid.policy_at(point.places), grid.changes(point.places)
        trial = Trial(grid.label, policy, changes, runs, ranked(self.goal, runs))
        self.trials.append(trial)
        self.budget.charge(trial.cpu_seconds)

    def _tell(self, trials_ended: float) -> None:
        """Tell the share of the budget that is used, how many trials have ended, and the best so far."""
        n = len(self.trials)
        of = "" if self.budget.trials is None else f" of {self.budget.trials}"
        share = self.budget.share
        if self.budget.trials is not None:
            share = max(share, (n + trials_ended) / self.budget.trials)
        words = f"search: {n + int(trials_ended)}{of}"
        best = min((trial.ranked for trial in self.trials), key=lambda one: one.score, default=None)
        if best is not None and best.standing is Standing.MET:
            words += f", best {self.goal.measure} {best.objective:.4g}"
        self.tell(min(share, 1.0), words)


def raise_if_no_trial_succeeded(found: Search) -> None:
    """Raise ReleaseGateError where not a single trial came to an end."""
    if all(trial.ranked.standing is Standing.FAILED for trial in found.trials):
        finding = next(run.finding for run in found.trials[0].runs if run.finding)
        raise ReleaseGateError(
            f"none of {number_of(len(found.trials), 'trial')} succeeded; the first: {finding}"
        )
