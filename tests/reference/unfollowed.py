"""An attacker of a table without a key that is released again without one person, or with one more.

    python -m tests.reference.unfollowed [--people 80] [--seeds 2] [--method lhd]

The attacker knows everybody's quasi-identifiers and who is in which table, and neither in which class
somebody is nor whom a release left out. The solver looks for all ways to give the rows of both releases to
people. The policy accepts that nobody is followed; of releases that a gate holds back nothing is asked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from policy.load import parse_policy
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, ReleaseState, Verdict
from release_store.records import Release as StoredRelease
from services.pipeline import make_rows
from tasks.methods.registry import bound_method, methods
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import assess
from tasks.staging.stage import stage
from tasks.types import SourceTable

Person = tuple[float, str, str]
Release = tuple[EquivalenceClasses, list[int]]  # what is published, and who is in the table
ILLNESSES, SHARES = ("flu", "cough", "asthma", "diabetes", "cancer"), (0.4, 0.3, 0.15, 0.1, 0.05)
POLICY = """
series: unfollowed
roles:
  quasi_identifiers: {{age: {{type: integer, bounds: [0, 120]}}, city: {{type: categorical}}}}
  sensitive: {{illness: {{stability: stable}}}}
privacy: {{k: 5, e: 2, l: 2, p_max: 1.0}}
method: {{name: {method}, history: repair, recoding: sets}}
gates:
  suppression: {{max: 0.2}}
  ncp: {{max: 1.0}}
  unique: {{max: 1.0}}
  worlds: {{unfollowed: accept}}
"""


def _named(name: str) -> StoredRelease:
    made = datetime(2026, 1, 1, tzinfo=UTC)
    return StoredRelease(name, "unfollowed", "2026", 1, name, ReleaseState.PUBLISHED, made, {}, {})


def people_of(n: int, seed: int) -> list[Person]:
    """Return n people of age, city and illness."""
    rng = np.random.default_rng(seed)
    ages, cities = rng.integers(0, 100, n).tolist(), rng.choice(["Hull", "York", "Bath"], n).tolist()
    return list(zip(map(float, ages), cities, rng.choice(ILLNESSES, n, p=SHARES).tolist(), strict=True))


def released(
    policy: ReleasePolicy, people: list[Person], before: list[EquivalenceClasses], folder: Path
) -> EquivalenceClasses | None:
    """Release a table of the same period beside the releases before it; None where a gate holds it back."""
    frame = pd.DataFrame(people, columns=["age", "city", "illness"])
    earlier = [(f"r{number}", each) for number, each in enumerate(before)]
    source = SourceTable(frame, "0" * 64, "people.csv")
    history = [(_named(name), each) for name, each in earlier]
    all_made = make_rows(source, policy, bound_method(policy), history, "2026")
    rows, table = all_made.rows, all_made.table
    made = stage(rows, policy, candidate_id="c", period="2026", folder=folder, n_source=len(people))
    classes = read_classes(folder / "data.parquet", policy)
    evidence = Evidence(
        policy, table, classes, folder, made.files, earlier, [(0, 0)] * len(earlier), row_records=rows.records
    )
    passes = all(one.verdict is Verdict.PASS for one in assess(evidence).results)
    return classes if passes else None


def possible(releases: Sequence[Release], people: list[Person], who: int) -> set[str]:
    """Return the illnesses that somebody has in some way to give all rows to people whose cells they fit."""
    number: dict[tuple[object, ...], int] = {}
    entries: list[tuple[int, int, int]] = []
    bounds: list[tuple[float, float]] = []

    def ask(variables: Iterator[tuple[tuple[object, ...], int]], low: float, high: float) -> None:
        entries.extend(
            (len(bounds), number.setdefault(key, len(number)), weight) for key, weight in variables
        )
        bounds.append((low, high))

    for person in sorted({one for _, there in releases for one in there}):
        ask((((person, illness), 1) for illness in ILLNESSES), 1, 1)
    for at, (classes, there) in enumerate(releases):
        rows: dict[tuple[int, str], list[int]] = {}
        for group in range(classes.n_classes):
            fitting = [one for one in there if _fits(classes, group, people[one])]
            for value, n in zip(
                classes.sensitive_values["illness"], classes.counts["illness"][group].tolist(), strict=True
            ):
                if n:
                    ask((((at, one, group, value), 1) for one in fitting), n, n)
                    for one in fitting:
                        rows.setdefault((one, value), []).append(group)
        for (one, value), groups in rows.items():
            # Whoever has a row has its value.
            ask(iter([*(((at, one, group, value), 1) for group in groups), ((one, value), -1)]), -np.inf, 0)
    line, column, weight = np.array(entries).T
    matrix = coo_array((weight, (line, column)), shape=(len(bounds), len(number))).tocsr()
    limits = LinearConstraint(matrix, *np.array(bounds).T)
    found = set()
    for illness in ILLNESSES:
        low = np.zeros(len(number))
        low[number[who, illness]] = 1
        if (
            milp(
                np.zeros(len(number)),
                integrality=np.ones(len(number)),
                bounds=Bounds(low, 1),
                constraints=limits,
            ).x
            is not None
        ):
            found.add(illness)
    return found


def _fits(classes: EquivalenceClasses, group: int, person: Person) -> bool:
    age, city, _ = person
    low, high = classes.intervals["age"][group]
    cities = classes.sets["city"]
    there = {value for value, member in zip(cities.values, cities.member[group], strict=True) if member}
    return bool(low <= age <= high and (cities.whole[group] or city in there))


def asked(method: str, n: int, seeds: int) -> tuple[int, int]:
    """Return of how many people the illness was read, and how many there were whose two releases passed."""
    policy = parse_policy(POLICY.format(method=method), Path("policy.yaml"))
    n_read = n_asked = 0
    for seed in range(seeds):
        people = people_of(n + 1, seed)
        for first, second, who in ((range(n), range(1, n), 0), (range(n), range(n + 1), n)):
            with tempfile.TemporaryDirectory(prefix="releasegate-unfollowed-") as name:
                releases: list[Release] = []
                for place, there in enumerate((first, second)):
                    made = released(
                        policy,
                        [people[one] for one in there],
                        [each for each, _ in releases],
                        Path(name) / str(place),
                    )
                    if made is None:
                        break
                    releases.append((made, list(there)))
                else:
                    n_read, n_asked = n_read + (len(possible(releases, people, who)) == 1), n_asked + 1
    return n_read, n_asked


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack each method and print what was read."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.unfollowed", description=__doc__)
    parser.add_argument("--people", type=int, default=80)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--method", default="", help="one method only")
    args = parser.parse_args(arguments)
    for method in sorted(methods()):
        if args.method in ("", method):
            n_read, n_asked = asked(method, args.people, args.seeds)
            print(f"{method}: the illness of {n_read} of {n_asked} people is read", flush=True)


if __name__ == "__main__":
    main()
