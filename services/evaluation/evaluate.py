"""Lay methods side by side on one table: every method at every k and seed, in worker processes."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from policy.errors import InputError, ReleaseGateError, UsageError, did_you_mean
from policy.load import load_policy
from policy.location import Location
from policy.model import Method, ReleasePolicy
from policy.period import day_at, period_at, read_period
from policy.recoding import contains_its_people
from policy.text import number_of
from policy.trusted import Trusted
from services.evaluation.own_gates import InputTable
from services.evaluation.run import Job, Run, init_worker, run
from services.trust import trusted_in
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.methods.registry import methods as methods_by_name
from tasks.preprocessing.prepare import prepare
from tasks.recoding.parts import RECODINGS
from tasks.risk.attacks.control import read_control
from tasks.risk.registry import check_models
from tasks.types import SourceTable
from tasks.utility.measures import CHEAP, MEASURES
from tasks.validation.check import raise_if_failed, validate
from tasks.validation.feasible import feasible
from tasks.validation.hierarchies import lacking
from tasks.validation.whole_table import units_of

_OWN_PREFIX = "RELEASEGATE_"  # of variables, tokens and keys among them, that no worker is given
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ONE = {"rows": "row", "people": "person", "households": "household"}
DIED = "the worker process died (out of memory?)"

Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Evaluation:
    """What was run on which table: one run for each method, k and seed, in that order."""

    policy: ReleasePolicy
    source: SourceTable
    methods: tuple[str, ...]
    ks: tuple[int, ...]
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    runs: tuple[Run, ...]


def evaluate(
    policy_path: Path,
    *,
    methods: str,
    ks: str | None,
    seeds: int,
    measures: str | None,
    input_path: Location | None,
    period: str | None,
    jobs: int | None,
    store: Path,
    tell: Tell,
) -> Evaluation:
    """Check all that was asked, run it in `jobs` worker processes, and return the runs.

    A run that fails is told in its own line. Raises UsageError, PolicyError or InputError before any method
    runs: for unknown names, bad lists, a table that cannot be read or does not meet the policy's
    expectations, or one with fewer rows than a k.
    """
    trusted = trusted_in(store)
    policy = load_policy(policy_path, trusted)
    labels = parse_list("--methods", methods)
    sizes = (policy.privacy.k,) if ks is None else _whole_numbers(ks)
    asked = CHEAP if measures is None else measure_names(measures)
    at_least_one("--seeds", seeds)
    n_jobs = cores() if jobs is None else at_least_one("--jobs", jobs)
    drawn = tuple((policy.seed + i) % 2**32 for i in range(seeds))
    plan = [
        Job(
            label,
            policy_for_run(policy, label, k, seed),
            asked,
            k == sizes[len(sizes) // 2] and seed == drawn[0],
            trusted.packages,
        )
        for label in labels
        for k in sizes
        for seed in drawn
    ]
    for job in plan[::seeds]:
        bound_method(job.policy, str(policy_path))
    check_models(policy, str(policy_path))
    chosen, base = period_of(policy, period), policy_path.resolve().parent
    source = valid_table(policy, policy_path, chosen, input_path, trusted, tell, ("--k", max(sizes)))
    control = read_control(policy, source, chosen, base, trusted)
    runs = tuple(execute_jobs(plan, InputTable(chosen, source, control), min(n_jobs, len(plan)), tell))
    return Evaluation(policy, source, labels, sizes, drawn, asked, runs)


def period_of(policy: ReleasePolicy, period: str | None) -> str:
    """Return the period that was given, by its one spelling, or else the last that has ended."""
    if period is None:
        return period_at(policy.period, day_at(datetime.now(UTC), policy.timezone))
    return read_period(period, policy.period)


def valid_table(
    policy: ReleasePolicy,
    policy_path: Path,
    period: str,
    input_path: Location | None,
    trusted: Trusted,
    tell: Tell,
    largest_k: tuple[str, int],
) -> SourceTable:
    """Read a period's table, which meets the policy's expectations and holds its model.

    `largest_k` is the greatest k of a run, after the option that set it. Raises InputError for a table that
    cannot be read, is refused, or has fewer rows, people or households, whichever k counts.
    """
    tell(0.0, "intake")
    source = read_table(
        policy, input_path=input_path, period=period, base=policy_path.resolve().parent, trusted=trusted
    )
    option, k = largest_k
    key, counted = units_of(policy)
    n = len(source.frame) if key is None else int(source.frame[key].nunique())
    if k > n:
        raise InputError(
            f"has {number_of(n, _ONE[counted], counted)}, fewer than k {k}",
            where=source.origin,
            hint=f"Give a smaller {option}.",
        )
    tell(0.0, "validation")
    results = [*validate(source, policy, None), *feasible(source, policy)]
    raise_if_failed(results, source.origin, lacking(source, policy))
    prepare(source, policy)  # what it refuses is told once, not by every run
    return source


def policy_for_run(policy: ReleasePolicy, label: str, k: int, seed: int) -> ReleasePolicy:
    """Return the policy with another method, k and seed; the label is METHOD or METHOD:RECODING.

    The policy's own method keeps its parts and parameters; any other has its defaults, and the policy's
    `history` and `together`. Without a recoding in the label it is the method's own: nothing is published,
    so nobody has to agree to cells that are not true.
    Every method cuts anew: `reuse` is left out. Raises UsageError for an unknown method or recoding.
    """
    name, _, recoding = label.partition(":")
    known = methods_by_name()
    if name not in known:
        raise UsageError(
            f"unknown method '{name}'{did_you_mean(name, known)}",
            where="--methods",
            hint=f"Known methods: {', '.join(known)}.",
        )
    if recoding not in RECODINGS and label != name:
        raise UsageError(
            f"unknown recoding '{recoding}'{did_you_mean(recoding, RECODINGS)}",
            where="--methods",
            hint=f"Known recodings: {', '.join(RECODINGS)}.",
        )
    own = policy.method
    method = own if own.name == name else Method(name=name, history=own.history, together=own.together)
    if not recoding:
        said = "recoding" in method.model_fields_set
        recoding = method.recoding if said else known[name].recoding
    ends = method.ends if contains_its_people(recoding) else "attained"
    levels = method.levels if recoding == "full-domain" else {}
    return policy.model_copy(
        update={
            "method": method.model_copy(
                update={"recoding": recoding, "ends": ends, "levels": levels, "reuse": None}
            ),
            "privacy": policy.privacy.model_copy(update={"k": k}),
            "seed": seed,
        }
    )


def parse_list(option: str, text: str) -> tuple[str, ...]:
    """Return the names of a comma-separated list. Raises UsageError for an empty or repeated one."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise UsageError("has an empty entry", where=option, hint="Separate the names with commas.")
    if len(set(names)) != len(names):
        raise UsageError("names one twice", where=option, hint="Give each once.")
    return names


def _whole_numbers(text: str) -> tuple[int, ...]:
    names = parse_list("--k", text)
    if not all(name.isascii() and name.isdigit() and int(name) >= 2 for name in names):
        raise UsageError(
            "is not a list of whole numbers of at least 2", where="--k", hint="Write it like 5,8,16."
        )
    parse_list("--k", ",".join(str(int(name)) for name in names))
    return tuple(int(name) for name in names)


def measure_names(text: str) -> tuple[str, ...]:
    """Return the measures of a list. Raises UsageError for an unknown one."""
    names = parse_list("--measures", text)
    for name in names:
        if name not in MEASURES:
            raise UsageError(
                f"unknown measure '{name}'{did_you_mean(name, MEASURES)}",
                where="--measures",
                hint=f"Known measures: {', '.join(MEASURES)}.",
            )
    return names


def at_least_one(option: str, number: int) -> int:
    """Return a number of at least 1. Raises UsageError for a smaller one."""
    if number < 1:
        raise UsageError(f"is {number}", where=option, hint="Give 1 or more.")
    return number


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def execute_jobs(plan: Sequence[Job], given: InputTable, n_jobs: int, tell: Tell) -> Iterator[Run]:
    """Yield the runs in the order of the plan, whatever the order in which they end.

    Workers are new processes of one thread each, and are handed the table once. The files that they stage
    for the gates lie in a folder that goes with the runs.
    """
    with tempfile.TemporaryDirectory(prefix="releasegate-") as scratch:
        yield from _executed(plan, given, n_jobs, tell, Path(scratch))


def _executed(
    plan: Sequence[Job], given: InputTable, n_jobs: int, tell: Tell, scratch: Path
) -> Iterator[Run]:
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    done = False
    with one_thread():
        pool = ProcessPoolExecutor(
            n_jobs, mp_context=context, initializer=init_worker, initargs=(given, scratch)
        )
        try:
            waiting: dict[Future[Run], Job] = {pool.submit(run, job): job for job in plan}
            tell(0.0, f"evaluation: 0 of {len(plan)}")
            for n_done, future in enumerate(as_completed(waiting), 1):
                job = waiting[future]
                tell(n_done / len(plan), f"evaluation: {n_done} of {len(plan)}, last {job.label} k={job.k}")
            done = True
        finally:
            if not done:  # interrupted: a run may take minutes, and nobody waits for it
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
            pool.shutdown(cancel_futures=True)
    for future, job in waiting.items():
        try:
            yield future.result()
        except BrokenProcessPool:
            yield Run(job.label, job.k, job.seed, DIED)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let processes that are started meanwhile use one thread each, and have none of our secrets."""
    own = [name for name in os.environ if name.startswith(_OWN_PREFIX)]
    before = {name: os.environ.get(name) for name in (*ONE_THREAD, *own)}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    for name in own:
        del os.environ[name]
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def raise_if_none_succeeded(evaluation: Evaluation) -> None:
    """Raise ReleaseGateError where not a single run came to an end."""
    if all(each.finding for each in evaluation.runs):
        raise ReleaseGateError(
            f"none of {number_of(len(evaluation.runs), 'run')} succeeded; "
            f"the first: {evaluation.runs[0].finding}"
        )
