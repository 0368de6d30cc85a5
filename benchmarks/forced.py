"""Whose class is certain once everybody in a release is assigned to a class, beside ERR and UMR.

    python -m benchmarks.forced [--rows N] [--tables NAME ...] [--methods NAME ...] [--write]

The demo's register is generated; the authors' sample of Adult, and Adult with its hierarchies, are looked at
where the files are there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.papers.trial import drawn, with_method
from benchmarks.pipeline import make
from examples.register.generate import generate
from policy.load import load_policy
from policy.model import Ends, ReleasePolicy
from tasks.intake.read import read_table
from tasks.risk.attacks.forced import Possible
from tasks.risk.attacks.linkage import expected_risk, unique_match_rate
from tasks.risk.evidence import Evidence
from tasks.risk.gates.forced import possible_of
from tasks.staging.people import class_numbers
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of

PERIOD = "2026Q1"
ROWS = 10_000
EXAMPLES = report.ROOT / "examples" / "policies"
METHODS: dict[str, tuple[str, str | None]] = {
    "ae-lrhma": ("ae-lrhma", None),
    "ae-overlapping": ("ae-overlapping", None),
    "mdav": ("mdav", None),
    "mondrian": ("mondrian", None),
    "mondrian, hierarchies": ("mondrian", "hierarchy"),
}
ENDS: tuple[Ends, ...] = ("attained", "rounded")
HEAD = (
    "method",
    "ends",
    "classes",
    "NCP",
    "ERR",
    "UMR",
    "forced classes",
    "certain values",
    "effective k",
    "rows, mean",
    "pairs",
    "CPU s",
)


@dataclass(frozen=True)
class Line:
    """One release: its loss, the risk of each person by themselves, and what assigning everybody tells."""

    n_classes: int
    ncp: float
    err: float
    umr: float
    found: Possible
    seconds: float  # CPU, of the assignment alone

    def cells(self, name: str, ends: Ends) -> list[str]:
        """Return a row of the table."""
        found = self.found
        certain = max(float(each.mean()) for each in found.certain.values())
        return [
            name,
            ends,
            f"{self.n_classes:,}",
            f"{self.ncp:.3f}",
            f"{self.err:.4f}",
            f"{self.umr:.3f}",
            f"{(found.classes == 1).mean():.3f}",
            f"{certain:.3f}",
            f"{found.rows.min()}",
            f"{found.rows.mean():.1f}",
            f"{found.fitting.sum():,}",
            f"{self.seconds:.2f}",
        ]


def register(rows: int) -> tuple[ReleasePolicy, SourceTable]:
    """Return the demo's policy, and the first quarter of a register of so many people."""
    policy = load_policy(EXAMPLES / "register.yaml")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "register.csv"
        generate([PERIOD], rows)[PERIOD].to_csv(file, index=False)
        return policy, read_table(policy, input_path=file, period=PERIOD, base=Path(folder))


def sample(rows: int) -> tuple[ReleasePolicy, SourceTable]:
    """Return the authors' sample of Adult, or so many rows of it."""
    policy = load_policy(report.ROOT / "benchmarks" / "papers" / "policies" / "s0_adult.yaml")
    file = report.datasets() / "ae_lrhma_samples" / "adult_10k.csv"
    return policy, drawn(read_table(policy, input_path=file, period="", base=report.ROOT), rows, 0)


def adult(rows: int) -> tuple[ReleasePolicy, SourceTable]:
    """Return so many rows of Adult, with its hierarchies."""
    policy = load_policy(EXAMPLES / "adult.yaml")
    file = report.datasets() / "adult" / "adult_train.csv"
    return policy, drawn(read_table(policy, input_path=file, period="", base=report.ROOT), rows, 0)


TABLES: dict[str, Callable[[int], tuple[ReleasePolicy, SourceTable]]] = {
    "register": register,
    "sample": sample,
    "adult": adult,
}
NAMED = {
    "register": "The demo's register",
    "sample": "The authors' sample of Adult",
    "adult": "Adult with hierarchies",
}


def measure(policy: ReleasePolicy, source: SourceTable) -> Line:
    """Make a release, read it back, and measure it. Everybody published is attacked, nobody else."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "staged"
        made = make(source, policy, folder, Meter())
        place = class_numbers(folder / "data.parquet", made.rows, policy, made.table.n_records)
        files = made.candidate.files
        evidence = Evidence(
            policy, made.table, made.classes, folder, files, [], row_records=made.rows.records
        )
        everybody, meter = [np.flatnonzero(place >= 0)], Meter()
        links = evidence.links
        found = meter.run("assigning", possible_of, evidence)
        return Line(
            made.classes.n_classes,
            ncp(made.classes, scale_of(made.table, policy)),
            expected_risk(links, everybody).mean,
            unique_match_rate(links, everybody).mean,
            found,
            meter.total().cpu,
        )


def _with_ends(policy: ReleasePolicy, ends: Ends) -> ReleasePolicy:
    return policy.model_copy(update={"method": policy.method.model_copy(update={"ends": ends})})


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forced", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--tables", nargs="+", choices=[*TABLES], default=[*TABLES])
    parser.add_argument("--methods", nargs="+", choices=[*METHODS], default=[*METHODS])
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/forced.md")
    chosen = parser.parse_args(arguments)
    command = f"python -m benchmarks.forced --rows {chosen.rows}"
    for option, given, default in (
        ("tables", chosen.tables, [*TABLES]),
        ("methods", chosen.methods, [*METHODS]),
    ):
        if given != default:
            command += f" --{option} " + " ".join(f'"{name}"' if " " in name else name for name in given)
    command += " --write" if chosen.write else ""
    parts = [WORDS, report.measured_with(command)]
    for name in chosen.tables:
        if name != "register" and not report.datasets().is_dir():
            continue
        policy, source = TABLES[name](chosen.rows)
        lines = [
            measure(_with_ends(with_method(policy, method, recoding), ends), source).cells(title, ends)
            for title, (method, recoding) in METHODS.items()
            for ends in ENDS
            if title in chosen.methods and not (name == "sample" and recoding == "hierarchy")
        ]
        parts += [f"## {NAMED[name]}, {len(source.frame):,} rows", report.table(HEAD, lines)]
    text = "\n\n".join(parts)
    print(text)
    if chosen.write:
        report.write("forced.md", text)
    return text


WORDS = """# Classes that are forced

An attacker who knows all quasi-identifiers of everybody in a release assigns people to classes: each class
contains its people, and has as many as it has rows ([how](../../docs/gates.md#assigning-everybody)). Each
method runs with its defaults, with the privacy model of the table's policy, and beside no earlier release.
Everybody published is attacked.

ERR and UMR are those of an attacker who looks at one person at a time: UMR is the share of people whom one
class alone contains. *Forced classes* is the share of people with one possible class, *certain values* the
share whose value is certain in the worst attribute, *effective k* the fewest rows in a person's possible
classes, and *rows* their mean. `rounded` is `method.ends: rounded`, the defence against who inverts the
recoding ([inversion](inversion.md)): wider cells, which more people fit. *Pairs* are the pairs of a person
and a class that contains them; CPU seconds are those of the assignment alone. The sample has no
hierarchies."""


if __name__ == "__main__":
    main()
