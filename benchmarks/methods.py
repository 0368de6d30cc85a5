"""What every method costs: CPU seconds and memory on the authors' sample and on growing parts of Adult.

python -m benchmarks.methods --write
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from math import log
from statistics import median
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.meter import MIB, Meter
from policy.load import load_policy
from policy.model import Method, ReleasePolicy
from services.pipeline import make_rows
from tasks.intake.read import read_table
from tasks.methods.presets import PRESETS
from tasks.methods.registry import bound_method, methods
from tasks.representation.autoencoder import encode
from tasks.types import SourceTable

SAMPLE = "the authors' sample of 10,000"
SIZES = (4_000, 8_000, 16_000, 32_561)
STAGES = ("representation", "partitioning", "aggregation", "recoding")
ROOT = report.ROOT


def source_of(name: str, rows: int | None) -> tuple[ReleasePolicy, SourceTable]:
    """Return the authors' sample (`sample`) or Adult, or its first rows, with its policy."""
    if name == "sample":
        policy = load_policy(ROOT / "benchmarks" / "papers" / "policies" / "s0_adult.yaml")
        file = report.datasets() / "ae_lrhma_samples" / "adult_10k.csv"
    else:
        policy = load_policy(ROOT / "examples" / "policies" / "adult.yaml")
        file = report.datasets() / "adult" / "adult_train.csv"
    source = read_table(policy, input_path=file, period="", base=ROOT)
    if rows is not None:
        source = replace(source, frame=source.frame.iloc[:rows].reset_index(drop=True))
    return policy, source


def measure(method: str, name: str, rows: int | None) -> dict[str, Any]:
    """Return the CPU seconds of each stage of one method in this process, and the peak memory in MiB."""
    import sklearn.cluster
    import sklearn.neighbors  # noqa: F401 -- imports are not counted

    encode(np.zeros((200, 2)), epochs=1)  # PyTorch imports most of itself at the first training

    policy, source = source_of(name, rows)
    chosen = Method(name=method, recoding=methods()[method].recoding)
    policy = policy.model_copy(update={"method": chosen})
    meter = Meter()
    table = make_rows(source, policy, bound_method(policy), [], "benchmark", stages=meter).table
    cpu = {stage: meter.costs[stage].cpu for stage in STAGES}
    total = meter.total(STAGES)
    return {**cpu, "cpu": total.cpu, "wall": total.wall, "peak": total.peak / MIB, "rows": table.n_records}


def measured(method: str, name: str, rows: int | None, runs: int) -> dict[str, float]:
    """Return the medians over runs, each in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.methods", "--one", method, name, str(rows or 0)]
    found = []
    for _ in range(runs):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{method} on {name} ended with {done.returncode}: {done.stderr[-500:]}")
        found.append(json.loads(done.stdout))
    return {key: median(each[key] for each in found) for key in found[0]}


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return how the seconds grow between the last two sizes: 1 for linear, 2 for quadratic."""
    return log(max(seconds[-1], 1e-3) / max(seconds[-2], 1e-3)) / log(sizes[-1] / sizes[-2])


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure, print and return the tables."""
    names = [method.name for method in PRESETS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods", description=__doc__)
    parser.add_argument("--methods", nargs="+", choices=names, default=names)
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES], help="rows of Adult")
    parser.add_argument("--sample-rows", type=int, help="the sample's first rows only")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/methods.md")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        method, name, rows = chosen.one
        text = json.dumps(measure(method, name, int(rows) or None))
        print(text)
        return text
    first, second = [], []
    for method in chosen.methods:
        sample = measured(method, "sample", chosen.sample_rows, chosen.runs)
        costs = [sample[stage] for stage in (*STAGES, "cpu")]
        first.append([method, *(f"{cost:.2f}" for cost in costs), f"{sample['wall']:.1f}"])
        grown = [measured(method, "adult", rows, chosen.runs) for rows in chosen.sizes]
        row = [method, *(f"{each['cpu']:.2f}" for each in grown)]
        if len(grown) > 1:
            row.append(f"{exponent(chosen.sizes, [each['cpu'] for each in grown]):.2f}")
        second.append([*row, f"{grown[-1]['peak']:.0f}"])
        print(first[-1], second[-1], flush=True, file=sys.stderr)
    sizes = [f"{rows:,} rows" for rows in chosen.sizes]
    growth = ["exponent"] if len(sizes) > 1 else []
    text = "\n\n".join(
        [
            WORDS,
            report.measured_with("python -m benchmarks.methods --write"),
            f"## {SAMPLE.capitalize()}, CPU seconds",
            report.table(["method", *STAGES, "all", "wall"], first),
            "## Adult, CPU seconds of all four stages",
            report.table(["method", *sizes, *growth, "MiB at the largest"], second),
        ]
    )
    print(text)
    if chosen.write:
        report.write("methods.md", text)
    return text


WORDS = """# What the methods cost

The stages from the prepared table to the published rows, k 8, each method with its defaults and its own
recoding, each run in a process of its own; medians. The aggregation counts the merging of groups that break
the model. Training of the autoencoder is the representation of the methods that have one. Imports (PyTorch
takes seconds) are not counted.

The exponent is the growth between the last two sizes: 1 is linear, n log n is about 1.1 there, 2 quadratic.
`mdav`, `ke-mdav` and the manifold methods grow with the square of a block: tables of over 20,000 records
(manifold methods: 10,000) are cut into blocks, so that their last step can be less than linear."""


if __name__ == "__main__":
    main()
