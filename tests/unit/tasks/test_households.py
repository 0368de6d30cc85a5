"""Households in place of people, wherever the privacy model counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.errors import InputError, ValidationFailed
from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.intake.read import read_table
from tasks.partitioning.constraints import constraints_of
from tasks.recoding.equal_cells import joined_equal
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.utility.released import released
from tasks.validation.check import raise_if_failed, validate
from tasks.validation.feasible import feasible
from tests.support.small import anonymized, prepared, published, small_policy, source_of

MODELS = {"distinct_l": {"min": 2}, "alpha_k": {"alpha": 0.7, "k": 2}}
ON_VALUES = ("k", "p_max", "e", "h_min", *MODELS)
# Two families of three and of one in Hull; the first has flu twice.
ROWS = [
    ("h1", 30, "Hull", "flu"),
    ("h1", 32, "Hull", "flu"),
    ("h1", 5, "Hull", "hiv"),
    ("h2", 40, "Hull", "flu"),
]


def policy_of(**privacy: Any) -> ReleasePolicy:
    return small_policy(roles={"household": "home"}, privacy=privacy, gates={"models": MODELS})


def results(policy: ReleasePolicy, rows: list[Any], labels: list[int], folder: Path) -> dict[str, Any]:
    table = prepared(policy, rows)
    evidence = staged(policy, rows, labels, folder)
    found = assess(evidence, {name: GATES[name] for name in ON_VALUES}).results
    seen = released(*_rows(policy, rows, labels, folder / "again"), table, policy)
    for name in policy.roles.sensitive:
        assert np.array_equal(np.sort(seen.units.size), np.sort(evidence.units.size)), name
    return {one.gate: one for one in found}


def _rows(policy: ReleasePolicy, rows: list[Any], labels: list[int], folder: Path) -> tuple[Any, Any, Any]:
    made = published(policy, prepared(policy, rows), labels, folder)
    return made.rows.frame, made.rows.records, np.array(labels)


def staged(policy: ReleasePolicy, rows: list[Any], labels: list[int], folder: Path) -> Evidence:
    table = prepared(policy, rows)
    made = published(policy, table, labels, folder)
    assert table.household is not None
    return replace(made.evidence(), row_households=table.household[made.rows.records])


def test_a_class_of_four_people_is_of_two_households(tmp_path: Path) -> None:
    found = results(policy_of(k=2, e=2, p_max=0.7), ROWS, [0, 0, 0, 0], tmp_path / "staged")
    assert (found["k"].verdict, found["k"].value) == (Verdict.PASS, 2)
    assert found["k"].detail.endswith("in households")
    # Both households have flu, one has hiv.
    assert (found["p_max"].verdict, found["p_max"].value) == (Verdict.FAIL, 1.0)
    assert (found["e"].value, found["distinct_l"].value) == (2, 2)
    limits = constraints_of(prepared(policy_of(k=2), ROWS), policy_of(k=2))
    assert not limits.group_holds(np.arange(3))  # of one household
    loose = policy_of(k=2, p_max=1.0).model_copy(update={"gates": small_policy().gates})
    assert constraints_of(prepared(loose, ROWS), loose).group_holds(np.arange(4))
    assert not constraints_of(prepared(policy_of(k=3), ROWS), policy_of(k=3)).group_holds(np.arange(4))


def test_a_table_of_few_households_is_told_before_any_work() -> None:
    policy = policy_of(k=3, p_max=1.0)
    told = [one.detail for one in feasible(source_of(policy, ROWS), policy) if not one.passed]
    assert told[0] == "the table of 2 households has fewer than privacy.k (3)"


def test_a_row_without_a_household_is_refused() -> None:
    policy = policy_of(k=2)
    rows = [*ROWS, (None, 41, "Hull", "hiv")]
    with pytest.raises(InputError, match="1 row has no household, by which households are counted"):
        prepared(policy, rows)


def test_members_in_several_classes_may_have_values_that_no_class_has_too_often(tmp_path: Path) -> None:
    """Each household has a member in Leeds and one in Bath; all have flu in one of them."""
    policy = small_policy(
        {"city": {"type": "categorical"}},
        roles={"household": "home"},
        privacy={"k": 4, "p_max": 0.5, "h_min": 0.6},
        gates={"models": {"alpha_k": {"alpha": 0.5, "k": 2}, "entropy_l": {"min": 2}}},
    )
    ills = ("flu", "hiv")
    rows = [(f"h{n}", city, ills[(n + i) % 2]) for n in range(4) for i, city in enumerate(("Leeds", "Bath"))]
    assert all(one.passed for one in feasible(source_of(policy, rows), policy))
    found = assess(
        staged(policy, rows, [0, 1] * 4, tmp_path / "staged"),
        {name: GATES[name] for name in ("k", "p_max", "h_min", "alpha_k", "entropy_l")},
    ).results
    assert {one.verdict for one in found} == {Verdict.PASS}
    # All rows have flu: whatever the classes are, somebody's share is 1.
    alike = [(home, city, "flu") for home, city, _ in rows]
    told = [one.detail for one in feasible(source_of(policy, alike), policy) if not one.passed]
    assert told == []  # 4 households in 8 rows: each might be in a class of its own with others of no flu
    once = [(f"h{n}", "Leeds", "flu") for n in range(7)] + [("h7", "Leeds", "hiv")]
    told = [one.detail for one in feasible(source_of(policy, once), policy) if not one.passed]
    assert told == [
        "the most frequent value of 'illness' is that of 7 households in 8 rows, over privacy.p_max"
    ]


@pytest.mark.parametrize("model", [{"km": {"k": 2, "m": 1}}, {"lkc": {"l": 1, "k": 2, "c": 0.9}}])
def test_a_model_that_adds_up_rows_is_refused_before_any_work(model: dict[str, Any]) -> None:
    policy = small_policy(roles={"household": "home"}, gates={"models": model})
    (told,) = [one.detail for one in feasible(source_of(policy, ROWS), policy) if not one.passed]
    assert told == f"gates.models.{next(iter(model))} adds up rows, and households are counted"


def test_a_person_of_several_households_is_refused() -> None:
    policy = small_policy(roles={"key": "who", "household": "home"}, rows="several")
    rows = [("p1", "h1", 30, "Hull", "flu"), ("p1", "h2", 30, "Hull", "hiv"), ("p2", "h2", 31, "Hull", "flu")]
    with pytest.raises(InputError, match="1 person has rows of several households"):
        prepared(policy, rows)
    table = prepared(policy, [("p1", "h1", 30, "Hull", "flu"), *rows[2:], ("p1", "h1", 30, "Hull", "hiv")])
    assert table.household is not None
    assert table.household.tolist() == [0, 1, 0]


def test_gates_that_do_not_know_the_households_do_not_guess(tmp_path: Path) -> None:
    policy = policy_of(k=2)
    evidence = replace(staged(policy, ROWS, [0, 0, 0, 0], tmp_path / "staged"), row_households=None)
    found = assess(evidence, {name: GATES[name] for name in ON_VALUES}).results
    assert {one.verdict for one in found} == {Verdict.NOT_RUN}
    assert all("households" in one.detail for one in found)


@pytest.mark.parametrize("model", [{"km": {"k": 2, "m": 1}}, {"lkc": {"l": 1, "k": 2, "c": 0.9}}])
def test_models_that_add_up_rows_cannot_tell(model: dict[str, Any], tmp_path: Path) -> None:
    policy = small_policy(roles={"household": "home"}, gates={"models": model})
    (name,) = model
    (found,) = assess(staged(policy, ROWS, [0, 0, 0, 0], tmp_path / "staged"), {name: GATES[name]}).results
    assert found.verdict is Verdict.UNKNOWN
    assert "households" in found.detail


@pytest.mark.parametrize("method", ["mondrian", "mdav", "ke-mdav", "lhd", "apmca", "full-domain"])
def test_methods_make_classes_of_k_households(method: str, tmp_path: Path) -> None:
    recoding = {"recoding": "full-domain"} if method == "full-domain" else {}
    policy = small_policy(
        roles={"household": "home"},
        privacy={"k": 3, "e": 2, "p_max": 0.9},
        method={"name": method, **recoding},
        gates={"suppression": {"max": 0.5}},
    )
    draws = np.random.default_rng(7)
    homes = np.repeat(np.arange(40), draws.integers(1, 5, 40))
    rows = [
        (f"h{home}", int(age), city, ill)
        for home, age, city, ill in zip(
            homes,
            draws.integers(0, 99, len(homes)),
            draws.choice(["a", "b"], len(homes)),
            draws.choice(["flu", "hiv", "cough"], len(homes)),
            strict=True,
        )
    ]
    table = prepared(policy, rows)
    labels = anonymized(table, policy)
    made = published(policy, table, labels, tmp_path / "staged")
    assert table.household is not None
    evidence = replace(made.evidence(), row_households=table.household[made.rows.records])
    found = assess(evidence, {name: GATES[name] for name in ("k", "p_max", "e")}).results
    assert [one.verdict for one in found] == [Verdict.PASS] * 3
    frame = made.rows.frame
    assert "home" not in frame.columns
    if method != "full-domain":
        assert labels.n_groups > 3
        for label in range(labels.n_groups):
            assert len({rows[record][0] for record in np.flatnonzero(labels.labels == label)}) >= 3


def test_validation_refuses_a_row_without_a_household(tmp_path: Path) -> None:
    policy = small_policy(roles={"household": "home"}, expectations={"missing": 1})
    (tmp_path / "t.csv").write_text("home,age,city,illness\nh1,30,Hull,flu\n,31,Hull,hiv\nh2,32,Hull,flu\n")
    table = read_table(policy, input_path=tmp_path / "t.csv", period="2026", base=tmp_path)
    with pytest.raises(ValidationFailed, match="1 of 3 rows in 'home' have no household"):
        raise_if_failed(validate(table, policy, None), table.origin)


def test_models_compare_a_class_with_households_of_the_whole_table_each_once(tmp_path: Path) -> None:
    """h1 has flu in both classes: of the table's households 1 of 3 has flu, of each class 1 of 2."""
    models = {"t_closeness": {"max": 0.2}, "beta_likeness": {"max": 0.4}, "delta_disclosure": {"max": 1.0}}
    policy = small_policy(roles={"household": "home"}, gates={"models": models})
    rows = [("h1", 20, "Hull", "flu"), ("h2", 21, "Hull", "hiv")]
    rows += [("h1", 70, "Bath", "flu"), ("h3", 71, "Bath", "hiv")]
    evidence = staged(policy, rows, [0, 0, 1, 1], tmp_path / "staged")
    assert evidence.overall["illness"].tolist() == [1, 2]
    found = {one.gate: one for one in assess(evidence, {name: GATES[name] for name in models}).results}
    assert found["t_closeness"].value == pytest.approx(1 / 2 - 1 / 3)
    assert found["beta_likeness"].value == pytest.approx(1 / 2)
    assert found["delta_disclosure"].value == pytest.approx((1 / 2) ** -1 * (1 / 3))
    assert [found[name].verdict for name in models] == [Verdict.PASS, Verdict.FAIL, Verdict.PASS]
    table = prepared(policy, rows)
    assert not constraints_of(table, policy).group_holds(np.arange(2))  # as the gate says: beta is 0.5
    assert constraints_of(table, policy).group_holds(np.arange(4))


@pytest.mark.parametrize("recoding", ["sets", "hierarchy"])
def test_groups_of_equal_cells_hold_the_model_together(recoding: str, tmp_path: Path) -> None:
    """Two groups of ages 0 to 9: each has flu in 2 of 3 households, together all three have it."""
    qis = {"age": {"type": "integer", "bounds": [0, 99], "widths": [10]}}
    policy = small_policy(
        qis,
        roles={"household": "home"},
        privacy={"k": 3, "p_max": 0.7},
        method={"name": "mondrian", "recoding": recoding, "history": "blind"},
    )
    first = [("h1", 0, "flu"), ("h2", 0, "flu"), ("h3", 9, "hiv")]
    second = [("h1", 0, "hiv"), ("h2", 0, "flu"), ("h3", 9, "flu")]
    others = [(f"h{n}", 90, "gout") for n in range(4, 8)]
    table = prepared(policy, first + second + others)
    apart = np.array([0] * 3 + [1] * 3 + [2] * 4)
    limits = constraints_of(table, policy)
    assert all(limits.group_holds(np.flatnonzero(apart == n)) for n in range(2))
    joined = joined_equal(table, apart, policy)
    assert joined.tolist() == [0] * 6 + [1] * 4
    assert not limits.group_holds(np.arange(6))
    made = anonymized(table, policy)
    evidence = staged(policy, first + second + others, made.labels.tolist(), tmp_path / "staged")
    (found,) = assess(evidence, {"p_max": GATES["p_max"]}).results
    assert limits.group_holds(np.arange(10))
    assert found.verdict is Verdict.PASS
