"""The privacy models beside pycanon's, on the same published rows, and why they differ where they do.

    python -m benchmarks.peers [--folder DIR] [--tables NAME ...] [--write]

pycanon asks for another NumPy than this program, so it is installed from the package index into an
environment of its own, in a temporary folder or in --folder, where it is used again.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import report
from benchmarks.meter import Meter
from benchmarks.pipeline import make
from policy.load import load_policy, parse_policy
from policy.model import Method, ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.intake.read import read_table
from tasks.privacy.closeness import equal_distances, ordered_distances
from tasks.privacy.diversity import tails
from tasks.risk.gates.models.checks import numbers_of
from tasks.risk.gates.models.classes import largest_shares
from tasks.risk.gates.models.diversity import distinct_values, effective_values
from tasks.types import IntArray

PEER = ("pycanon==1.3.6", "numpy==2.0.2")
SCRIPT = Path(__file__).with_name("peers_pycanon.py")
REAL = {"adult": "adult/adult_train.csv", "bank": "bank_marketing/bank_full.csv"}
ROUNDING = 1e-9
SYNTHETIC_ROWS = 3000
SYNTHETIC = """
series: synthetic
roles:
  quasi_identifiers:
    age: {type: integer, bounds: [0, 99]}
    income: {type: numeric, bounds: [0, 1000]}
    region: {type: categorical, values: [north, east, south, west]}
  sensitive:
    diagnosis: {stability: stable}
    visits: {stability: transient, type: numeric}
privacy: {k: 5, e: 2}
method: {name: mondrian}
"""


@dataclass(frozen=True)
class Table:
    """One published table: its file, its columns, and the classes that were read back from it."""

    name: str
    file: Path
    policy: ReleasePolicy
    classes: EquivalenceClasses

    def question(self) -> dict[str, object]:
        """What pycanon is asked."""
        known = list(self.policy.cell_columns())
        sensitive = list(self.policy.roles.sensitive)
        return {"file": str(self.file), "quasi_identifiers": known, "sensitive": sensitive}


@dataclass(frozen=True)
class Measure:
    """A measure as this program takes it, and as pycanon does: both of a table's sensitive attribute."""

    ours: Callable[[Table, str], float]
    as_theirs: Callable[[Table, str], float] | None = None


@dataclass(frozen=True)
class Row:
    """One measure of both; `read_alike` is ours where it is taken as pycanon takes it."""

    attribute: str
    measure: str
    ours: float
    theirs: float
    read_alike: float

    @property
    def word(self) -> str:
        """Whether the two agree, or pycanon's reading of the measure explains why not, or nothing does."""
        if _equal(self.ours, self.theirs):
            return "equal"
        return "another reading" if _equal(self.read_alike, self.theirs) else "UNEXPLAINED"


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= ROUNDING * max(1.0, abs(one), abs(other))


def _least_l(table: Table, name: str) -> int:
    return int(distinct_values(table.classes, name).min())


def _c(table: Table, name: str) -> float:
    """Return the bound of c: the classes are recursive (c,l)-diverse for every c over it, l as pycanon's."""
    first, tail = tails(table.classes.counts[name], _least_l(table, name))
    return float((first / tail).max())


def c_as_pycanon(counts: IntArray, l_least: int) -> float:
    """Return c of counts (n_classes, n_values) as pycanon 1.3.6 does: rarest first, the next whole number."""
    found = []
    for line in counts:
        rising = np.sort(line[line > 0])
        found.append(math.floor(rising[0] / rising[l_least - 1 :].sum() + 1))
    return float(max(found))


def _t(table: Table, name: str) -> float:
    counts = table.classes.counts[name]
    if table.policy.roles.sensitive[name].type == "numeric":
        numbers = numbers_of(table.classes, name, table.policy)
        return float(ordered_distances(counts, counts.sum(axis=0), numbers).max())
    return float(equal_distances(counts, counts.sum(axis=0)).max())


MEASURES = {
    "k": Measure(lambda table, _: float(table.classes.size.min())),
    "alpha of (alpha,k)": Measure(lambda table, name: float(largest_shares(table.classes, name).max())),
    "k of (alpha,k)": Measure(lambda table, _: float(table.classes.size.min())),
    "distinct l": Measure(_least_l),
    "entropy l": Measure(
        lambda table, name: float(effective_values(table.classes, name).min()),
        lambda table, name: float(int(effective_values(table.classes, name).min() + ROUNDING)),
    ),
    "l of recursive (c,l)": Measure(_least_l),
    "c of recursive (c,l)": Measure(
        _c, lambda table, name: c_as_pycanon(table.classes.counts[name], _least_l(table, name))
    ),
    "t": Measure(_t),
}


def compared(table: Table, answer: dict[str, dict[str, float | None]]) -> list[Row]:
    """Lay pycanon's answer beside our measures; what it does not answer is not a number."""
    rows = []
    for name in table.policy.roles.sensitive:
        for title, measure in MEASURES.items():
            ours = measure.ours(table, name)
            alike = measure.as_theirs(table, name) if measure.as_theirs else ours
            theirs = answer[name][title]
            rows.append(Row(name, title, ours, math.nan if theirs is None else theirs, alike))
    return rows


def synthetic(folder: Path) -> Path:
    """Write a made-up table: diagnoses that go with age, and visits that go with income; seed 42."""
    draw = np.random.default_rng(42)
    age = draw.integers(0, 100, SYNTHETIC_ROWS)
    income = draw.gamma(2.0, 100.0, SYNTHETIC_ROWS).clip(0, 1000).round(1)
    ill = np.where(draw.random(SYNTHETIC_ROWS) < age / 150, "heart", "none")
    other = draw.choice(["none", "asthma", "diabetes", "injury"], SYNTHETIC_ROWS, p=[0.5, 0.2, 0.2, 0.1])
    frame = pd.DataFrame(
        {
            "age": age,
            "income": income,
            "region": draw.choice(["north", "east", "south", "west"], SYNTHETIC_ROWS),
            "diagnosis": np.where(ill == "heart", ill, other),
            "visits": draw.poisson(1 + 3 * income / 1000),
        }
    )
    file = folder / "synthetic.csv"
    frame.to_csv(file, index=False)
    return file


def published(name: str, folder: Path) -> Table:
    """Publish one table by Mondrian, and read its classes back."""
    if name == "synthetic":
        policy, file = parse_policy(SYNTHETIC, Path("synthetic.yaml")), synthetic(folder)
    else:
        policy = load_policy(report.ROOT / "examples" / "policies" / f"{name}.yaml")
        policy = policy.model_copy(update={"method": Method(name="mondrian")})
        file = report.datasets() / REAL[name]
    source = read_table(policy, input_path=file, period="", base=folder)
    made = make(source, policy, folder / name, Meter())
    return Table(name, made.candidate.folder / "data.csv", policy, made.classes)


def environment(folder: Path) -> Path:
    """Return the Python of an environment with pycanon; made where there is none. Raises RuntimeError."""
    python = folder / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)], "")
    _run([str(python), "-m", "pip", "install", "--quiet", *PEER], "")
    return python


def ask(python: Path, tables: Sequence[Table]) -> list[dict[str, dict[str, float | None]]]:
    """Return pycanon's measures of the tables. Raises RuntimeError with its last words if it fails."""
    answer = _run([str(python), str(SCRIPT)], json.dumps([table.question() for table in tables]))
    found: list[dict[str, dict[str, float | None]]] = json.loads(answer)
    return found


def _run(command: Sequence[str], question: str) -> str:
    done = subprocess.run(command, input=question, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])}: {done.stderr[-1000:]}")
    return done.stdout


def told(table: Table, rows: Sequence[Row]) -> str:
    """Return one table's section: every measure of both, their difference, and whether it is explained."""
    lines = [
        [
            f"{row.attribute}: {row.measure}",
            f"{row.ours:.6g}",
            f"{row.theirs:.6g}",
            f"{row.ours - row.theirs:+.3g}",
            f"{row.read_alike:.6g}",
            row.word,
        ]
        for row in rows
    ]
    header = ["measure", "ours", "pycanon", "difference", "ours, in its reading", ""]
    n_rows, n_classes = int(table.classes.size.sum()), table.classes.n_classes
    return f"## {table.name}\n\n{n_rows:,} published rows in {n_classes:,} classes.\n\n" + report.table(
        header, lines
    )


WHY = """## Why they differ

Each reading below was found in the source of pycanon 1.3.6 (`anonymity/_l_diversity.py`) and tried: the
column "ours, in its reading" is computed here from the same classes.

- **entropy l**: pycanon takes exp of the least entropy as we do, and cuts off what stands behind the point:
  a class of entropy ln 2.9 has l = 2 there and 2.9 here.
- **c of recursive (c,l)**: the definition (Machanavajjhala et al., 2007) sorts a class's values by how often
  they stand in it, the most frequent first, and asks for r_1 < c (r_l + ... + r_m). pycanon sorts them the
  other way, so that its r_1 is the rarest value and its tail holds the most frequent one, and gives the next
  whole number. Ours is the bound that c must be over; where it is the larger figure, the classes do not
  meet the definition at pycanon's c.

The others are the same measure. pycanon takes the columns of each quasi-identifier (`age_min`, `age_max`) as
labels, which makes the same classes. Both take t against all published rows, and numbers by the ordered
distance; no sensitive number is missing in these tables.

Not laid side by side: p_max, which is the alpha of (alpha,k); (k,e), k^m-anonymity and LKC-privacy, which
pycanon does not have; beta-likeness and delta-disclosure, which are not here."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Publish the tables, ask pycanon, and return the report.

    Raises RuntimeError where nothing explains a difference.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep pycanon's environment here, and use one that is")
    parser.add_argument(
        "--tables", nargs="+", choices=["synthetic", *REAL], help="default: all that are there"
    )
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/peers.md")
    chosen = parser.parse_args(arguments)
    there = [name for name, file in REAL.items() if (report.datasets() / file).exists()]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tables = [published(name, folder) for name in chosen.tables or ["synthetic", *there]]
        python = environment(chosen.folder or folder / "environment")
        found = [compared(t, answer) for t, answer in zip(tables, ask(python, tables), strict=True)]
    parts = [told(table, rows) for table, rows in zip(tables, found, strict=True)]
    what = (
        "Tables published by `mondrian`, their classes read back from the staged rows; each model's figure\n"
        f"by this program beside that of {PEER[0].replace('==', ' ')} on the same rows, each sensitive\n"
        "attribute by itself. `synthetic` is made up by the benchmark (seed 42); the others are public."
    )
    heading = "# The privacy models beside pycanon's"
    measured = report.measured_with("python -m benchmarks.peers --write")
    text = "\n\n".join([heading, what, measured, *parts, WHY])
    print(text)
    if unexplained := sorted({row.measure for rows in found for row in rows if row.word == "UNEXPLAINED"}):
        raise RuntimeError(f"nothing explains the difference of {', '.join(unexplained)}")
    if chosen.write:
        report.write("peers.md", text)
    return text


if __name__ == "__main__":
    main()
