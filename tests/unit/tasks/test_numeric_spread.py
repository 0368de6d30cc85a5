"""Numbers that nearly agree tell each other: the gate `spread`, and the methods that keep to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from release_store.records import GateResult, Verdict
from tasks.risk.registry import GATES, assess, gates_to_ask
from tests.support.small import anonymized, prepared, published, small_policy

AGE = {"age": {"type": "integer", "bounds": [0, 120]}}
INCOME = {"income": {"type": "numeric", "stability": "stable"}}


def spread(folder: Path, incomes: list[float], labels: list[int], least: float = 0.05) -> GateResult:
    policy = small_policy(AGE, INCOME, privacy={"spread": least})
    table = prepared(policy, [(30 + i, income) for i, income in enumerate(incomes)])
    evidence = published(policy, table, labels, folder / "c").evidence()
    (result,) = assess(evidence, {"spread": GATES["spread"]}).results
    return result


@pytest.mark.enemy("auditor", "learns a value")
def test_a_class_of_incomes_within_one_percent_blocks(tmp_path: Path) -> None:
    """The range is 500 of 50 500: e = 3 was content, and all in the class were known to one percent."""
    incomes = [50_000.0, 50_200.0, 50_500.0, 20_000.0, 30_000.0, 40_000.0]
    result = spread(tmp_path, incomes, [0, 0, 0, 1, 1, 1])
    assert (result.verdict, result.value) == (Verdict.FAIL, pytest.approx(500 / 50_500))
    assert result.witness["failing_classes"] == 1


def test_the_threshold_itself_passes_and_signs_do_not_matter(tmp_path: Path) -> None:
    assert spread(tmp_path / "a", [95.0, 100.0, -95.0, -100.0], [0, 0, 1, 1]).verdict is Verdict.PASS
    assert spread(tmp_path / "b", [95.1, 100.0, -95.0, -100.0], [0, 0, 1, 1]).verdict is Verdict.FAIL
    assert spread(tmp_path / "c", [-1.0, 1.0, 0.0, 5.0], [0, 0, 1, 1]).value == 1.0
    assert spread(tmp_path / "d", [0.0, 0.0, 5.0, 9.0], [0, 0, 1, 1]).value == 0.0


def test_it_is_asked_of_numbers_alone_and_0_asks_nothing() -> None:
    assert "spread" in gates_to_ask(small_policy(AGE, INCOME))
    assert "spread" not in gates_to_ask(small_policy(AGE))
    assert "spread" not in gates_to_ask(small_policy(AGE, INCOME, privacy={"spread": 0}))


@pytest.mark.enemy("auditor", "learns a value")
@pytest.mark.parametrize("method", ["mondrian", "ke-mdav", "mdav"])
def test_methods_make_no_class_of_numbers_that_nearly_agree(tmp_path: Path, method: str) -> None:
    draw = np.random.default_rng(5)
    ages = np.sort(draw.integers(20, 90, 300))
    incomes = (ages * 1000 + draw.integers(0, 200, 300)).astype(float)  # those of an age nearly agree
    policy = small_policy(AGE, INCOME, privacy={"k": 4, "spread": 0.05}, method={"name": method})
    table = prepared(policy, list(zip(ages.tolist(), incomes.tolist(), strict=True)))
    labels = anonymized(table, policy).labels
    for label in np.unique(labels):
        own = incomes[labels == label]
        assert np.ptp(own) >= 0.05 * own.max() - 1e-9
    evidence = published(policy, table, labels, tmp_path / "c").evidence()
    (result,) = assess(evidence, {"spread": GATES["spread"]}).results
    assert result.verdict is Verdict.PASS
