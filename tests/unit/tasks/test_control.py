"""The file of people who are not in the table: read as the source is, and refused where it is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.errors import InputError, ReleaseGateError, ValidationFailed
from policy.model import ReleasePolicy
from release_store.canonical import file_digest
from tasks.risk.attacks.control import read_control
from tasks.types import PreparedTable
from tests.support.small import small_policy, source_of, write_source

AGE_AND_CITY = {
    "age": {"type": "integer", "bounds": [0, 100]},
    "city": {"type": "categorical", "values": ["Hull", "York"]},
}
ILLNESS = {"illness": {"stability": "stable"}}
INSIDE = [("p1", 10, "Hull", "flu"), ("p2", 20, "York", "hiv")]
OUTSIDE = [("q1", 30, "York", "cough"), ("q2", None, "Hull", "flu")]


def policy(**linkage: Any) -> ReleasePolicy:
    found = small_policy(
        AGE_AND_CITY,
        ILLNESS,
        roles={"key": "person"},
        linkage={"ext_frac": [1.0], "seeds": 1, "control": "outside-{period}.csv", **linkage},
        # Of the source, not of the control group.
        expectations={"rows": {"min": 1000}, "missing": 0},
    )
    assert found.linkage.control == "outside-{period}.csv"
    return found


def read(folder: Path, rows: Any = OUTSIDE) -> PreparedTable | None:
    write_source(folder / "outside-2026.csv", policy(), rows)
    return read_control(policy(), source_of(policy(), INSIDE), "2026", folder)


def test_people_are_read_from_beside_the_policy_with_their_period(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found is not None
    assert found.numeric[:, 0].tolist() == [30.0, pytest.approx(np.nan, nan_ok=True)]
    assert found.domains["city"] == ("Hull", "York")
    assert found.sensitive_values["illness"] == ("cough", "flu")


def test_without_a_file_there_is_no_group(tmp_path: Path) -> None:
    plain = small_policy(AGE_AND_CITY, ILLNESS, roles={"key": "person"})
    assert read_control(plain, source_of(plain, INSIDE), "2026", tmp_path) is None


def test_people_who_are_in_the_source_are_refused_by_their_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="1 of its people are also in the source") as told:
        read(tmp_path, [*OUTSIDE, ("p2", 21, "York", "hiv")])
    assert "p2" not in str(told.value)


@pytest.mark.parametrize(
    ("row", "kind", "finding"),
    [
        (("q3", 101, "Hull", "flu"), ValidationFailed, "1 of 3 rows in 'age'"),
        (("q3", "inf", "Hull", "flu"), ValidationFailed, "1 of 3 rows in 'age'"),
        (("q3", "nan", "Hull", "flu"), ValidationFailed, "1 of 3 rows in 'age'"),
        (("q3", 30, "Leeds", "flu"), ValidationFailed, "1 of 3 rows in 'city'"),
        (("q1", 30, "Hull", "flu"), ValidationFailed, "2 of 3 rows in 'person'"),
    ],
)
def test_the_sources_bounds_and_values_hold_for_it(
    tmp_path: Path, row: Any, kind: type[ReleaseGateError], finding: str
) -> None:
    with pytest.raises(kind) as told:
        read(tmp_path, [*OUTSIDE, row])
    assert finding in told.value.message


def test_a_file_that_is_not_there_or_has_other_columns_is_refused(tmp_path: Path) -> None:
    source = source_of(policy(), INSIDE)
    with pytest.raises(InputError, match="no such file"):
        read_control(policy(), source, "2026", tmp_path)
    file = tmp_path / "outside-2026.csv"
    file.write_text("person,age,illness\nq1,30,flu\n", encoding="utf-8")
    with pytest.raises(InputError, match="the column 'city' of the policy's roles is missing"):
        read_control(policy(), source, "2026", tmp_path)
    file.write_text("person,age,city,illness,wage\nq1,30,Hull,flu,9\n", encoding="utf-8")
    with pytest.raises(InputError, match="'wage' has no role"):
        read_control(policy(), source, "2026", tmp_path)
    file.write_text("person,age,city,illness\n", encoding="utf-8")
    with pytest.raises(InputError, match="no rows"):
        read_control(policy(), source, "2026", tmp_path)


def test_a_query_that_looks_elsewhere_does_not_take_the_files_place(tmp_path: Path) -> None:
    """Else the source would be its own control group, and show no excess whatever it reveals."""
    write_source(tmp_path / "inside.csv", policy(), INSIDE)
    write_source(tmp_path / "outside-2026.csv", policy(), OUTSIDE)
    asked = policy(errors=0.5)
    query = {"query": "SELECT * FROM 'inside.csv'", "format": "sql"}
    asked = asked.model_copy(update={"source": asked.source.model_copy(update=query)})
    found = read_control(asked, source_of(policy(), INSIDE), "2026", tmp_path)
    assert found is not None
    assert found.sensitive_values["illness"] == ("cough", "flu")


def test_the_source_itself_is_refused(tmp_path: Path) -> None:
    file = write_source(tmp_path / "outside-2026.csv", policy(), OUTSIDE)
    source = replace(source_of(policy(), INSIDE), digest=file_digest(file))
    with pytest.raises(InputError, match="is the source itself"):
        read_control(policy(), source, "2026", tmp_path)
