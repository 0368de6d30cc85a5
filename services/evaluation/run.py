"""One run of an evaluation, in a worker process: a method at one k and seed, and what it is worth."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from policy.trusted import Memory
from release_store.records import GateResult, Verdict
from services.evaluation.own_gates import InputTable, gates_of
from services.pipeline import PREPROCESSING, PersonHistory, PublishableRows, make_rows
from services.runtime import Stage
from tasks.geometry.space import space_of
from tasks.memory import memory_in_use, use_memory
from tasks.methods.registry import bound_method
from tasks.packages import trust_packages
from tasks.risk.attacks.attackers import Knowledge, people_of
from tasks.risk.attacks.disclosure import fitting
from tasks.risk.attacks.linkage import draws, expected_risk, over_draws, unique_match_rate
from tasks.risk.attacks.target import Target
from tasks.risk.evidence import CannotTell
from tasks.risk.gates.models.classes import entropies, largest_shares, spreads
from tasks.types import FloatArray, Progress, SourceTable, no_progress
from tasks.utility.latent_view import LatentView, latent_view
from tasks.utility.loss import loss, loss_by_attribute
from tasks.utility.measures import MEASURES
from tasks.utility.released import Released, released

WARM_UP_ROWS = 500
_ANY_KEY = bytes(32)
SIZE_QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)

R = TypeVar("R")
Value = float | int | bool | None


@dataclass(frozen=True)
class Job:
    """What one run is: the label that names the method, its policy with k and seed set, and what is asked."""

    label: str
    policy: ReleasePolicy
    measures: tuple[str, ...]
    look: bool  # at the latent space
    packages: tuple[str, ...] = ()  # whose methods and models may be loaded
    memory: Memory = field(default_factory=memory_in_use)  # of each process

    @property
    def k(self) -> int:
        """The k of the run."""
        return self.policy.privacy.k

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.policy.seed


@dataclass(frozen=True)
class Run:
    """What came of a job: figures by column (None: no meaning there), or the `finding` that ended it.

    `failing` names the policy's own gates that do not pass the rows; None where none was asked.
    """

    label: str
    k: int
    seed: int
    finding: str = ""
    figures: dict[str, Value] = field(default_factory=dict)
    sizes: tuple[float, ...] = ()  # SIZE_QUANTILES of the class sizes
    latent: LatentView | None = None
    failing: tuple[str, ...] | None = None

    @property
    def passes(self) -> bool:
        """Whether every gate that was asked passes."""
        return self.failing == ()


def new_people() -> PersonHistory:
    """Return people of whom no earlier release is known, hashed in memory under a key that is not kept.

    With `method.history: sticky`, a first release begins their signatures.
    """
    return PersonHistory(_ANY_KEY, [])


class Timer:
    """Carries out stages, and adds up the seconds of those that a method does: all but preprocessing."""

    def __init__(self) -> None:
        self.seconds: dict[str, Value] = {}
        self._wall = self._cpu = 0.0

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = work(no_progress)
        if stage is not PREPROCESSING:
            self._wall += time.perf_counter() - wall
            self._cpu += time.process_time() - cpu
        self.seconds = {"seconds": self._wall, "cpu_seconds": self._cpu}
        return result


class _Worker:
    """What a worker process keeps between runs."""

    given: InputTable
    scratch: Path
    head: SourceTable
    warm: set[str]


def init_worker(given: InputTable, scratch: Path) -> None:
    """Set a worker process up: the table is handed over once, and an interrupt is the parent's to answer.

    Staged files lie in the folder `scratch` while the gates read them.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    head = given.source.frame.head(WARM_UP_ROWS)
    _Worker.given, _Worker.scratch = given, scratch
    _Worker.head = SourceTable(head, given.source.digest, given.source.origin)
    _Worker.warm = set()


def run(job: Job) -> Run:
    """Carry one job out. An error becomes the run's finding, in names and counts only."""
    trust_packages(job.packages)
    use_memory(job.memory)
    if job.label not in _Worker.warm:
        _warm_up(job)
    try:
        return measure_run(
            job, _Worker.given.source, lambda made: gates_of(made, _Worker.given, _Worker.scratch)
        )
    except ReleaseGateError as error:
        return Run(
            job.label, job.k, job.seed, f"{error.where}: {error.message}" if error.where else error.message
        )
    except Exception as error:  # its text may quote cells
        return Run(job.label, job.k, job.seed, f"unexpected error ({type(error).__name__})")


def _warm_up(job: Job) -> None:
    """Run on a few rows, so that what a method imports is no part of its time; what goes wrong is told
    later.
    """
    _Worker.warm.add(job.label)
    try:
        make_rows(_Worker.head, job.policy, bound_method(job.policy), [], "", new_people())
    except Exception:
        return


def measure_run(
    job: Job,
    source: SourceTable,
    ask: Callable[[PublishableRows], Sequence[GateResult]] | None = None,
) -> Run:
    """Run the method on the table and take every figure of its published rows; `ask` asks their gates."""
    timer = Timer()
    made = make_rows(source, job.policy, bound_method(job.policy), [], "", new_people(), timer)
    labels, seen = made.groups.labels, _released(made)
    figures = _figures(seen, job.measures)
    sizes = np.quantile(seen.counted.size, SIZE_QUANTILES).tolist() if seen.classes.n_classes else []
    view = latent_view(made.prepared.representation.latent, labels, job.k) if job.look else None
    failing = None
    if ask is not None:
        failing = tuple(one.gate for one in ask(made) if one.verdict is not Verdict.PASS)
    return Run(job.label, job.k, job.seed, "", {**figures, **timer.seconds}, tuple(sizes), view, failing)


def figures_of_rows(made: PublishableRows, measures: Sequence[str]) -> dict[str, Value]:
    """Take every figure of rows that would be published, and those of the measures of utility named."""
    return _figures(_released(made), measures)


def _released(made: PublishableRows) -> Released:
    rows, policy = made.rows, made.prepared.policy
    return released(rows.frame, rows.records, made.groups.labels, made.table, policy)


def _figures(seen: Released, measures: Sequence[str]) -> dict[str, Value]:
    figures: dict[str, Value] = {**_classes(seen), **_losses(seen), **_risks(seen), **_holds(seen)}
    for name in measures:
        figures |= MEASURES[name].take(seen)
    return figures


def _classes(seen: Released) -> dict[str, Value]:
    size = seen.counted.size
    return {
        "classes": len(size),
        "suppressed": seen.n_suppressed,
        "size_min": int(size.min()) if len(size) else None,
        "size_median": float(np.median(size)) if len(size) else None,
        "size_mean": float(size.mean()) if len(size) else None,
        "size_max": int(size.max()) if len(size) else None,
    }


def _losses(seen: Released) -> dict[str, Value]:
    """Return NCP, and that of each quasi-identifier; None where values were put in place of others.

    `loss` is what the gate `ncp` looks at: where values were put in place of others, how far they moved.
    """
    classes, policy = seen.classes, seen.policy
    noised = {name: (values, np.ones(len(values), dtype=np.int64)) for name, values in seen.noised.items()}
    lost = loss_by_attribute(classes, seen.table, policy, noised)
    if not seen.n_published:
        lost = dict.fromkeys(lost, 1.0)
    whole = loss(lost, policy)
    by_name = {f"ncp:{name}": None if name in seen.untrue else value for name, value in lost.items()}
    return {"ncp": whole if seen.all_true else None, "loss": whole, **by_name}


def _risks(seen: Released) -> dict[str, Value]:
    """Return ERR and UMR by share of the source that an attacker holds, and SADR at the largest; means of
    draws.
    """
    linkage, table = seen.policy.linkage, seen.table
    space = space_of([seen.classes], table)
    people = people_of(table, space, seen.classes, seen.policy)
    everything = Knowledge(tuple(range(people.numbers.shape[1])), tuple(range(people.codes.shape[1])))
    noised, groups = list(seen.noised), seen.similar
    target = Target(seen.counted, space, people, lambda: _counted(seen), noised, groups, seen.alike)
    found = fitting(target, people, people, everything)
    figures: dict[str, Value] = {}
    for ext_frac in linkage.ext_frac:
        tables = draws(table.n_records, ext_frac, linkage.seeds)
        figures[f"err_{ext_frac:g}"] = expected_risk(found.links, tables).mean
        figures[f"umr_{ext_frac:g}"] = unique_match_rate(found.links, tables).mean
    tables = draws(table.n_records, max(linkage.ext_frac), linkage.seeds)
    shares = [np.nan_to_num(guess.share, nan=0.0) for guess in found.guesses.values()]
    figures["sadr"] = max(over_draws([float(share[rows].mean()) for rows in tables]).mean for share in shares)
    return figures


def _counted(seen: Released) -> pd.DataFrame:
    """Return how many published rows of each class have which values together, as `read_rows` does."""
    columns: dict[str, Any] = {"class_number": seen.class_of}
    columns |= {f"value_{i}": codes for i, codes in enumerate(seen.values.values())}
    columns |= {f"noised_{i}": values for i, values in enumerate(seen.noised.values())}
    rows = pd.DataFrame(columns)
    if seen.person is not None:  # a person is counted once
        rows = rows.loc[~rows.assign(person=seen.person).duplicated()]
    return rows.value_counts(sort=False).reset_index(name="rows")


def _spreads(seen: Released, attribute: str) -> FloatArray:
    """Return a numeric attribute's ranges, or the distinct values of which similar ones are one."""
    numeric = seen.policy.roles.sensitive[attribute].type == "numeric"
    return spreads(seen.units if numeric else seen.units_alike, attribute, seen.policy)


def _holds(seen: Released) -> dict[str, Value]:
    """Return whether every class satisfies each part of the policy's model; a release without a class does
    not.
    """
    classes, alike, privacy = seen.units, seen.units_alike, seen.policy.privacy
    any_class = classes.n_classes > 0
    limits = {name: privacy.of(name) for name in seen.policy.roles.sensitive}
    try:
        e_holds = all(bool((_spreads(seen, name) >= own.e).all()) for name, own in limits.items())
    except CannotTell:
        e_holds = False
    return {
        "k_holds": any_class and bool((classes.size >= privacy.k).all()),
        "e_holds": any_class and e_holds,
        "p_max_holds": any_class
        and all(bool((largest_shares(alike, n) <= own.p_max + 1e-9).all()) for n, own in limits.items()),
        "h_min_holds": any_class
        and all(bool((entropies(alike, n) >= own.h_min - 1e-12).all()) for n, own in limits.items()),
    }
