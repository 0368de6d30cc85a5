"""Groups merged until k^m and LKC hold: by hand, and on random groups under each recoding."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.gates import Gates
from policy.load import parse_policy
from policy.model import ReleasePolicy
from policy.privacy_models import Models
from release_store.records import EquivalenceClasses, Verdict
from tasks.composition import Fragment, decide, fragments_of, in_this_process, merged_beside_one_another
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.privacy import atoms, combinations
from tasks.recoding.generalize import generalized
from tasks.repair import known_values, shortages
from tasks.repair.known_values import asks_for_known_values, merged_for_known_values
from tasks.types import IntArray, PreparedTable, no_progress
from tests.support.made_classes import asked
from tests.support.small import prepared, small_policy

CITY = {"city": {"type": "categorical"}}
AGE = {"age": {"type": "integer", "bounds": [0, 120]}}


def merged(
    rows: list[Any], labels: list[int], quasi_identifiers: dict[str, Any], largest: int = 9, **models: Any
) -> list[int]:
    policy = small_policy(quasi_identifiers, gates={"models": models})
    made = merged_for_known_values(prepared(policy, rows), np.array(labels), policy, largest)
    return made.tolist()


AGES = [(1, "a"), (3, "b"), (4, "a"), (6, "b"), (20, "a"), (22, "b"), (24, "a"), (26, "b")]


def test_groups_whose_values_match_too_few_rows_are_merged_with_near_ones() -> None:
    """Each age matches the two rows of one group: [1, 3], [4, 6], [20, 22] or [24, 26]."""
    assert merged(AGES, [0, 0, 1, 1, 2, 2, 3, 3], AGE, km={"k": 3, "m": 1}) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert merged(AGES, [0, 0, 1, 1, 2, 2, 3, 3], AGE, km={"k": 5, "m": 1}) == [0] * 8
    assert merged(AGES, [0, 0, -1, -1, 2, 2, 1, 1], AGE, km={"k": 3, "m": 1}) == [0, 0, -1, -1, 0, 0, 0, 0]


def test_groups_that_overlap_match_together_and_one_of_them_is_enough() -> None:
    """Ages 1 and 9 match the two rows of [1, 9], ages 2 to 8 those of [2, 8] too: [1, 9] takes that in."""
    rows = [(1, "a"), (9, "b"), (2, "a"), (8, "b"), (50, "a"), (52, "b"), (50, "a"), (52, "b")]
    assert merged(rows, [0, 0, 1, 1, 2, 2, 2, 2], AGE, km={"k": 4, "m": 1}) == [0, 0, 0, 0, 1, 1, 1, 1]
    assert merged(rows, [0, 0, 1, 1, 2, 2, 2, 2], AGE, km={"k": 2, "m": 1}) == [0, 0, 1, 1, 2, 2, 2, 2]


def test_two_known_values_match_fewer_rows_than_one() -> None:
    """Each city and each sex match four rows, Hull's women two. With either other group, they are four."""
    rows = [(city, sex, one) for city in ("Hull", "York") for sex in "fm" for one in "ab"]
    both = {**CITY, "sex": {"type": "categorical"}}
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    assert merged(rows, labels, both, km={"k": 4, "m": 1}) == labels
    assert merged(rows, labels, both, km={"k": 4, "m": 2}) == [0, 0, 0, 0, 1, 1, 1, 1]
    # `privacy.k` alone is what a group of two rows holds: at most so many rows may be one.
    assert merged(rows, labels, both, km={"k": 5, "m": 2}) == [0] * 8


def test_a_group_in_which_a_value_is_too_sure_is_merged_with_one_in_which_it_is_not() -> None:
    """In [1, 3] all have a; [4, 6], the nearest, has as much of it, and [20, 22] none."""
    rows = [(1, "a"), (3, "a"), (4, "a"), (6, "a"), (20, "b"), (22, "c"), (24, "b"), (26, "c")]
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    assert merged(rows, labels, AGE, lkc={"l": 1, "k": 2, "c": 0.5}) == [0, 0, 1, 1, 0, 0, 1, 1]


def test_where_the_rows_with_a_label_do_not_hold_it_together_they_are_one_group() -> None:
    assert merged(AGES, [0, 0, 1, 1, 2, 2, 2, -1], AGE, km={"k": 8, "m": 1}) == [0] * 7 + [-1]
    most = [(1, "a"), (3, "b"), (4, "a"), (6, "a")]
    assert merged(most, [0, 0, 1, 1], AGE, lkc={"l": 1, "k": 2, "c": 0.7}) == [0, 0, 0, 0]
    assert merged(AGES, [-1] * 8, AGE, km={"k": 3, "m": 1}) == [-1] * 8


def test_the_largest_group_size_is_kept_where_it_can_be() -> None:
    """The two rows of [8, 8] are nearest to the six of 9; seven at most are those of [1, 2] with them."""
    rows = [(1, "a"), (2, "b"), (1, "a"), (2, "b"), (8, "a"), (8, "b"), *[(9, one) for one in "ababab"]]
    labels = [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2]
    assert merged(rows, labels, AGE, 8, km={"k": 4, "m": 1}) == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert merged(rows, labels, AGE, 7, km={"k": 4, "m": 1}) == [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert merged(rows, labels, AGE, 3, km={"k": 4, "m": 1}) == [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]


def test_nothing_is_merged_where_nobody_asks_and_where_it_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = {"gates": {"models": {"km": {"k": 3, "m": 1}}}}
    assert asks_for_known_values(small_policy(AGE, **few))
    assert not asks_for_known_values(small_policy(AGE))
    several = {"rows": "several", "roles": {"key": "person"}}
    assert not asks_for_known_values(small_policy(AGE, **few, **several))
    replaced = {"method": {"name": "mdav", "recoding": "centroid"}}
    assert not asks_for_known_values(small_policy(AGE, **few, **replaced))
    labels = [0, 0, 1, 1, 2, 2, 3, 3]
    monkeypatch.setattr(combinations, "MOST_WORK", 0)
    assert merged(AGES, labels, AGE, km={"k": 3, "m": 1}) == labels
    monkeypatch.undo()
    monkeypatch.setattr(atoms, "LARGEST", 1)
    assert merged(AGES, labels, AGE, km={"k": 3, "m": 1}) == labels


def test_of_many_sets_of_groups_as_many_as_may_be_are_looked_at_in_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = merged(AGES, [0, 0, 1, 1, 2, 2, 3, 3], AGE, km={"k": 3, "m": 1})
    monkeypatch.setattr(shortages, "MOST", 1)
    assert merged(AGES, [0, 0, 1, 1, 2, 2, 3, 3], AGE, km={"k": 3, "m": 1}) == whole


@pytest.mark.parametrize("recoding", ["full-domain", "centroid", "median", "quantized"])
def test_where_groups_are_not_merged_each_holds_both_models_by_itself(recoding: str) -> None:
    models = {"km": {"k": 4, "m": 1}, "lkc": {"l": 1, "k": 3, "c": 0.5}}
    policy = small_policy(AGE, method={"name": "mdav", "recoding": recoding}, gates={"models": models})
    assert not asks_for_known_values(policy)
    limits = constraints_of(prepared(policy, AGES), policy)
    assert limits.k == 4
    assert limits.group_holds(np.arange(4))
    assert not limits.group_holds(np.array([0, 1, 2, 4]))  # a is 3 of 4
    merging = small_policy(AGE, gates={"models": models})
    assert asks_for_known_values(merging)
    assert constraints_of(prepared(merging, AGES), merging).k == 2


# Any groups, under the recodings by which groups are merged

HIERARCHY = "x;low;all\ny;low;all\nz;high;all\nw;high;all\n"
RECODINGS = ("sets", "hierarchy", "sets, ends: rounded")
ROW = st.tuples(
    st.one_of(st.none(), st.integers(0, 9)),
    st.sampled_from("xyzw"),
    st.sampled_from("fm"),
    st.sampled_from("abc"),
)
MODELS = {
    "km": st.tuples(st.integers(2, 9), st.integers(1, 3)).map(lambda km: {"k": km[0], "m": km[1]}),
    "lkc": st.tuples(st.integers(1, 3), st.integers(2, 9), st.sampled_from([0.4, 0.5, 0.75])).map(
        lambda lkc: {"l": lkc[0], "k": lkc[1], "c": lkc[2]}
    ),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ReleasePolicy]:
    """A policy of three quasi-identifiers for each recoding."""
    folder = tmp_path_factory.mktemp("policies")
    (folder / "cities.csv").write_text(HIERARCHY)
    text = (
        "series: small\nroles:\n  quasi_identifiers:\n"
        "    age: {type: integer, bounds: [0, 9], widths: [2, 4]}\n"
        "    city: {type: categorical, hierarchy: cities.csv}\n    sex: {type: categorical}\n"
        "  sensitive: {illness: {stability: stable}}\nprivacy: {k: 2, e: 1, p_max: 1}\n"
    )
    return {
        recoding: parse_policy(
            f"{text}method: {{name: mondrian, recoding: {recoding}}}", folder / "policy.yaml"
        )
        for recoding in RECODINGS
    }


@given(
    st.lists(st.tuples(ROW, st.integers(-1, 5)), min_size=2, max_size=24),
    st.fixed_dictionaries({}, optional=MODELS).filter(bool),
    st.sampled_from(RECODINGS),
    st.integers(3, 9),
    st.sampled_from([0, known_values.DIRECT]),
)
def test_the_gates_pass_or_all_are_one_group_and_no_group_is_cut(
    written: dict[str, ReleasePolicy],
    placed: list[tuple[tuple[Any, ...], int]],
    models: dict[str, Any],
    recoding: str,
    largest: int,
    direct: int,
) -> None:
    """Also for groups of fewer rows than `privacy.k`, and where only near groups are looked at."""
    gates = Gates(models=Models.model_validate(models))
    policy = written[recoding].model_copy(update={"gates": gates})
    table = prepared(policy, [(placed[0][0][0] or 3, *placed[0][0][1:]), *(row for row, _ in placed[1:])])
    _, labels = np.unique([max(label, -1) for _, label in placed], return_inverse=True)
    labels = labels - (min(label for _, label in placed) < 0)
    before = {gate: asked(gate, published_classes(table, labels, policy), policy).verdict for gate in models}
    with mock.patch.object(known_values, "DIRECT", direct):
        made = merged_for_known_values(table, labels, policy, largest)
    assert np.array_equal(made < 0, labels < 0)
    assert all(len(np.unique(made[labels == one])) == 1 for one in range(labels.max(initial=-1) + 1))
    assert sorted(set(made[made >= 0].tolist())) == list(range(made.max(initial=-1) + 1))
    if set(before.values()) == {Verdict.PASS}:
        assert made is labels
    classes = published_classes(table, made, policy)
    passes = all(asked(gate, classes, policy).verdict is Verdict.PASS for gate in models)
    assert passes or made.max() <= 0
    together = published_classes(table, np.where(labels >= 0, 0, -1), policy)
    if all(asked(gate, together, policy).verdict is Verdict.PASS for gate in models):
        assert passes


def published_classes(table: PreparedTable, labels: IntArray, policy: ReleasePolicy) -> EquivalenceClasses:
    return generalized(table, labels, policy)


# Where it stands among the stages


def test_fragments_are_laid_beside_one_another_and_not_each_by_itself() -> None:
    """What 40 rows of all fragments match is enough: a fragment by itself is not merged for it."""
    draw = np.random.default_rng(1)
    ages = draw.uniform(0, 120, 2_500).round(3).tolist()
    rows = [(age, "York" if i % 50 == 0 else "Hull", "ab"[i % 2]) for i, age in enumerate(ages)]
    quasi_identifiers = {"age": {"type": "numeric", "bounds": [0, 120]}, **CITY}
    sections: dict[str, Any] = {
        "privacy": {"k": 5},
        "method": {"name": "mondrian", "parameters": {"fragment_size": 1000}},
    }
    made = {}
    for name, models in (("without", {}), ("with", {"km": {"k": 40, "m": 1}})):
        policy = small_policy(quasi_identifiers, gates={"models": models}, **sections)
        table = prepared(policy, rows)
        method = bound_method(policy)
        found = fragments_of(table, method, policy, in_this_process, no_progress)
        assert found is not None
        made[name] = merged_beside_one_another(table, found, method, policy, no_progress)
    classes = published_classes(table, made["with"].labels, policy)
    assert asked("km", classes, policy).verdict is Verdict.PASS
    assert "merged_for_known_values" not in decide(Fragment(table.take(np.arange(600)), policy)).notes
    assert 1 < made["with"].notes["groups"] == made["with"].n_groups < made["without"].n_groups
    assert made["with"].notes["merged_for_known_values"] == made["without"].n_groups - made["with"].n_groups
