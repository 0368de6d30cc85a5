"""What using the cells of one release for the next costs, and how many cells stay.

python -m benchmarks.reuse --write
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.meter import Meter
from policy.load import load_policy
from policy.model import Method, ReleasePolicy, Reuse
from policy.recoding import Recoding
from release_store.records import EquivalenceClasses
from services.pipeline import PublishableRows, make_rows
from tasks.geometry.space import has_cells_of
from tasks.history.selection import by_leaves
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.reuse import EarlierCells
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of

QUARTERS = ("2013Q1", "2013Q2", "2013Q3")
SEED = 42
RECODINGS: tuple[Recoding, ...] = ("sets", "hierarchy")
METHODS = ("mondrian", "mdav", "ae-narrow")
TABLES = {"adult": METHODS, "survey": ("mondrian",)}
WAYS = ("anew", "cut", "left_out")
HEADER = [
    "period",
    "method",
    "recoding",
    "the others",
    "classes",
    "with an earlier cell",
    "cells that stay",
    "records in them",
    "left out",
    "NCP",
    "CPU s",
]


@dataclass(frozen=True)
class Released:
    """What a period was published with."""

    made: PublishableRows
    classes: EquivalenceClasses
    seconds: float


def adult(rows: int | None) -> tuple[ReleasePolicy, list[tuple[str, SourceTable]]]:
    """Return two random halves of Adult as two periods, without a person in common."""
    policy = load_policy(report.ROOT / "examples" / "policies" / "adult.yaml")
    file = report.datasets() / "adult" / "adult_train.csv"
    source = read_table(policy, input_path=file, period="", base=report.ROOT)
    order = np.random.default_rng(SEED).permutation(len(source.frame))[:rows]
    halves = [np.sort(half) for half in np.array_split(order, 2)]
    return policy, [
        (name, replace(source, frame=source.frame.iloc[half].reset_index(drop=True)))
        for name, half in zip(("first half", "second half"), halves, strict=True)
    ]


def survey(rows: int | None) -> tuple[ReleasePolicy, list[tuple[str, SourceTable]]]:
    """Return three quarters of the household survey."""
    policy = load_policy(report.ROOT / "examples" / "policies" / "eph.yaml")
    file = report.datasets() / "eph" / "eph_panel_2003q3_2014q2.parquet"
    found = []
    for period in QUARTERS:
        source = read_table(policy, input_path=file, period=period, base=report.ROOT)
        if rows is not None:
            source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
        found.append((period, source))
    return policy, found


def released(policy: ReleasePolicy, source: SourceTable, before: EquivalenceClasses | None) -> Released:
    """Make a period's rows, stage them and read their classes."""
    meter = Meter()
    earlier = None if before is None else EarlierCells("before", by_leaves(before, policy))
    made = meter.run(
        "rows",
        lambda: make_rows(source, policy, bound_method(policy), [], "", earlier_cells=lambda: earlier),
    )
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "c"
        stage(made.rows, policy, candidate_id="c", period="", folder=target, n_source=len(source.frame))
        classes = read_classes(target / "data.parquet", policy)
    return Released(made, classes, meter.total().cpu)


def series(policy: ReleasePolicy, periods: Sequence[tuple[str, SourceTable]]) -> Iterator[list[str]]:
    """Yield a row for each period, each made with the cells of the one before, and beside it made anew."""
    method = policy.method
    before: dict[str, EquivalenceClasses] = {}
    for period, source in periods:
        for way in WAYS:
            reuse = Reuse.model_validate({"others": way}) if way in before and way != "anew" else None
            own = policy.model_copy(update={"method": method.model_copy(update={"reuse": reuse})})
            if not before and way != "anew":  # the first period is the same in every way
                continue
            found = released(own, source, before[way] if reuse else None)
            yield row_of(period, way if before else "", own, found, before.get(way))
            if before:
                before[way] = found.classes
        if not before:
            before = dict.fromkeys(WAYS, found.classes)


def row_of(
    period: str, way: str, policy: ReleasePolicy, found: Released, before: EquivalenceClasses | None
) -> list[str]:
    """Return what one release is, and what it has in common with the one before."""
    same, stay, records = "", "", ""
    if before is not None:
        mine = has_cells_of(found.classes, before)
        same = f"{mine.sum():,}"
        stay = f"{has_cells_of(before, found.classes).mean():.1%}"
        records = f"{found.classes.size[mine].sum() / found.made.table.n_records:.1%}"
    n_out = found.made.table.n_records - int(found.classes.size.sum())
    cost = ncp(found.classes, scale_of(found.made.table, policy))
    return [
        period,
        policy.method.name,
        policy.method.recoding,
        "all made anew" if way == "anew" else way.replace("_", " "),
        f"{found.classes.n_classes:,}",
        same,
        stay,
        records,
        f"{n_out / found.made.table.n_records:.1%}",
        f"{cost:.3f}",
        f"{found.seconds:.2f}",
    ]


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reuse", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--methods", nargs="+", help="these methods only")
    parser.add_argument("--rows", type=int, help="fewer rows of each table")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/reuse.md")
    chosen = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.reuse --write")]
    for name in chosen.tables:
        base, periods = (adult if name == "adult" else survey)(chosen.rows)
        rows = []
        for method in chosen.methods or TABLES[name]:
            for recoding in RECODINGS:
                own = Method(name=method, recoding=recoding, history="blind")
                rows += series(base.model_copy(update={"method": own}), periods)
        parts += [f"## {name.capitalize()}", report.table(HEADER, rows)]
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("reuse.md", text)
    return text


WORDS = f"""# The cells of one release for the next

Adult in two random halves without a person in common, and three quarters of the household survey, of whose
people about 43% are in the next quarter. The quasi-identifiers and the model are those of the example
policies. The first period is made by the method. Each later one is made anew, and with the cells of the
period before it (`method.reuse`): what no cell takes gets classes of its own (*cut*) or is left out. With
*left out*, the second survey quarter is what the third has cells of, and so on. *Cells that stay* is the
share of the cells of the period before that are published again, *records in them* that of the records of
this period. NCP is that of the published classes. CPU seconds are those from the table to its rows. The
releases are made without the repair beside earlier releases, and no gate is asked. Seed {SEED}."""


if __name__ == "__main__":
    main()
