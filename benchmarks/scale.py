"""How seconds and memory of every stage grow with the table: the household survey's rows, up to 2.4 million.

    python -m benchmarks.scale [--quick] [--sizes N ...] [--methods NAME ...] [--write]

Every size runs in a process of its own. The quarters of the EPH panel together are one table; smaller sizes
are nested random samples of its rows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from benchmarks import report
from benchmarks.meter import Cost, Meter
from benchmarks.pipeline import Made, make
from expectations.quiet import quiet
from policy.load import load_policy
from policy.model import Expectations, Method, Publication, ReleasePolicy, Source
from release_store.records import EquivalenceClasses
from tasks.history.intersection import pairwise, whole_history
from tasks.intake.read import read_table
from tasks.risk.attacks.linkage import Links, expected_risk, unique_match_rate
from tasks.risk.evidence import Evidence
from tasks.types import SourceTable
from tasks.utility.ncp import ncp, scale_of
from tasks.validation.check import raise_if_failed, validate

PANEL = Path("eph") / "eph_panel_2003q3_2014q2.parquet"
COLUMNS = "person_id, agglomeration, age, sex, marital, education, health_cover"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_400_000)
QUICK = (10_000, 30_000, 100_000)
METHODS = ("mondrian", "ae-lrhma")
STAGES = (
    "intake",
    "validation",
    "preprocessing",
    "representation",
    "partitioning",
    "aggregation",
    "recoding",
    "staging",
    "reading back",
    "linkage",
    "pairwise",
    "whole history",
)
SEED = 42


def policy_for(method: str) -> ReleasePolicy:
    """Return the survey's example policy for one table of all quarters: without its query."""
    policy = load_policy(report.ROOT / "examples" / "policies" / "eph.yaml")
    return policy.model_copy(
        update={
            "source": Source(),
            # A person is in several quarters: here the key repeats.
            "expectations": Expectations(missing=0, unique_key=False),
            "method": Method(name=method),
            "publication": Publication(formats=("parquet", "csv")),
        }
    )


def write_samples(panel: Path, sizes: Sequence[int], folder: Path) -> dict[int, Path]:
    """Write nested random samples of the panel's rows, one Parquet file a size, in the panel's order."""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar=false; SET memory_limit='4GB'")
        [(n,)] = con.execute("SELECT count(*) FROM read_parquet(?)", [str(panel)]).fetchall()
        order = np.random.default_rng(SEED).permutation(n)
        files = {}
        for size in sizes:
            files[size] = folder / f"panel-{size}.parquet"
            con.register("chosen", pd.DataFrame({"place": np.sort(order[:size])}))
            con.execute(
                f"COPY (SELECT {COLUMNS} FROM read_parquet('{panel}', file_row_number=true) JOIN chosen "
                f"ON file_row_number = place ORDER BY place) TO '{files[size]}' (FORMAT parquet)"
            )
            con.unregister("chosen")
    return files


def measure(file: Path, method: str, most_pairs: float) -> dict[str, Any]:
    """Run every stage on one file in this process, and return what each cost and what came out."""
    policy = policy_for(method)
    meter = Meter()
    source = meter.run("intake", read_table, policy, input_path=file, period="all", base=file.parent)
    _load_libraries()
    results = meter.run("validation", validate, source, policy, None)
    raise_if_failed(results, source.origin)
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        folder = Path(name)
        made = make(source, policy, folder / "staged", meter)
        evidence = _evidence(made, policy, ())
        found = meter.run("linkage", _linkage, evidence)
        earlier = _half(source, policy, folder / "earlier").classes
    pairs = made.classes.n_classes * earlier.n_classes
    compared: dict[str, Any] = {}
    if pairs <= most_pairs:
        beside = replace(evidence, earlier=(("earlier", earlier),))
        compared["pairwise_failures"] = meter.run("pairwise", _pairwise, beside)
        compared["narrowed"] = meter.run("whole history", _whole_history, beside)
    return {
        "rows": made.table.n_records,
        "classes": made.classes.n_classes,
        "distinct": len(evidence.points),
        "ncp": ncp(made.classes, scale_of(made.table, policy)),
        "pairs": pairs,
        **found,
        **compared,
        "costs": {stage: asdict(cost) for stage, cost in meter.costs.items()},
    }


def _load_libraries() -> None:
    # Seconds of imports are no cost of a stage.
    with quiet():
        import great_expectations  # noqa: F401 -- loaded for its cost
        import torch  # noqa: F401 -- as above


def _half(source: SourceTable, policy: ReleasePolicy, folder: Path) -> Made:
    """Make an earlier release by the same method from every second row."""
    half = replace(source, frame=source.frame.iloc[::2].reset_index(drop=True))
    return make(half, policy, folder, Meter())


def _evidence(
    made: Made, policy: ReleasePolicy, earlier: Sequence[tuple[str, EquivalenceClasses]]
) -> Evidence:
    return Evidence(policy, made.table, made.classes, made.candidate.folder, made.candidate.files, earlier)


def _linkage(evidence: Evidence) -> dict[str, float]:
    links: Links = evidence.links
    tables = evidence.tables(0.20)
    return {
        "err": expected_risk(links, tables).mean,
        "umr": unique_match_rate(links, tables).mean,
        "sadr": evidence.attack("all").sadr["health_cover"].mean,
    }


def _pairwise(evidence: Evidence) -> int:
    assert evidence.history is not None
    found = pairwise(evidence.boxes, evidence.history, evidence.space, evidence.required)
    return sum(each.failed for each in found)


def _whole_history(evidence: Evidence) -> int:
    assert evidence.history is not None
    allowed = evidence.allowed(evidence.history)
    found = whole_history(evidence.boxes, evidence.points, allowed, evidence.space, evidence.required)
    return sum(each.failed for each in found)


def in_a_process(file: Path, method: str, most_pairs: float) -> dict[str, Any]:
    """Measure in a fresh process, so that no earlier size's memory counts."""
    command = [sys.executable, "-m", "benchmarks.scale", "--one", str(file), method, str(most_pairs)]
    done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{method} on {file.name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def cost(run: dict[str, Any], stage: str) -> Cost | None:
    """Return a stage's cost in one run, or None where it was left out; `all` adds the stages."""
    costs = {name: Cost(**found) for name, found in run["costs"].items()}
    if stage == "all":
        return Cost(
            sum(c.wall for c in costs.values()),
            sum(c.cpu for c in costs.values()),
            max(c.peak for c in costs.values()),
        )
    return costs.get(stage)


def slope(runs: Sequence[dict[str, Any]], stage: str) -> float | None:
    """Return the slope of log CPU seconds over log rows, by least squares over the largest four sizes."""
    points = [(run["rows"], c.cpu) for run in runs if (c := cost(run, stage)) is not None and c.cpu > 0][-4:]
    if len({rows for rows, _ in points}) < 2:
        return None
    rows, seconds = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(rows, seconds, 1)[0])


def tables(method: str, runs: Sequence[dict[str, Any]]) -> str:
    """Return a method's section: what came out, then seconds, CPU seconds and memory of each stage."""
    sizes = [f"{run['rows']:,}" for run in runs]
    outcome = report.table(
        ["rows", *sizes],
        [
            ["distinct records", *(f"{r['distinct']:,}" for r in runs)],
            ["classes", *(f"{r['classes']:,}" for r in runs)],
            ["NCP", *(f"{r['ncp']:.4f}" for r in runs)],
            ["ERR at 0.20", *(f"{r['err']:.4f}" for r in runs)],
            ["UMR at 0.20", *(f"{r['umr']:.4f}" for r in runs)],
            ["mean SADR at 0.20", *(f"{r['sadr']:.4f}" for r in runs)],
            ["pairs of classes, millions", *(f"{r['pairs'] / 1e6:,.0f}" for r in runs)],
        ],
    )

    def stages(show: Callable[[Cost], str], *, sloped: bool) -> str:
        header = ["", *sizes, *(["slope"] if sloped else [])]
        rows = []
        for stage in (*STAGES, "all"):
            cells = ["left out" if (c := cost(run, stage)) is None else show(c) for run in runs]
            rising = slope(runs, stage)
            rows.append([stage, *cells, *(["" if rising is None else f"{rising:.2f}"] if sloped else [])])
        return report.table(header, rows)

    return "\n\n".join(
        [
            f"## {method}",
            outcome,
            "CPU seconds, and the slope of their logarithm over the rows' (1: linear, 2: quadratic):",
            stages(lambda c: f"{c.cpu:.2f}", sloped=True),
            "Wall seconds:",
            stages(lambda c: f"{c.wall:.2f}", sloped=False),
            "Peak resident memory while the stage ran, MB:",
            stages(lambda c: f"{c.peak / 1e6:,.0f}", sloped=False),
        ]
    )


WORDS = """# Seconds and memory over the table's size

The rows of the household survey (EPH, Source: INDEC), all 43 quarters together as one table of 2.4 million,
and nested random samples of them. Roles and privacy model as in `examples/policies/eph.yaml`
(quasi-identifiers agglomeration, age, sex, marital, education; sensitive health_cover; k 5, e 2, p_max
0.95, l 2); the methods with their defaults. Every size and method ran in a fresh process, one after
another.

- *intake* reads and digests a Parquet file; *validation* runs the expectation suite; *linkage* is ERR, UMR
  and SADR over the whole source with all quasi-identifiers known; *pairwise* and *whole history* are the
  comparison with one earlier release, made by the same method from every second row. Making that release,
  and imports (some seconds), are not counted. Repair, which calls the same comparison, is not run.
- A stage's peak is the process's largest resident memory while the stage ran: what earlier stages left
  behind counts too.
- Slopes are least squares on the largest four sizes. A stage of hundredths of a second has no slope worth
  reading."""


def main(arguments: Sequence[str] | None = None) -> str:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.scale", description=__doc__.split("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=None, help=f"rows (default: {SIZES})")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--quick", action="store_true", help="10,000, 30,000 and 100,000 rows")
    parser.add_argument(
        "--most-pairs",
        type=float,
        default=2e10,
        help="leave the comparison out over so many pairs of classes",
    )
    parser.add_argument("--write", action="store_true", help="also write benchmarks/results/scale.md")
    parser.add_argument("--one", nargs=3, metavar=("FILE", "METHOD", "PAIRS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        print(json.dumps(measure(Path(chosen.one[0]), chosen.one[1], float(chosen.one[2]))))
        return ""
    sizes = sorted(chosen.sizes or (QUICK if chosen.quick else SIZES))
    sections = []
    with tempfile.TemporaryDirectory() as folder:
        files = write_samples(report.datasets() / PANEL, sizes, Path(folder))
        for method in chosen.methods:
            runs = []
            for size in sizes:
                runs.append(in_a_process(files[size], method, chosen.most_pairs))
                total = cost(runs[-1], "all")
                if total is not None:
                    print(
                        f"{method}, {size:,} rows: {total.cpu:.1f} CPU s, {total.peak / 1e6:,.0f} MB",
                        file=sys.stderr,
                        flush=True,
                    )
            sections.append(tables(method, runs))
            print(sections[-1], flush=True)
    left_out = f"The comparison is left out over {chosen.most_pairs / 1e9:g} billion pairs of classes."
    text = "\n\n".join(
        [WORDS, f"{left_out} {report.measured_with('python -m benchmarks.scale --write')}", *sections]
    )
    if chosen.write:
        report.write("scale.md", text)
    return text


if __name__ == "__main__":
    main()
