"""Survey weights: what is refused in one line, what is read of them, and that nobody else reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from policy.errors import PolicyError, ValidationFailed
from policy.loosening import loosened
from policy.model import ReleasePolicy
from tasks.intake.read import read_table
from tasks.preprocessing.prepare import prepare
from tasks.types import PreparedTable
from tasks.validation.check import raise_if_failed, validate
from tests.support.small import published, small_policy

CELLS = ["2.5", "1e1", "0.75", "40"]


def weighted(**roles: Any) -> ReleasePolicy:
    return small_policy(roles={"weight": "people"} | roles, expectations={"missing": 1})


def read(folder: Path, policy: ReleasePolicy, cells: list[str]) -> PreparedTable:
    """What the stages read of a file whose weights are these cells."""
    rows = [f"{30 + number},Hull,flu,{cell}" for number, cell in enumerate(cells)]
    (folder / "t.csv").write_text("\n".join(["age,city,illness,people", *rows, ""]))
    table = read_table(policy, input_path=folder / "t.csv", period="2026", base=folder)
    raise_if_failed(validate(table, policy, None), table.origin)
    return prepare(table, policy)


@pytest.mark.parametrize("roles", [{}, {"kept": ["people"]}], ids=["unpublished", "kept"])
def test_weights_are_numbers_and_go_with_their_records(tmp_path: Path, roles: dict[str, Any]) -> None:
    found = read(tmp_path, weighted(**roles), CELLS)
    assert found.weights is not None
    assert found.weights.tolist() == [2.5, 10, 0.75, 40]
    taken = found.take(np.array([3, 0])).weights
    assert taken is not None
    assert taken.tolist() == [40, 2.5]
    assert [*found.frame] == [*roles.get("kept", [])]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("", "have no weight"),
        ("-7731", "hold a weight that is not over 0"),
        ("0", "hold a weight that is not over 0"),
        ("inf", "hold a weight that is no finite number"),
        ("1e999", "hold a weight that is no finite number"),
        ("nan", "hold a weight that is no finite number"),
        ("word7731", "hold a weight that is no finite number"),
    ],
)
@pytest.mark.parametrize("roles", [{}, {"kept": ["people"]}], ids=["unpublished", "kept"])
@pytest.mark.by_day(5)
def test_a_weight_that_counts_nobody_is_refused_in_one_line_without_its_value(
    tmp_path: Path, cell: str, said: str, roles: dict[str, Any]
) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read(tmp_path, weighted(**roles), [*CELLS, cell, cell])
    assert str(refused.value).startswith(f"t.csv: 2 of 6 rows in 'people' {said}")
    assert "7731" not in str(refused.value)
    assert len(refused.value.message.splitlines()) == 1


@pytest.mark.parametrize(
    ("roles", "columns"), [({}, []), ({"kept": ["people"]}, ["people"])], ids=["unpublished", "kept"]
)
def test_weights_are_published_only_where_they_are_kept(
    tmp_path: Path, roles: dict[str, Any], columns: list[str]
) -> None:
    policy = weighted(**roles)
    made = published(policy, read(tmp_path, policy, CELLS), [0, 0, 1, 1], tmp_path / "staged")
    head, *rows = made.csv.read_text().splitlines()
    assert head.split(",") == ["age_min", "age_max", "city", "illness", *columns]
    assert ("2.5" in "".join(rows)) is bool(columns)


def test_a_column_of_weights_has_no_other_role() -> None:
    for roles in ({"dropped": ["people"]}, {"key": "people"}, {"identifiers": ["people"]}):
        with pytest.raises(PolicyError, match="the column 'people' has two roles"):
            weighted(**roles)


def test_other_weights_are_looser_and_their_column_is_not_named() -> None:
    base = weighted(dropped=["street"])
    other = weighted(weight="street", dropped=["people"])
    none = small_policy(roles={"dropped": ["street", "people"]}, expectations={"missing": 1})
    assert loosened(base, base) == []
    assert loosened(base, other) == loosened(base, none) == ["roles.weight changed"]
    assert loosened(none, base) == []
    assert "people is kept instead of weight" in loosened(base, weighted(dropped=["street"], kept=["people"]))
