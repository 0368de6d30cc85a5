"""One level of the hierarchy a quasi-identifier: by hand, and against every node of the lattice."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.model import Privacy, ReleasePolicy
from policy.roles import NumericQuasiIdentifier
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.full_domain import levels_of_groups, most_suppressed
from tasks.recoding.generalize import generalized
from tasks.recoding.intervals import with_levels
from tasks.risk.registry import GATES, assess
from tasks.types import no_progress
from tasks.utility.ncp import ncp, scale_of
from tests.reference import full_domain as reference
from tests.support.small import (
    ILLNESS,
    TWO_SENSITIVE,
    WORDS,
    anonymized,
    groups_of,
    mixed_rows,
    prepared,
    privacies,
    published,
    small_policy,
)

METHOD = {"name": "full-domain", "recoding": "full-domain", "history": "blind"}
CITIES = {"north": ["Oslo", "Riga"], "south": ["Bari", "Nice"]}
BY_HAND = {
    "age": {"type": "integer", "bounds": [0, 39], "widths": [10, 20]},
    "city": {"type": "categorical", "hierarchy": CITIES},
}
ROWS = [
    (11, "Oslo", "flu"),
    (12, "Oslo", "hiv"),
    (13, "Riga", "flu"),
    (19, "Riga", "hiv"),
    (21, "Bari", "flu"),
    (29, "Bari", "hiv"),
    (31, "Nice", "flu"),
    (31, "Nice", "hiv"),
]
COLUMNS = {
    "age": {"type": "integer", "bounds": [0, 100], "widths": [2, 4], "weight": 2},
    "income": {"type": "numeric", "bounds": [-10, 10], "widths": [0.5, 5]},
    "city": {
        "type": "categorical",
        "weight": 0.5,
        "hierarchy": {"p": {"q": list(WORDS[:2]), "r": list(WORDS[2:4])}, "s": {"t": list(WORDS[4:])}},
    },
    "job": {"type": "categorical"},
}


def policy_with(
    columns: dict[str, Any], sensitive: dict[str, Any], most: float, **more: Any
) -> ReleasePolicy:
    return small_policy(
        columns,
        sensitive,
        gates={"suppression": {"max": most}, "ncp": {"max": 1}},
        **{"method": METHOD, **more},
    )


# By hand


@pytest.mark.parametrize(
    ("rows", "most", "levels", "value"),
    [
        # Pairs of one city and of ten years of age: (9 / 20 + 0) / 2.
        (ROWS, 0.0, {"age": 1, "city": 0}, 0.225),
        # A man of Riga has no pair in ten years of age: twenty years and one city.
        ([*ROWS[:3], (9, "Riga", "hiv"), *ROWS[4:]], 0.0, {"age": 2, "city": 0}, 19 / 22 / 2),
        # Two of eight may be left out: those of Riga.
        ([*ROWS[:3], (9, "Riga", "hiv"), *ROWS[4:]], 0.25, {"age": 1, "city": 0}, 9 / 22 / 2),
        # One may be left out, which is too few for that.
        ([*ROWS[:3], (9, "Riga", "hiv"), *ROWS[4:]], 0.24, {"age": 2, "city": 0}, 19 / 22 / 2),
        # Exact ages of 31 alone: six of eight left out.
        (ROWS, 0.75, {"age": 0, "city": 0}, 0.0),
    ],
)
def test_levels_by_hand(rows: list[Any], most: float, levels: dict[str, int], value: float) -> None:
    policy = policy_with(BY_HAND, ILLNESS, most)
    table = prepared(policy, rows)
    found = anonymized(table, policy)
    assert found.notes["levels"] == levels
    assert found.notes["lattice_nodes"] == 12
    assert found.notes["lattice_optimum"] == "proven"
    assert found.notes["suppressed_by_partition"] == (found.labels < 0).sum() <= most * len(rows)
    assert ncp(generalized(table, found.labels, policy), scale_of(table, policy)) == pytest.approx(value)


def test_cells_are_the_nodes_and_not_the_values_that_occur(tmp_path: Path) -> None:
    policy = policy_with(BY_HAND, ILLNESS, 0, privacy={"k": 4})
    table = prepared(policy, ROWS)
    frame = published(policy, table, anonymized(table, policy), tmp_path / "c").rows.frame
    cells = frame[["age_min", "age_max", "city"]].astype(str).agg(" ".join, axis=1)
    assert cells.value_counts().to_dict() == {"0 19 north": 4, "20 39 south": 4}


def test_a_node_is_published_where_one_of_its_values_occurs(tmp_path: Path) -> None:
    rows = [(11, "Oslo", "flu"), (11, "Oslo", "hiv"), (21, "Bari", "flu"), (21, "Nice", "hiv")]
    policy = policy_with(BY_HAND, ILLNESS, 0)
    table = prepared(policy, rows)
    frame = published(policy, table, anonymized(table, policy), tmp_path / "c").rows.frame
    cells = frame[["age_min", "age_max", "city"]].astype(str).agg(" ".join, axis=1)
    assert cells.value_counts().to_dict() == {"11 11 north": 2, "21 21 south": 2}


def test_records_that_are_left_out_do_not_count() -> None:
    """Exact ages and nodes of cities cost 2/3 of a half, or 11/15 if the record of Bari counted, whose node
    has all that the table has; fifteen years of age cost 14/20 of a half.
    """
    cities = {"north": ["Oslo", "Riga"], "south": ["Bari", "Nice", "Rome"]}
    columns = {
        "age": {"type": "integer", "bounds": [0, 39], "widths": [15]},
        "city": {"type": "categorical", "hierarchy": cities},
    }
    rows = [(age, city, "flu") for age in (11, 12) for city in ("Oslo", "Riga")] + [(31, "Bari", "flu")]
    policy = policy_with(columns, ILLNESS, 0.2)
    table = prepared(policy, rows)
    found = anonymized(table, policy)
    assert found.notes["levels"] == {"age": 0, "city": 1}
    assert found.labels.tolist()[-1] == -1


@pytest.mark.parametrize(
    ("given", "levels", "nodes", "left_out"),
    [
        ({"age": 1}, {"age": 1, "city": 0}, 3, 0),
        ({"age": 2}, {"age": 2, "city": 0}, 3, 0),  # though ten years of age would do
        ({"city": 1}, {"age": 1, "city": 1}, 4, 0),
        ({"age": 2, "city": 1}, {"age": 2, "city": 1}, 1, 0),
        # Exact ages of one node: only the two of 31 are together, whatever the gate on suppression says.
        ({"age": 0}, {"age": 0, "city": 0}, 3, 6),
    ],
)
def test_levels_that_the_policy_decides_are_kept(
    given: dict[str, int], levels: dict[str, int], nodes: int, left_out: int, tmp_path: Path
) -> None:
    policy = policy_with(BY_HAND, ILLNESS, 0, method={**METHOD, "levels": given})
    table = prepared(policy, ROWS)
    found = anonymized(table, policy)
    assert (found.notes["levels"], found.notes["lattice_nodes"]) == (levels, nodes)
    assert (found.labels < 0).sum() == left_out
    made = published(policy, table, found, tmp_path / "c")
    suppression = {"suppression": GATES["suppression"]}
    (gate,) = assess(made.evidence(), suppression).results
    assert (gate.verdict.value == "pass") is not left_out
    frame = made.rows.frame
    if given.get("age") == 2:
        assert {*zip(frame["age_min"], frame["age_max"], strict=True)} == {(0, 19), (20, 39)}
    if given.get("city") == 1:
        assert {*frame["city"].astype(str)} == {"north", "south"}


def test_a_decided_level_is_published_though_a_lower_one_would_hold_the_groups(tmp_path: Path) -> None:
    """The next table has one age and one city a group: its cells are those of the table before."""
    rows = [(11, "Oslo", "flu"), (11, "Oslo", "hiv"), (21, "Bari", "flu"), (21, "Bari", "hiv")]
    for history in ("blind", "repair"):
        method = {**METHOD, "levels": {"age": 2, "city": 1}, "history": history}
        policy = policy_with(BY_HAND, ILLNESS, 0, method=method)
        table = prepared(policy, rows)
        frame = published(policy, table, anonymized(table, policy), tmp_path / history).rows.frame
        cells = frame[["age_min", "age_max", "city"]].astype(str).agg(" ".join, axis=1)
        assert {*cells} == {"0 19 north", "20 39 south"}


def test_where_decided_levels_allow_no_class_all_records_are_one() -> None:
    rows = [(11, "Oslo", "flu"), (12, "Riga", "hiv"), (21, "Bari", "flu")]
    policy = policy_with(BY_HAND, ILLNESS, 0, method={**METHOD, "levels": {"age": 0}})
    found = anonymized(prepared(policy, rows), policy)
    assert found.labels.tolist() == [0, 0, 0]
    assert found.notes["levels"] == {"age": 3, "city": 2}


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (
            {"levels": {"agee": 1}},
            "method.levels names 'agee', which is not a quasi-identifier (did you mean 'age'?)",
        ),
        ({"levels": {"age": -1}}, "method.levels.age"),
        (
            {"levels": {"age": 1}, "name": "mondrian", "recoding": "sets"},
            "levels are those of recoding: full-domain",
        ),
        ({"levels": {"age": 4}}, "method.levels.age: is 4, and the highest level is 3"),
        ({"levels": {"city": 3}}, "method.levels.city: is 3, and the highest level is 2"),
    ],
)
def test_levels_that_are_not_there_are_refused(method: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError) as refused:
        bound_method(policy_with(BY_HAND, ILLNESS, 0, method={**METHOD, **method}))
    assert said in str(refused.value)


def test_levels_are_those_that_the_groups_have_in_the_end() -> None:
    policy = policy_with(BY_HAND, ILLNESS, 0)
    table = prepared(policy, ROWS)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    assert levels_of_groups(table, policy.roles, labels, {}) == {"age": 1, "city": 0}
    assert levels_of_groups(table, policy.roles, labels, {"city": 1}) == {"age": 1, "city": 1}
    labels = np.array([0, 0, 0, 0, -1, -1, 3, 3])  # Oslo with Riga; nobody of Bari
    assert levels_of_groups(table, policy.roles, labels, {}) == {"age": 1, "city": 1}
    assert levels_of_groups(table, policy.roles, np.zeros(8, dtype=np.int64), {}) == {"age": 3, "city": 2}


def test_decided_levels_and_signatures_contradict() -> None:
    with pytest.raises(PolicyError, match=r"method\.levels needs history: repair or blind"):
        small_policy(
            BY_HAND,
            ILLNESS,
            roles={"key": "person"},
            method={"name": "full-domain", "recoding": "full-domain", "levels": {"age": 1}},
        )


def test_a_class_that_fails_may_have_parts_that_hold() -> None:
    """No union with Riga holds p_max, and the table does not: yet without Riga every city does."""
    ills = {"Oslo": "flu hiv", "Riga": "flu flu", "Bari": "flu hiv", "Nice": "flu hiv"}
    rows = [(11, city, ill) for city, both in ills.items() for ill in both.split()]
    rows += [(31, "Nice", "flu"), (31, "Nice", "hiv")]
    columns = {**BY_HAND, "city": {**BY_HAND["city"], "weight": 0.1}}
    policy = policy_with(columns, ILLNESS, 0.25, privacy={"k": 2, "p_max": 0.5})
    found = anonymized(prepared(policy, rows), policy)
    assert found.notes["levels"] == {"age": 0, "city": 0}
    assert [city for (_, city, _), label in zip(rows, found.labels, strict=True) if label < 0] == ["Riga"] * 2


def test_k_counts_people() -> None:
    rows = [(who, *row) for who, row in zip("aabbcdef", ROWS, strict=True)]
    policy = policy_with(BY_HAND, ILLNESS, 0, rows="several", roles={"key": "who"})
    table = prepared(policy, rows)
    assert anonymized(table, policy).notes["levels"] == {"age": 1, "city": 1}


def test_a_missing_number_is_a_node_of_its_own_below_the_whole() -> None:
    rows = [(None, "Oslo", "flu"), (None, "Oslo", "hiv"), *ROWS]
    policy = policy_with(BY_HAND, ILLNESS, 0)
    table = prepared(policy, rows)
    classes = generalized(table, anonymized(table, policy).labels, policy)
    assert sorted(classes.intervals["age"].tolist()) == [[0, 39], [10, 19], [10, 19], [20, 29], [30, 39]]
    mixed = np.array([0, 1, 0, 1, *[2] * 6])
    assert generalized(table, mixed, policy).intervals["age"].tolist() == [[0, 39]] * 3


@pytest.mark.parametrize(
    ("kind", "bounds", "given_widths", "widths"),
    [
        ("integer", (17, 90), (), (2, 4, 8, 16, 32, 64)),
        ("integer", (0, 100), (), (5, 10, 20, 40, 80)),
        ("integer", (0, 1), (), ()),
        ("integer", (0, 100), (7,), (7,)),
        ("numeric", (-10, 10), (), (1, 2, 4, 8, 16)),
        ("numeric", (0, 1), (), (0.05, 0.1, 0.2, 0.4, 0.8)),
    ],
)
def test_numbers_without_widths_have_those_of_the_grid_and_their_doubles(
    kind: Any, bounds: tuple[float, float], given_widths: tuple[float, ...], widths: tuple[float, ...]
) -> None:
    qi = NumericQuasiIdentifier(type=kind, bounds=bounds, widths=given_widths)
    assert with_levels(qi).widths == pytest.approx(widths)


@given(st.integers(1, 400), st.floats(0, 1))
def test_as_many_are_left_out_as_the_gate_lets_pass(n: int, share: float) -> None:
    most = most_suppressed(n, share)
    assert 0 <= most < n
    assert most / n <= share
    assert most == n - 1 or (most + 1) / n > share


def test_a_search_that_ends_early_says_so_and_holds_the_model() -> None:
    policy = policy_with(BY_HAND, ILLNESS, 0, method={**METHOD, "parameters": {"most_checks": 1}})
    found = anonymized(prepared(policy, ROWS), policy)
    assert found.notes["lattice_optimum"] == "not proven"
    assert found.notes["lattice_nodes_checked"] == 1
    assert min(len(group) for group in groups_of(found.labels)) >= 2


def test_a_lattice_that_is_too_large_is_refused_before_any_work() -> None:
    columns = {f"n{i}": {"type": "integer", "bounds": [0, 100]} for i in range(8)}
    with pytest.raises(PolicyError) as caught:
        bound_method(policy_with(columns, ILLNESS, 0), "policy.yaml")
    assert "roles.quasi_identifiers: the lattice of levels has 5,764,801 nodes, more than 4,000,000" in str(
        caught.value
    )


def test_the_recoding_has_to_be_named() -> None:
    with pytest.raises(PolicyError, match="publishes cells of one level a column"):
        bound_method(small_policy(method={"name": "full-domain"}))


def test_rounded_ends_widen_exact_numbers() -> None:
    rows = [(age, city, ill) for age in (11, 12) for city in ("Oslo", "Bari") for ill in ("flu", "hiv")]
    policy = policy_with(BY_HAND, ILLNESS, 0, method={**METHOD, "ends": "rounded"})
    table = prepared(policy, rows)
    found = anonymized(table, policy)
    assert found.notes["levels"] == {"age": 0, "city": 0}
    assert np.unique(generalized(table, found.labels, policy).intervals["age"]).tolist() == [10, 19]


# Against every node of the lattice


def best_of(table: Any, policy: ReleasePolicy) -> tuple[list[reference.Node], float]:
    """Return all nodes, and the least NCP of those that leave out no more than they may."""
    most = math.floor(policy.gates.suppression.max * table.n_records)
    nodes = list(reference.nodes(table, policy))
    return nodes, min((node.ncp for node in nodes if node.n_suppressed <= most), default=math.inf)


def check_optimal(table: Any, policy: ReleasePolicy) -> None:
    nodes, best = best_of(table, policy)
    found = anonymized(table, policy)
    assert found.notes["lattice_optimum"] == "proven"
    if math.isinf(best):
        assert found.n_groups == 1
        return
    classes = [group for group in groups_of(found.labels) if found.labels[group[0]] >= 0]
    [node, *_] = [one for one in nodes if one.classes == classes and one.ncp == pytest.approx(best)]
    assert node.n_suppressed <= policy.gates.suppression.max * table.n_records
    cost = ncp(generalized(table, found.labels, policy), scale_of(table, policy))
    # Parts of what fails at a level may hold at a lower one, at which all other classes are the same.
    assert cost == pytest.approx(best) if not node.n_suppressed else cost <= best + 1e-12
    [node] = [one for one in nodes if one.levels == found.notes["levels"]]
    if not constraints_of(table, policy).compares:
        assert all(group in node.classes for group in classes)


SHARES = st.sampled_from([0.0, 0.0, 0.125, 0.25, 0.5, 1.0])


@pytest.mark.integration
@given(mixed_rows(1, 16), privacies(), SHARES)
def test_no_node_of_the_lattice_costs_less(rows: list[Any], privacy: Privacy, most: float) -> None:
    policy = policy_with(COLUMNS, TWO_SENSITIVE, most, privacy=privacy.model_dump())
    check_optimal(prepared(policy, rows), policy)


MODELS = {
    "t_closeness": st.sampled_from([{"max": 0.2}, {"max": 0.4}]),
    "beta_likeness": st.sampled_from([{"max": 0.5}, {"max": 2}]),
    "alpha_k": st.sampled_from([{"alpha": 0.5, "k": 3}, {"alpha": 0.8, "k": 2}]),
}


@pytest.mark.integration
@given(mixed_rows(4, 16), st.fixed_dictionaries({}, optional=MODELS), SHARES)
def test_nor_where_models_compare_classes_with_the_release(
    rows: list[Any], models: dict[str, Any], most: float
) -> None:
    gates = {"suppression": {"max": most}, "ncp": {"max": 1}, "models": models}
    policy = small_policy(COLUMNS, ILLNESS, gates=gates, method=METHOD)
    check_optimal(prepared(policy, [row[:5] for row in rows]), policy)


@pytest.mark.integration
@given(mixed_rows(2, 16), privacies(), SHARES, st.data())
def test_nor_where_a_person_has_several_rows(
    rows: list[Any], privacy: Privacy, most: float, data: Any
) -> None:
    people = data.draw(st.lists(st.sampled_from("abcde"), min_size=len(rows), max_size=len(rows)))
    policy = policy_with(
        COLUMNS, TWO_SENSITIVE, most, privacy=privacy.model_dump(), rows="several", roles={"key": "who"}
    )
    table = prepared(policy, [(who, *row) for who, row in zip(people, rows, strict=True)])
    assert table.person is not None
    check_optimal(table, policy)


def test_people_of_two_classes_need_not_hold_in_one() -> None:
    # In each city one person has flu and one hiv; together, both have had both, and all have flu.
    policy = small_policy(
        {"city": {"type": "categorical", "values": ["a", "b"]}},
        {"illness": {"stability": "stable"}},
        privacy={"k": 2, "e": 1, "p_max": 0.75},
        rows="several",
        roles={"key": "who"},
        gates={"suppression": {"max": 0.0}, "ncp": {"max": 1}},
        method=METHOD,
    )
    rows = [("p", "a", "flu"), ("q", "a", "hiv"), ("p", "b", "hiv"), ("q", "b", "flu")]
    table = prepared(policy, rows)
    assert not constraints_of(table, policy).group_holds(np.arange(4))
    found = anonymized(table, policy)
    assert (found.n_groups, found.notes["lattice_optimum"]) == (2, "proven")
    assert found.notes["levels"] == {"city": 0}
    check_optimal(table, policy)


@pytest.mark.integration
@given(mixed_rows(4, 20), privacies(), SHARES, st.randoms())
def test_what_is_published_passes_and_depends_on_no_order(
    rows: list[Any], privacy: Privacy, most: float, random: Any
) -> None:
    policy = policy_with(COLUMNS, TWO_SENSITIVE, most, privacy=privacy.model_dump())
    shuffled = list(rows)
    random.shuffle(shuffled)
    table, best = prepared(policy, rows), best_of(prepared(policy, rows), policy)[1]
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, anonymized(table, policy), Path(folder) / "as it is")
        other = prepared(policy, shuffled)
        again = published(policy, other, anonymized(other, policy), Path(folder) / "shuffled")
        assert made.candidate.files == again.candidate.files
        gates = ("files", "truth", "k", "p_max", "h_min", "e", "suppression")
        report = assess(made.evidence(), {name: GATES[name] for name in gates})
    assert report.passed or math.isinf(best)
    assert ncp(made.classes, scale_of(table, policy)) <= best + 1e-9
    for name, each in made.classes.intervals.items():
        known = each[(each != policy.roles.numeric[name].bounds).any(axis=1)]
        assert len(np.unique(np.round(known[:, 1] - known[:, 0], 9))) <= 1


def test_the_same_table_gives_the_same_labels() -> None:
    policy = policy_with(BY_HAND, ILLNESS, 0)
    table = prepared(policy, ROWS)
    bound = bound_method(policy)
    assert bound.represent(table, no_progress).latent.shape == (8, 2)
    assert anonymized(table, policy).labels.tolist() == anonymized(table, policy).labels.tolist()
