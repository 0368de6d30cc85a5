"""Adaptive generalization and noise: figures by hand, draws against SciPy's distribution, random tables."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from policy.hierarchy import from_tree
from policy.model import ReleasePolicy
from tasks.recoding.adaptive import AdaptiveRule, adaptive, diversity, general
from tasks.recoding.cells import read_set
from tasks.recoding.numbers import laplace_noise
from tasks.types import PreparedTable, Recoded, Representation
from tests.support.small import ILLNESS, MIXED, TWO_SENSITIVE, mixed_rows, prepared, small_policy

NOWHERE = Representation(np.empty((0, 0)))
TREE = {"North": ["Hull", "York"], "South": ["Bath", "Wells"]}
PEOPLE = {
    "age": {"type": "integer", "bounds": [0, 100]},
    "city": {"type": "categorical", "hierarchy": TREE},
    "sex": {"type": "categorical"},
}
ROWS = [
    # Cluster 0: two illnesses of two, most are from Hull, the table's first city; F is half of it.
    (20, "Hull", "F", "flu"),
    (30, "Hull", "M", "hiv"),
    (None, "Hull", "F", "flu"),
    (50, "Bath", "M", "hiv"),
    # Cluster 1: one illness, all from Hull and F.
    (10, "Hull", "F", "flu"),
    (12, "Hull", "F", "flu"),
    # Cluster 2: two illnesses, from York and Wells.
    (70, "York", "F", "flu"),
    (80, "Wells", "M", "hiv"),
]
CLUSTERS = np.array([0, 0, 0, 0, 1, 1, 2, 2])


def policy_of_people(**sections: Any) -> ReleasePolicy:
    return small_policy(PEOPLE, ILLNESS, method={"name": "mondrian", "recoding": "adaptive"}, **sections)


def by_record(made: Recoded) -> pd.DataFrame:
    return made.frame.set_axis(made.records, axis=0).sort_index()


def recoded(table: PreparedTable, policy: ReleasePolicy, labels: Any = CLUSTERS, **rule: Any) -> Recoded:
    return adaptive(table, NOWHERE, np.asarray(labels), policy, 1, rule=AdaptiveRule(**rule))


@pytest.mark.parametrize(
    ("values", "by_hand", "printed"),
    [
        ([0, 0, 0], 0.0, "0.00"),
        ([0, 1, 0], log(3) - 2 / 3 * log(2), "0.63"),
        ([0, 1, 2], 1.0, "1.00"),  # its entropy is log(3), 1.099
    ],
)
def test_gamma_of_the_papers_three_clusters(values: list[int], by_hand: float, printed: str) -> None:
    for n_values in (3, 9):  # values that other clusters have change nothing
        (gamma,) = diversity(np.array(values), np.zeros(3, dtype=np.int64), n_values, 1)
        assert gamma == pytest.approx(by_hand)
        assert f"{int(gamma * 100) / 100:.2f}" == printed


def test_gamma_of_two_values_is_over_the_threshold_from_a_share_of_36_to_64() -> None:
    codes, labels = np.repeat([0, 1, 0, 1], [35, 65, 36, 64]), np.repeat([0, 1], 100)
    least = AdaptiveRule().least_diversity(2)
    assert (diversity(codes, labels, 2, 2) >= least).tolist() == [False, True]


def test_an_attribute_with_one_value_has_no_diversity() -> None:
    assert diversity(np.zeros(4, dtype=np.int64), np.array([0, 0, 1, 1]), 1, 2).tolist() == [0, 0]


def test_a_pattern_is_general_if_it_dominates_the_cluster_and_the_table() -> None:
    # The table's first value is value 0, eleven times.
    counts = np.array([[3, 1, 0], [2, 2, 0], [1, 3, 0], [1, 1, 1], [0, 0, 3], [4, 0, 5]])
    assert general(counts, 0.5).tolist() == [True, True, False, False, False, False]
    assert general(counts, 0.6).tolist() == [True, False, False, False, False, False]
    # In the last cluster it has a share of 4/9, but another has more.
    assert general(counts, 0.3).tolist() == [True, True, False, True, False, False]


def test_categories_are_kept_or_raised_and_the_same_in_a_cluster() -> None:
    policy = policy_of_people()
    made = recoded(prepared(policy, ROWS), policy)
    rows = by_record(made)
    # Cluster 0 is diverse and Hull dominates it and the table: its cities stay; F is half of its people and
    # the table's first. Cluster 1 is not diverse: Hull is raised to the North. Cluster 2 is diverse, but
    # neither York nor Wells is the table's first: raised, they are the whole domain.
    assert rows["city"].tolist() == ["Bath|Hull"] * 4 + ["Hull|York"] * 2 + ["*"] * 2
    # Without a hierarchy a raised value is no more than the set of the cluster's values.
    assert rows["sex"].tolist() == ["*"] * 4 + ["F"] * 2 + ["*"] * 2
    assert rows["illness"].tolist() == [row[3] for row in ROWS]
    assert made.notes["diverse_clusters"] == 2
    assert made.notes["clusters_kept"] == 1
    # Four cities were looked up: those of clusters 1 and 2.
    assert made.notes["hierarchy_lookups"] == 4
    assert made.notes["imputed_numbers"] == {"age": 1}


def test_a_node_stands_for_all_its_leaves_those_that_nobody_has_too() -> None:
    policy = policy_of_people()
    rows = [
        (1, "Hull", "F", "flu"),
        (2, "Hull", "F", "flu"),
        (3, "Bath", "F", "flu"),
        (3, "Bath", "F", "flu"),
    ]
    made = recoded(prepared(policy, rows), policy, [0, 0, 1, 1])
    assert by_record(made)["city"].tolist() == ["Hull|York"] * 2 + ["Bath|Wells"] * 2


def test_the_threshold_and_the_share_decide_what_is_kept() -> None:
    policy = policy_of_people()
    table = prepared(policy, ROWS)
    # Nothing is diverse above 1: all is raised. Nothing dominates with more than 3/4 in cluster 0.
    assert recoded(table, policy, threshold=1.01).notes["clusters_kept"] == 0
    assert by_record(recoded(table, policy, dominance=0.8))["city"].tolist()[:4] == ["*"] * 4
    # With no diversity asked for, cluster 1 keeps Hull.
    assert by_record(recoded(table, policy, threshold=0.0))["city"].tolist()[4:6] == ["Hull"] * 2
    assert [AdaptiveRule().least_diversity(n) for n in (1, 2, 3, 9)] == [0.65, 0.65, 0.6, 0.6]


def test_laplace_noise_has_the_distribution_of_its_scale() -> None:
    draws = laplace_noise(np.full(20_000, 7.5), np.random.default_rng(5))
    assert kstest(draws, "laplace", args=(0, 7.5)).pvalue > 0.01
    assert kstest(draws, "laplace", args=(0, 7.0)).pvalue < 0.01


@pytest.mark.parametrize(
    ("noise_on", "sensitivity", "scale"),
    [
        ("record", None, 200 / 0.3),
        ("cluster", None, 200 / 0.3 / 4),
        ("record", 6, 6 / 0.3),
        ("cluster", 60, 60 / 0.3 / 4),
    ],
)
def test_the_scale_of_the_noise_is_the_sensitivity_over_epsilon(
    noise_on: Any, sensitivity: float | None, scale: float
) -> None:
    # One illness: no cluster is diverse, so epsilon is 0.3. True values lie in the middle of [-100, 100];
    # those that were clipped tell how many lay beyond.
    number = {"type": "numeric", "bounds": [-100, 100], "sensitivity": sensitivity}
    roles = {"x": number, "sex": {"type": "categorical"}}
    policy = small_policy(roles, ILLNESS, method={"name": "mondrian", "recoding": "adaptive"})
    n = 8_000
    table = prepared(policy, [(0.0, "F", "flu")] * n)
    made = recoded(table, policy, np.arange(n) // 4, noise_on=noise_on)
    x = by_record(made)["x"].to_numpy()
    x = x if noise_on == "record" else x[::4]
    inside = x[np.abs(x) < 100]
    beyond = np.exp(-100 / scale)
    assert np.mean(np.abs(x) == 100) == pytest.approx(beyond, abs=0.03)

    def cut_off(values: Any) -> Any:
        # The Laplace distribution between -100 and 100.
        tail = np.where(values < 0, np.exp(values / scale) / 2, 1 - np.exp(-values / scale) / 2)
        return (tail - beyond / 2) / (1 - beyond)

    assert kstest(inside, cut_off).pvalue > 0.01
    assert (made.notes["epsilon_by_attribute"], made.notes["epsilon_total"]) == ({"x": 0.3}, 0.3)
    assert made.notes["sensitivity_by_attribute"] == {"x": sensitivity or 200}
    over_bounds = 0.3 if sensitivity is None else 0.3 * 200 / sensitivity
    assert made.notes["epsilon_over_bounds"] == {"x": pytest.approx(over_bounds)}


def test_kept_clusters_get_less_noise_and_the_epsilon_spent_is_told() -> None:
    policy = small_policy(
        {**PEOPLE, "height": {"type": "numeric", "bounds": [0, 3]}},
        ILLNESS,
        method={"name": "mondrian", "recoding": "adaptive"},
    )
    rows = [(*row[:3], 1.7, row[3]) for row in ROWS]
    notes = recoded(prepared(policy, rows), policy).notes
    # Cluster 0 spends 0.5, the others 0.3, on other people: the largest counts. Attributes add up.
    assert notes["epsilon_by_attribute"] == {"age": 0.5, "height": 0.5}
    assert notes["epsilon_total"] == 1.0
    assert recoded(prepared(policy, rows), policy, threshold=1.01).notes["epsilon_total"] == 0.6


def test_the_scale_does_not_depend_on_the_data() -> None:
    policy = policy_of_people()
    narrow = [(50 + i % 2, "Hull", "F", ("flu", "hiv")[i % 2]) for i in range(400)]
    wide = [(50 + 20 * (i % 2), "Hull", "F", ("flu", "hiv")[i % 2]) for i in range(400)]
    spreads = []
    for rows in (narrow, wide):
        made = recoded(prepared(policy, rows), policy, np.zeros(400, dtype=np.int64), noise_on="cluster")
        noise = by_record(made)["age"].iloc[0] - np.mean([row[0] for row in rows])
        spreads.append(noise)
    # One seed, one draw, one scale 100 / 400 / 0.5: the two means move alike, but for rounding.
    assert abs(spreads[0] - spreads[1]) <= 1


def test_noise_on_the_cluster_is_the_same_for_its_people() -> None:
    policy = policy_of_people()
    rows = by_record(recoded(prepared(policy, ROWS), policy, noise_on="cluster"))
    assert [rows["age"].iloc[c == CLUSTERS].nunique() for c in range(3)] == [1, 1, 1]


@given(mixed_rows(n_max=30), st.integers(1, 5), st.sampled_from(["record", "cluster"]), st.data())
def test_properties_on_random_tables(
    rows: list[Any], n_groups: int, noise_on: str, data: st.DataObject
) -> None:
    hierarchies = dict(MIXED)
    if data.draw(st.booleans()):
        leaves = sorted({str(row[2]) for row in rows if row[2] is not None})
        tree = from_tree({"x": leaves[::2], "y": leaves[1::2]} if len(leaves) > 1 else leaves or ["a"])
        hierarchies["city"] = {"type": "categorical", "hierarchy": _nested(tree.paths)}
    policy = small_policy(hierarchies, TWO_SENSITIVE, method={"name": "mondrian", "recoding": "adaptive"})
    table = prepared(policy, rows)
    labels = np.array([i % min(n_groups, len(rows)) for i in range(len(rows))])
    if data.draw(st.booleans()) and len(rows) > n_groups:
        labels[np.flatnonzero(labels == labels.max())] = -1
    made = recoded(table, policy, labels, noise_on=noise_on)
    assert sorted(made.records) == np.flatnonzero(labels >= 0).tolist()
    rows_made = by_record(made)
    assert rows_made["age"].between(0, 100).all()
    assert rows_made["income"].between(-10, 10).all()
    for record, row in rows_made.iterrows():
        for column, name in enumerate(table.categorical_names):
            cell = read_set(row[name])
            own = table.domains[name][table.codes[record, column]]
            assert cell is None or own in cell
    if len(rows_made):
        cells = rows_made.groupby(labels[labels >= 0])
        numbers = ["age", "income"] if noise_on == "cluster" else []
        assert (cells[["city", "job", *numbers]].nunique().to_numpy() == 1).all()
    again = recoded(table, policy, labels, noise_on=noise_on)
    pd.testing.assert_frame_equal(made.frame, again.frame)
    assert all(isinstance(value, (int, float, dict, str)) for value in made.notes.values())


def _nested(paths: tuple[tuple[str, ...], ...]) -> Any:
    nodes: dict[str, list[str]] = {}
    for leaf, *above in paths:
        nodes.setdefault(above[0], []).append(leaf)
    return nodes["*"] if set(nodes) == {"*"} else nodes
