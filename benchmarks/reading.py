"""What reading a table costs, in CPU seconds of this process and of those that it starts.

    python -m benchmarks.reading [--kind csv|sqlite|xlsx] [--rows N] [--query] [--runs N]

A run's own first step alone: a made-up table of a key, three columns that are read and one that is dropped.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd

from policy.load import parse_policy
from tasks.intake.read import read_table

POLICY = """
series: reading
roles:
  key: id
  quasi_identifiers: {age: {type: integer, bounds: [0, 120]}, city: {type: categorical}}
  sensitive: {disease: {stability: stable}}
  dropped: [note]
"""


def write(path: Path, rows: int) -> None:
    """Write a table of so many rows, in the format that the file's name says."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "id": [f"P{number:09d}" for number in range(rows)],
            "age": rng.integers(0, 99, rows),
            "city": rng.choice([f"city {number}" for number in range(200)], rows),
            "disease": rng.choice([f"I{number}" for number in range(40)], rows),
            "note": rng.integers(0, 10**9, rows).astype(str),
        }
    )
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".xlsx":
        table.to_excel(path, index=False)
    else:
        with closing(sqlite3.connect(path)) as connection:
            table.to_sql("t", connection, index=False)


def cost(path: Path, *, query: bool) -> float:
    """Read a table, and return the CPU seconds of all processes."""
    source = "source: {query: select * from input}\n" if query else ""
    policy = parse_policy(POLICY + source, path.parent / "reading.yaml")
    before = _cpu()
    read_table(policy, input_path=path, period="1", base=path.parent)
    return _cpu() - before


def _cpu() -> float:
    found = [resource.getrusage(kind) for kind in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a line a run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reading")
    parser.add_argument("--kind", choices=["csv", "sqlite", "xlsx"], default="csv")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--query", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{chosen.kind}"
        write(path, chosen.rows)
        for _ in range(chosen.runs):
            cpu = cost(path, query=chosen.query)
            print(f"{chosen.rows:,} rows of {chosen.kind}: {cpu:.2f} CPU s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
