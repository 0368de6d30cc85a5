"""Similar values beside earlier releases and in attacks: what is left is counted in groups of values."""

from __future__ import annotations

import tempfile
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_persons import AGE, told
from test_totals import LESS, MORE
from test_totals import told as values_told

from policy.errors import PolicyError
from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.geometry.bitsets import packed
from tasks.geometry.space import boxes_of, space_of
from tasks.history import intersection
from tasks.history.intersection import history_of, least_left, pairwise
from tasks.history.required import Required, required_of, sizes_of
from tasks.history.totals import exposed, several
from tasks.methods.registry import bound_method
from tasks.recoding.generalize import generalized
from tasks.repair.merge import repair
from tasks.risk.gates.history import difference_gate, pairwise_gate, size_gate, whole_history_gate
from tasks.risk.gates.totals import totals_gate
from tasks.risk.registry import GATES, assess
from tasks.types import Partition
from tests.support.small import Published, anonymized, prepared, published, small_policy

ILLS = ("flu", "cold", "gastritis", "ulcer", "hiv")
SIMILAR = {
    "illness": {
        "stability": "stable",
        "values": list(ILLS),
        "similar": [["flu", "cold"], ["gastritis", "ulcer"]],
    }
}
PLAIN = {"illness": {"stability": "stable", "values": list(ILLS)}}
KIND = {"flu": "flu", "cold": "flu", "gastritis": "gastritis", "ulcer": "gastritis", "hiv": "hiv"}
LOOSE = {"k": 2, "e": 1, "p_max": 1, "spread": 0}


def by_person(sensitive: dict[str, Any], **more: Any) -> ReleasePolicy:
    return small_policy(AGE, sensitive, roles={"key": "person"}, privacy={**LOOSE, "l": 2}, **more)


# Whoever is in both has gastritis or an ulcer: two values, of one kind.
FIRST = "ann 10 gastritis, bob 11 ulcer, cyd 12 flu"
SECOND = "ann 10 gastritis, bob 11 ulcer, dan 12 hiv"


@pytest.mark.parametrize("gate", ["pairwise", "whole_history", "person", "worlds"])
def test_whoever_is_left_with_similar_values_is_known_to_have_one_of_them(tmp_path: Path, gate: str) -> None:
    for sensitive, n_failing in ((PLAIN, 0), (SIMILAR, 1)):
        first, second = (
            told(tmp_path / str(n_failing), text, by_person(sensitive)) for text in (FIRST, SECOND)
        )
        found = second.asked(gate, first)
        if gate == "worlds":  # it asks of everybody, cyd and dan among them, who are pinned in either case
            assert found.witness["pinned"] == (4 if n_failing else 2)
        else:
            assert (found.verdict is Verdict.FAIL, found.value) == (n_failing > 0, n_failing)


def test_values_are_intersected_as_they_are_published(tmp_path: Path) -> None:
    """In both are flu alone: that the others are similar to each other takes nothing back."""
    texts = "ann 10 gastritis, bob 11 flu", "bob 10 flu, dan 11 ulcer"
    first, second = (told(tmp_path, text, by_person(SIMILAR)) for text in texts)
    assert second.asked("pairwise", first).value == 1
    texts = "ann 10 gastritis, bob 11 flu", "cyd 10 ulcer, dan 11 cold"  # nobody is in both
    first, second = (told(tmp_path / "other", text, by_person(SIMILAR)) for text in texts)
    assert second.asked("pairwise", first).value == 0


def test_numbers_of_one_range_count_as_one(tmp_path: Path) -> None:
    for ranges, failing in (([], 0), ([1000], 1), ([15], 0)):
        wage = {"wage": {"stability": "stable", "type": "numeric", "ranges": ranges}}
        first, second = (
            told(tmp_path / str(ranges), text, by_person(wage))
            for text in ("ann 10 10, bob 11 20, cyd 12 30", "ann 10 10, bob 11 20, dan 12 40")
        )
        assert [second.asked(gate, first).value for gate in ("pairwise", "person")] == [failing] * 2


def test_a_class_of_similar_values_fails_by_itself(tmp_path: Path) -> None:
    alone = told(tmp_path, "ann 10 gastritis, bob 11 ulcer", by_person(SIMILAR))
    assert alone.asked("worlds").value == 2
    assert told(tmp_path, "ann 10 gastritis, bob 11 ulcer", by_person(PLAIN)).asked("worlds").value == 0


def test_a_likely_kind_of_value_counts_as_one(tmp_path: Path) -> None:
    gates = {"worlds": {"p_max": 0.6}}
    text = "ann 10 gastritis, bob 11 ulcer, cyd 12 hiv, dan 13 ulcer"
    for sensitive, failing in ((PLAIN, 0), (SIMILAR, 4)):
        policy = by_person(sensitive, gates=gates)
        first, second = (told(tmp_path / str(failing), text, policy) for _ in range(2))
        for release in ((first,), (second, first)):
            assert release[0].asked("worlds", *release[1:]).value == failing


def test_transient_values_of_one_kind_are_one(tmp_path: Path) -> None:
    """Of those with hiv, who may have either of their rows, it is known that they have a stomach disease."""
    sensitive = {**PLAIN, "diet": {**SIMILAR["illness"], "stability": "transient"}}
    plain = {**PLAIN, "diet": {**PLAIN["illness"], "stability": "transient"}}
    text = "ann 10 hiv gastritis, bob 11 flu ulcer, cyd 12 hiv ulcer, dan 13 flu gastritis"
    for described, failing in ((plain, 0), (sensitive, 4)):
        policy = by_person(described)
        first, second = (told(tmp_path / str(failing), text, policy) for _ in range(2))
        assert second.asked("worlds", first).value == failing


# Sets, totals and counts, held against plain loops ----------------------------------------------------------

GROUPS = st.lists(st.integers(0, 3), min_size=5, max_size=5).map(
    lambda drawn: np.unique(np.array(drawn), return_inverse=True)[1].reshape(-1)
)


@given(st.lists(st.integers(0, 31), min_size=1, max_size=6), GROUPS)
def test_the_size_of_a_set_is_its_number_of_groups(sets: list[int], groups: np.ndarray) -> None:
    marks = np.array([[bool(each >> bit & 1) for bit in range(5)] for each in sets])
    expected = [len({int(groups[bit]) for bit in range(5) if row[bit]}) for row in marks]
    required = Required(2, groups)
    assert required.counted(marks).tolist() == expected
    assert sizes_of(packed(marks), required.alike).tolist() == expected


@given(
    st.integers(1, 31),
    st.lists(st.tuples(st.integers(0, 31), st.booleans()), min_size=1, max_size=4),
    GROUPS,
)
def test_every_choice_of_releases_leaves_groups(
    own: int, earlier: list[tuple[int, bool]], groups: np.ndarray
) -> None:
    there = [mask for mask, seen in earlier if seen]
    left = []
    for size in range(1, len(there) + 1):
        for chosen in combinations(there, size):
            common = own
            for mask in chosen:
                common &= mask
            if common:
                left.append(len({int(groups[bit]) for bit in range(5) if common >> bit & 1}))
    words = [np.array([[own]], dtype=np.uint64), np.array([[[mask] for mask, _ in earlier]], dtype=np.uint64)]
    seen = np.array([[seen for _, seen in earlier]])
    found = least_left(*words, seen, alike=Required(2, groups).alike)
    assert found.tolist() == [min(left, default=intersection.UNCONSTRAINED)]


TOTALS = st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=3, max_size=4)


@given(TOTALS, GROUPS, st.integers(2, 3), st.integers(1, 6))
def test_totals_are_exposed_by_groups(
    totals: list[list[int]], groups: np.ndarray, l_least: int, k: int
) -> None:
    surplus = np.array(totals[0]) - np.array(totals[1])
    sides = [[value for value in range(5) if sign * surplus[value] > 0] for sign in (1, -1)]
    records = [sum(abs(int(surplus[value])) for value in side) for side in sides]
    expected = [
        bool(side) and len({int(groups[value]) for value in side}) < l_least and not (mine >= k and other > 0)
        for side, mine, other in zip(sides, records, records[::-1], strict=True)
    ]
    assert exposed(surplus[None], l_least, k, groups).tolist() == [expected]
    found = several(np.array(totals), l_least, k, groups).failing.any(axis=2)
    last = len(totals) - 1
    for side, one in product((MORE, LESS), range(len(totals))):
        others = [other for other in range(len(totals)) if other != one]
        chosen = [
            each for n in range(2, len(totals)) for each in combinations(others, n) if last in (one, *each)
        ]
        left = [
            set.intersection(*(values_told(totals, one, other, side, k) for other in each)) for each in chosen
        ]
        kinds = [{int(groups[value]) for value in values} for values in left]
        assert found[side, one] == any(0 < len(each) < l_least for each in kinds)


def test_several_totals_that_leave_two_similar_values_expose_who_has_them() -> None:
    # Two are missing from both later tables: one has gastritis, one an ulcer.
    totals = np.array([[3] * 5, [2, 2, 2, 3, 3], [2, 2, 3, 2, 2]])
    assert not several(totals, 2, 9).failing[0, 0].any()
    failing = several(totals, 2, 9, np.array([0, 0, 1, 2, 3])).failing
    assert np.flatnonzero(failing[0, 0]).tolist() == [0, 1]


ROWS = st.lists(st.tuples(st.integers(0, 12), st.sampled_from(ILLS)), min_size=2, max_size=12)


@given(ROWS, ROWS, st.integers(2, 3), st.integers(0, 1))
def test_pairs_are_compared_alike_by_bits_and_one_by_one(
    now: list[Any], before: list[Any], least: int, few: int
) -> None:
    policy = small_policy(AGE, SIMILAR, privacy={**LOOSE, "l": least})
    made = [
        generalized(prepared(policy, rows), np.array([age // 4 for age, _ in rows]), policy)
        for rows in (now, before)
    ]
    space = space_of(made)
    history = history_of([("r1", made[1])], space, policy)
    assert history is not None
    boxes, required = boxes_of(made[0], space), required_of(policy, space, ["illness"])
    in_pairs, in_bits = (
        [block.failed[0] for block in blocks(boxes, history, {0: required["illness"]})]
        for blocks in (intersection._blocks_of_pairs, intersection._blocks_of_bits)
    )
    expected = 0
    for mine in np.flatnonzero(np.ones(len(boxes))):
        for other in range(len(history.boxes)):
            if boxes.low[mine, 0] <= history.boxes.high[other, 0] and (
                history.boxes.low[other, 0] <= boxes.high[mine, 0]
            ):
                common = boxes.present[0][mine] & history.boxes.present[0][other]
                kinds = {
                    KIND[ill] for ill, here in zip(space.sensitive["illness"], common, strict=True) if here
                }
                expected += 0 < len(kinds) < least
    assert sum(in_pairs) == sum(in_bits) == expected
    assert pairwise(boxes, history, space, required)[0].failed == expected


# A table in which similar values are one --------------------------------------------------------------------


def whole_kinds(rows: list[Any]) -> list[Any]:
    """Return two people for each, with both values of the kind: a class has all values of a kind, or none."""
    of_kind = {
        "flu": ("flu", "cold"),
        "cold": ("flu", "cold"),
        "gastritis": ("gastritis", "ulcer"),
        "ulcer": ("gastritis", "ulcer"),
        "hiv": ("hiv", "hiv"),
    }
    return [(age, one) for age, illness in rows for one in of_kind[illness]]


def one_of_each(rows: list[Any]) -> list[Any]:
    return [(age, KIND[illness]) for age, illness in rows]


COMPARED = (pairwise_gate, whole_history_gate, difference_gate, size_gate, totals_gate)


@pytest.mark.integration
@given(
    st.lists(ROWS, min_size=2, max_size=3), st.integers(2, 3), st.sampled_from(["cumulative", "overlapping"])
)
def test_verdicts_and_repair_are_those_of_a_table_in_which_similar_values_are_one(
    tables: list[list[Any]], least: int, population: str
) -> None:
    """Where each class has all values of a kind or none, what is in common is the same."""
    policies = [
        small_policy(AGE, each, privacy={**LOOSE, "l": least}, population=population)
        for each in (SIMILAR, PLAIN)
    ]
    with tempfile.TemporaryDirectory() as name:
        made: list[list[Published]] = [[], []]
        for number, rows in enumerate(whole_kinds(each) for each in tables):
            found, groups = [], np.array([age // 4 for age, _ in rows])
            for of, policy in enumerate(policies):
                table = prepared(policy, one_of_each(rows) if of else rows)
                earlier = [(str(at), each.classes) for at, each in enumerate(made[of])]
                by_hand = Partition(np.unique(groups, return_inverse=True)[1].reshape(-1))
                found.append(repair(table, by_hand, policy, earlier, max_group_size=8))
                made[of].append(published(policy, table, by_hand, Path(name) / f"{of}-{number}"))
            assert np.array_equal(found[0].labels, found[1].labels)
            assert found[0].repair == found[1].repair
        for gate in COMPARED:
            one, other = (gate(each[-1].evidence(*each[:-1])) for each in made)
            assert (one.verdict, one.value, one.detail) == (other.verdict, other.value, other.detail)


@pytest.mark.integration
@given(st.lists(ROWS, min_size=2, max_size=3), st.integers(2, 3))
def test_what_fails_where_similar_values_are_one_fails_where_they_are_published(
    tables: list[list[Any]], least: int
) -> None:
    """Unless nothing at all is in common: values as they are published tell more, not less."""
    with tempfile.TemporaryDirectory() as name:
        failing, shared = [], np.zeros(0)
        for of, described in enumerate((SIMILAR, PLAIN)):
            policy = small_policy(AGE, described, privacy={**LOOSE, "l": least})
            made = []
            for number, rows in enumerate(tables):
                table = prepared(policy, one_of_each(rows) if of else rows)
                labels = np.unique([age // 4 for age, _ in rows], return_inverse=True)[1].reshape(-1).tolist()
                made.append(published(policy, table, labels, Path(name) / f"{of}-{number}"))
            evidence = made[-1].evidence(*made[:-1])
            history = evidence.history
            assert history is not None
            found = pairwise(evidence.boxes, history, evidence.space, evidence.required)[0].failing
            failing.append(found)
            if not of:
                overlap = history.index.overlapping(evidence.boxes)
                some = history.index.sharing_some_but_few(evidence.boxes, 0, 99)
                shared = np.array_equal(overlap & some, overlap)  # every pair has a value in common
        if shared:
            assert not (failing[1] & ~failing[0]).any()


@pytest.mark.integration
@given(st.lists(ROWS, min_size=2, max_size=3), st.integers(2, 3))
def test_the_repair_leaves_no_class_that_fails(tables: list[list[Any]], least: int) -> None:
    policy = small_policy(AGE, SIMILAR, privacy={**LOOSE, "l": least}, method={"name": "mondrian"})
    with tempfile.TemporaryDirectory() as name:
        releases: list[Published] = []
        for number, rows in enumerate(tables):
            table = prepared(policy, rows)
            earlier = [(str(at), each.classes) for at, each in enumerate(releases)]
            largest = bound_method(policy).max_group_size
            found = repair(table, anonymized(table, policy), policy, earlier, max_group_size=largest)
            made = published(policy, table, found, Path(name) / str(number))
            if not made.classes.n_classes:
                break
            for gate in (pairwise_gate, whole_history_gate):
                assert gate(made.evidence(*releases)).value == 0
            releases.append(made)


# Attackers --------------------------------------------------------------------------------------------------


def attacked(
    sensitive: dict[str, Any], rows: list[Any], folder: Path, attackers: list[str] | None = None
) -> dict[str, Any]:
    limit = {"max": 1} if attackers is None else {"max": 1, "attackers": attackers}
    gates = {"sadr": limit, "sadr_excess": limit, "forced": {"max": 1}}
    linkage = {"ext_frac": [1.0], "seeds": 2}
    policy = small_policy(AGE, sensitive, privacy=LOOSE, gates=gates, linkage=linkage)
    labels = np.unique([age // 4 for age, _ in rows], return_inverse=True)[1].reshape(-1).tolist()
    made = published(policy, prepared(policy, rows), labels, folder)
    found = assess(made.evidence(), {name: GATES[name] for name in gates}).results
    return {one.gate: (one.verdict, one.value, one.witness) for one in found}


def test_a_class_of_stomach_diseases_is_guessed_right(tmp_path: Path) -> None:
    rows = [(10, "gastritis"), (11, "ulcer"), (20, "gastritis"), (21, "hiv")]
    exact, alike = (
        attacked(each, rows, tmp_path / str(number)) for number, each in enumerate((PLAIN, SIMILAR))
    )
    assert (exact["sadr"][1], alike["sadr"][1]) == (0.5, 1.0)
    assert exact["forced"][2]["certain_values"] == {"illness": 0.0}
    assert alike["forced"][2]["certain_values"] == {"illness": 0.5}  # of ann and bob


@pytest.mark.integration
@given(ROWS)
def test_attacks_are_those_on_a_table_in_which_similar_values_are_one(rows: list[Any]) -> None:
    """Of attackers who know no sensitive value: R(x) is the same."""
    with tempfile.TemporaryDirectory() as name:
        attackers = ["half", "all", "outside"]
        one = attacked(SIMILAR, rows, Path(name) / "similar", attackers)
        other = attacked(PLAIN, one_of_each(rows), Path(name) / "plain", attackers)
    assert one == other


def test_numbers_count_as_one_by_ranges_or_by_a_width() -> None:
    wage = {"stability": "stable", "type": "numeric", "ranges": [10], "width": 5}
    with pytest.raises(PolicyError, match="ranges and width both say which numbers count as one"):
        small_policy(AGE, {"wage": wage})
