"""What a release costs whose series has earlier ones: the whole way through the service, by its stages.

    python -m benchmarks.second_release [--rows N ...] [--earlier M] [--kinds KIND ...] [--write]

Each table has half of the rows of the one before it. Every release runs in a process of its own, and writes
to a store. `with an income` goes to 10,000,000 rows by default: more than the survey has, which are repeated,
each with an income drawn for it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, TypeVar

import duckdb
import numpy as np
import pandas as pd
import yaml

from benchmarks import report
from benchmarks.child import apart
from benchmarks.meter import MIB, Cost, Meter, peak_memory
from release_store.store import ReleaseStore
from services.release import release
from services.runtime import Runtime, Stage
from tasks.types import Progress

R = TypeVar("R")

PANEL = Path("eph") / "eph_panel_2003q3_2014q2.parquet"
COLUMNS = "agglomeration, age, sex, relationship, marital, education, birthplace, activity, health_cover"
KINDS = {
    "without a key": "nobody is followed, and cells are compared",
    "with a key": "everybody is followed, and people are compared",
    "with an income": (
        "nobody is followed either; an income from 0 to 999,999, made up for each row, is a ninth "
        "quasi-identifier, by which most rows differ. A table of more rows than the survey has repeats them"
    ),
}
ROWS = {
    "without a key": (100_000, 300_000, 1_000_000),
    "with a key": (100_000, 300_000, 1_000_000),
    "with an income": (100_000, 1_000_000, 10_000_000),
}
MOST_INCOME = 1_000_000
CHECKS = ("pairwise", "whole_history", "totals", "person", "person_difference", "worlds")
PROMISED = 60.0
OVER_STAGES = 6.0
LEAST_ROWS = 100_000  # from which slopes are taken
PAGE = "second_release.md"
BEFORE = """Before groups were compared by trees and in batches, the repair of a second release took 42 CPU
seconds for 100,000 rows without a key and 37 with one, and the second release of 1,000,000 rows 1,596 CPU
seconds. The groups that come out are the same."""
SEED = 42


class Measured(Runtime):
    """A runtime that keeps what each stage cost."""

    def __init__(self) -> None:
        super().__init__()
        self.meter = Meter()
        self.seconds: dict[str, float] = {}

    def stage(self, stage: Stage, work: Callable[[Progress], R]) -> R:
        """Carry out one stage, and keep its cost under its name."""
        return self.meter.run(stage.name, super().stage, stage, work)

    def show_gates(self, series: str, candidate_id: str, results: Sequence[Any]) -> None:
        """Keep how long each comparison with earlier releases took, in wall seconds."""
        del series, candidate_id
        self.seconds = {each.gate: each.seconds for each in results if each.gate in CHECKS}


def policy_for(kind: str, n_earlier: int) -> dict[str, Any]:
    """Return the survey's example policy with eight quasi-identifiers, as a document.

    Beside several releases it sets no limit on suppression: a release that is held back is no earlier one.
    """
    example = report.ROOT / "examples" / "policies" / "eph.yaml"
    document: dict[str, Any] = yaml.safe_load(example.read_text(encoding="utf-8"))
    document.pop("source")
    document["expectations"] = {"missing": 0}
    document["publication"]["formats"] = ["parquet"]
    roles, gates = document["roles"], document["gates"]
    for name in ("relationship", "birthplace", "activity"):
        roles["quasi_identifiers"][name] = {"type": "categorical"}
    # The same answers stand in both tables: everybody is as old as before.
    roles["quasi_identifiers"]["age"].pop("moves", None)
    gates["worlds"] = {**gates["worlds"], "changes": 0.0}
    if kind == "with an income":
        roles["quasi_identifiers"]["income"] = {"type": "numeric", "bounds": [0, MOST_INCOME]}
    if kind != "with a key":
        roles["dropped"] = [roles.pop("key")]
        gates["worlds"] = {"unfollowed": "accept"}
        gates.pop("person")
    if n_earlier > 1:
        gates["suppression"] = {"max": 1.0}
    return document


def write_tables(panel: Path, kind: str, n_rows: int, n_tables: int, folder: Path) -> list[Path]:
    """Write samples of the panel's rows, each with half of the rows of the one before it.

    A row is a person: the panel asks some people again, whom nothing joins here.
    """
    income = f", (hash(number) % {MOST_INCOME})::INTEGER AS income" if kind == "with an income" else ""
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar=false; SET memory_limit='4GB'")
        [(n,)] = con.execute("SELECT count(*) FROM read_parquet(?)", [str(panel)]).fetchall()
        order = np.random.default_rng(SEED).permutation(n)
        files = []
        for number in range(n_tables):
            files.append(folder / f"table-{number}.parquet")
            rows = np.arange(n_rows) + number * (n_rows // 2)
            chosen = pd.DataFrame({"place": order[rows % n], "number": rows})
            con.register("chosen", chosen.sort_values(["place", "number"]))
            con.execute(
                f"COPY (SELECT 'p' || file_row_number AS person_id, {COLUMNS}{income} FROM "
                f"read_parquet('{panel}', file_row_number=true) JOIN chosen ON file_row_number = place "
                f"ORDER BY place, number) TO '{files[-1]}' (FORMAT parquet)"
            )
            con.unregister("chosen")
    return files


def measure(policy: Path, store: Path, file: Path, period: str) -> dict[str, Any]:
    """Release one table in this process, and return what each stage cost and what came of it."""
    runtime = Measured()
    outcome = release(policy, store=store, period=period, input_path=file, runtime=runtime)
    costs = runtime.meter.costs
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = max([used.ru_maxrss * 1024, peak_memory(), *(cost.peak for cost in costs.values())])
    return {
        "state": outcome.state,
        "message": outcome.message,
        "classes": outcome.n_classes,
        "published": outcome.n_published,
        "ncp": outcome.ncp,
        "repair": outcome.repair.document() if outcome.repair else {},
        "checks": runtime.seconds,
        "costs": {stage: asdict(cost) for stage, cost in costs.items()},
        "all": asdict(Cost(0.0, process_time(), peak)),
    }


def in_a_process(policy: Path, store: Path, file: Path, period: str) -> dict[str, Any]:
    """Measure in a fresh process: its seconds are those of the whole command, imports too."""
    command = [sys.executable, "-m", "benchmarks.second_release", "--one"]
    command += [str(policy), str(store), str(file), period]
    begun = perf_counter()
    done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{period} of {file.name} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["all"]["wall"] = perf_counter() - begun
    return found


def run(kind: str, n_rows: int, n_earlier: int, folder: Path) -> list[dict[str, Any]]:
    """Release a series of so many earlier tables and one more; return what each cost, the last one last."""
    files = apart(write_tables, report.datasets() / PANEL, kind, n_rows, n_earlier + 1, folder)
    policy = folder / "policy.yaml"
    policy.write_text(json.dumps(policy_for(kind, n_earlier)), encoding="utf-8")
    ReleaseStore.create(folder / "store")
    found = []
    for number, file in enumerate(files):
        period = f"{2010 + number // 4}Q{number % 4 + 1}"
        found.append({"rows": n_rows, **in_a_process(policy, folder / "store", file, period)})
        last = found[-1]
        print(
            f"{kind}, {n_rows:,} rows, release {number + 1}: {last['all']['cpu']:.1f} CPU s, "
            f"{last['all']['wall']:.1f} s, {last['all']['peak'] / 2**20:,.0f} MiB; {last['state']}",
            file=sys.stderr,
            flush=True,
        )
    return found


def total(found: dict[str, Any]) -> Cost:
    """Return what a whole release cost, imports too."""
    return Cost(**found["all"])


def slope(runs: Sequence[dict[str, Any]], seconds: Sequence[float]) -> str:
    """Return the slope of log seconds over log rows from 100,000 rows on, by least squares; 1 is linear."""
    both = zip((run["rows"] for run in runs), seconds, strict=True)
    points = [(rows, each) for rows, each in both if rows >= LEAST_ROWS and each > 0]
    if len({rows for rows, _ in points}) < 2:
        return ""
    rows, each = np.log(np.array(points, dtype=np.float64)).T
    return f"{float(np.polyfit(rows, each, 1)[0]):.2f}"


def section(kind: str, series: Sequence[Sequence[dict[str, Any]]]) -> str:
    """Return one kind's tables: what came of the last releases, and what each stage and check cost."""
    runs = [each[-1] for each in series]
    sizes = [f"{run['rows']:,}" for run in runs]
    outcome = [
        ["classes", *(f"{run['classes']:,}" for run in runs)],
        ["groups that failed", *(f"{run['repair']['failing_groups']:,}" for run in runs)],
        ["records left out", *(f"{run['rows'] - run['published']:,}" for run in runs)],
        ["NCP", *(f"{run['ncp']:.4f}" for run in runs)],
        ["came to be", *(run["state"].replace("_", " ") for run in runs)],
    ]
    lines = []
    # A table in fragments is represented fragment by fragment, within another stage.
    for stage in dict.fromkeys(stage for run in runs for stage in run["costs"]):
        seconds = [run["costs"].get(stage, {"cpu": 0.0})["cpu"] for run in runs]
        lines.append([stage, *(f"{each:.1f}" for each in seconds), slope(runs, seconds)])
    lines.append(
        [
            "whole command",
            *(f"{total(run).cpu:.1f}" for run in runs),
            slope(runs, [total(run).cpu for run in runs]),
        ]
    )
    over = [total(run).cpu - sum(one["cpu"] for one in run["costs"].values()) for run in runs]
    lines.append([f"over its stages (at most {OVER_STAGES:g})", *(f"{each:.1f}" for each in over), ""])
    lines.append(
        ["whole command of the first release", *(f"{total(each[0]).cpu:.1f}" for each in series), ""]
    )
    lines.append(["whole command, wall", *(f"{total(run).wall:.1f}" for run in runs), ""])
    lines.append(["whole command, peak MiB", *(f"{total(run).peak / MIB:,.0f}" for run in runs), ""])
    checks = [
        [name, *(f"{run['checks'].get(name, 0.0):.1f}" for run in runs)]
        for name in CHECKS
        if name in runs[0]["checks"]
    ]
    return "\n\n".join(
        [
            f"## {kind.capitalize()}",
            f"Here {KINDS[kind]}.",
            report.table(["rows", *sizes], outcome),
            f"CPU seconds, and the slope of their logarithm from {LEAST_ROWS:,} rows on (1: linear):",
            report.table(["", *sizes, "slope"], lines),
            "Wall seconds of the gates that compare with earlier releases, part of the risk gate:",
            report.table(["", *sizes], checks),
        ]
    )


WORDS = f"""# A release beside earlier ones

Rows of the household survey (EPH, Source: INDEC) as one table a quarter, each with half of the rows of the
one before it; a row is a person. Eight quasi-identifiers (agglomeration, age, sex, relationship, marital,
education, birthplace, activity), health_cover sensitive and stable, otherwise `examples/policies/eph.yaml`:
Mondrian with `history: repair`, k 5, e 2, p_max 0.95, l 2. Each release is one process that calls
`services.release.release` on a store: everything from reading the table to publishing, with the report. The
figures are those of the last release. With several earlier releases, suppression has no limit. Promised:
{PROMISED:g} s and 2 GiB for a second release of 1,000,000 rows."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure every kind and size and return the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.second_release", description="see above")
    parser.add_argument("--rows", type=int, nargs="+", help="of every kind (default: those of the results)")
    parser.add_argument("--earlier", type=int, default=1, help="releases before the one that is measured")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--write", action="store_true", help=f"also write benchmarks/results/{PAGE}")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        policy, store, file, period = chosen.one
        print(json.dumps(measure(Path(policy), Path(store), Path(file), period)))
        return ""
    sections = []
    for kind in chosen.kinds:
        series = []
        for n in sorted(chosen.rows or ROWS[kind]):
            with tempfile.TemporaryDirectory() as folder:
                series.append(run(kind, n, chosen.earlier, Path(folder)))
        sections.append(section(kind, series))
        print(sections[-1], flush=True)
    beside = f"Each was released beside {chosen.earlier} earlier."
    command = report.measured_with("python -m benchmarks.second_release --write")
    text = "\n\n".join([WORDS, f"{beside} {command}", BEFORE, *sections])
    if chosen.write:
        report.write(PAGE, text)
    return text


if __name__ == "__main__":
    main()
