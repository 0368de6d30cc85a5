"""Possible worlds: who is pinned down by small series of releases, found by trying all assignments of values.

The reader knows everything but the values: who is in which class of which release, and the published
classes. A world gives each person a value, the same in all releases, so that every class has just the values
that were published for it.

    python -m tests.reference.worlds [--n 400] [--seed 1]

draws series, publishes what passes the gates, and counts the people whose value is pinned all the same,
beside series that are published without the gates of the comparison.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np

from policy.load import parse_policy
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses, GateResult, SetCells, Verdict
from tasks.preprocessing.prepare import prepare
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.types import SourceTable

MOST_PEOPLE, MOST_RELEASES = 7, 4
CHECKS = ("pairwise", "whole_history", "difference", "size")


@dataclass(frozen=True)
class Group:
    """One published class: its `people`, and the people whom its `cells` cover, in this release or not."""

    people: frozenset[int]
    cells: frozenset[int]


Release = tuple[Group, ...]


def group(people: Sequence[int], cells: Sequence[int] = ()) -> Group:
    """Return a class of these people, whose cells cover them and those of `cells`."""
    return Group(frozenset(people), frozenset([*people, *cells]))


# What can be concluded


def possible_values(releases: Sequence[Release], truth: Sequence[str]) -> list[set[str]]:
    """Return for each person the values that some world gives them. Tries every assignment."""
    values = sorted(set(truth))
    worlds = np.array(list(product(range(len(values)), repeat=len(truth))), dtype=np.int8)
    for published in (each for release in releases for each in release):
        members = sorted(published.people)
        counts = Counter(truth[person] for person in members)
        for number, value in enumerate(values):
            worlds = worlds[(worlds[:, members] == number).sum(axis=1) == counts[value]]
    return [{values[v] for v in set(column.tolist())} for column in worlds.T]


def narrowed_by_intersection(releases: Sequence[Release], truth: Sequence[str], l_least: int) -> set[int]:
    """Return the people of the last release whom the classes that they are known to be in narrow under l.

    In the last release the class itself is known; in an earlier one, for any choice of those whose cells
    cover the person, the value stands in one of the classes that do.
    """
    *earlier, last = releases
    found = set()
    for person in range(len(truth)):
        allowed = []
        for release in earlier:
            covering = [each for each in release if person in each.cells]
            if covering:
                allowed.append({truth[p] for each in covering for p in each.people})
        for own in (each for each in last if person in each.cells):
            present = {truth[p] for p in own.people}
            for n_chosen in range(1, len(allowed) + 1):
                for chosen in combinations(allowed, n_chosen):
                    if 0 < len(present.intersection(*chosen)) < l_least:
                        found.add(person)
    return found


def set_apart(releases: Sequence[Release]) -> list[frozenset[int]]:
    """Return who is left of a class without a class whose people all are in it, or without all such classes.

    Of each class of the last release beside each earlier release, and the other way round.
    """
    *earlier, last = releases
    found = []
    for release in earlier:
        for large, small in ((last, release), (release, last)):
            for outer in large:
                inner = [each.people for each in small if each.people <= outer.people]
                together = [frozenset().union(*inner)] if len(inner) > 1 else []
                found += [outer.people - taken for taken in (*inner, *together) if taken != outer.people]
    return found


# What the gates say


@cache
def policy_for(population: str, k: int, l_least: int) -> ReleasePolicy:
    """Return a policy of one quasi-identifier, the person."""
    return parse_policy(
        f"series: s\npopulation: {population}\nprivacy: {{k: {k}, l: {l_least}, e: 1, p_max: 1}}\n"
        "roles:\n  quasi_identifiers: {person: {type: categorical}}\n"
        "  sensitive: {illness: {stability: stable}}\n",
        Path("policy.yaml"),
    )


def published(release: Release, truth: Sequence[str]) -> EquivalenceClasses:
    """Return the classes as anybody reads them."""
    everybody = tuple(str(person) for person in range(len(truth)))
    values = tuple(sorted(set(truth)))
    member = np.array([[p in each.cells for p in range(len(truth))] for each in release])
    counts = np.array([[sum(truth[p] == v for p in each.people) for v in values] for each in release])
    cells = SetCells(everybody, member, np.zeros(len(release), dtype=bool))
    return EquivalenceClasses(
        counts.sum(axis=1), {}, {"person": cells}, {"illness": values}, {"illness": counts}
    )


def evidence_of(releases: Sequence[Release], truth: Sequence[str], policy: ReleasePolicy) -> Evidence:
    """Return the last release beside those before it, as the gates look at it.

    The source is everybody, so that the checks look at each person.
    """
    import pandas as pd

    frame = pd.DataFrame({"person": [str(p) for p in range(len(truth))], "illness": list(truth)})
    table = prepare(SourceTable(frame.astype(object), "0" * 64, "worlds"), policy)
    *earlier, last = [published(release, truth) for release in releases]
    named = [(f"release-{number}", each) for number, each in enumerate(earlier, 1)]
    return Evidence(policy, table, last, Path(), {}, named)


def judged(releases: Sequence[Release], truth: Sequence[str], policy: ReleasePolicy) -> dict[str, GateResult]:
    """Return what the gates of the comparison say of the last release beside those before it."""
    evidence = evidence_of(releases, truth, policy)
    asked = {name: gate for name, gate in GATES.items() if name in CHECKS}
    return {result.gate: result for result in assess(evidence, asked).results}


def passes(releases: Sequence[Release], truth: Sequence[str], policy: ReleasePolicy) -> bool:
    """Tell whether every gate of the comparison that the policy asks for passes the last release."""
    return all(result.verdict is Verdict.PASS for result in judged(releases, truth, policy).values())


# The experiment


@dataclass(frozen=True)
class Outcome:
    """What a population's series showed: published `series` of two to four releases, their `people`, those
    `pinned` to one value by worlds though every release passed, and the series with such a person.
    """

    series: int
    releases: int
    people: int
    pinned: int
    with_pinned: int


def experiment(population: str, n: int, seed: int, *, gated: bool = True, tries: int = 12) -> Outcome:
    """Draw `n` series of seven people and three values, k = l = 2, and count who is pinned.

    Each release, of classes with two values or more, is drawn up to `tries` times until it passes the gates
    beside those before it (or at once, if not `gated`); the series ends where none does, or after four.
    Series of one release are drawn anew.
    """
    source = random.Random(f"{population} {seed}")  # noqa: S311 -- no secret
    policy = policy_for(population, 2, 2)
    n_series = n_releases = n_people = n_pinned = n_with = 0
    while n_series < n:
        truth = [source.choice("abc") for _ in range(MOST_PEOPLE)]
        releases: list[Release] = []
        present = range(source.randint(4, MOST_PEOPLE))
        for _ in range(MOST_RELEASES):
            for _ in range(tries):
                people = _present(population, present, source)
                drawn = drawn_partition(people, source)
                diverse = all(len({truth[p] for p in each.people}) > 1 for each in drawn)
                if diverse and (not gated or passes([*releases, drawn], truth, policy)):
                    releases.append(drawn)
                    present = range(len(people)) if population == "cumulative" else present
                    break
            else:
                break
        if len(releases) < 2:
            continue
        in_some = {p for release in releases for each in release for p in each.people}
        pinned = {p for p, left in enumerate(possible_values(releases, truth)) if len(left) == 1} & in_some
        n_series, n_releases = n_series + 1, n_releases + len(releases)
        n_people, n_pinned, n_with = n_people + len(in_some), n_pinned + len(pinned), n_with + bool(pinned)
    return Outcome(n_series, n_releases, n_people, n_pinned, n_with)


def _present(population: str, before: range, source: random.Random) -> list[int]:
    if population == "cumulative":
        return list(range(source.randint(len(before), MOST_PEOPLE)))
    return sorted(source.sample(range(MOST_PEOPLE), source.randint(4, MOST_PEOPLE)))


def drawn_partition(people: Sequence[int], source: random.Random) -> Release:
    """Cut the people, in a random order, into classes of two to four."""
    left, found = source.sample(list(people), len(people)), []
    while left:
        size = source.choice([s for s in (2, 3, 4) if s == len(left) or len(left) - s >= 2])
        found.append(group(left[:size]))
        left = left[size:]
    return tuple(found)


def report(n: int, seed: int) -> str:
    """Run the experiment for both populations, with and without the gates, and say what it found."""
    lines = []
    for population in ("overlapping", "cumulative"):
        for gated in (True, False):
            one = experiment(population, n, seed, gated=gated)
            lines.append(
                f"{population}, {'every gate passes' if gated else 'without the gates'}: {one.pinned} of "
                f"{one.people} people pinned, in {one.with_pinned} of {one.series} series "
                f"({one.releases} releases)"
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> str:
    """Run the experiment and print what it found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.worlds", description=__doc__)
    parser.add_argument("--n", type=int, default=400, help="series of each population")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args(arguments)
    text = report(chosen.n, chosen.seed)
    print(text)
    return text


if __name__ == "__main__":
    main()
