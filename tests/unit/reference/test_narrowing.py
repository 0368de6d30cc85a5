"""How many values are left for how many people, held against trying every choice of releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from test_worlds import histories

from policy.load import parse_policy
from release_store.records import PersonHashes
from tasks.history.intersection import UNCONSTRAINED, least_left, narrowed
from tasks.reporting.narrowing import narrowing_figures
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tests.reference.worlds import Release, evidence_of, group, policy_for

POLICY = policy_for("overlapping", 2, 2)
FOLLOWED = parse_policy(
    "series: s\nprivacy: {k: 2, l: 2, e: 1, p_max: 1}\n"
    "roles:\n  key: id\n  quasi_identifiers: {person: {type: categorical}}\n"
    "  sensitive: {illness: {stability: stable}}\n",
    Path("policy.yaml"),
)


def least(own: set[str], allowed: Sequence[set[str]]) -> int:
    """The least number of values, but not none, that any choice of `allowed` or no choice leaves."""
    choices = chain.from_iterable(combinations(allowed, n) for n in range(len(allowed) + 1))
    return min(n for chosen in choices if (n := len(own.intersection(*chosen))))


def by_cells(releases: Sequence[Release], truth: Sequence[str]) -> Counter[int]:
    *earlier, last = releases
    found: Counter[int] = Counter()
    for person in range(len(truth)):
        allowed = [
            {truth[p] for each in release if person in each.cells for p in each.people}
            for release in earlier
            if any(person in each.cells for each in release)
        ]
        left = [least({truth[p] for p in own.people}, allowed) for own in last if person in own.cells]
        if left:
            found[min(left)] += 1
    return found


def by_person(releases: Sequence[Release], truth: Sequence[str]) -> Counter[int]:
    *earlier, last = releases
    found: Counter[int] = Counter()
    for own in last:
        for person in own.people:
            allowed = [
                {truth[p] for p in each.people}
                for release in earlier
                for each in release
                if person in each.people
            ]
            found[least({truth[p] for p in own.people}, allowed)] += 1
    return found


def hashes_of(release: Release) -> PersonHashes:
    classes = {f"{person:064x}": number for number, each in enumerate(release) for person in each.people}
    names = tuple(sorted(classes))
    return PersonHashes("key", names, tuple(classes[name] for name in names))


def told(evidence: Evidence, basis: str) -> dict[int, int]:
    asked = {
        name: GATES[name]
        for name in ("whole_history", "person")
        if evidence.policy is FOLLOWED or name != "person"
    }
    report = assess(evidence, asked)
    assert all(each.value is not None for each in report.results), report
    figures = narrowing_figures(evidence, frozenset(asked))
    (one,) = [each for each in figures if each["basis"] == basis]
    assert [values for values, _ in one["counts"]] == list(range(1, len(one["counts"]) + 1))
    return {values: n for values, n in one["counts"] if n}


@given(histories())
def test_people_are_narrowed_by_cells_as_trying_every_choice_narrows_them(
    drawn: tuple[list[str], list[Release]],
) -> None:
    truth, releases = drawn
    assert told(evidence_of(releases, truth, POLICY), "cells") == by_cells(releases, truth)


@given(histories(exact=True))
def test_people_who_are_followed_are_narrowed_likewise(drawn: tuple[list[str], list[Release]]) -> None:
    truth, releases = drawn
    evidence = replace(
        evidence_of(releases, truth, FOLLOWED),
        people=hashes_of(releases[-1]),
        earlier_people=[hashes_of(release) for release in releases[:-1]],
    )
    assert told(evidence, "people") == by_person(releases, truth)


def test_by_hand() -> None:
    truth = ["flu", "hiv", "flu", "cold", "hiv", "flu"]
    first = (group([0, 1]), group([2, 3]))
    # Person 0: flu and hiv beside flu and cold leave flu. 4 and 5 are new, and have what their class says.
    second = (group([0, 3], [2]), group([1, 4, 5]))
    evidence = evidence_of([first, second], truth, POLICY)
    assess(evidence, {"whole_history": GATES["whole_history"]})
    alone, cells = narrowing_figures(evidence, frozenset({"whole_history"}))
    assert alone == {
        "attribute": "illness",
        "basis": "alone",
        "releases": 0,
        "least": 2,
        "unit": "rows",
        "counts": [[1, 0], [2, 5]],
    }
    # 0 is in {flu, cold} after {flu, hiv}: 1. 1 is in {hiv, flu} after the same: 2. 2, whom the first class
    # covers too, and 3 are in {flu, cold} twice: 2.
    assert (cells["releases"], cells["unit"], cells["counts"]) == (1, "people", [[1, 1], [2, 5]])


def test_what_no_gate_measured_is_not_there() -> None:
    truth = ["flu", "hiv", "flu", "cold"]
    evidence = evidence_of([(group([0, 1]),), (group([0, 1]), group([2, 3]))], truth, POLICY)
    assert [one["basis"] for one in narrowing_figures(evidence, frozenset())] == ["alone"]
    first = evidence_of([(group([0, 1]), group([2, 3]))], truth, POLICY)
    assert [one["basis"] for one in narrowing_figures(first, frozenset({"whole_history"}))] == ["alone"]


def test_people_with_equal_quasi_identifiers_are_counted_each() -> None:
    truth = ["flu", "hiv", "flu", "cold"]
    evidence = evidence_of([(group([0, 1]),), (group([0, 1]), group([2, 3]))], truth, POLICY)
    assert evidence.table is not None
    codes = np.repeat(evidence.table.codes, 3, axis=0)
    many = replace(
        evidence.table, codes=codes, numeric=np.zeros((12, 0)), frame=evidence.table.frame.loc[[0] * 12]
    )
    figures = narrowing_figures(replace(evidence, table=many), frozenset({"whole_history"}))
    assert figures[1]["counts"] == [[1, 0], [2, 12]]


def test_twenty_values_and_more_are_together() -> None:
    truth = [f"v{i}" for i in range(30)]
    evidence = evidence_of([(group(range(19)), group(range(19, 30)))], truth, POLICY)
    assert narrowing_figures(evidence, frozenset())[0]["counts"][-1] == [19, 19]
    evidence = evidence_of([(group(range(21)), group(range(21, 30)))], truth, POLICY)
    counts = narrowing_figures(evidence, frozenset())[0]["counts"]
    assert (len(counts), counts[-1], counts[8]) == (20, [20, 21], [9, 9])


masks = st.integers(0, 31)


@given(
    st.integers(1, 4).flatmap(
        lambda m: st.lists(
            st.tuples(
                st.integers(1, 31),
                st.lists(masks, min_size=m, max_size=m),
                st.lists(st.booleans(), min_size=m, max_size=m),
            ),
            min_size=1,
            max_size=10,
        )
    ),
    st.integers(2, 5),
)
def test_the_least_that_is_left_is_trying_every_choice(
    rows: list[tuple[int, list[int], list[bool]]], l_least: int
) -> None:
    own = np.array([[row[0]] for row in rows], dtype=np.uint64)
    allowed = np.array([[[mask] for mask in row[1]] for row in rows], dtype=np.uint64)
    seen = np.array([row[2] for row in rows])
    expected = []
    for mine, theirs, there in rows:
        sets = [mask for mask, inside in zip(theirs, there, strict=True) if inside]
        sizes = []
        for chosen in chain.from_iterable(combinations(sets, n) for n in range(1, len(sets) + 1)):
            common = mine
            for mask in chosen:
                common &= mask
            if common:
                sizes.append(common.bit_count())
        expected.append(min(sizes, default=UNCONSTRAINED))
    assert least_left(own, allowed, seen).tolist() == expected
    assert narrowed(own, allowed, seen, l_least).tolist() == [n < l_least for n in expected]
