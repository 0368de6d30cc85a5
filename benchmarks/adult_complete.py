"""What methods lose on the complete rows of Adult, beside their CPU seconds and the policy's gates.

python -m benchmarks.adult_complete --write
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import report
from benchmarks.full_domain import source_of
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from policy.model import Method, ReleasePolicy
from release_store.records import Verdict
from tasks.risk.attacks.linkage import expected_risk, unique_match_rate
from tasks.risk.evidence import Evidence
from tasks.risk.registry import assess
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of

MOST_NCP = 0.030
MOST_CPU = 4.0
WARM_UP = 300
METHOD = ("representation", "partitioning", "aggregation")
SMALL = {"representation": "unit", "parameters": {"group_factor": 1.0, "leaf_size": 1000, "sweeps": 1}}
METHODS = {
    "mondrian": {"name": "mondrian"},
    "mondrian, cuts by NCP": {
        "name": "mondrian",
        "parameters": {"score": "ncp", "quantiles": [0.25, 0.375, 0.5, 0.625, 0.75]},
    },
    "ke-mdav, distances by NCP": {"name": "ke-mdav", "parameters": {"local_metric": "ncp"}},
    "ae-narrow without the autoencoder, groups of k": {"name": "ae-narrow", **SMALL},
}
HEADER = ["method", "classes", "NCP", "ERR", "UMR", "gates that fail", "CPU s", "of gates", "goal"]


@dataclass(frozen=True)
class Line:
    """One release: its classes and loss, what the gates measured, and CPU seconds of method and gates."""

    n_classes: int
    ncp: float
    err: float
    umr: float
    failing: tuple[str, ...]
    method_cpu: float
    gates_cpu: float

    @property
    def reached(self) -> bool:
        """Whether every gate passes, and NCP and seconds are within the goal."""
        return not self.failing and self.ncp <= MOST_NCP and self.method_cpu + self.gates_cpu <= MOST_CPU

    def cells(self, name: str) -> list[str]:
        """Return a row of the table."""
        return [
            name,
            f"{self.n_classes:,}",
            f"{self.ncp:.4f}",
            f"{self.err:.4f}",
            f"{self.umr:.4f}",
            ", ".join(self.failing),
            f"{self.method_cpu + self.gates_cpu:.2f}",
            f"{self.gates_cpu:.2f}",
            "met" if self.reached else "not met",
        ]


def complete_rows(rows: int | None) -> tuple[ReleasePolicy, SourceTable]:
    """Return the rows of Adult without a missing value, or the first of them, and its example policy."""
    policy, source = source_of("adult", None)
    frame = source.frame.dropna().reset_index(drop=True)
    return policy, replace(source, frame=frame if rows is None else frame.iloc[:rows])


def measure(policy: ReleasePolicy, source: SourceTable) -> Line:
    """Make one release and let the policy's gates assess it."""
    meter = Meter()
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "staged"
        made = make(source, policy, folder, meter)
        evidence = Evidence(
            policy,
            made.table,
            made.classes,
            folder,
            made.candidate.files,
            [],
            row_records=made.rows.records,
        )
        results = meter.run("gates", assess, evidence).results
        tables = evidence.tables(0.10)
        return Line(
            n_classes=made.classes.n_classes,
            ncp=ncp(made.classes, scale_of(made.table, policy)),
            err=expected_risk(evidence.links, tables).mean,
            umr=unique_match_rate(evidence.links, tables).mean,
            failing=tuple(one.gate for one in results if one.verdict is not Verdict.PASS),
            method_cpu=meter.total(METHOD).cpu,
            gates_cpu=meter.total(("gates",)).cpu,
        )


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adult_complete", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", type=int, help="the first rows only")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/adult_complete.md")
    chosen = parser.parse_args(arguments)
    policy, source = complete_rows(chosen.rows)
    rows = []
    few = replace(source, frame=source.frame.iloc[:WARM_UP])
    for name in chosen.methods:
        asked = policy.model_copy(update={"method": Method.model_validate(METHODS[name])})
        measure(asked, few)  # imports are no part of what a method costs
        rows.append(measure(asked, source).cells(name))
    command = "python -m benchmarks.adult_complete --write"
    title = f"## {len(source.frame):,} rows"
    text = "\n\n".join([WORDS, report.measured_with(command), title, report.table(HEADER, rows)])
    print(text)
    if chosen.write:
        report.write("adult_complete.md", text)
    return text


WORDS = f"""# Adult without missing values

The rows of Adult's training part in which no value is missing, with the seven quasi-identifiers, the model (k
8, e 3, p_max 0.8, l 2) and the gates of the example policy. The goal is an NCP of at most {MOST_NCP:.3f}
within {MOST_CPU:g} CPU seconds of method and gates, and no gate that fails.

- **NCP** is that of the published classes, intervals of age and sets of the rest.
- **ERR**, **UMR**: attackers know a tenth of the source (five draws). The policy's limit of UMR is 0.20.
- **CPU s** are those of representation, partitioning, aggregation and gates; reading, staging and imports are
  not counted."""


if __name__ == "__main__":
    main()
