"""Repair beside earlier releases: what is published afterwards fails nowhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from release_store.records import Verdict
from release_store.summary import Repair
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.recoding.generalize import generalized
from tasks.repair import judge as judging
from tasks.repair import merge
from tasks.repair.merge import repair
from tasks.risk.gates.history import difference_gate, pairwise_gate, size_gate, whole_history_gate
from tasks.types import Partition
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    Published,
    anonymized,
    counts_of,
    judge,
    mixed_rows,
    policy_of,
    policy_text,
    prepared,
    published,
    small_policy,
    write_source,
)

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
POLICY = small_policy(AGE)


def labels(*numbers: int) -> Partition:
    return Partition(np.array(numbers, dtype=np.int64))


def repaired(
    rows: list[Any], groups: Partition, earlier_rows: list[Any], earlier: Partition, largest: int = 6
) -> Partition:
    before = generalized(prepared(POLICY, earlier_rows), earlier.labels, POLICY)
    return repair(prepared(POLICY, rows), groups, POLICY, [("r1", before)], max_group_size=largest)


EARLIER = [(10, "flu"), (11, "hiv"), (20, "cold"), (21, "cough"), (30, "flu"), (31, "hiv")]


def test_without_a_history_nothing_changes() -> None:
    groups = labels(0, 0, 1, 1, 2, 2)
    assert repair(prepared(POLICY, EARLIER), groups, POLICY, [], max_group_size=6) is groups


def test_a_release_like_the_last_one_stays_as_it_is() -> None:
    groups = labels(0, 0, 1, 1, 2, 2)
    found = repaired(EARLIER, groups, EARLIER, groups)
    assert found.labels.tolist() == groups.labels.tolist()
    assert counts_of(found).failing_groups == 0


def test_what_no_merge_helps_is_suppressed_and_counted() -> None:
    # [20, 21] were cold or cough. The second group has cold alone of these; the first, flu alone of flu, hiv.
    # No merge helps: whatever meets [20, 21] has cold, and no group has cough.
    rows = [(10, "flu"), (11, "cold"), (20, "hiv"), (21, "cold"), (30, "flu"), (31, "hiv")]
    found = repaired(rows, labels(0, 0, 1, 1, 2, 2), EARLIER, labels(0, 0, 1, 1, 2, 2))
    assert found.labels.tolist() == [-1, -1, -1, -1, 0, 0]
    assert found.repair == Repair(
        failing_groups=2, merged=0, suppressed_groups=2, suppressed_records=4, over_max_group_size=0
    )


def test_a_merge_that_helps_is_made() -> None:
    # flu, cold | hiv, hiv: alone the first leaves flu, the second hiv; together [10, 13] has flu and hiv.
    rows = [(10, "flu"), (11, "cold"), (12, "hiv"), (13, "hiv"), (80, "flu"), (81, "hiv")]
    before = [(10, "flu"), (13, "hiv"), (80, "flu"), (81, "hiv")]
    found = repaired(rows, labels(0, 0, 1, 1, 2, 2), before, labels(0, 0, 1, 1))
    assert found.labels[0] == found.labels[1] == found.labels[2] == found.labels[3] >= 0
    assert found.labels[4] == found.labels[5] >= 0
    assert found.labels[4] != found.labels[0]
    assert counts_of(found).merged == 1
    assert counts_of(found).suppressed_records == 0


def test_a_merge_within_the_largest_size_comes_first_and_a_larger_one_before_suppression() -> None:
    rows = [(10, "flu"), (11, "cold"), (12, "hiv"), (13, "hiv")]
    before = [(10, "flu"), (13, "hiv")]
    found = repaired(rows, labels(0, 0, 1, 1), before, labels(0, 0), largest=3)
    assert found.labels.tolist() == [0, 0, 0, 0]
    assert counts_of(found).over_max_group_size == 1


def test_transient_attributes_that_are_ignored_need_no_repair() -> None:
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, gates={"transient": "ignore"})
    table = prepared(policy, [(1, "flu"), (2, "hiv")])
    before = generalized(prepared(policy, [(1, "flu"), (2, "cold")]), np.array([0, 0]), policy)
    groups = labels(0, 0)
    assert repair(table, groups, policy, [("r1", before)], max_group_size=4) is groups


def test_records_suppressed_before_stay_suppressed() -> None:
    rows = [(10, "flu"), (11, "cold"), (12, "hiv"), (13, "hiv"), (14, "cold")]
    found = repaired(rows, labels(0, 0, 1, 1, -1), [(10, "flu"), (13, "hiv")], labels(0, 0))
    assert found.labels.tolist() == [0, 0, 0, 0, -1]


def next_release(
    policy: ReleasePolicy, rows: list[Any], releases: list[Published], folder: Path
) -> tuple[Partition, Partition, Published]:
    table = prepared(policy, rows)
    groups = anonymized(table, policy)
    named = [(str(number), each.classes) for number, each in enumerate(releases)]
    largest = bound_method(policy).max_group_size
    found = repair(table, groups, policy, named, max_group_size=largest)
    return groups, found, published(policy, table, found, folder)


METHODS = [
    {"name": "mondrian"},
    {"name": "ae-lrhma", "representation": "original", "parameters": {"leaf_size": 6}},
]


@pytest.mark.integration
@given(
    tables=st.lists(mixed_rows(4, 20), min_size=2, max_size=4),
    k=st.integers(2, 3),
    l_least=st.integers(2, 3),
    method=st.sampled_from(METHODS),
)
def test_no_published_class_fails_and_only_counted_records_are_suppressed(
    tables: list[list[Any]], k: int, l_least: int, method: dict[str, Any]
) -> None:
    text = policy_text(MIXED, TWO_SENSITIVE, privacy={"k": k, "l": l_least, "p_max": 0.9}, method=method)
    policy = policy_of(text)
    with tempfile.TemporaryDirectory() as name:
        folder, releases = Path(name), []
        for number, rows in enumerate(tables):
            groups, found, made = next_release(policy, rows, releases, folder / str(number))
            assert_sound(groups, found, made)
            evidence = made.evidence(*releases)
            for result in (pairwise_gate(evidence), whole_history_gate(evidence)):
                # Random tables may have nothing in common, which is unknown; but no class fails.
                assert (result.value, result.verdict is Verdict.FAIL) == (0, False)
            if made.classes.n_classes == 0:
                break
            releases.append(made)
        if len(releases) > 1:
            (folder / "policy.yaml").write_text(text, encoding="utf-8")
            source = write_source(folder / "source.csv", policy, tables[len(releases) - 1])
            verdict = judge.judge(
                folder / "policy.yaml", source, releases[-1].csv, [made.csv for made in releases[:-1]]
            )
            assert all(not each["pairs"] for found in verdict["pairwise"] for each in found.values())
            assert all(not each["records"] for each in verdict["whole_history"].values())


@pytest.mark.integration
@given(
    rows=mixed_rows(8, 24, missing=False),
    ends=st.lists(st.integers(4, 24), min_size=1, max_size=3),
    l_least=st.integers(2, 3),
)
def test_what_only_grows_is_not_undone_by_its_growth(rows: list[Any], ends: list[int], l_least: int) -> None:
    """Each table holds all records of the one before."""
    quasi_identifiers = {**MIXED, "income": {"type": "numeric", "bounds": [-10, 10]}}
    policy = small_policy(quasi_identifiers, TWO_SENSITIVE, privacy={"l": l_least}, population="cumulative")
    with tempfile.TemporaryDirectory() as name:
        releases: list[Published] = []
        for number, end in enumerate(sorted({*ends, len(rows)})):
            groups, found, made = next_release(policy, rows[:end], releases, Path(name) / str(number))
            if made.classes.n_classes == 0:
                break
            assert_sound(groups, found, made)
            evidence = made.evidence(*releases)
            for gate in (pairwise_gate, whole_history_gate, difference_gate, size_gate):
                result = gate(evidence)
                assert (result.gate, result.value) == (result.gate, 0)
                assert result.verdict is not Verdict.FAIL
            releases.append(made)


def test_a_newcomer_is_hidden_among_others() -> None:
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 100]}}, population="cumulative")
    before = [(10, "flu"), (11, "hiv"), (30, "flu"), (31, "hiv"), (60, "cough"), (61, "cold")]
    labels = np.array([0, 0, 1, 1, 2, 2])
    earlier = [("r1", generalized(prepared(policy, before), labels, policy))]
    # A newcomer of 10 with hiv, another of 31 with flu: each class tells of its own, the two together do not.
    table = prepared(policy, [*before, (10, "hiv"), (31, "flu")])
    found = repair(table, Partition(np.append(labels, [0, 1])), policy, earlier, max_group_size=9)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert counts_of(found).merged == 1
    overlapping = small_policy({"age": {"type": "integer", "bounds": [0, 100]}})
    blind = repair(table, Partition(np.append(labels, [0, 1])), overlapping, earlier, max_group_size=9)
    assert blind.labels.tolist() == [0, 0, 1, 1, 2, 2, 0, 1]


def assert_sound(groups: Partition, found: Partition, made: Published) -> None:
    """Groups are only joined or suppressed whole; those that held the model hold it still."""
    for label in np.unique(groups.labels):
        assert len(set(found.labels[groups.labels == label].tolist())) == 1
    suppressed = int((found.labels < 0).sum())
    counts = found.repair or Repair(0, 0, 0, 0, 0)
    assert counts.suppressed_records == suppressed
    assert groups.n_groups - found.n_groups == counts.merged + counts.suppressed_groups
    assert made.candidate.n_published == len(found.labels) - suppressed
    limits = constraints_of(made.table, made.policy)

    def hold(partition: Partition) -> bool:
        return all(
            limits.group_holds(np.flatnonzero(partition.labels == label))
            for label in range(partition.n_groups)
        )

    assert not hold(groups) or hold(found)


@pytest.mark.integration
@given(rows=mixed_rows(4, 16, missing=False), before=mixed_rows(4, 16, missing=False))
@example(
    rows=[(0, 0.0, "a", "a", "flu", 10.5)] * 2 + [(1, 0.0, "b", "a", "hiv", 10.5)] * 2,
    before=[(0, 0.0, "a", "a", "flu", 10.5), (1, 0.0, "b", "a", "hiv", 10.5)],
)
def test_small_batches_of_neighbours_make_sound_releases_too(rows: list[Any], before: list[Any]) -> None:
    policy = small_policy(MIXED, {"illness": {"stability": "stable"}, "wage": TWO_SENSITIVE["wage"]})
    table, other = prepared(policy, rows), prepared(policy, before)
    earlier = [("r1", generalized(other, anonymized(other, policy).labels, policy))]
    groups = anonymized(table, policy)
    sizes = merge.AHEAD, merge.NEXT, judging.ROWS
    whole = repair(table, groups, policy, earlier, max_group_size=6)
    merge.AHEAD, merge.NEXT, judging.ROWS = 1, 1, 1
    try:
        parts = repair(table, groups, policy, earlier, max_group_size=6)
    finally:
        merge.AHEAD, merge.NEXT, judging.ROWS = sizes
    assert whole.labels.tolist() == parts.labels.tolist()
    assert whole.notes == parts.notes


def test_repair_tells_its_progress() -> None:
    told: list[str] = []
    rows = [(10, "flu"), (11, "cold"), (12, "hiv"), (13, "hiv")]
    before = generalized(prepared(POLICY, [(10, "flu"), (13, "hiv")]), np.array([0, 0]), POLICY)
    repair(
        prepared(POLICY, rows),
        labels(0, 0, 1, 1),
        POLICY,
        [("r1", before)],
        max_group_size=6,
        progress=lambda _share, words: told.append(words),
    )
    assert told[0] == "0 of 2 failing groups merged"


def test_an_earlier_attribute_that_is_no_longer_published_fits_everybody() -> None:
    # The job was published once; who has which job is not in this table, so everybody may be in either class.
    with_job = small_policy({**AGE, "job": {"type": "categorical"}})
    earlier_rows = [(10, "nurse", "flu"), (11, "nurse", "hiv"), (10, "cook", "flu"), (11, "cook", "cold")]
    before = generalized(prepared(with_job, earlier_rows), np.array([0, 0, 1, 1]), with_job)
    table = prepared(POLICY, [(10, "flu"), (11, "hiv"), (10, "cold")])
    found = repair(table, labels(0, 0, 0), POLICY, [("r1", before)], max_group_size=6)
    # Each pair shares two values, and all earlier classes together allow all three.
    assert found.labels.tolist() == [0, 0, 0]
    assert counts_of(found).failing_groups == 0


def test_a_merge_within_the_largest_size_is_preferred_to_a_cheaper_one() -> None:
    # The first group fails; its neighbour of four is nearer, the one of two is farther but within the size.
    rows = [
        (10, "flu"),
        (11, "cold"),
        *[(12, i) for i in ("flu", "hiv", "flu", "hiv")],
        (40, "flu"),
        (41, "hiv"),
    ]
    before = [(10, "flu"), (41, "hiv")]
    groups = labels(0, 0, 1, 1, 1, 1, 2, 2)
    nearest = repaired(rows, groups, before, labels(0, 0), largest=6)
    assert nearest.labels[0] == nearest.labels[2] != nearest.labels[6]
    within = repaired(rows, groups, before, labels(0, 0), largest=5)
    assert within.labels[0] == within.labels[6] != within.labels[2]


def test_a_neighbour_is_tried_against_all_releases_together() -> None:
    # Each pair of the merged class with an earlier one shares two values, all three share one.
    def earlier(*illnesses: str) -> Any:
        made = prepared(POLICY, [(10 + i, illness) for i, illness in enumerate(illnesses)])
        return generalized(made, np.zeros(len(illnesses), dtype=np.int64), POLICY)

    history = [("r1", earlier("a", "b", "c")), ("r2", earlier("a", "b", "d"))]
    rows = [(10, "a"), (10, "x"), (11, "c"), (11, "d"), (90, "a"), (90, "b")]
    table = prepared(POLICY, rows)
    found = repair(table, labels(0, 0, 1, 1, 2, 2), POLICY, history, max_group_size=6)
    # With [11] the first would hold a, c, d and x; only with [90] do a and b remain under any choice.
    joined = [i for i in range(6) if found.labels[i] == found.labels[0] >= 0]
    assert {"a", "b"} <= {rows[i][1] for i in joined}


def test_a_merge_that_becomes_a_star_is_judged_as_one() -> None:
    # Together Hull and York are the whole table and published as `*`, which overlaps the earlier Bath too.
    policy = small_policy({"city": {"type": "categorical"}})
    before_rows = [("Hull", "flu"), ("Hull", "hiv"), ("Bath", "flu"), ("Bath", "cold")]
    before = generalized(prepared(policy, before_rows), np.array([0, 0, 1, 1]), policy)
    table = prepared(policy, [("Hull", "flu"), ("Hull", "cough"), ("York", "hiv"), ("York", "hiv")])
    found = repair(table, labels(0, 0, 1, 1), policy, [("r1", before)], max_group_size=6)
    # Hull alone fails by flu; `*` would share flu and hiv with the earlier Hull, but flu alone with Bath.
    assert found.labels.tolist() == [-1, -1, 0, 0]


def test_the_cheapest_neighbour_is_the_one_that_grows_least() -> None:
    # Ages 10 and 11 fail. With [40, 41] four records would be 31 years wide: 4 * 31 - 2 * 1 - 2 * 1 = 120;
    # inside [0, 60] it is 4 * 60 - 2 * 60 - 2 * 1 = 118.
    rows = [(10, "flu"), (11, "cold"), (40, "flu"), (41, "hiv"), (0, "flu"), (60, "hiv")]
    found = repaired(rows, labels(0, 0, 1, 1, 2, 2), [(0, "flu"), (60, "hiv")], labels(0, 0))
    assert found.labels[0] == found.labels[4] != found.labels[2]
