"""What it costs to attack a release: ERR, UMR and SADR for up to a million attackers who know all of it.

    python -m benchmarks.gate [--attackers N ...] [--classes N] [--write]

The data are drawn by this script (seed 42): people over eight quasi-identifiers, no two alike, and two
releases of them. In one the classes are disjoint, as Mondrian makes them; in the other they are groups along
random directions, whose cells overlap. Every size is measured in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.meter import Cost, Meter
from release_store.records import EquivalenceClasses, SetCells
from tasks.geometry.space import Space
from tasks.risk.attacks.attackers import Knowledge, People
from tasks.risk.attacks.disclosure import Fitting, fitting
from tasks.risk.attacks.linkage import Links, link_people
from tasks.risk.attacks.target import Target
from tasks.types import FloatArray, IntArray

ATTACKERS = (62_500, 125_000, 250_000, 500_000, 1_000_000)
CLASSES = 50_000
KINDS = ("disjoint", "overlapping")
NUMERIC = {"age": 100, "income": 5_000, "weeks": 53}
CATEGORICAL = {"sex": 2, "marital": 5, "education": 16, "region": 40, "occupation": 12}
SENSITIVE_VALUES = 10
DIRECTIONS = 5
SEED = 42
TOGETHER, ALONE = "ERR, UMR and SADR", "ERR and UMR alone"


def people(n: int) -> People:
    """Draw n people, no two with the same quasi-identifiers, and a sensitive value for each."""
    rng = np.random.default_rng(SEED)
    found = np.zeros((0, 8), dtype=np.int64)
    while len(found) < n:
        more = 2 * (n - len(found)) + 1000
        age = rng.integers(0, NUMERIC["age"], more)
        income = np.minimum(rng.lognormal(6, 1, more), NUMERIC["income"] - 1).astype(np.int64)
        weeks = np.where(rng.random(more) < 0.6, 52, rng.integers(0, NUMERIC["weeks"], more))
        words = [np.minimum(rng.geometric(1.5 / size, more) - 1, size - 1) for size in CATEGORICAL.values()]
        found = np.unique(np.vstack([found, np.column_stack([age, income, weeks, *words])]), axis=0)
    found = rng.permutation(found)[:n]
    values = rng.integers(0, SENSITIVE_VALUES, n)
    return People(found[:, :3].astype(np.float64), found[:, 3:].astype(np.int32), {"illness": values})


def groups(where: FloatArray, n_groups: int) -> IntArray:
    """Cut records at the median of the widest column, again and again, into `n_groups`; equal values stay."""
    labels = np.zeros(len(where), dtype=np.int64)
    spans = where.max(axis=0) - where.min(axis=0)
    pending, made = [(np.arange(len(where)), n_groups)], 0
    while pending:
        rows, wanted = pending.pop()
        inside = where[rows]
        for column in np.argsort(-(inside.max(axis=0) - inside.min(axis=0)) / spans).tolist():
            cut = np.quantile(inside[:, column], (wanted // 2) / wanted, method="lower")
            left = inside[:, column] <= cut
            if wanted > 1 and 0 < left.sum() < len(rows):
                pending += [(rows[left], wanted // 2), (rows[~left], wanted - wanted // 2)]
                break
        else:
            labels[rows], made = made, made + 1
    return labels


def release(crowd: People, kind: str, n_classes: int) -> EquivalenceClasses:
    """Return the classes of a release of all people: intervals and sets of the values in them."""
    where = np.hstack([crowd.numbers, crowd.codes.astype(np.float64)])
    if kind == "overlapping":
        scaled = (where - where.mean(axis=0)) / where.std(axis=0)
        where = scaled @ np.random.default_rng(SEED).normal(size=(where.shape[1], DIRECTIONS))
    labels = groups(where, n_classes)
    n = int(labels.max()) + 1
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(n))
    intervals = {
        name: np.column_stack([f.reduceat(column[order], starts) for f in (np.minimum, np.maximum)])
        for name, column in zip(NUMERIC, crowd.numbers.T, strict=True)
    }
    sets = {}
    for (name, size), column in zip(CATEGORICAL.items(), crowd.codes.T, strict=True):
        member = np.zeros((n, size), dtype=bool)
        member[labels, column] = True
        sets[name] = SetCells(tuple(map(str, range(size))), member, np.zeros(n, dtype=bool))
    counts = np.zeros((n, SENSITIVE_VALUES), dtype=np.int64)
    np.add.at(counts, (labels, crowd.values["illness"]), 1)
    values = tuple(map(str, range(SENSITIVE_VALUES)))
    return EquivalenceClasses(
        np.bincount(labels, minlength=n), intervals, sets, {"illness": values}, {"illness": counts}
    )


def measure(kind: str, n_attackers: int, n_classes: int, n_people: int) -> dict[str, Any]:
    """Attack one release with the first `n_attackers` people; making both is not counted."""
    crowd = people(n_people)
    classes = release(crowd, kind, n_classes)
    domains = {name: tuple(map(str, range(size))) for name, size in CATEGORICAL.items()}
    space = Space(tuple(NUMERIC), domains, {"illness": classes.sensitive_values["illness"]})
    table = crowd.take(np.arange(n_attackers))

    def never() -> Any:
        raise AssertionError("no attacker knows a sensitive value")

    meter = Meter()
    target = Target(classes, space, crowd, never)
    what = Knowledge(tuple(range(len(NUMERIC))), tuple(range(len(CATEGORICAL))))
    found: Fitting = meter.run(TOGETHER, fitting, target, table, table, what)
    # What an attacker's table with errors costs, of which SADR is not asked.
    links: Links = meter.run(ALONE, link_people, table.numbers, table.codes, target.cells, classes.size)
    assert np.array_equal(links.candidates, found.links.candidates)
    return {
        "attackers": n_attackers,
        "classes": classes.n_classes,
        "candidates": float(links.candidates.mean()),
        "err": float((1 / links.smallest).mean()),
        "umr": float((links.candidates == 1).mean()),
        "sadr": float(found.guesses["illness"].share.mean()),
        "costs": {name: asdict(cost) for name, cost in meter.costs.items()},
    }


def in_own_process(kind: str, n_attackers: int, n_classes: int, n_people: int) -> dict[str, Any]:
    """Measure in a fresh process, so that one size's memory is not another's."""
    order = [kind, str(n_attackers), str(n_classes), str(n_people)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gate", "--measure", *order],
        capture_output=True,
        text=True,
        check=True,
        cwd=report.ROOT,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def tables(runs: Sequence[dict[str, Any]]) -> str:
    """Return what was found and what it cost, one column a size."""
    costs = {name: [Cost(**run["costs"][name]) for run in runs] for name in runs[0]["costs"]}
    peaks = [max(cost["peak"] for cost in run["costs"].values()) for run in runs]
    each = [1e6 * cost.cpu / run["attackers"] for cost, run in zip(costs[TOGETHER], runs, strict=True)]
    rows = [
        ["classes", *(f"{run['classes']:,}" for run in runs)],
        ["candidate classes a person", *(f"{run['candidates']:.2f}" for run in runs)],
        ["ERR", *(f"{run['err']:.4f}" for run in runs)],
        ["UMR", *(f"{run['umr']:.4f}" for run in runs)],
        ["SADR, mean", *(f"{run['sadr']:.4f}" for run in runs)],
        *([f"{name}, CPU s", *(f"{cost.cpu:.2f}" for cost in found)] for name, found in costs.items()),
        *([f"{name}, wall s", *(f"{cost.wall:.2f}" for cost in found)] for name, found in costs.items()),
        ["CPU µs an attacker, all three", *(f"{micro:.1f}" for micro in each)],
        ["peak, MiB", *(f"{peak / 2**20:,.0f}" for peak in peaks)],
    ]
    return report.table(["attackers", *(f"{run['attackers']:,}" for run in runs)], rows)


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure every size of both kinds, print the tables, and write them where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--attackers", type=int, nargs="+", default=list(ATTACKERS))
    parser.add_argument("--classes", type=int, default=CLASSES)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/gate.md")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.measure:
        kind, *numbers = given.measure
        print(json.dumps(measure(kind, *map(int, numbers))))
        return ""
    n_people = max(given.attackers)
    parts = [INTRODUCTION, report.measured_with("python -m benchmarks.gate --write")]
    for kind in KINDS:
        runs = [in_own_process(kind, n, given.classes, n_people) for n in given.attackers]
        parts += [f"## {kind.capitalize()} classes", tables(runs)]
    text = "\n\n".join(parts)
    print(text)
    if given.write:
        report.write("gate.md", text)
    return text


INTRODUCTION = f"""# Attacking a release

ERR, UMR and SADR for attackers who know all eight quasi-identifiers (three numbers of 100, 5,000 and 53
values, five categories of 2 to 40) and guess one sensitive attribute of {SENSITIVE_VALUES} values. No two
attackers are alike, so nothing is saved by counting equal ones once. The data are drawn, and say nothing of a
real release's risk. In the disjoint release every person lies in one class; in the overlapping one, of groups
along {DIRECTIONS} random directions, in hundreds.

- *{TOGETHER}* are found together, in one look at every attacker; *{ALONE}* is what a table
  with errors costs, of which the gates `err` and `umr` ask no more. Each is a whole: they do not add up.
- The peak is the process's largest resident memory while it attacked: the people and the classes, made
  before, count too.
- Linear cost is a constant time an attacker; few attackers pay for the tables of bits that all share."""


if __name__ == "__main__":
    main()
