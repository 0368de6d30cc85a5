"""How long a large store takes to list and to verify: 10,000 releases and 1,000,000 events.

    python -m benchmarks.store [--releases N] [--events N] [--runs N] [--folder DIR] [--write]

Makes the store in bulk (`benchmarks/synthetic_store.py`), then times the commands `history` and `verify`,
each in a process of its own from its start to its end. With --folder the store is kept there and used again.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

from benchmarks import report, synthetic_store
from benchmarks.child import Run, run_child
from benchmarks.synthetic_store import PER_SERIES
from release_store.db.connection import DATABASE

COMMANDS = (("history",), ("history", "series000"), ("history", "--json"), ("verify",))
PROMISED = {"history": 1.0, "verify": 30.0}


def measure(store: Path, command: Sequence[str]) -> Run:
    """Run one command on the store to its end, and return what it cost. Raises RuntimeError if it fails."""
    return run_child([sys.executable, "-m", "cli", "--store", str(store), *command])[0]


def tables(runs: dict[str, list[Run]], promised: Mapping[str, float]) -> str:
    """Return one table: the median and the range of each command's runs, and what is promised."""
    rows = []
    for command, found in runs.items():
        wall, cpu = [one.wall for one in found], [one.cpu for one in found]
        limit = promised.get(command)
        rows.append(
            [
                f"`{command}`",
                str(len(found)),
                _spread(wall),
                _spread(cpu),
                f"{max(one.peak for one in found) / 2**20:,.0f}",
                f"{limit:g}" if limit is not None else "",
            ]
        )
    header = ["command", "runs", "wall seconds", "CPU seconds", "peak memory, MB", "promised, seconds"]
    return report.table(header, rows)


def _spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main(arguments: Sequence[str] | None = None) -> str:
    """Make the store, time the commands, and return the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    parser.add_argument("--releases", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep the store here, and use one that is here already")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/store.md")
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = folder / "store"
        begun = perf_counter()
        if not (store / DATABASE).exists():
            # In a process of its own: a command's peak would hold what this process has held.
            maker = multiprocessing.get_context("spawn").Process(
                target=synthetic_store.make, args=(store, chosen.releases, chosen.events)
            )
            maker.start()
            maker.join()
            if maker.exitcode:
                raise RuntimeError("the store could not be made")
            print(f"made in {perf_counter() - begun:.0f} s", flush=True)
        runs: dict[str, list[Run]] = {" ".join(command): [] for command in COMMANDS}
        loads = []
        for _ in range(chosen.runs):
            for command in COMMANDS:
                runs[" ".join(command)].append(measure(store, command))
                loads.append(os.getloadavg()[0])
        size = (store / DATABASE).stat().st_size / 2**20
    command_line = "python -m benchmarks.store --write"
    what = (
        f"A made-up store of {chosen.releases:,} releases in series of {PER_SERIES}, as many\n"
        f"blocked candidates, and {chosen.events:,} events, most of them checked inputs; its database\n"
        f"has {size:,.0f} MB. Every release has thirteen gates, an approval, two equivalence classes,\n"
        "figures, five files and a checkpoint that signs the root of the log's tree. Commands are timed as\n"
        "processes, from start to end: the median, and in brackets the least and the most. The machine's\n"
        "load average, of which a command alone makes one, "
        f"was {min(loads):.1f} to {max(loads):.1f}."
    )
    heading = "# Listing and verifying a large store"
    text = "\n\n".join([heading, what, report.measured_with(command_line), tables(runs, PROMISED)])
    print(text)
    if chosen.write:
        report.write("store.md", text)
    return text


if __name__ == "__main__":
    main()
