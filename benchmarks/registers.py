"""Registers that change little: what staying together costs, and whom an exact attacker reads.

    python -m benchmarks.registers [--people N] [--periods N] [--only WORD] [--write]

Each series has one table a period, of which some people leave and as many join: people of the demo's
generator, or of a household survey, with two sensitive attributes that do not change. It is released twice:
*sticky*, each release judged by every gate beside those before it, and *blind*, each by itself. The gate
`worlds` says of both how many people all releases together leave with one value, and `known` how many others
one known person unlocks in the sticky one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from benchmarks import report
from examples.register.generate import generate
from policy.load import load_policy
from policy.model import ReleasePolicy
from policy.period import periods_apart
from release_store.records import (
    EquivalenceClasses,
    GateResult,
    PersonHashes,
    Release,
    ReleaseState,
    Verdict,
)
from services.candidate import people_of_rows
from services.pipeline import PersonHistory, make_rows
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, GateFunction, assess
from tasks.staging.people import class_numbers
from tasks.staging.stage import stage
from tasks.utility.ncp import ncp, scale_of

POLICIES = report.ROOT / "examples" / "policies"
SURVEY = "eph/eph_panel_2003q3_2014q2.parquet"
KEY = b"these registers are in no store."
PEOPLE, PERIODS = 20_000, 12
KNOWN = {"max": 10, "mean": 1.0}  # people whom one known person unlocks
BLIND = 2  # releases of the blind side that are judged
TURNOVERS = (0.01, 0.05, 0.20)
METHODS = ("ae-lrhma", "mondrian")
TOGETHER = (1, 2, 3, 4)  # buckets of a unit at least; with one method


@dataclass(frozen=True)
class Point:
    """One release of a series: what the gates said, and what it cost."""

    period: str
    failing: tuple[str, ...]
    worlds: GateResult | None
    known: GateResult | None
    left_out: float  # share of the period's people, those who wait among them
    ncp: float
    seconds: float  # CPU
    worlds_seconds: float = 0.0  # CPU, of the gate `worlds`


@dataclass
class Metered:
    """A gate's function that adds up the CPU seconds it takes."""

    ask: GateFunction
    seconds: float = 0.0

    def __call__(self, evidence: Evidence) -> GateResult:
        """Ask the gate."""
        begun = process_time()
        try:
            return self.ask(evidence)
        finally:
            self.seconds += process_time() - begun


@dataclass
class Series:
    """Releases made one way, each beside those before it."""

    policy: ReleasePolicy
    folder: Path
    points: list[Point] = field(default_factory=list)
    classes: list[tuple[str, EquivalenceClasses]] = field(default_factory=list)
    people: list[PersonHashes | None] = field(default_factory=list)

    def file(self, period: str) -> Path:
        """Return the published file of a period."""
        return (
            self.folder / f"{self.policy.method.name}-{self.policy.method.history}-{period}" / "data.parquet"
        )

    def release(self, period: str, table: pd.DataFrame, gates: Sequence[str] | None = None) -> Point:
        """Make, judge and keep the release of a period; None asks every gate of the policy."""
        begun, policy = process_time(), self.policy
        document = policy.model_dump()
        judged = ReleasePolicy.model_validate({**document, "gates": {**document["gates"], "known": KNOWN}})
        file = self.folder / f"{period}.csv"
        table.to_csv(file, index=False)
        source = read_table(policy, input_path=file, period=period, base=self.folder)
        history = [(_release(policy, name), found) for name, found in self.classes]
        method = bound_method(policy)
        made = make_rows(source, policy, method, history, period, PersonHistory(KEY, self.people))
        rows, prepared = made.rows, made.table
        data = self.file(period)
        folder = data.parent
        candidate = stage(
            rows, policy, candidate_id=period, period=period, folder=folder, n_source=len(table)
        )
        classes = read_classes(data, policy)
        place = class_numbers(data, rows, policy, len(table))
        own = people_of_rows(made, candidate, KEY)
        evidence = Evidence(
            judged, prepared, classes, folder, candidate.files, self.classes,
            periods_apart([name for name, _ in self.classes], period, policy.period),
            people=own, earlier_people=self.people, key=KEY,
        )  # fmt: skip
        worlds, known = Metered(GATES["worlds"].ask), dict(GATES)
        known["worlds"] = replace(GATES["worlds"], ask=worlds)
        asked = known if gates is None else {name: known[name] for name in gates}
        results = assess(evidence, asked).results
        self.classes.append((period, classes))
        self.people.append(own)
        failing = [one.gate for one in results if one.verdict is not Verdict.PASS]
        by_name = {one.gate: one for one in results}
        point = Point(
            period,
            tuple(name for name in failing if name != "known" or policy.gates.known is not None),
            by_name.get("worlds"),
            by_name.get("known"),
            float((place < 0).mean()),
            ncp(classes, scale_of(prepared, policy)),
            process_time() - begun,
            worlds.seconds,
        )
        self.points.append(point)
        return point


def _release(policy: ReleasePolicy, period: str) -> Release:
    made = datetime(2020, 1, 1, tzinfo=UTC)
    return Release(period, policy.series, period, 1, period, ReleaseState.PUBLISHED, made, {}, {})


def periods_of(n: int) -> list[str]:
    """Return n quarters in order."""
    return [f"{2020 + i // 4}Q{i % 4 + 1}" for i in range(n)]


def made_up(people: int, periods: Sequence[str], turnover: float) -> Iterator[pd.DataFrame]:
    """Yield the tables of the demo's generator, with the cost that each person had first."""
    first: pd.Series[str] = pd.Series(dtype=object)
    for table in generate(periods, people, overlap=1 - turnover).values():
        new = table.set_index("person_key")["care_cost"]
        first = pd.concat([first, new[~new.index.isin(first.index)]])
        yield table.assign(care_cost=first[table["person_key"]].to_numpy())


def surveyed(people: int, periods: Sequence[str], turnover: float) -> Iterator[pd.DataFrame]:
    """Yield tables of people of the household survey, each with the answers given first."""
    changed = round(people * turnover)
    needed = people + changed * (len(periods) - 1)
    with duckdb.connect() as con:
        everybody = con.execute(
            """SELECT DISTINCT ON (person_id) person_id, agglomeration, age, sex, marital, education,
                      health_cover, activity
               FROM read_parquet(?) WHERE period >= '2010Q1' ORDER BY person_id, period""",
            [str(report.datasets() / SURVEY)],
        ).df()
    rng = np.random.default_rng(20260101)
    chosen = everybody.iloc[rng.permutation(len(everybody))[:needed]].reset_index(drop=True)
    if len(chosen) < needed:
        raise RuntimeError(f"the survey has {len(everybody)} people, {needed} are asked for")
    here, known = np.arange(people), people
    for number, _ in enumerate(periods):
        if number:
            stay = rng.permutation(here)[: people - changed]
            here, known = np.concatenate([stay, np.arange(known, known + changed)]), known + changed
        yield chosen.iloc[rng.permutation(here)]


def register_policy(method: str, history: str, together: int = 2) -> ReleasePolicy:
    """Return the demo's policy with a method, and both sensitive attributes stable."""
    document = load_policy(POLICIES / "register.yaml").model_dump()
    document["roles"]["sensitive"]["care_cost"]["stability"] = "stable"
    return _with(document, method, history, together)


def survey_policy(method: str, history: str, together: int = 2) -> ReleasePolicy:
    """Return the survey's policy with a method, two sensitive attributes, and the strict model of worlds."""
    document = load_policy(POLICIES / "eph.yaml").model_dump()
    document["roles"]["sensitive"]["activity"] = {"stability": "stable"}
    document["gates"]["worlds"]["changes"] = 0.0
    return _with(document, method, history, together)


def _with(document: dict[str, Any], method: str, history: str, together: int) -> ReleasePolicy:
    document["method"] = {"name": method, "history": history, "together": together}
    document["source"] = {"path": "register.csv", "missing": [""]}
    document["period"] = "quarterly"
    document["gates"]["umr"] = {"max": 1.0}  # what a disjoint partition has, with a history or without
    document["expectations"] = {"rows": {"min": 1}}
    document["gates"]["person"]["cells"] = "unfollowed"
    if history == "sticky":
        document["gates"]["known"] = KNOWN
    return ReleasePolicy.model_validate(document)


POPULATIONS: dict[str, tuple[Callable[..., Iterator[pd.DataFrame]], Callable[..., ReleasePolicy]]] = {
    "made up": (made_up, register_policy),
    "survey": (surveyed, survey_policy),
}


HEADER = (
    "register, turnover a period, method, buckets that lie together",
    "passes all gates", "pinned + undecided after the last",
    "one known person unlocks: mean, at most", "left out or waiting, at most",
    "NCP of the first", "of the last", "of a blind last", "ratio",
    "blind: pinned + undecided after 2", "CPU seconds of the last",
)  # fmt: skip


def every_register() -> Iterator[tuple[str, float, str, int]]:
    """Yield each population with each turnover, method, and how many buckets lie together."""
    for population in POPULATIONS:
        for turnover in TURNOVERS:
            for method in METHODS:
                for together in TOGETHER if method == "mondrian" else (2,):
                    yield population, turnover, method, together


def named(population: str, turnover: float, method: str, together: int) -> str:
    """Return the name of a register and method in the table."""
    return f"{population}, {100 * turnover:g}%, {method}, together {together}"


@dataclass(frozen=True)
class Result:
    """A register released both ways: `blind` holds the releases that were judged, and the last."""

    population: str
    turnover: float
    method: str
    together: int
    sticky: list[Point]
    blind: list[Point]

    @property
    def row(self) -> list[str]:
        """The row of the page."""
        first, last, alone = self.sticky[0], self.sticky[-1], self.blind[-1]
        read = [people_of_point(point, "pinned", "undecided") for point in self.blind[1:-1]]
        return [
            named(self.population, self.turnover, self.method, self.together),
            f"{sum(not point.failing for point in self.sticky)} of {len(self.sticky)}",
            people_of_point(last, "pinned", "undecided"),
            _unlocked(last),
            f"{100 * max(point.left_out for point in self.sticky):.2f}%",
            f"{first.ncp:.3f}",
            f"{last.ncp:.3f}",
            f"{alone.ncp:.3f}",
            f"{last.ncp / alone.ncp:.2f}",
            "; ".join(read),
            f"{last.seconds:.0f}",
        ]


def measured(
    population: str, turnover: float, method: str, together: int, people: int, n_periods: int
) -> Result:
    """Release one register both ways; what goes on is told on the error output."""
    tables, policy = POPULATIONS[population]
    periods = periods_of(n_periods)
    sides: dict[str, list[Point]] = {}
    with tempfile.TemporaryDirectory(prefix="releasegate-registers-") as name:
        for history in ("sticky", "blind"):
            folder = Path(name) / history
            folder.mkdir()
            series = Series(policy(method, history, together), folder)
            for period, table in zip(periods, tables(people, periods, turnover), strict=True):
                place = periods.index(period)
                if history == "blind" and BLIND <= place < n_periods - 1:
                    continue
                # The last blind release is made for what it costs, not judged.
                asked = None if history == "sticky" else ["worlds"] if place < BLIND else []
                point = series.release(period, table, asked)
                print(
                    population, turnover, method, together, history, _said(point), file=sys.stderr, flush=True
                )
            sides[history] = series.points
    return Result(population, turnover, method, together, sides["sticky"], sides["blind"])


def people_of_point(point: Point, *names: str) -> str:
    """Return counts of people of the witness of `worlds`."""
    witness = point.worlds.witness if point.worlds else {}
    return " + ".join(f"{witness.get(name, 0):,}" for name in names)


def _unlocked(point: Point) -> str:
    found = point.known
    return "" if found is None or found.value is None else f"{found.witness['mean']:.3g}, {found.value:,.0f}"


def _said(point: Point) -> str:
    cost = f"out {100 * point.left_out:.2f}%, NCP {point.ncp:.4f}, {point.seconds:.1f} s"
    cost = f"unlocked {_unlocked(point)}, {cost}"
    pinned = people_of_point(point, "pinned", "undecided")
    return f"{point.period}: {', '.join(point.failing) or 'passes'}; pinned + undecided {pinned}, {cost}"


def page(rows: Sequence[Sequence[str]], people: int, n_periods: int, command: str) -> str:
    """Return the page: a row for each register and method."""
    names = [named(*each) for each in every_register()]
    ordered = sorted(rows, key=lambda row: names.index(row[0]))
    calls = ReleasePolicy.model_fields["gates"].default.worlds.calls
    limits = f"{{max: {KNOWN['max']}, mean: {KNOWN['mean']:g}}}"
    return f"""# Registers that change little

{n_periods} releases of {people:,} people, of whom a share leaves each period and as many join. *Made up*:
the generator of the demo's register; people age a quarter a period, move, marry and change work.
*Survey*: people of Argentina's household survey (INDEC, public use files) with the answers that they gave
first. Both have two sensitive attributes that never change: diagnosis and cost of care, health insurance
and activity. Policies: those of `examples/policies` with both attributes `stable`, `gates.person.cells:
unfollowed` and no limit on UMR; k is 8 and 5.

*Sticky* series keep signatures ([methods](../../docs/methods.md#signatures)) and are judged by all gates
of the policy. *Blind* is each release by itself; its last release is the price of the same table without
a history. Sticky ones set `gates.known: {limits}`. What `worlds` says after two blind releases: people
who are pinned, and people about whom {calls:,} calls of the solver decided nothing.

{report.table([*HEADER, report.DAY], ordered)}

Rows that pass fewer releases miss the limit of `known`, from some release on. Whoever takes the seat of the
only one of a unit who leaves has the same value as they in every world that is found, so the two unlock each
other: the more people leave, the larger units should be (`method.together`). In the survey up to ten people
share a bucket, of whom all but one may have the same value: that one unlocks the others, and whoever took
their seats.

{report.measured_with(command)}
Each row was measured on its own day.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Release the registers and print, or write, the page."""
    parser = argparse.ArgumentParser(description="Release registers with little turnover, sticky and blind.")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--periods", type=int, default=PERIODS)
    parser.add_argument("--only", default="", help="registers and methods whose names hold this word")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/registers.md")
    args = parser.parse_args(arguments)
    rows: list[list[str]] = []
    command = "python -m benchmarks.registers --write"
    for each in every_register():
        if args.only not in named(*each):
            continue
        row = measured(*each, args.people, args.periods).row
        rows.append([*row, "now"])
        if args.write:  # what is measured is not lost if the next is not
            known = report.kept_rows("registers.csv", HEADER, [row], keys=1)
            report.write("registers.md", page(known, args.people, args.periods, command))
    print(page(rows, args.people, args.periods, command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
