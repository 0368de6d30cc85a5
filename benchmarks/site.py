"""The site of a large store: what it takes to build it, and how soon its pages open.

python -m benchmarks.site --releases 1000 --write
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import report, synthetic_store
from benchmarks.page_times import page_times
from benchmarks.store import measure, tables
from release_store.db.connection import DATABASE

PROMISED = {"report": 30}  # for 1,000 releases


def main(arguments: Sequence[str] | None = None) -> str:
    """Make the store, build its site as often as asked, and return the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.site", description=__doc__)
    parser.add_argument("--releases", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--per-series", type=int, default=synthetic_store.PER_SERIES)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the store here, and use one that is here already")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/site*.md")
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = chosen.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store, out = folder / "store", folder / "site"
        if not (store / DATABASE).exists():
            synthetic_store.make(store, chosen.releases, chosen.events, chosen.per_series)
        loads, runs = [], []
        for _ in range(chosen.runs):
            runs.append(measure(store, ("report", "--out", str(out))))
            loads.append(os.getloadavg()[0])
        opened = page_times(
            out,
            (
                "index.html",
                "series/series000/index.html",
                "series/series000/series000-p001-r1.html",
                "log.html",
                "diff.html#a=series000-p001-r1&b=series000-p002-r1",
            ),
        )
        pages = list(out.rglob("*.html"))
        size = sum(one.stat().st_size for one in out.rglob("*") if one.is_file()) / 2**20
    what = (
        f"A made-up store of {chosen.releases:,} releases, as many blocked candidates\n"
        f"and {chosen.events:,} events gives {len(pages):,} pages, {size:,.0f} MB with their data.\n"
        "The machine's load average, of which a command alone makes one, was\n"
        f"{min(loads):.1f} to {max(loads):.1f}."
    )
    how = (
        "In Chromium without a window, from the disk, each page five times: the median, and in brackets\n"
        "the least and the most, counted from the beginning of the navigation. The series has\n"
        f"{chosen.per_series:,} releases."
    )
    usual = chosen.per_series == synthetic_store.PER_SERIES
    choice = "" if usual else f" --per-series {chosen.per_series}"
    command = f"python -m benchmarks.site{choice} --write"
    name = "site.md" if usual else f"site_{chosen.per_series}.md"
    text = "\n\n".join(
        [
            f"# Building the site of a large store, {chosen.per_series:,} releases a series",
            what,
            report.measured_with(command),
            tables({"report": runs}, PROMISED),
            "## How soon its pages open",
            how,
            opened,
        ]
    )
    print(text)
    if chosen.write:
        report.write(name, text)
    return text


if __name__ == "__main__":
    main()
