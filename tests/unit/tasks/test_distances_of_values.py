"""How far apart sensitive values are for t-closeness: by a hierarchy, by a declared order, or equally."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.hierarchy import Hierarchy, checked, from_tree
from policy.load import load_policy, policy_digest, policy_document, policy_from_document
from policy.loosening import loosened
from policy.model import ReleasePolicy
from policy.privacy_models import TCloseness
from release_store.records import Verdict
from tasks.partitioning.constraints import constraints_of
from tasks.privacy.closeness import (
    Closeness,
    equal_distances,
    hierarchical_distances,
    ordered_distances,
)
from tasks.privacy.value_tree import order_and_tree, tree_of
from tasks.recoding.levels import category_levels
from tests.reference.transport import earth_movers_distance, hierarchical_distance
from tests.support.made_classes import asked, classes_of
from tests.support.small import anonymized, policy_text, prepared, published, small_policy

# The diseases of Li et al. (2007), figure 2.
DISEASES: dict[str, Any] = {
    "respiratory": {
        "infection": ["flu", "pneumonia", "bronchitis"],
        "vascular": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive": {
        "stomach": ["gastric ulcer", "gastritis", "stomach cancer"],
        "colon": ["colitis", "colon cancer"],
    },
}


def distances(
    hierarchy: Hierarchy, values: tuple[str, ...], counts: list[list[int]], overall: list[int]
) -> list[float]:
    tree = tree_of(category_levels(values, hierarchy))
    return hierarchical_distances(np.array(counts), np.array(overall), tree).tolist()


@pytest.mark.parametrize(
    ("other", "distance"),
    [("flu", 0), ("bronchitis", 1 / 3), ("pulmonary embolism", 2 / 3), ("stomach cancer", 1), ("missing", 1)],
)
def test_the_distances_of_li_et_al_from_flu(other: str, distance: float) -> None:
    values = ("flu", other) if other != "flu" else ("flu",)
    counts, overall = [[1] + [0] * (len(values) - 1)], [0] * (len(values) - 1) + [1]
    assert distances(from_tree(DISEASES), values, counts, overall) == pytest.approx([distance])


def test_three_classes_of_nine_patients_by_hand() -> None:
    """In ninths, a class of three beside all nine; one level up is a third.

    {gastric ulcer, stomach cancer, pneumonia}: the stomach has surpluses 2 and 1 and a deficit 2, so 2 are
    moved there, and 1 is over; infections have 2 and -1, -2, so 2 are moved, and 1 lacks. 1 is moved over the
    root. 2/3 + 2/3 + 1 = 7/3 of 9. {gastritis, flu, bronchitis}: 1 and -1, -2: 1 is moved, 2 lack; 2, 1 and
    -1: 1 is moved, 2 are over. 1/3 + 1/3 + 2 = 8/3. {gastritis, stomach cancer, bronchitis}: 1, 1 and -1: 1;
    1 and -1, -1: 1; over the root 1. 5/3.
    """
    values = ("gastric ulcer", "gastritis", "stomach cancer", "flu", "pneumonia", "bronchitis")
    classes = [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1]]
    found = distances(from_tree(DISEASES), values, classes, [1, 2, 2, 1, 1, 2])
    assert found == pytest.approx([7 / 27, 8 / 27, 5 / 27])


def test_on_a_short_branch_the_leaf_stands_on_the_lower_levels_too() -> None:
    hierarchy = from_tree({"a": {"b": ["x", "y"]}, "c": ["z", "w"]})
    values = hierarchy.leaves
    ones = np.eye(4, dtype=int).tolist()
    # The root is three levels up; b one, c two.
    assert distances(hierarchy, values, ones, ones[0]) == pytest.approx([0, 1 / 3, 1, 1])
    assert distances(hierarchy, values, ones, ones[2]) == pytest.approx([1, 1, 0, 2 / 3])


def test_a_flat_hierarchy_is_the_equal_distance() -> None:
    counts = np.array([[3, 0, 1], [1, 1, 2]])
    tree = tree_of(category_levels(("b", "c", "missing"), from_tree(["a", "b", "c"])))
    found = hierarchical_distances(counts, counts.sum(axis=0), tree)
    assert found.tolist() == pytest.approx(equal_distances(counts, counts.sum(axis=0)).tolist())


def test_a_table_without_values_or_groups_has_no_distance() -> None:
    tree = tree_of(category_levels((), from_tree(DISEASES)))
    none = np.zeros((0, 0), dtype=np.int64)
    assert hierarchical_distances(none, none.sum(axis=0), tree).shape == (0,)


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """A hierarchy of up to seven leaves with two or three levels above them, all of one length."""
    height = draw(st.integers(1, 2))
    names = st.tuples(*[st.sampled_from("pq") for _ in range(height)])
    above = draw(st.lists(names, min_size=1, max_size=7))
    rows = [
        # A node is named by all above it.
        (f"v{i}", *("".join(path[level:]) for level in range(height)), "*")
        for i, path in enumerate(above)
    ]
    return checked(rows)


@st.composite
def groups(draw: st.DrawFn) -> tuple[Hierarchy, tuple[str, ...], list[int], list[int]]:
    """A hierarchy, some of its leaves in any order, maybe a value that it lacks, and two groups of them."""
    hierarchy = draw(trees())
    values = draw(
        st.lists(st.sampled_from([*hierarchy.leaves, "missing"]), min_size=1, max_size=8, unique=True)
    )
    counts = st.lists(st.integers(0, 5), min_size=len(values), max_size=len(values)).filter(any)
    return hierarchy, tuple(values), draw(counts), draw(counts)


@given(groups())
def test_the_distance_is_the_least_cost_of_the_transport(
    made: tuple[Hierarchy, tuple[str, ...], list[int], list[int]],
) -> None:
    hierarchy, values, one, other = made
    height = len(hierarchy.paths[0])
    lacks = [("missing",) * (height - 1) + ("*",)]
    paths = [*hierarchy.paths, *lacks]
    path = {it[0]: it for it in paths}

    def distance(i: int, j: int) -> float:
        return hierarchical_distance(path[values[i]], path[values[j]])

    (found,) = distances(hierarchy, values, [one], other)
    assert found == pytest.approx(earth_movers_distance(one, other, distance), abs=1e-9)


@given(groups(), st.lists(st.integers(0, 5), min_size=8, max_size=8).filter(any), st.integers(0, 8))
def test_two_groups_near_a_table_are_near_it_together(
    made: tuple[Hierarchy, tuple[str, ...], list[int], list[int]], table: list[int], eighths: int
) -> None:
    hierarchy, values, one, other = made
    overall = np.array(table[: len(values)])
    both = np.array([one, other])
    near = Closeness(eighths / 8, overall, None, tree_of(category_levels(values, hierarchy)))
    if (near.shortfall(both, both.sum(axis=1)) <= 0).all():
        assert float(near.shortfall(both.sum(axis=0), both.sum())) <= 1e-9


@given(groups())
def test_no_hierarchy_makes_groups_further_apart_than_equal_distances(
    made: tuple[Hierarchy, tuple[str, ...], list[int], list[int]],
) -> None:
    hierarchy, values, one, other = made
    (found,) = distances(hierarchy, values, [one], other)
    assert found <= float(equal_distances(np.array(one), np.array(other))) + 1e-12


# In a policy


def illness(**fields: Any) -> dict[str, Any]:
    return {"illness": {"stability": "stable", **fields}}


HIERARCHY: dict[str, Any] = {"infections": ["flu", "hiv"], "other": ["cough", "burn"]}
LEAVES = ["flu", "hiv", "cough", "burn"]
GRADES = ["low", "middle", "high"]


def policy(sensitive: dict[str, Any], most: float = 0.3, **closeness: Any) -> ReleasePolicy:
    models = {"t_closeness": {"max": most, **closeness}}
    return small_policy(sensitive=sensitive, gates={"models": models, "ncp": {"max": 1}})


def of_cities(**illnesses: list[str]) -> list[Any]:
    """Rows of one class a city."""
    cells = {city: ((20, 20), frozenset({city})) for city in illnesses}
    return [(cells[city], (one,)) for city, words in illnesses.items() for one in words]


# Hull has the infections, flu twice; York too, hiv twice; each is 1/6 from all by equal distances, and half
# of it by the hierarchy.
ROWS = of_cities(Hull=["flu", "flu", "hiv"], York=["flu", "hiv", "hiv"])


@pytest.mark.parametrize(
    ("sensitive", "closeness", "value"),
    [
        (illness(), {}, 1 / 6),
        (illness(hierarchy=HIERARCHY), {}, 1 / 12),
        (illness(hierarchy=HIERARCHY), {"distance": {"illness": "hierarchical"}}, 1 / 12),
        (illness(hierarchy=HIERARCHY), {"distance": {"illness": "equal"}}, 1 / 6),
    ],
)
def test_the_gate_measures_by_the_hierarchy_unless_the_model_says_equal(
    sensitive: dict[str, Any], closeness: dict[str, Any], value: float
) -> None:
    asks = policy(sensitive, **closeness)
    result = asked("t_closeness", classes_of(ROWS, asks), asks)
    assert result.value == pytest.approx(value)
    assert ("hierarchical: illness" in result.detail) is (value < 0.1)


def test_ordered_categories_are_as_far_apart_as_their_places() -> None:
    # All: one low, two high, three middle of 6. Hull: low, middle, middle: its cumulated surplus is 1/6, then
    # 2/6, over two steps: 1/4. By equal distances: 1/6 + 1/6 over.
    rows = of_cities(Hull=["low", "middle", "middle"], York=["high", "middle", "high"])
    for fields, value in (({"ordered": True}, 1 / 4), ({}, 1 / 3)):
        asks = policy(illness(values=GRADES, **fields))
        assert asked("t_closeness", classes_of(rows, asks), asks).value == pytest.approx(value)


def test_a_missing_grade_is_far_from_every_grade() -> None:
    rows = of_cities(Hull=["low", "missing"], York=["low", "low"])
    asks = policy(illness(values=GRADES, ordered=True))
    assert asked("t_closeness", classes_of(rows, asks), asks).value == pytest.approx(1 / 4)


def test_a_published_grade_that_the_order_lacks_is_not_judged() -> None:
    rows = of_cities(Hull=["low", "lowest"], York=["low", "low"])
    asks = policy(illness(values=GRADES, ordered=True))
    result = asked("t_closeness", classes_of(rows, asks), asks)
    assert result.verdict is Verdict.UNKNOWN
    assert "lowest" not in result.detail


def test_a_published_value_that_the_hierarchy_lacks_is_far_from_every_value() -> None:
    rows = of_cities(Hull=["flu", "plague"], York=["flu", "flu"])
    asks = policy(illness(hierarchy=HIERARCHY))
    assert asked("t_closeness", classes_of(rows, asks), asks).value == pytest.approx(1 / 4)


@given(st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any), min_size=1, max_size=4))
def test_grades_are_as_numbers_that_stand_in_their_order(counts: list[list[int]]) -> None:
    attribute = policy(illness(values=GRADES, ordered=True)).roles.sensitive["illness"]
    order, tree = order_and_tree(TCloseness(max=0), "illness", attribute, ("high", "low", "middle"), None)
    assert order is not None
    assert tree is None
    made = np.array(counts)
    expected = ordered_distances(made, made.sum(axis=0), np.array([30.0, -1.0, 2.5]))
    assert ordered_distances(made, made.sum(axis=0), order).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "fields",
    [{"hierarchy": HIERARCHY}, {"values": LEAVES, "ordered": True}, {"values": LEAVES}],
    ids=["hierarchy", "ordered", "equal"],
)
def test_classes_are_cut_and_merged_by_the_distance_that_the_gate_measures(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(7)
    rows = [(int(age), "a", LEAVES[int(rng.integers(4))]) for age in rng.integers(0, 100, 60)]
    classes = {}
    for most in (0.15, 0.3):
        asks = policy(illness(**fields), most)
        table = prepared(asks, rows)
        made = published(asks, table, anonymized(table, asks), tmp_path / str(most))
        assert asked("t_closeness", made.classes, asks).verdict is Verdict.PASS
        classes[most] = len(made.classes.size)
    assert classes[0.15] < classes[0.3]


def test_a_hierarchy_lets_a_cut_make_more_classes_than_equal_distances(tmp_path: Path) -> None:
    """Each age has one infection and one other illness: halves of the ages differ below the nodes alone."""
    rows = [(age, "a", one) for age in range(20) for one in (("flu", "cough"), ("hiv", "burn"))[age // 10]]
    found = []
    for distance in ("hierarchical", "equal"):
        asks = policy(illness(hierarchy=HIERARCHY), 0.25, distance={"illness": distance})
        table = prepared(asks, rows)
        made = published(asks, table, anonymized(table, asks), tmp_path / distance)
        assert asked("t_closeness", made.classes, asks).verdict is Verdict.PASS
        found.append(len(made.classes.size))
    assert found[0] > found[1]


@pytest.mark.parametrize("models", [{}, {"t_closeness": {"max": 0.3, "distance": {"illness": "equal"}}}])
def test_a_hierarchy_and_a_list_of_its_leaves_publish_the_same(
    models: dict[str, Any], tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    rows = [
        (int(age), "ab"[int(rng.integers(2))], [*LEAVES, None][int(rng.integers(5))])
        for age in rng.integers(0, 100, 40)
    ]
    files = []
    for name, fields in (("tree", {"hierarchy": HIERARCHY}), ("list", {"values": LEAVES})):
        asked_models = models if name == "tree" or not models else {"t_closeness": {"max": 0.3}}
        asks = small_policy(sensitive=illness(**fields), gates={"models": asked_models})
        table = prepared(asks, rows)
        assert table.sensitive_values["illness"] == (*LEAVES, "missing")
        files.append(published(asks, table, anonymized(table, asks), tmp_path / name).csv.read_bytes())
    assert files[0] == files[1]


def test_listed_values_may_be_leaves() -> None:
    def alpha(value: str) -> ReleasePolicy:
        models = {"alpha_k": {"alpha": 0.5, "k": 2, "values": {"illness": [value]}}}
        return small_policy(sensitive=illness(hierarchy=HIERARCHY), gates={"models": models})

    limits = constraints_of(prepared(alpha("hiv"), [(1, "a", "flu"), (2, "a", "hiv")]), alpha("hiv"))
    (condition,) = limits.columns[0].conditions
    assert condition.shortfall(np.array([3, 0]), np.array(3)) == 0
    assert condition.shortfall(np.array([0, 3]), np.array(3)) > 0
    with pytest.raises(
        PolicyError, match=r"lists 'HIV', which is not in roles\.sensitive\.illness\.hierarchy"
    ):
        alpha("HIV")
    assert alpha("hiv").roles.declared("illness")


@pytest.mark.parametrize(
    ("fields", "closeness", "finding"),
    [
        ({"values": LEAVES, "hierarchy": HIERARCHY}, {}, "give values or a hierarchy, not both"),
        ({"type": "numeric", "hierarchy": HIERARCHY}, {}, "a hierarchy is of categories"),
        (
            {"hierarchy": {"missing": ["flu"], "other": ["burn"]}},
            {},
            "source.missing_label 'missing' is a node",
        ),
        ({"ordered": True}, {}, "ordered needs values, from the lowest to the highest"),
        ({"ordered": True, "hierarchy": HIERARCHY}, {}, "ordered needs values"),
        ({"ordered": True, "type": "numeric"}, {}, "numbers have their own order: leave out ordered"),
        ({"ordered": True, "values": ["low", "low"]}, {}, "values holds a value twice"),
        (
            {},
            {"illness": "hierarchical"},
            "distance.illness is hierarchical: roles.sensitive.illness.hierarchy",
        ),
        (
            {"values": GRADES},
            {"illness": "ordered"},
            "distance.illness is ordered: give roles.sensitive.illness",
        ),
        ({"hierarchy": HIERARCHY}, {"illness": "ordered"}, "distance.illness is ordered: give roles"),
        (
            {},
            {"ilness": "equal"},
            r"names 'ilness', which is not a sensitive attribute of roles \(did you mean",
        ),
        ({}, {"illness": "near"}, "should be 'equal', 'ordered' or 'hierarchical', found 'near'"),
    ],
)
def test_what_does_not_fit_is_refused(
    fields: dict[str, Any], closeness: dict[str, Any], finding: str
) -> None:
    with pytest.raises(PolicyError, match=finding) as caught:
        policy(illness(**fields), distance=closeness)
    assert len(str(caught.value).splitlines()) == 2


def test_a_hierarchy_may_stand_in_a_file_and_stays_in_the_stored_policy(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(policy_text(sensitive=illness(hierarchy="illnesses.csv")))
    (tmp_path / "illnesses.csv").write_text("flu;infections\nhiv;infections\ncough;other\nburn;other\n")
    read = load_policy(path)
    assert policy_digest(read) == policy_digest(small_policy(sensitive=illness(hierarchy=HIERARCHY)))
    again = policy_from_document(policy_document(read))
    assert again.roles.sensitive["illness"].allowed == tuple(LEAVES)
    assert policy_digest(again) == policy_digest(read)
    (tmp_path / "illnesses.csv").unlink()
    with pytest.raises(
        PolicyError, match=r"roles\.sensitive\.illness\.hierarchy \(.*illnesses\.csv\): no such"
    ):
        load_policy(path)


@pytest.mark.enemy("policy author", "reads a file")
def test_a_sensitive_attributes_hierarchy_is_no_file_outside_the_policys_folder(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "outside.csv").write_text("flu;infections\n")
    path = tmp_path / "policies" / "policy.yaml"
    path.write_text(policy_text(sensitive=illness(hierarchy="../outside.csv")))
    with pytest.raises(PolicyError, match="leads out of the policy's folder"):
        load_policy(path)


def test_what_a_policy_does_not_say_is_not_in_its_document() -> None:
    document = policy_document(policy(illness(values=LEAVES)))
    assert not {"hierarchy", "ordered"} & document["roles"]["sensitive"][0].keys()
    assert document["gates"]["models"]["t_closeness"] == {"max": 0.3}
    ordered = policy_document(policy(illness(values=LEAVES, ordered=True), distance={"illness": "equal"}))
    assert ordered["roles"]["sensitive"][0]["ordered"] is True
    assert ordered["gates"]["models"]["t_closeness"]["distance"] == {"illness": "equal"}


@pytest.mark.parametrize(
    ("fields", "was", "now", "told"),
    [
        ({"hierarchy": HIERARCHY}, {"illness": "equal"}, {}, "hierarchical instead of equal"),
        ({"hierarchy": HIERARCHY}, {}, {"illness": "hierarchical"}, ""),
        ({"values": LEAVES}, {"illness": "equal"}, {}, ""),
        ({"values": LEAVES, "ordered": True}, {"illness": "equal"}, {}, "ordered instead of equal"),
    ],
)
def test_a_nearer_distance_is_looser_and_not_the_other_way_round(
    fields: dict[str, Any], was: dict[str, str], now: dict[str, str], told: str
) -> None:
    before, after = (policy(illness(**fields), distance=each) for each in (was, now))
    expected = [f"gates.models.t_closeness.distance.illness {told}"] if told else []
    assert loosened(before, after) == expected
    assert loosened(after, before) == []


def test_an_order_or_a_hierarchy_that_is_new_is_looser_where_t_closeness_is_asked_for() -> None:
    plain, ordered = (policy(illness(values=LEAVES, **more)) for more in ({}, {"ordered": True}))
    assert loosened(plain, ordered) == [
        "gates.models.t_closeness.distance.illness ordered instead of equal",
    ]
    assert loosened(ordered, plain) == []
    unasked = small_policy(sensitive=illness(values=LEAVES))
    assert loosened(unasked, small_policy(sensitive=illness(values=LEAVES, ordered=True))) == []
    told = loosened(plain, policy(illness(hierarchy=HIERARCHY)))
    assert "gates.models.t_closeness.distance.illness hierarchical instead of equal" in told
    assert "roles.sensitive.illness.hierarchy changed" in told


def test_an_attributes_own_model_has_its_own_distance() -> None:
    def asks(**models: Any) -> ReleasePolicy:
        return small_policy(sensitive=illness(hierarchy=HIERARCHY), gates={"models": models})

    equal = {"distance": {"illness": "equal"}}
    own = {"attributes": {"illness": {"t_closeness": {"max": 0.2, **equal}}}}
    plain = {"illness": {"t_closeness": {"max": 0.2}}}
    for by, value in (
        (asks(t_closeness={"max": 0.3}, **own), 1 / 6),
        (asks(**own), 1 / 6),
        # In place of the model of all, its distances included.
        (asks(t_closeness={"max": 0.3, **equal}, attributes=plain), 1 / 12),
    ):
        assert asked("t_closeness", classes_of(ROWS, by), by).value == pytest.approx(value)
    with pytest.raises(PolicyError, match=r"attributes\.illness\.t_closeness\.distance names 'wage'"):
        asks(attributes={"illness": {"t_closeness": {"max": 0.2, "distance": {"wage": "equal"}}}})
    with pytest.raises(PolicyError, match=r"attributes\.illness\.t_closeness\.distance\.illness is ordered"):
        asks(attributes={"illness": {"t_closeness": {"max": 0.2, "distance": {"illness": "ordered"}}}})
    nearer = asks(attributes=plain)
    assert loosened(asks(**own), nearer) == [
        "gates.models.t_closeness.distance.illness hierarchical instead of equal"
    ]
    assert loosened(nearer, asks(**own)) == []


def test_similar_values_may_be_leaves_and_closeness_compares_each() -> None:
    similar = illness(hierarchy=HIERARCHY, similar=[["flu", "hiv"]])
    by = policy(similar)
    assert asked("t_closeness", classes_of(ROWS, by), by).value == pytest.approx(1 / 12)
    table = prepared(by, [(20, "a", one) for _, (one,) in ROWS])
    (closeness,) = [one for column in constraints_of(table, by).columns for one in column.conditions]
    assert float(closeness.shortfall(np.array([3, 0]), np.array(3))) == 0  # 1/4 of 0.3
    with pytest.raises(PolicyError, match="similar lists 'fever', which is not in the hierarchy"):
        policy(illness(hierarchy=HIERARCHY, similar=[["flu", "fever"]]))
