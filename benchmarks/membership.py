"""Of whom releases tell for certain that they are in the table, by method and by the form of cells.

    python -m benchmarks.membership --write

Half of a table is released, and the attacker knows everybody in it: as the gate `membership` does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import report
from benchmarks.inversion import CELLS, METHODS, TABLES, TITLES, source_of
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from policy.gates import Limit
from policy.model import Method, ReleasePolicy
from release_store.records import GateResult
from tasks.preprocessing.prepare import prepare
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.types import PreparedTable, SourceTable
from tasks.utility.loss import loss

ROWS = 6_000
HEADER = (
    "method", "cells, ends", "classes", "certain", "by places", "by values", "others outside for certain",
    "NCP", "CPU s",
)  # fmt: skip


@dataclass(frozen=True)
class Attacked:
    """One release: what the gate says of it, its loss, and the gate's CPU seconds."""

    result: GateResult
    ncp: float
    seconds: float


def halves(policy: ReleasePolicy, source: SourceTable) -> tuple[SourceTable, PreparedTable]:
    """Return one half of a table, drawn with seed 0, and the other half as the control group."""
    order = np.random.default_rng(0).permutation(len(source.frame))
    parts = (np.sort(half) for half in np.array_split(order, 2))
    mine, others = (replace(source, frame=source.frame.iloc[half].reset_index(drop=True)) for half in parts)
    return mine, prepare(others, policy)


def attacked(
    source: SourceTable, others: PreparedTable, policy: ReleasePolicy, method: Method, folder: Path
) -> Attacked:
    """Make a release by `method` and attack it; `folder` must not exist."""
    gates = policy.gates.model_copy(update={"membership": Limit(max=1)})
    linkage = policy.linkage.model_copy(update={"control": "others.csv"})
    policy = policy.model_copy(update={"method": method, "gates": gates, "linkage": linkage})
    made = make(source, policy, folder, Meter())
    files, records = made.candidate.files, made.rows.records
    evidence = Evidence(
        policy, made.table, made.classes, folder, files, [], row_records=records, control=others
    )
    begun = process_time()
    (result,) = assess(evidence, {"membership": GATES["membership"]}).results
    if result.value is None:
        raise RuntimeError(f"{method.name}: {result.verdict}, {result.detail}")
    return Attacked(result, loss(evidence.losses, policy), process_time() - begun)


def row_of(method: Method, found: Attacked) -> list[str]:
    """Return one release as a line of the table."""
    told = found.result.witness
    shares = (told["certain"], told["by_place"], told["by_value"], told["outside"] / told["others"])
    return [
        method.name,
        f"{method.recoding}, {method.ends}",
        f"{told['classes']:,}",
        *(f"{100 * share:.1f}%" for share in shares),
        f"{found.ncp:.3f}",
        f"{found.seconds:.1f}",
    ]


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.membership", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--rows", type=int, default=ROWS, help="of each table, of which half is released")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/membership.md")
    args = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.membership --write")]
    for table in args.tables:
        rows = []
        with tempfile.TemporaryDirectory(prefix="releasegate-membership-") as name:
            policy, source = source_of(table, args.rows, Path(name))
            mine, others = halves(policy, source)
            for of, (recoding, ends) in product(args.methods, CELLS):
                method = Method(name=of, recoding=recoding, ends=ends)
                folder = Path(name) / f"{of}-{recoding}-{ends}"
                rows.append(row_of(method, attacked(mine, others, policy, method, folder)))
                print(table, *rows[-1], file=sys.stderr, flush=True)
        sizes = f"{len(mine.frame):,} of {len(source.frame):,} records, k = {policy.privacy.k}"
        parts += [f"## {TITLES[table]}, {sizes}", report.table(HEADER, rows)]
    text = "\n\n".join(parts)
    print(text)
    if args.write:
        report.write("membership.md", text)
    return text


WORDS = """# Who is in the table for certain

Our own methods, attacked as the gate [`membership`](../../docs/gates.md#who-is-in-the-table) does. Half of
each table is released. The attacker knows the quasi-identifiers of everybody in the whole table, and not who
is in which half.

- certain: the share of the people released of whom it is certain that they are
- by places: since no assignment of everybody to classes leaves them out
- by values: since nobody else who fits a class has the values that somebody in the class has
- others outside for certain: the share of the other half of whom it is certain that they are not in the table

`attained` is what the methods write; `rounded` is `method.ends: rounded`, which widens intervals of numbers
and leaves sets as they are. `hierarchy` closes sets up to the hierarchies of the example policies, which give
no widths of numbers."""


if __name__ == "__main__":
    main()
