"""What the suppression gate says of records that the comparison with earlier releases leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from release_store.records import GateResult, Verdict
from tasks.risk.gates.linkage_and_loss import suppression_gate
from tests.support.small import prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
ROWS = [(10, "flu"), (11, "flu"), (12, "hiv"), (20, "flu"), (21, "cough"), (22, "hiv")]


def judged(
    folder: Path, history: str, *, most: float = 0.05, n_left_out: int = 2, **gates: Any
) -> GateResult:
    """Judge a release beside an earlier one that leaves `n_left_out` of six people out."""
    policy = small_policy(
        AGE,
        {"illness": {"stability": "transient"}},
        method={"name": "mondrian", "history": history},
        gates={"suppression": {"max": most}, **gates},
    )
    table = prepared(policy, ROWS)
    labels = [0] * (6 - n_left_out) + [-1] * n_left_out
    earlier = published(policy, table, [0] * 6, folder / "a")
    return suppression_gate(published(policy, table, labels, folder / "b").evidence(earlier))


@pytest.mark.parametrize("history", ["repair", "sticky"])
@pytest.mark.parametrize("most", [0.05, 1.0])
def test_values_that_may_change_are_named_with_what_it_costs_to_ignore_them(
    tmp_path: Path, history: str, most: float
) -> None:
    result = judged(tmp_path, history, most=most)
    assert (result.verdict is Verdict.FAIL) == (most < 1)
    assert "2 of 6 records left out" in result.detail
    assert "`gates.transient: ignore` leaves out nobody for that, and costs protection" in result.detail


@pytest.mark.parametrize(
    ("history", "more"),
    [
        ("blind", {}),
        ("repair", {"transient": "ignore"}),
        ("repair", {"n_left_out": 0}),
    ],
)
def test_it_is_named_only_where_it_leaves_people_out(
    tmp_path: Path, history: str, more: dict[str, Any]
) -> None:
    assert "gates.transient" not in judged(tmp_path, history, **more).detail


def test_no_other_history_is_named(tmp_path: Path) -> None:
    assert "history: repair" not in judged(tmp_path, "sticky").detail
