"""What the comparison of a candidate with its history costs, and how that grows with the earlier releases.

    python -m benchmarks.comparison [--rows N] [--earlier M ...] [--write]

Made-up series of five quasi-identifiers, and quarters of the household survey (EPH) where its file is at
hand. Every measurement runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.meter import Cost, Meter
from benchmarks.pipeline import make
from benchmarks.synthetic_series import series
from policy.load import load_policy
from policy.model import Method, ReleasePolicy
from release_store.records import GateResult
from tasks.intake.read import read_table
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES
from tasks.staging.people import class_numbers, people_of

KINDS = ("cumulative", "overlapping", "survey")
CHECKS = ("pairwise", "whole_history", "difference", "size", "person", "person_difference")
PERSON_KEY = b"of a survey that is in no store."
ROWS, EARLIER = 60_000, (1, 2, 4, 8, 16)
PANEL = Path("eph") / "eph_panel_2003q3_2014q2.parquet"
QUARTERS = tuple(f"{year}Q{quarter}" for year in range(2011, 2014) for quarter in (1, 2, 3, 4))[:9]
PROMISED = 20.0


def survey(panel: Path, n_earlier: int) -> Evidence:
    """Return a quarter of the survey, cut without regard to its history, beside the quarters before it."""
    policy = load_policy(report.ROOT / "examples" / "policies" / "eph.yaml")
    policy = policy.model_copy(update={"method": Method(name="mondrian", history="blind")})
    chosen = QUARTERS[-n_earlier - 1 :]
    with tempfile.TemporaryDirectory() as folder:
        made = [_quarter(policy, panel, quarter, Path(folder) / quarter) for quarter in chosen]
    *earlier, last = made
    named = [(f"release-{number}", each.classes) for number, each in enumerate(earlier, 1)]
    return replace(last, earlier=named, earlier_people=[each.people for each in earlier])


def _quarter(policy: ReleasePolicy, panel: Path, quarter: str, folder: Path) -> Evidence:
    source = read_table(policy, input_path=panel, period=quarter, base=panel.parent)
    made = make(source, policy, folder, Meter())
    where = class_numbers(folder / "data.parquet", made.rows, policy, made.table.n_records)
    people = people_of(source, where, policy, PERSON_KEY)
    return Evidence(policy, made.table, made.classes, folder, {}, [], people=people)


def measure(kind: str, n_rows: int, n_earlier: int) -> dict[str, Any]:
    """Run every check that the policy asks for in this process, and return what each cost and found."""
    if kind == "survey":
        evidence = survey(report.datasets() / PANEL, n_earlier)
    elif kind == "cumulative":
        evidence = series("cumulative", n_rows, n_earlier)
    else:
        evidence = series("overlapping", n_rows, n_earlier)
    meter = Meter()
    found: dict[str, GateResult] = {}
    # The first check pays for what the others share: the space, the boxes and the index.
    for check in CHECKS:
        if GATES[check].asked_by(evidence.policy):
            found[check] = meter.run(check, GATES[check].ask, evidence)
    classes = [each.n_classes for _, each in evidence.earlier]
    return {
        "kind": kind,
        "earlier": n_earlier,
        "rows": evidence.source.n_records,
        "classes": evidence.classes.n_classes,
        "earlier_classes": sum(classes),
        "failing": {check: result.value for check, result in found.items()},
        "costs": {check: asdict(cost) for check, cost in meter.costs.items()},
    }


def in_a_process(kind: str, n_rows: int, n_earlier: int) -> dict[str, Any]:
    """Measure in a fresh process, so that no other measurement's memory counts."""
    command = [sys.executable, "-m", "benchmarks.comparison", "--one", kind, str(n_rows), str(n_earlier)]
    done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{kind} beside {n_earlier} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def total(run: dict[str, Any]) -> Cost:
    """Return the cost of all checks of one run."""
    costs = [Cost(**cost) for cost in run["costs"].values()]
    return Cost(sum(c.wall for c in costs), sum(c.cpu for c in costs), max(c.peak for c in costs))


def slope(runs: Sequence[dict[str, Any]]) -> float | None:
    """Return the slope of log CPU seconds over log earlier releases, by least squares; 1 is linear."""
    points = {run["earlier"]: total(run).cpu for run in runs}
    if len(points) < 2:
        return None
    n, seconds = np.log(np.array(sorted(points.items()), dtype=np.float64)).T
    return float(np.polyfit(n, seconds, 1)[0])


def section(title: str, runs: Sequence[dict[str, Any]]) -> str:
    """Return one series' table, a line for each number of earlier releases, and how the cost grows."""
    checks = list(runs[0]["costs"])
    header = ["earlier releases", "rows", "classes", "their classes"]
    header += [f"{check}, CPU s" for check in checks] + ["all, CPU s", "all, wall s", "peak, MB"]
    lines = []
    for run in runs:
        cost = total(run)
        lines.append(
            [
                str(run["earlier"]),
                *(f"{run[name]:,}" for name in ("rows", "classes", "earlier_classes")),
                *(f"{run['costs'][check]['cpu']:.2f}" for check in checks),
                f"{cost.cpu:.2f}",
                f"{cost.wall:.2f}",
                f"{cost.peak / 1e6:,.0f}",
            ]
        )
    rising = slope(runs)
    said = (
        ""
        if rising is None
        else f"\n\nSlope of log CPU seconds over log earlier releases (1: linear): {rising:.2f}."
    )
    return f"## {title}\n\n{report.table(header, lines)}{said}"


WORDS = f"""# The comparison with earlier releases

A candidate of about 60,000 rows beside its history: all checks that its policy asks for, from classes in
memory to verdicts. Promised: {PROMISED:g} s for all checks beside 8 earlier releases, on 2 cores. The first
check pays for what all share. Every line ran in a fresh process; making the releases is not counted.

- *cumulative*: each release holds the people of the one before and 1% more; four checks.
- *overlapping*: each release is drawn from one and a half times as many people; two checks.
- Both are made up from a seed: age (moves 0 to 1 a period), wage, region, education, sex; classes of 5 to 9
  rows by random halvings that part equal values, so that classes overlap. Most classes fail, and every
  failure is counted.
- *survey*: quarters of the household survey (EPH, Source: INDEC), 2013Q1 beside those before it, cut by
  Mondrian without regard to each other, policy `examples/policies/eph.yaml`; four checks, two by person."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure every series and return the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison", description="see above")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--earlier", type=int, nargs="+", default=list(EARLIER))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--write", action="store_true", help="also write benchmarks/results/comparison.md")
    parser.add_argument("--one", nargs=3, metavar=("KIND", "ROWS", "EARLIER"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        kind, n_rows, n_earlier = chosen.one
        print(json.dumps(measure(kind, int(n_rows), int(n_earlier))))
        return ""
    sections: list[str] = []
    loads: list[float] = []
    for kind in chosen.kinds:
        counts = chosen.earlier
        if kind == "survey":
            counts = [n for n in counts if n < len(QUARTERS)]
            if not (report.datasets() / PANEL).exists() or not counts:
                continue
        runs = []
        for n in counts:
            loads.append(os.getloadavg()[0])
            runs.append(in_a_process(kind, chosen.rows, n))
        sections.append(section(kind, runs))
        print(sections[-1], flush=True)
    command = report.measured_with("python -m benchmarks.comparison --write")
    busy = f"The load average before each measurement was {min(loads):.1f} to {max(loads):.1f}."
    text = "\n\n".join([WORDS, f"{command}\n{busy}", *sections])
    if chosen.write:
        report.write("comparison.md", text)
    return text


if __name__ == "__main__":
    main()
