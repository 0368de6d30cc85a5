"""An exact attacker of a series: what the published files and who is in which class leave to everybody.

    python -m tests.reference.exact STORE [--series NAME] [--seconds 10]

reads the releases of each series that follows people by a key, oldest first, and says after each of them of
how many people an attribute has under `privacy.l` possible values for certain, and of how many the solver
(HiGHS, through scipy) did not decide in time. It shares no code with the gates: classes are read from the
published Parquet files, people from the kept hashes, and every component is one integer program.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, lil_array
from scipy.sparse.csgraph import connected_components

from policy.load import policy_from_document
from policy.model import ReleasePolicy
from release_store.public_files import release_folder
from release_store.records import Release
from release_store.store import ReleaseStore

Rows = tuple[str, ...]


@dataclass(frozen=True)
class Published:
    """One release: the rows' sensitive values by class, and the class of each person."""

    name: str
    rows: dict[int, list[Rows]]
    people: dict[str, int]


@dataclass(frozen=True)
class Verdict:
    """After a release: how many people the series has had, are pinned, and are undecided."""

    release: str
    people: int
    pinned: int
    undecided: int

    def __str__(self) -> str:
        share = 100 * self.pinned / max(self.people, 1)
        return (
            f"{self.release}: {self.pinned} of {self.people} people ({share:.1f}%) have a value for certain, "
            f"{self.undecided} undecided"
        )


def published(store: ReleaseStore, release: Release, policy: ReleasePolicy) -> Published:
    """Read a release from its Parquet file and from the hashes of its people."""
    file = release_folder(store.root, release.series, release.release_id) / "data.parquet"
    sensitive = list(policy.roles.sensitive)
    beside = {*sensitive, *policy.roles.kept}
    with duckdb.connect() as con:
        columns = [
            row[0] for row in con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]).fetchall()
        ]
        cells = ", ".join(f'"{name}"' for name in columns if name not in beside)
        values = ", ".join(f'"{name}"::VARCHAR' for name in sensitive)
        found = con.execute(
            f"SELECT dense_rank() OVER (ORDER BY {cells}) - 1, {values} FROM read_parquet(?)", [str(file)]
        ).fetchall()
    rows: dict[int, list[Rows]] = defaultdict(list)
    for number, *row in found:
        rows[number].append(tuple(map(str, row)))
    people = store.people(release.candidate_id)
    if people is None or people.classes is None:
        raise ValueError(f"{release.release_id} keeps no people")
    return Published(release.release_id, rows, dict(zip(people.hashes, people.classes, strict=True)))


def judged(releases: Sequence[Published], l_least: int, seconds: float) -> Verdict:
    """Say who is pinned by all of these releases together."""
    people = sorted(set().union(*(release.people for release in releases)))
    where = [tuple(release.people.get(person, -1) for release in releases) for person in people]
    cohorts = sorted(set(where))
    size = Counter(where)
    label = _components(cohorts)
    pinned = undecided = 0
    for component in range(int(label.max()) + 1):
        own = [cohorts[i] for i in np.flatnonzero(label == component)]
        for cohort, state in _component(own, size, releases, l_least, seconds).items():
            pinned += size[cohort] * (state == "pinned")
            undecided += size[cohort] * (state == "undecided")
    return Verdict(releases[-1].name, len(people), pinned, undecided)


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
    attributes = range(len(program.variables[0][1]))
    for i, cohort in enumerate(cohorts):
        for attribute in attributes:
            while state[cohort] == "open" and len({row[attribute] for row in seen[i]}) < l_least:
                known = {row[attribute] for row in seen[i]}
                wished = [at == i and row[attribute] not in known for at, row in program.variables]
                world = _world(program.rule, np.array(wished), seconds)
                if isinstance(world, str):
                    state[cohort] = world
                    break
                for v in np.flatnonzero(world):
                    at, row = program.variables[v]
                    seen[at].add(row)
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
    store = ReleaseStore.open(root)
    releases = []
    said = []
    for release in store.releases(series):
        policy = policy_from_document(store.policy(store.candidate(release.candidate_id).policy_digest))
        releases.append(published(store, release, policy))
        said.append(judged(releases, policy.privacy.l, seconds))
    return said


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
        for verdict in verdicts(args.store, name, args.seconds):
            print(verdict)


if __name__ == "__main__":
    main()
