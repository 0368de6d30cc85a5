"""How results are written: Markdown tables, and in words what they were measured with."""

from __future__ import annotations

import csv
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DAY = "measured on"
LIBRARIES = ("numpy", "pandas", "duckdb", "torch", "great-expectations")


def datasets() -> Path:
    """Return the folder of the public data sets."""
    return Path(os.environ.get("RELEASEGATE_DATASETS", ROOT.parent / "shared" / "datasets"))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table: the first column to the left, the others to the right."""
    widths = [max(3, *(len(row[i]) for row in [header, *rows])) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * widths[0], *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


def kept_rows(name: str, header: Sequence[str], rows: Sequence[Sequence[str]], keys: int) -> list[list[str]]:
    """Add rows to a CSV file beside the results, and return all its rows, each with the day it was measured.

    A row takes the place of one that is equal in the first `keys` cells.
    """
    path = RESULTS / name
    before = list(csv.reader(path.read_text(encoding="utf-8").splitlines())) if path.exists() else []
    first = [*header, DAY]
    found = {tuple(row[:keys]): row for row in (before[1:] if before[:1] == [first] else [])}
    found |= {tuple(row[:keys]): [*row, f"{datetime.now(UTC):%Y-%m-%d}"] for row in rows}
    RESULTS.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([first, *found.values()])
    return list(found.values())


def measured_with(command: str) -> str:
    """Return the paragraph that names date, machine, software and command."""
    memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    libraries = ", ".join(f"{name} {version(name).split('+')[0]}" for name in LIBRARIES)
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} with `{command}`\n"
        f"on a shared machine of {os.cpu_count()} cores and {memory} GB of memory, without a GPU;\n"
        f"Python {platform.python_version()}, {libraries}.\n"
        "CPU seconds are the sum over all cores. Other processes on the machine lengthen wall seconds."
    )


def write(name: str, text: str) -> Path:
    """Write a result beside the others and return its path."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / name
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return path
