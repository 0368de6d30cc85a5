"""Try a drafted policy on its table: which method loses least, and what the gates would measure."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policy.errors import ReleaseGateError
from policy.gates import Limit
from policy.location import Location
from policy.model import Method, ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from policy.trusted import Trusted
from release_store.records import Verdict
from services.drafting.bounds import rounded_down
from services.evaluation.run import new_people
from services.pipeline import make_rows
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, assess
from tasks.staging.stage import stage
from tasks.types import IntArray, SourceTable

PERIOD = "trial"  # a table of no period
SAMPLE = 10_000  # rows on which the methods are compared
CUTS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
PARTS = 3  # of the sample, to see how much as many other rows of the same people would differ
FULL_DOMAIN = "full-domain"
MOST_LEFT_OUT = 0.05  # of the rows, with one level a column
BESIDE = ("person", "person_difference", "worlds")  # gates that need earlier releases and who is in them
METHODS: Mapping[str, Mapping[str, Any]] = {
    "mondrian, cuts by NCP": {"name": "mondrian", "parameters": {"score": "ncp", "quantiles": CUTS}},
    "mondrian": {"name": "mondrian"},
    "ae-lrhma": {"name": "ae-lrhma"},
}


@dataclass(frozen=True)
class Tried:
    """What a method made of the table: what the gates measured, by gate, and those that fail or `problem`."""

    label: str
    measured: Mapping[str, float]
    failing: tuple[str, ...] = ()
    problem: str = ""

    @property
    def ncp(self) -> float:
        """The loss of detail, infinite where the method made nothing."""
        return self.measured.get("ncp", math.inf)


@dataclass(frozen=True)
class Trial:
    """All methods on a sample, the best of them with free sets there and on the whole table, how many rows
    both have, the best one on each of PARTS random parts of the sample, and one level a column for the whole
    sample, with the `widths` of its numbers.
    """

    methods: tuple[Tried, ...]
    free_sets: Tried
    best: Tried
    sample_rows: int
    rows: int
    parts: tuple[Tried, ...] = ()
    full_domain: Tried | None = None
    widths: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


def try_policy(
    policy: ReleasePolicy, table: Location, trusted: Trusted | None = None, chosen: str | None = None
) -> Trial:
    """Make a release of a table with each of METHODS, in memory, and let the gates assess it.

    The best one is the one that loses least, or that which is `chosen`. The staged rows are in a folder of
    this account alone, which is removed. Raises InputError where the table cannot be read by the policy.
    """
    base = table.parent if isinstance(table, Path) else Path()
    source = read_table(policy, input_path=table, period=PERIOD, base=base, trusted=trusted)
    n_rows = len(source.frame)
    sample = _sample(source)
    tried = tuple(_tried(label, policy, sample) for label in METHODS)
    made = [one for one in tried if not one.problem]
    best = min(made or tried, key=lambda one: (one.label != chosen, len(one.failing), one.ncp))
    whole = best if n_rows == len(sample.frame) or best.problem else _tried(best.label, policy, source)
    sets = policy.model_copy(update={"method": policy.method.model_copy(update={"recoding": "sets"})})
    parts = [] if best.problem else [_tried(best.label, policy, part) for part in _parts(sample)]
    widths = {name: _widths(number) for name, number in policy.roles.numeric.items()}
    return Trial(
        tried,
        _tried(best.label, sets, sample),
        whole,
        len(sample.frame),
        n_rows,
        tuple(part for part in parts if not part.problem),
        _tried(FULL_DOMAIN, _full_domain(policy, widths), sample),
        widths,
    )


def _full_domain(policy: ReleasePolicy, widths: Mapping[str, tuple[float, ...]]) -> ReleasePolicy:
    """Return the policy with one level a column, and `widths` as the levels of numbers."""
    columns = {
        name: one.model_copy(update={"widths": widths[name]}) if name in widths else one
        for name, one in policy.roles.quasi_identifiers.items()
    }
    roles = policy.roles.model_copy(update={"quasi_identifiers": columns})
    method = policy.method.model_copy(update={"recoding": FULL_DOMAIN})
    return policy.model_copy(update={"roles": roles, "method": method})


def _widths(number: NumericQuasiIdentifier) -> tuple[float, ...]:
    """Return widths of intervals, each the double of the one before, up to half the bounds."""
    span = number.bounds[1] - number.bounds[0]
    least = rounded_down(max(span / 20, 1.0))
    return tuple(least * 2**n for n in range(4) if least * 2**n <= span / 2)


def _parts(source: SourceTable) -> Iterator[SourceTable]:
    """Yield PARTS random parts of a table, drawn with a fixed seed, in their order."""
    order = np.random.default_rng(1).permutation(len(source.frame))
    for drawn in np.array_split(order, PARTS):
        yield _of_rows(source, np.sort(drawn))


def _sample(source: SourceTable) -> SourceTable:
    """Return SAMPLE rows of a table, drawn with a fixed seed, in their order."""
    n_rows = len(source.frame)
    if n_rows <= SAMPLE:
        return source
    return _of_rows(source, np.sort(np.random.default_rng(0).choice(n_rows, SAMPLE, replace=False)))


def _of_rows(source: SourceTable, drawn: IntArray) -> SourceTable:
    return replace(
        source,
        frame=source.frame.iloc[drawn].reset_index(drop=True),
        identifiers=_rows(source.identifiers, drawn),
    )


def _rows(identifiers: pd.DataFrame | None, drawn: IntArray) -> pd.DataFrame | None:
    if identifiers is None or identifiers.empty:  # without columns it has no rows either
        return identifiers
    return identifiers.iloc[drawn].reset_index(drop=True)


def _tried(label: str, policy: ReleasePolicy, source: SourceTable) -> Tried:
    # Signatures join people of different nodes, and would leave the top level alone.
    chosen = METHODS.get(label, {"name": FULL_DOMAIN, "history": "repair"})
    method = Method.model_validate({**chosen, "recoding": policy.method.recoding})
    limits = {name: Limit(max=1.0) for name in ("err", "umr", "ncp", "suppression")}
    if label == FULL_DOMAIN:  # it leaves out as many rows as it may
        limits["suppression"] = Limit(max=MOST_LEFT_OUT)
    gates = policy.gates.model_copy(update=limits)
    asked = policy.model_copy(update={"method": method, "gates": gates})
    try:
        return _assessed(label, asked, source)
    except ReleaseGateError as error:
        return Tried(label, {}, problem=error.message)


def _assessed(label: str, policy: ReleasePolicy, source: SourceTable) -> Tried:
    made = make_rows(source, policy, bound_method(policy), [], PERIOD, new_people())
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "staged"
        candidate = stage(
            made.rows,
            policy,
            candidate_id="trial",
            period=PERIOD,
            folder=folder,
            n_source=made.table.n_records,
        )
        table, records = made.table, made.rows.records
        evidence = Evidence(
            policy,
            table,
            read_classes(folder / "data.parquet", policy),
            folder,
            candidate.files,
            [],
            row_people=None if table.person is None else table.person[records],
            row_households=None if table.household is None else table.household[records],
            row_records=records,
        )
        results = assess(evidence, {name: gate for name, gate in GATES.items() if name not in BESIDE}).results
    measured = {one.gate: one.value for one in results if one.value is not None}
    return Tried(label, measured, tuple(one.gate for one in results if one.verdict is not Verdict.PASS))
