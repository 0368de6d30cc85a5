"""An exact attacker of a series: what the published files and who is in which class leave to everybody.

    python -m tests.reference.exact STORE [--series NAME] [--seconds 10]

reads the releases of each series that follows people by a key, oldest first, and says after each of them of
how many people a stable attribute has under `privacy.l` possible values for certain, and of how many the
solver (HiGHS, through scipy) did not decide in time. It shares no code with the gates: classes are read from
the published Parquet files, people from the kept hashes, and every component is one integer program. Where
the key of people is at hand, the values that the store keeps sealed are one world that fits, and the solver
looks near each person only (`near_worlds`): series of any size. It knows the stable attributes that all
releases of a series have, and the kept columns in which nobody's value changed; not values that may change.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, lil_array
from scipy.sparse.csgraph import connected_components

from release_store.store import ReleaseStore
from tests.reference.near_worlds import values_left
from tests.reference.published_series import (
    History,
    NotJudged,
    Published,
    Rows,
    Verdict,
    history_of,
    n_values,
    series_of,
)


def judged(releases: Sequence[Published], l_least: int, seconds: float, jobs: int = 1) -> Verdict:
    """Say who is pinned by all of these releases together."""
    history = history_of(releases)
    states = (
        _values_left(history, releases, l_least, seconds)
        if history.world is None
        else values_left(history, l_least, seconds, releases[-1].width, releases[-1].n_kept, jobs)
    )
    counted = {
        state: sum(history.size[place] for place, each in states.items() if each == state)
        for state in ("pinned", "undecided")
    }
    return Verdict(releases[-1].name, sum(history.size), counted["pinned"], counted["undecided"])


def _values_left(
    history: History, releases: Sequence[Published], l_least: int, seconds: float
) -> dict[int, str]:
    """Return of which cohorts, by place, some attribute is pinned or undecided, by whole components."""
    label = _components(history.cohorts)
    size = Counter(dict(zip(history.cohorts, history.size, strict=True)))
    place = {cohort: i for i, cohort in enumerate(history.cohorts)}
    found = {}
    for component in range(int(label.max()) + 1):
        own = [history.cohorts[i] for i in np.flatnonzero(label == component)]
        for cohort, state in _component(own, size, releases, l_least, seconds).items():
            found[place[cohort]] = state
    return found


def _components(cohorts: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Return which cohorts are linked by classes in common."""
    numbers: dict[tuple[int, int], int] = {}
    edges = [
        (i, numbers.setdefault((release, number), len(numbers)))
        for i, cohort in enumerate(cohorts)
        for release, number in enumerate(cohort)
        if number >= 0
    ]
    left, right = np.array([i for i, _ in edges]), np.array([j for _, j in edges]) + len(cohorts)
    n = len(cohorts) + len(numbers)
    graph = csr_array((np.ones(len(edges)), (left, right)), (n, n))
    return np.unique(connected_components(graph, directed=False)[1][: len(cohorts)], return_inverse=True)[1]


@dataclass(frozen=True)
class Program:
    """How many members of a cohort have a tuple: a variable of each cohort and tuple that it may have."""

    variables: list[tuple[int, Rows]]
    rule: LinearConstraint


def _program(
    cohorts: Sequence[tuple[int, ...]], size: Counter[tuple[int, ...]], releases: Sequence[Published]
) -> Program:
    classes = sorted({(r, number) for cohort in cohorts for r, number in enumerate(cohort) if number >= 0})
    counts = {(r, number): Counter(releases[r].rows[number]) for r, number in classes}
    variables: list[tuple[int, Rows]] = []
    place: dict[tuple[tuple[int, int], Rows], list[int]] = defaultdict(list)
    for i, cohort in enumerate(cohorts):
        own = [(r, number) for r, number in enumerate(cohort) if number >= 0]
        for row in sorted(set.intersection(*(set(counts[one]) for one in own))):
            for one in own:
                place[one, row].append(len(variables))
            variables.append((i, row))
    lines = [(one, row, n) for one in classes for row, n in sorted(counts[one].items())]
    equations = lil_array((len(cohorts) + len(lines), len(variables)))
    for v, (i, _) in enumerate(variables):
        equations[i, v] = 1
    low = [size[cohort] for cohort in cohorts]
    high = [*low]
    for line, (one, row, n) in enumerate(lines, len(cohorts)):
        equations[line, place[one, row]] = 1
        # Rows of nobody who can be followed may have any of the values.
        strangers = counts[one].total() - sum(size[cohort] for cohort in cohorts if cohort[one[0]] == one[1])
        low.append(max(n - strangers, 0))
        high.append(n)
    return Program(variables, LinearConstraint(equations.tocsr(), low, high))


def _component(
    cohorts: Sequence[tuple[int, ...]],
    size: Counter[tuple[int, ...]],
    releases: Sequence[Published],
    l_least: int,
    seconds: float,
) -> dict[tuple[int, ...], str]:
    """Return for each cohort whether each attribute keeps l values, by worlds of the whole component."""
    program = _program(cohorts, size, releases)
    seen: list[set[Rows]] = [set() for _ in cohorts]
    state = dict.fromkeys(cohorts, "open")
    attributes = range(len(program.variables[0][1]) - releases[-1].n_kept)
    for i, cohort in enumerate(cohorts):
        for attribute in attributes:
            known = {row[attribute] for row in seen[i]}
            while state[cohort] == "open" and n_values(known, releases[-1].width(attribute)) < l_least:
                wished = [at == i and row[attribute] not in known for at, row in program.variables]
                world = _world(program.rule, np.array(wished), seconds)
                if isinstance(world, str):
                    state[cohort] = world
                    break
                for v in np.flatnonzero(world):
                    at, row = program.variables[v]
                    seen[at].add(row)
                known = {row[attribute] for row in seen[i]}
    return state


def _world(rule: LinearConstraint, wished: np.ndarray, seconds: float) -> np.ndarray | str:
    """Return a world in which somebody has a wished value, or why there is none."""
    if not wished.any():
        return "pinned"
    asked = LinearConstraint(csr_array(wished[None, :].astype(float)), 1, np.inf)
    n = len(wished)
    found = milp(
        np.zeros(n),
        integrality=np.ones(n),
        bounds=Bounds(0, np.inf),
        constraints=[rule, asked],
        options={"time_limit": seconds},
    )
    if found.x is not None:
        return np.rint(found.x)
    return "pinned" if found.status == 2 else "undecided"


def verdicts(root: Path, series: str, seconds: float = 10.0) -> list[Verdict]:
    """Judge a series after each of its releases, oldest first."""
    releases, least = series_of(root, series)
    return [judged(releases[: n + 1], least[n], seconds) for n in range(len(releases))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the series of a store and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.exact", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--series")
    parser.add_argument("--seconds", type=float, default=10.0, help="of the solver, for one question")
    args = parser.parse_args(arguments)
    store = ReleaseStore.open(args.store)
    names = [args.series] if args.series else sorted({release.series for release in store.releases()})
    for name in names:
        try:
            for verdict in verdicts(args.store, name, args.seconds):
                print(verdict)
        except NotJudged as reason:
            print(f"{name} is not judged: {reason}")


if __name__ == "__main__":
    main()
