"""The gates on risk for a population: tables by hand, what the gates cannot tell, and bad policies."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from release_store.records import GateResult, Verdict
from tasks.geometry.cells import true_cells
from tasks.risk.attacks.presence import presence
from tasks.risk.evidence import Evidence
from tasks.risk.population import ClassSizes, zayatz
from tasks.risk.registry import GATES, assess
from tasks.validation.feasible import feasible
from tests.support.small import Published, anonymized, prepared, published, small_policy, source_of

reference = importlib.import_module("tests.reference.presence")

AGE: dict[str, Any] = {"age": {"type": "integer", "bounds": [0, 100]}}
PASS, FAIL, UNKNOWN, NOT_RUN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN, Verdict.NOT_RUN
FOUR = [(30, "flu"), (32, "hiv"), (50, "flu"), (52, "hiv")]


def asked(gate: str, evidence: Evidence) -> GateResult:
    (result,) = assess(evidence, {gate: GATES[gate]}).results
    return result


def weighted(folder: Path, weights: list[float], gates: dict[str, Any], **sections: Any) -> Published:
    """Four people, two in each class, with their weights."""
    policy = small_policy(AGE, gates=gates, roles={"weight": "w"}, **sections)
    rows = [(w, *row) for w, row in zip(weights, FOUR, strict=True)]
    table = replace(prepared(policy, rows), weights=np.array(weights))
    return published(policy, table, [0, 0, 1, 1], folder / "staged")


# k-map


@pytest.mark.parametrize(("k", "verdict"), [(5, PASS), (6, FAIL)])
def test_a_class_stands_for_the_sum_of_its_weights(tmp_path: Path, k: int, verdict: Verdict) -> None:
    made = weighted(tmp_path, [2, 3, 10, 20], {"k_map": {"k": k}})
    result = asked("k_map", made.evidence())
    assert (result.verdict, result.value, result.threshold) == (verdict, 5, k)
    assert result.witness == ({} if verdict is PASS else {"failing_classes": 1, "first": [0]})
    assert "estimate" in result.detail


@pytest.mark.parametrize("method", ["mondrian", "mdav", "lhd", "full-domain"])
@pytest.mark.parametrize("several", [False, True])
def test_methods_merge_classes_until_each_stands_for_enough(
    tmp_path: Path, method: str, *, several: bool
) -> None:
    weights = [1.0 + n % 5 for n in range(60)]
    roles = {"weight": "w", **({"key": "who"} if several else {})}
    policy = small_policy(
        AGE,
        gates={"k_map": {"k": 20}},
        roles=roles,
        rows="several" if several else "one_per_person",
        method={"name": method, "recoding": "full-domain" if method == "full-domain" else "sets"},
    )
    people = [(f"p{n // 2}",) if several else () for n in range(60)]
    rows = [(*people[n], w, n, ("flu", "hiv")[n % 2]) for n, w in enumerate(weights)]
    table = prepared(policy, rows)
    assert table.weights is not None
    one = published(policy, table, anonymized(table, policy), tmp_path / "staged")
    evidence = replace(one.evidence(), row_people=None if table.person is None else table.person)
    assert one.classes.n_classes > 1 or method in ("full-domain", "lhd")  # whose first classes are few
    result = asked("k_map", evidence)
    assert (result.verdict, (result.value or 0) >= 20) == (PASS, True)


def test_more_people_than_the_whole_table_stands_for_are_told_before_any_work() -> None:
    policy = small_policy(AGE, gates={"k_map": {"k": 40}}, roles={"weight": "w"})
    rows = [(w, *row) for w, row in zip([2.0, 3, 10, 20], FOUR, strict=True)]
    (told,) = [one.detail for one in feasible(source_of(policy, rows), policy) if not one.passed]
    assert told == "all rows together stand for 35 people, fewer than gates.k_map.k (40)"
    policy = small_policy(
        AGE, gates={"k_map": {"k": 40}}, linkage={"sampling_fraction": 0.125, "ext_frac": [1.0]}
    )
    (told,) = [one.detail for one in feasible(source_of(policy, FOUR), policy) if not one.passed]
    assert told == "all rows together stand for 32 people, fewer than gates.k_map.k (40)"


def test_a_record_that_is_left_out_stands_for_nobody(tmp_path: Path) -> None:
    policy = small_policy(AGE, gates={"k_map": {"k": 2}}, roles={"weight": "w"})
    rows = [(w, *row) for w, row in zip([2, 3, 10, 20], FOUR, strict=True)]
    table = replace(prepared(policy, rows), weights=np.array([2.0, 3, 10, 20]))
    made = published(policy, table, [0, 0, 0, -1], tmp_path / "staged")
    assert asked("k_map", made.evidence()).value == 15


def test_without_weights_every_person_stands_for_as_many(tmp_path: Path) -> None:
    policy = small_policy(
        AGE, gates={"k_map": {"k": 9}}, linkage={"sampling_fraction": 0.25, "ext_frac": [1.0]}
    )
    made = published(policy, prepared(policy, FOUR), [0, 0, 1, 1], tmp_path / "staged")
    result = asked("k_map", replace(made.evidence(), table=None))
    assert (result.verdict, result.value) == (FAIL, 8)


def test_several_rows_of_a_person_count_once_with_the_least_weight(tmp_path: Path) -> None:
    policy = small_policy(
        AGE,
        gates={"k_map": {"k": 2}},
        roles={"weight": "w", "key": "id"},
        rows="several",
    )
    rows = [("a", 4.0, 30, "flu"), ("a", 2.0, 32, "hiv"), ("b", 3.0, 31, "flu"), ("a", 9.0, 50, "flu")]
    table = replace(prepared(policy, rows), weights=np.array([4.0, 2, 3, 9]))
    made = published(policy, table, [0, 0, 0, 1], tmp_path / "staged")
    person = table.person
    assert person is not None
    evidence = replace(made.evidence(), row_people=person[made.rows.records])
    result = asked("k_map", evidence)
    assert result.value == 5
    assert result.verdict is PASS


def test_whose_weights_a_class_has_must_be_known(tmp_path: Path) -> None:
    made = weighted(tmp_path, [2, 3, 10, 20], {"k_map": {"k": 5}})
    assert asked("k_map", replace(made.evidence(), table=None)).verdict is NOT_RUN
    # Classes that do not overlap tell it themselves.
    assert asked("k_map", replace(made.evidence(), row_records=None)).value == 5
    gates = {"k_map": {"k": 5}, "population_uniqueness": {"max": 1}}
    huge = weighted(tmp_path / "huge", [1e308] * 4, gates)
    for gate in gates:
        assert asked(gate, huge.evidence()).verdict is UNKNOWN


def test_replaced_values_have_the_weights_of_their_records(tmp_path: Path) -> None:
    made = weighted(
        tmp_path, [2, 3, 10, 20], {"k_map": {"k": 5}}, method={"name": "mondrian", "recoding": "centroid"}
    )
    assert asked("k_map", made.evidence()).value == 5
    assert asked("k_map", replace(made.evidence(), row_records=None)).verdict is NOT_RUN


# population uniqueness


def test_the_share_of_people_who_are_alone_in_the_population(tmp_path: Path) -> None:
    made = weighted(tmp_path, [2, 3, 10, 20], {"population_uniqueness": {"max": 0.5, "estimator": "zayatz"}})
    result = asked("population_uniqueness", made.evidence())
    expected = zayatz(ClassSizes.of(np.ones(4, dtype=np.int64), 35.0)) / 35
    assert result.value == pytest.approx(expected)
    assert result.verdict is FAIL
    assert result.witness["sampling_fraction"] == pytest.approx(4 / 35)
    assert result.witness["classes_of_one"] == 4
    assert result.witness["suda"] == {"age": 1}
    assert result.witness["largest_dis"] == pytest.approx(1)


def test_suda_scores_say_which_columns_single_people_out(tmp_path: Path) -> None:
    """Ages 30, 30, 40, 41 in A, B, B, B: 40 and 41 are alone by age, the first by A, the second by both."""
    policy = small_policy(
        gates={"population_uniqueness": {"max": 1, "estimator": "zayatz"}}, roles={"weight": "w"}
    )
    rows = [(2.0, 30, "A", "flu"), (2.0, 30, "B", "hiv"), (2.0, 40, "B", "flu"), (2.0, 41, "B", "hiv")]
    table = replace(prepared(policy, rows), weights=np.full(4, 2.0))
    made = published(policy, table, [0, 0, 1, 1], tmp_path / "staged")
    result = asked("population_uniqueness", made.evidence())
    # Of two attributes, an MSU of one or of two scores 1: age has three of four, city two.
    assert result.witness["suda"] == {"age": 0.75, "city": 0.5}
    assert "age 75%, city 50%" in result.detail


def test_an_estimator_without_a_solution_is_unknown(tmp_path: Path) -> None:
    made = weighted(tmp_path, [2, 3, 10, 20], {"population_uniqueness": {"max": 1, "estimator": "snb"}})
    result = asked("population_uniqueness", made.evidence())
    assert result.verdict is UNKNOWN
    assert "snb has no solution" in result.detail


def test_weights_that_count_fewer_people_than_there_are_tell_nothing(tmp_path: Path) -> None:
    made = weighted(tmp_path, [0.5] * 4, {"population_uniqueness": {"max": 1}})
    result = asked("population_uniqueness", made.evidence())
    assert result.verdict is UNKNOWN
    assert "more people than the population" in result.detail


def test_kept_columns_make_published_rows_unique(tmp_path: Path) -> None:
    policy = small_policy(
        AGE,
        gates={"population_uniqueness": {"max": 0.1, "estimator": "zayatz", "values": "published"}},
        linkage={"sampling_fraction": 0.5, "ext_frac": [1.0]},
        roles={"kept": ["ward"]},
    )
    rows = [(30, "flu", "east"), (32, "hiv", "west"), (50, "flu", "east"), (52, "hiv", "east")]
    made = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "staged")
    result = asked("population_uniqueness", made.evidence())
    sample = ClassSizes.of(np.array([1, 1, 2]), 8.0)
    assert result.value == pytest.approx(zayatz(sample) / 8)
    assert result.witness["classes_of_one"] == 2


def test_nobody_alone_is_nobody_unique_and_rows_of_one_person_are_not_people(tmp_path: Path) -> None:
    policy = small_policy(
        AGE,
        gates={"population_uniqueness": {"max": 0}},
        linkage={"sampling_fraction": 0.5, "ext_frac": [1.0]},
    )
    made = published(policy, prepared(policy, [FOUR[0]] * 4), [0] * 4, tmp_path / "staged")
    result = asked("population_uniqueness", made.evidence())
    assert (result.verdict, result.value) == (PASS, 0)
    several = policy.model_copy(update={"rows": "several"})
    assert asked("population_uniqueness", replace(made.evidence(), policy=several)).verdict is UNKNOWN


# delta-presence


def with_others(folder: Path, ages: list[int], limits: dict[str, Any]) -> Evidence:
    """Four people in two classes beside others of these ages."""
    policy = small_policy(
        AGE,
        gates={"delta_presence": limits},
        linkage={"control": "others.csv", "ext_frac": [1.0]},
    )
    made = published(policy, prepared(policy, FOUR), [0, 0, 1, 1], folder / "staged")
    control = prepared(policy, [(age, "flu") for age in ages])
    return replace(made.evidence(), control=control)


def test_presence_is_the_share_of_the_population_that_a_class_publishes(tmp_path: Path) -> None:
    """30 to 32 has 2 rows and 5 people, 50 to 52 has 2 rows and 3; nobody of 70 is in the release."""
    evidence = with_others(tmp_path, [30, 31, 31, 51, 70], {"max": 0.7})
    result = asked("delta_presence", evidence)
    assert (result.verdict, result.relation) == (PASS, "<=")
    assert result.value == pytest.approx(2 / 3)
    assert result.witness == {}
    policy = small_policy(
        AGE, gates={"delta_presence": {"max": 0.6}}, linkage={"control": "others.csv", "ext_frac": [1.0]}
    )
    result = asked("delta_presence", replace(evidence, policy=policy))
    assert result.verdict is FAIL
    least_and_most = result.witness.pop("probability")
    assert least_and_most[1] == result.value
    assert result.witness == {"people_over_max": 3, "people_under_min": 0, "first": [1]}


def test_a_person_who_is_surely_not_in_the_release_fails_a_lower_limit(tmp_path: Path) -> None:
    result = asked("delta_presence", with_others(tmp_path, [30, 51, 70], {"min": 0.1, "max": 0.9}))
    assert (result.verdict, result.relation, result.value) == (FAIL, ">=", 0)
    assert result.witness["people_under_min"] == 1
    result = asked("delta_presence", with_others(tmp_path / "b", [30, 51], {"min": 0.6, "max": 0.9}))
    assert result.verdict is PASS


def test_presence_without_the_others_is_not_measured(tmp_path: Path) -> None:
    evidence = with_others(tmp_path, [30], {"max": 0.9})
    assert asked("delta_presence", replace(evidence, control=None)).verdict is NOT_RUN
    policy = evidence.policy.model_copy(update={"rows": "several"})
    assert asked("delta_presence", replace(evidence, policy=policy)).verdict is UNKNOWN


def test_a_class_of_everybody_whom_it_fits_is_a_class_of_people_who_are_surely_in_it() -> None:
    """The example of desfontain.es/privacy/delta-presence: 5-map holds, and five people are surely in it.

    Of one postal code, 5 people are from 10 to 19 and 10 from 40 to 49; 5 and 1 of them are in the table.
    """
    ages = [10.0, 12, 13, 13, 16, *range(40, 50), 25, 70]
    cells = true_cells(np.array([[10.0], [40.0]]), np.array([[19.0], [49.0]]), ())
    no_codes = np.zeros((len(ages), 0), dtype=np.int32)
    found = presence(np.array(ages)[:, None], no_codes, cells, np.array([5, 1]))
    assert found.high.tolist() == found.low.tolist() == [1.0] * 5 + [0.1] * 10 + [0, 0]
    assert found.fitting.tolist() == [5, 10]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(1, 3)), min_size=1, max_size=4),
)
def test_presence_is_that_of_each_class_by_itself(
    ages: list[int], classes: list[tuple[int, int, int]]
) -> None:
    cells = [(float(low), float(low + wide)) for low, wide, _ in classes]
    cells = [(low, high) for low, high in cells if any(low <= age <= high for age in ages)]
    rows = [1] * len(cells)
    if not cells:
        return
    low, high = np.array(cells).T
    numbers, no_codes = np.array(ages, dtype=float)[:, None], np.zeros((len(ages), 0), dtype=np.int32)
    found = presence(numbers, no_codes, true_cells(low[:, None], high[:, None], ()), np.array(rows))
    expected = np.array(reference.presence(ages, cells, rows))
    assert found.low == pytest.approx(expected[:, 0])
    assert found.high == pytest.approx(expected[:, 1])


# policies


@pytest.mark.parametrize(
    ("sections", "said"),
    [
        ({"gates": {"k_map": {"k": 5}}}, "gates.k_map needs roles.weight or linkage.sampling_fraction"),
        (
            {"gates": {"population_uniqueness": {"max": 0.1}}},
            "gates.population_uniqueness needs roles.weight or linkage.sampling_fraction",
        ),
        (
            {"roles": {"weight": "w"}, "linkage": {"sampling_fraction": 0.1}},
            "roles.weight and linkage.sampling_fraction both say how large the population is: give one",
        ),
        (
            {
                "gates": {"population_uniqueness": {"max": 0.1, "values": "published"}},
                "linkage": {"sampling_fraction": 0.1},
            },
            "values: published needs a column of roles.kept",
        ),
        ({"gates": {"delta_presence": {"max": 0.5}}}, "gates.delta_presence needs linkage.control"),
        (
            {"gates": {"delta_presence": {"max": 1}}, "linkage": {"control": "o.csv"}},
            "let every release pass",
        ),
        (
            {"gates": {"delta_presence": {"min": 0.5, "max": 0.4}}, "linkage": {"control": "o.csv"}},
            "min is over max",
        ),
        ({"gates": {"k_map": {"k": 1}}, "roles": {"weight": "w"}}, "k_map"),
        ({"linkage": {"sampling_fraction": 0}}, "sampling_fraction"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(sections: dict[str, Any], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        small_policy(**sections)
