"""What knowing the method gives away of our own releases, and what it costs to hide it.

    python -m benchmarks.inversion --write

Each release is made without earlier ones, staged, read back, and attacked as the gate `inversion` does.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import process_time

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from examples.register.generate import generate
from policy.load import load_policy
from policy.model import Ends, Limit, Method, ReleasePolicy
from policy.recoding import Recoding
from release_store.records import GateResult
from tasks.intake.read import read_table
from tasks.risk.evidence import Evidence
from tasks.risk.gate import GATES, assess
from tasks.types import SourceTable
from tasks.utility.loss import loss

ROOT = report.ROOT
METHODS = ("ae-lrhma", "ae-narrow", "ae-overlapping", "mdav", "mondrian")
CELLS: tuple[tuple[Recoding, Ends], ...] = tuple(product(("sets", "hierarchy"), ("attained", "rounded")))
TABLES = ("register", "adult")
QUARTER = "2026Q1"


@dataclass(frozen=True)
class Attacked:
    """One release: what the gate says of it, its loss, and the gate's CPU seconds."""

    result: GateResult
    ncp: float
    seconds: float


def source_of(table: str, rows: int, folder: Path) -> tuple[ReleasePolicy, SourceTable]:
    """Return the demo's register of `rows` people, or the first `rows` of Adult, with its policy."""
    policy = load_policy(ROOT / "examples" / "policies" / f"{table}.yaml")
    if table == "register":
        file = folder / "register.csv"
        generate([QUARTER], n=rows)[QUARTER].to_csv(file, index=False)
    else:
        file = report.datasets() / "adult" / "adult_train.csv"
    source = read_table(policy, input_path=file, period=QUARTER, base=folder)
    return policy, replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))


def attacked(source: SourceTable, policy: ReleasePolicy, method: Method, folder: Path) -> Attacked:
    """Make a release by `method` and attack it; `folder` must not exist."""
    gates = policy.gates.model_copy(update={"inversion": Limit(max=1)})
    policy = policy.model_copy(update={"method": method, "gates": gates})
    made = make(source, policy, folder, Meter())
    evidence = Evidence(
        policy, made.table, made.classes, folder, made.candidate.files, [], row_records=made.rows.records
    )
    begun = process_time()
    (result,) = assess(evidence, {"inversion": GATES["inversion"]}).results
    if result.value is None:
        raise RuntimeError(f"{method.name}: {result.verdict}, {result.detail}")
    return Attacked(result, loss(evidence.losses, policy), process_time() - begun)


def row_of(method: Method, found: Attacked) -> list[str]:
    """Return one release as a line of the table."""
    told, excess = found.result.witness, found.result.value or 0.0
    shares = [told[name] / told["records"] for name in ("certain", "recovered", "control")]
    return [
        method.name,
        f"{method.recoding}, {method.ends}",
        f"{told['classes']:,}",
        *(f"{100 * share:.1f}%" for share in [*shares, excess]),
        f"{found.ncp:.3f}",
        f"{found.seconds:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inversion", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--rows", type=int, default=4_000, help="of each table")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/inversion.md")
    chosen = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.inversion --write")]
    for table in chosen.tables:
        lines = []
        with tempfile.TemporaryDirectory(prefix="releasegate-inversion-") as name:
            policy, source = source_of(table, chosen.rows, Path(name))
            for number, (of, cells) in enumerate(product(chosen.methods, CELLS)):
                method = Method(name=of, recoding=cells[0], ends=cells[1])
                found = attacked(source, policy, method, Path(name) / f"c{number}")
                lines.append(row_of(method, found))
        parts.append(f"## {TITLES[table]}, {len(source.frame):,} records, k = {policy.privacy.k}")
        parts.append(report.table(HEADER, lines))
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("inversion.md", text)
    return text


TITLES = {"register": "The demo's register", "adult": "Adult"}
HEADER = ("method", "cells, ends", "classes", "certain", "recovered", "control", "excess", "NCP", "CPU s")
WORDS = """# What knowing the method gives away

WORDS"""


if __name__ == "__main__":
    main()
