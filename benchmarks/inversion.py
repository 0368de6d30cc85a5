"""What knowing the method gives away of our own releases, and what it costs to hide it.

    python -m benchmarks.inversion --write

Each release is made without earlier ones, staged, read back, and attacked as the gate `inversion` does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from examples.register.generate import generate
from policy.gates import Limit
from policy.load import load_policy
from policy.model import Ends, Method, ReleasePolicy
from policy.recoding import Recoding
from release_store.records import GateResult
from tasks.intake.read import read_table
from tasks.risk.attacks.inversion import Column, predictions
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.types import IntArray, SourceTable
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


def row_of(method: str, recoding: Recoding, ends: Ends, found: Attacked) -> list[str]:
    """Return one release as a line of the table."""
    told = found.result.witness
    worst = max(told["columns"], key=lambda name: _excess(told["columns"][name]))
    alone = told["columns"][worst]
    counts = [*(told[name] for name in ("certain", "recovered", "control")), _excess(told)]
    return [
        method,
        f"{recoding}, {ends}",
        f"{told['classes']:,}",
        *(_percent(count / told["records"]) for count in counts),
        worst,
        *(_percent(alone[name] / told["records"]) for name in ("recovered", "control")),
        f"{found.ncp:.3f}",
        f"{found.seconds:.1f}",
    ]


def in_words(found: Mapping[tuple[str, Recoding, Ends], Attacked]) -> str:
    """Return the largest excess of each kind of cells, and what rounding adds to the loss."""
    lines = []
    for recoding, ends in CELLS:
        some = {of: one for (of, *cells), one in found.items() if cells == [recoding, ends]}
        worst = max(some, key=lambda of: some[of].result.value or 0.0)
        lines.append(
            f"- `{recoding}`, `{ends}`: excess {_percent(some[worst].result.value or 0.0)} ({worst})"
        )
    added = [one.ncp - found[of, recoding, "attained"].ncp for (of, recoding, _), one in found.items()]
    return "Largest excess over the methods:\n\n" + "\n".join(
        [*lines, f"- rounding adds {max(added):.3f} to NCP at most."]
    )


def _percent(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}%"  # no minus before 0


def drawn(n_classes: int, n_numbers: int, seed: int = 1) -> tuple[list[Column], IntArray]:
    """Return two columns of intervals and six of sets for classes of 8 to 23 records, and their sizes."""
    draw = np.random.default_rng(seed)
    classes, columns = np.arange(n_classes), []
    for name, n_values in (("age", 100), ("number", n_numbers)):
        first = draw.integers(0, n_values, n_classes)
        last = np.minimum(first + draw.integers(0, n_values // 10, n_classes), n_values - 1)
        sure = (np.concatenate([classes, classes]), np.concatenate([first, last]))
        columns.append(Column(name, n_values, sure, first=first, last=last))
    for n_values in (2, 7, 14, 16, 25, 60):
        member = draw.random((n_classes, n_values)) < 2 / n_values
        member[classes, draw.integers(0, n_values, n_classes)] = True
        first_of, value = np.nonzero(member)
        columns.append(Column(f"of {n_values}", n_values, (first_of, value), member=member))
    return columns, draw.integers(8, 24, n_classes)


def costs(sizes: Sequence[int]) -> str:
    """Return the CPU seconds that one attacker takes to predict whole tuples, as a table."""
    rows = []
    for n_classes, n_numbers in product(sizes, (100, 20_000)):
        columns, size = drawn(n_classes, n_numbers)
        begun = process_time()
        predictions(columns, size, knows_ends=True)
        rows.append([f"{n_classes:,}", f"{size.sum():,}", f"{n_numbers:,}", f"{process_time() - begun:.1f}"])
    return report.table(["classes", "records", "numbers in a column", "CPU s"], rows)


def _excess(count: Mapping[str, int]) -> int:
    return count["recovered"] - count["control"]


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inversion", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[*METHODS])
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES])
    parser.add_argument("--rows", type=int, default=4_000, help="of each table")
    parser.add_argument("--classes", nargs="+", type=int, default=[10_000, 30_000], help="of made-up tables")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/inversion.md")
    chosen = parser.parse_args(arguments)
    parts = [WORDS, report.measured_with("python -m benchmarks.inversion --write")]
    for table in chosen.tables:
        found: dict[tuple[str, Recoding, Ends], Attacked] = {}
        with tempfile.TemporaryDirectory(prefix="releasegate-inversion-") as name:
            policy, source = source_of(table, chosen.rows, Path(name))
            for of, (recoding, ends) in product(chosen.methods, CELLS):
                method = Method(name=of, recoding=recoding, ends=ends)
                folder = Path(name) / f"{of}-{recoding}-{ends}"
                found[of, recoding, ends] = attacked(source, policy, method, folder)
                print(table, of, recoding, ends, file=sys.stderr, flush=True)
        parts += [
            f"## {TITLES[table]}, {len(source.frame):,} records, k = {policy.privacy.k}",
            report.table(HEADER, [row_of(*named, one) for named, one in found.items()]),
            in_words(found),
        ]
    parts += [
        "## What the attacker costs, one of the two, on made-up classes over eight quasi-identifiers",
        costs(chosen.classes),
    ]
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("inversion.md", text)
    return text


TITLES = {"register": "The demo's register", "adult": "Adult"}
HEADER = (
    "method",
    "cells, ends",
    "classes",
    "certain",
    "recovered",
    "control",
    "excess",
    "worst column",
    "recovered in it",
    "control in it",
    "NCP",
    "CPU s",
)
WORDS = """# What knowing the method gives away

Our own methods, attacked as the gate [`inversion`](../../docs/gates.md#inversion) does: the attacker knows
the method, its parameters and the policy, and so which ends and values of a cell are attained. Shares are of
the published records:

- certain: records whose exact quasi-identifiers follow from the cells, without a guess
- recovered: records whose exact quasi-identifiers are among the n that are predicted for their class of n
- control: the same of an attacker who does not know that anything is attained
- excess: recovered less control; this is what the gate holds to its limit
- worst column: the quasi-identifier that the knowledge helps most to read by itself, and how many of its
  values are recovered with the knowledge and by the control

Where the excess is near 0 and recovered is not, knowing the method adds nothing: cells are so narrow, or
values so frequent, that anybody can guess. An excess under 0 is an attacker who is misled: they name rare
values that somebody has, beside the wrong values of the other columns. The attacker takes columns for
independent, so that these figures are no upper bound: one who knows how columns hang together, or who
concludes from the cuts that a method did not make, may recover more.

`attained` is what the methods write; `rounded` is `method.ends: rounded`, which widens intervals of numbers
and leaves sets as they are. `hierarchy` closes sets up to the hierarchies of the example policies, which give
no widths of numbers."""


if __name__ == "__main__":
    main()
