"""Where a person may have several rows, people are counted: by the method, by the gates, by the attackers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import InputError, PolicyError
from policy.load import policy_document, policy_from_document
from release_store.records import GateResult, Verdict
from services.evaluation.run import Job, measure_run
from tasks.aggregation.enforce import enforced
from tasks.partitioning.constraints import Constraints, SensitiveColumn
from tasks.risk.evidence import Evidence
from tasks.risk.registry import GATES, assess
from tasks.types import IntArray
from tests.support.small import (
    anonymized,
    policy_of,
    policy_text,
    prepared,
    published,
    small_policy,
    source_of,
)

SUPPLIER, TELLS = "data supplier", "publishes a person"
AGE = {"age": {"type": "integer", "bounds": [0, 120]}}
Row = tuple[str, float, str]


def visits(
    folder: Path,
    rows: list[Row],
    labels: list[int],
    sensitive: dict[str, Any] | None = None,
    **sections: Any,
) -> Evidence:
    policy = small_policy(AGE, sensitive, roles={"key": "person"}, rows="several", **sections)
    table = prepared(policy, rows)
    made = published(policy, table, labels, folder / "c")
    assert table.person is not None
    return replace(made.evidence(), row_people=table.person[made.rows.records])


def asked(gate: str, of: Evidence) -> GateResult:
    (result,) = assess(of, {gate: GATES[gate]}).results
    return result


@pytest.mark.enemy(SUPPLIER, TELLS)
def test_two_people_of_four_visits_are_two(tmp_path: Path) -> None:
    """Ann has three visits with flu and one with a cold, Bob four with a cold: of two, one has flu."""
    rows = [("ann", 30, "flu")] * 3 + [("ann", 31, "cold")] + [("bob", 32, "cold")] * 4
    found = visits(tmp_path, rows, [0] * 8)
    assert found.counted.size.tolist() == [2]
    assert found.counted.sensitive_values == {"illness": ("cold", "flu")}
    assert found.counted.counts["illness"].tolist() == [[2, 1]]
    assert asked("k", found).value == 2
    assert asked("p_max", found).value == 1.0
    limit = {"gates": {"err": {"max": 1}}, "linkage": {"ext_frac": [1.0], "seeds": 1}}
    assert asked("err", visits(tmp_path / "err", rows, [0] * 8, **limit)).value == pytest.approx(1 / 2)


@pytest.mark.enemy(SUPPLIER, TELLS)
def test_a_class_of_one_person_with_many_rows_is_a_class_of_one(tmp_path: Path) -> None:
    rows: list[Row] = [("ann", 30 + i, "flu" if i % 2 else "cold") for i in range(8)]
    rows += [(f"p{i}", 60 + i, "flu" if i % 2 else "cold") for i in range(8)]
    found = visits(tmp_path, rows, [0] * 8 + [1] * 8, privacy={"k": 8})
    assert asked("k", found).value == 1
    assert asked("k", found).verdict is Verdict.FAIL


@pytest.mark.enemy(SUPPLIER, TELLS)
@pytest.mark.parametrize("method", ["mondrian", "ke-mdav", "mdav", "ae-lrhma"])
def test_a_method_makes_classes_of_so_many_people(tmp_path: Path, method: str) -> None:
    rows: list[Row] = [
        (f"p{i // 4}", 20 + 3 * (i // 4) + i % 2, ["flu", "cold", "gout"][(i // 4 + (i % 20 == 0)) % 3])
        for i in range(200)
    ]
    parameters = {"epochs": 2} if method == "ae-lrhma" else {}
    sections = {"privacy": {"k": 6, "p_max": 0.9}, "method": {"name": method, "parameters": parameters}}
    policy = small_policy(AGE, roles={"key": "person"}, rows="several", **sections)
    table = prepared(policy, rows)
    groups = anonymized(table, policy)
    assert table.person is not None
    people = [len(np.unique(table.person[groups.labels == label])) for label in range(groups.n_groups)]
    assert min(people) >= 6
    found = visits(tmp_path, rows, groups.labels.tolist(), **sections)
    assert {gate: asked(gate, found).verdict for gate in ("k", "p_max", "e")} == dict.fromkeys(
        ("k", "p_max", "e"), Verdict.PASS
    )


@pytest.mark.enemy(SUPPLIER, TELLS)
def test_worlds_are_those_of_a_class_and_of_all_classes_of_a_person(tmp_path: Path) -> None:
    """Ann is in both classes, which have flu alone in common; of the others each is in one."""
    rows = [("ann", 30, "flu"), ("bob", 31, "hiv"), ("cyd", 32, "cold")]
    rows += [("ann", 60, "flu"), ("dan", 61, "gout"), ("eve", 62, "mumps")]
    policy: dict[str, Any] = {"sensitive": {"illness": {"stability": "stable"}}}
    found = asked("worlds", visits(tmp_path / "1", rows, [0, 0, 0, 1, 1, 1], **policy))
    assert (found.verdict, found.value) == (Verdict.FAIL, 1)
    rows[4] = ("dan", 61, "hiv")
    found = asked("worlds", visits(tmp_path / "2", rows, [0, 0, 0, 1, 1, 1], **policy))
    assert found.verdict is Verdict.PASS
    one = [("ann", 30, "flu"), ("bob", 31, "flu")]
    assert asked("worlds", visits(tmp_path / "3", one, [0, 0], **policy)).value == 2
    likely = {**policy, "gates": {"worlds": {"p_max": 0.5}}}
    few = [("ann", 30, "flu"), ("bob", 31, "flu"), ("cyd", 32, "cold")]
    assert asked("worlds", visits(tmp_path / "4", few, [0, 0, 0], **likely)).value == 3


@pytest.mark.enemy("operator", TELLS)
def test_whose_the_rows_are_must_be_known(tmp_path: Path) -> None:
    rows: list[Row] = [(f"p{i % 4}", 30 + i, "flu" if i % 2 else "cold") for i in range(8)]
    without = replace(visits(tmp_path, rows, [0] * 8), row_people=None)
    result = asked("k", without)
    assert (result.verdict, result.value) == (Verdict.NOT_RUN, None)
    assert "only the run that made the rows knows whose they are: run the period again" in result.detail


def test_a_row_of_nobody_is_refused() -> None:
    policy = small_policy(AGE, roles={"key": "person"}, rows="several")
    with pytest.raises(InputError, match="1 row has no key"):
        prepared(policy, [("ann", 30, "flu"), (None, 31, "cold")])


@pytest.mark.enemy("policy author", TELLS)
def test_a_key_that_repeats_is_counted_by(tmp_path: Path) -> None:
    written = policy_text(AGE, roles={"key": "person"}, expectations={"unique_key": False})
    assert policy_of(written).rows == "several"
    with pytest.raises(PolicyError, match="lets a person have several"):
        policy_of(f"{written}rows: one_per_person\n")
    with pytest.raises(PolicyError, match=r"rows: several needs roles.key"):
        small_policy(AGE, rows="several")


def test_a_release_of_before_is_made_again_as_it_was() -> None:
    document = policy_document(policy_of(policy_text(AGE, roles={"key": "person"})))
    del document["rows"], document["privacy"]["spread"]
    document["expectations"]["unique_key"] = False
    again = policy_from_document(document)
    assert (again.rows, again.privacy.spread) == ("one_per_person", 0.0)


@given(st.data())
def test_groups_are_merged_until_they_have_people_enough(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 24))
    whose = np.array(data.draw(st.lists(st.integers(0, 7), min_size=n, max_size=n)), dtype=np.int64)
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int64)
    labels = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)), dtype=np.int64)
    k, p_max = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.6, 0.8, 1.0]))
    model = Constraints(k, p_max, 0.0, 1, (SensitiveColumn(codes, 3),), person=whose)

    def holds(records: IntArray) -> bool:
        people = {int(whose[one]) for one in records}
        having = [{int(whose[one]) for one in records if codes[one] == code} for code in range(3)]
        return len(people) >= k and max(map(len, having)) <= p_max * len(people) + 1e-9

    made, _ = enforced(np.arange(n, dtype=float)[:, None], labels, model, max_group_size=n)
    groups = [np.flatnonzero(made == label) for label in np.unique(made)]
    assert all(model.group_holds(group) == holds(group) for group in groups)
    assert len(groups) == 1 or all(map(holds, groups))


def test_an_evaluation_counts_people(tmp_path: Path) -> None:
    """Three cities of four people with four rows each: the risk of being linked is one in four."""
    city = {"city": {"type": "categorical", "values": ["Aix", "Brno", "Cork"]}}
    illness = ["flu", "cold", "gout", "none"]
    rows = [
        (f"p{c}{i}", name, illness[(i + j) % 4])
        for c, name in enumerate(["Aix", "Brno", "Cork"])
        for i in range(4)
        for j in range(4)
    ]
    policy = small_policy(
        city,
        roles={"key": "person"},
        rows="several",
        privacy={"k": 4},
        linkage={"ext_frac": [1.0], "seeds": 1},
    )
    found = measure_run(Job("mondrian", policy, (), look=False), source_of(policy, rows)).figures
    assert (found["size_min"], found["size_max"], found["err_1"], found["k_holds"]) == (4, 4, 0.25, True)
