"""How long exact reasoning over two releases takes, and how many people it leaves undecided.

    python -m benchmarks.worlds [--subjects N ...] [--write]

People who do not exist, ten values of which the most frequent has a third, 72 of 100 people of a release
in the other one too. *Blind*: classes of k people are drawn anew in each release. *Signatures*: everybody
is seated by the code of the product, and each release draws anew which buckets make a class. Every case
is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import process_time

import numpy as np

from benchmarks import report
from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT
from tasks.history.search import Limits
from tasks.history.seating import seated
from tasks.history.worlds import possible_values
from tasks.types import IntArray

SUBJECTS = (10_000, 100_000, 1_000_000)
WAYS = ("blind, k = 6", "blind, k = 12", "blind, k = 24", "signatures, k = 12")
SHARES = np.array([0.33, 0.2, 0.14, 0.1, 0.07, 0.06, 0.04, 0.03, 0.02, 0.01])
BOTH = 0.72  # of a release
ENOUGH = 2


@dataclass(frozen=True)
class Figures:
    """What one case took and left."""

    subjects: int
    pinned: int
    undecided: int
    calls: int
    cpu_seconds: float
    peak_mib: float


def series(n: int, way: str, seed: int = 1) -> tuple[IntArray, IntArray, IntArray]:
    """Return classes (n, 2), values (n,) and seats (n, 2) of n people, about as many in each release."""
    rng = np.random.default_rng(seed)
    k = int(way.rsplit(" ", 1)[1])
    value = rng.choice(len(SHARES), n, p=SHARES)
    seat = np.full((n, 2), -1, dtype=np.int64)
    unit = np.arange(n)
    if way.startswith("signatures"):
        attribute = (Attribute(np.arange(len(SHARES))),)
        seat = seated(value, seat, {}, attribute, ENOUGH, np.zeros((n, 1)))
        unit = _buckets(seat, rng)
    n_units = int(unit.max()) + 1
    alone = (1 - BOTH) / (2 - BOTH)
    first, second = rng.random(n_units) >= alone, np.ones(n_units, dtype=bool)
    second[first] = rng.random(int(first.sum())) >= alone / (1 - alone)
    classes = np.full((n, 2), ABSENT, dtype=np.int64)
    for column, there in enumerate((first, second)):
        mates = unit if column == 0 or not way.startswith("signatures") else _buckets(seat, rng)
        number = np.full(n_units, ABSENT, dtype=np.int64)
        here = rng.permutation(np.flatnonzero(there))
        each = n // n_units
        number[here] = np.arange(len(here)) // max(1, round(k / max(each, 1)))
        classes[:, column] = number[mates]
    return classes, value, seat


def _buckets(seat: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a bucket for each person, one a position of a signature, others each time."""
    order = np.lexsort((rng.random(len(seat)), seat[:, 1], seat[:, 0]))
    own = seat[order]
    new = np.append(True, (own[1:] != own[:-1]).any(axis=1))
    turn = np.arange(len(own)) - np.repeat(
        np.flatnonzero(new), np.diff(np.append(np.flatnonzero(new), len(own)))
    )
    found = np.empty(len(seat), dtype=np.int64)
    found[order] = np.unique(np.column_stack([own[:, 0], turn]), axis=0, return_inverse=True)[1].reshape(-1)
    return found


def case(n: int, way: str) -> Figures:
    """Decide one case and return its figures; the memory is that of this process."""
    classes, value, seat = series(n, way)
    known = (classes != ABSENT).any(axis=1)
    classes, value, seat = classes[known], value[known], seat[known]
    begun = process_time()
    found = possible_values(
        classes, value, (Attribute(np.arange(len(SHARES))),), ENOUGH, Limits(calls=0), seat=seat
    )
    taken = process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pinned, undecided = found.pinned(ENOUGH), found.undecided(ENOUGH)
    return Figures(len(value), int(pinned.sum()), int(undecided.sum()), found.calls, taken, peak)


def apart(n: int, way: str) -> Figures:
    """Decide one case in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.worlds", "--case", str(n), way]
    done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True, check=True)
    return Figures(**json.loads(done.stdout))


def page(found: Sequence[tuple[str, Figures]]) -> str:
    """Return the page."""
    rows = [
        [
            way,
            f"{one.subjects:,}",
            f"{one.pinned:,}",
            f"{one.undecided:,}",
            f"{one.cpu_seconds:.1f}",
            f"{one.peak_mib:,.0f}",
        ]
        for way, one in found
    ]
    header = ["classes", "subjects", "pinned", "undecided", "CPU seconds", "peak MiB"]
    return f"""# Exact reasoning over two releases

Ten values, the most frequent with a third; 72 of 100 people of a release are in the other one too; l =
{ENOUGH}. *Blind* classes are drawn anew in each release; with *signatures*
([methods](../../docs/methods.md#signatures)) each release draws anew which buckets make a class. Decided
without the solver: what is undecided here goes to it, many people at once and then one after the other,
until `gates.worlds.calls` are spent. Memory is that of the whole process, the data included.

{report.table(header, rows)}

{report.measured_with("python -m benchmarks.worlds --write")}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Decide all cases and print, or write, the page."""
    parser = argparse.ArgumentParser(description="Time exact reasoning over two releases.")
    parser.add_argument("--subjects", type=int, nargs="+", default=list(SUBJECTS))
    parser.add_argument("--case", nargs=2, metavar=("N", "WAY"), help="print one case as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/worlds.md")
    args = parser.parse_args(arguments)
    if args.case:
        print(json.dumps(asdict(case(int(args.case[0]), args.case[1]))))
        return 0
    found = []
    for way in WAYS:
        for n in args.subjects:
            found.append((way, apart(n, way)))
            print(way, found[-1][1], file=sys.stderr, flush=True)
    text = page(found)
    print(report.write("worlds.md", text) if args.write else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
