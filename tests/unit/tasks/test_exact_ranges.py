"""The range of a class's numbers is exact: whole numbers over 2^53, and decimals that no double is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import Verdict
from services.checking.model import model_findings
from tasks.intake.cell_table import cells_of
from tasks.intake.read import read_table
from tasks.intake.source import find_source
from tasks.partitioning.constraints import constraints_of
from tasks.preprocessing.prepare import prepare
from tasks.privacy.ranges import exact_ranges, from_least
from tasks.validation.feasible import feasible
from tests.support.made_classes import asked, classes_of, policy_with
from tests.support.small import small_policy

BIG = 2**53

decimals = st.decimals(-(10**20), 10**20, places=2)
groups_of_values = st.lists(decimals, min_size=1, max_size=6, unique=True).flatmap(
    lambda values: st.tuples(
        st.just(values),
        st.lists(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values)), max_size=4),
    )
)


@given(groups_of_values)
def test_a_range_is_the_double_nearest_to_it(made: tuple[list[Decimal], list[list[int]]]) -> None:
    values, groups = made
    counts = np.array(groups, dtype=np.int64).reshape(len(groups), len(values))
    for group, found in zip(groups, exact_ranges(counts, values), strict=True):
        there = [Fraction(value) for value, count in zip(values, group, strict=True) if count]
        assert found == (float(max(there) - min(there)) if there else 0.0)


def test_a_missing_number_widens_no_range() -> None:
    counts = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 1]])
    assert exact_ranges(counts, [None, Decimal(BIG), Decimal(BIG + 1)]).tolist() == [0, 0, 1]
    assert from_least([None, Decimal(BIG + 1), Decimal(BIG)])[0].tolist()[1:] == [1, 0]
    assert from_least([None])[1] == 0


@pytest.mark.parametrize(
    ("wages", "e", "verdict"),
    [
        ((BIG, BIG + 1), 1, Verdict.PASS),  # one double, whose range is 0
        ((BIG + 1, BIG + 3), 3, Verdict.FAIL),  # the nearest doubles are 4 apart
        ((BIG + 1, BIG + 3), 2, Verdict.PASS),
        (("3.1", "4.1"), 1, Verdict.PASS),  # 4.1 - 3.1 is 0.9999999999999996
    ],
)
def test_e_is_asked_of_the_numbers_themselves(wages: tuple[object, ...], e: int, verdict: Verdict) -> None:
    policy = policy_with({}, "wage", names=["city"], privacy={"e": e})
    rows = [((frozenset({"Hull"}),), (str(wage),)) for wage in wages]
    assert asked("e", classes_of(rows, policy), policy).verdict is verdict


@pytest.mark.parametrize(("pays", "missed"), [((BIG + 1, BIG + 3000), 0), (("3.1", "4.1"), 1), ((3, 4), 1)])
def test_a_table_is_not_refused_for_numbers_that_doubles_do_not_hold(
    tmp_path: Path, pays: tuple[object, object], missed: int
) -> None:
    """Of two values 2,999 apart an e of 1,000 can be asked; of two that are 1 apart an e of 1."""
    (tmp_path / "t.csv").write_text("age,pay\n" + "".join(f"1,{pay}\n2,{pay}\n" for pay in pays))
    for e, short in ((1, 0), (1000, missed)):
        policy = small_policy(
            {"age": {"type": "integer", "bounds": [0, 100]}},
            {"pay": {"type": "numeric", "stability": "stable"}},
            privacy={"e": e, "spread": 0.0},
        )
        table = read_table(policy, input_path=tmp_path / "t.csv", period="1", base=tmp_path)
        assert sum(not one.passed for one in feasible(table, policy)) == short
        source = find_source(policy, input_path=tmp_path / "t.csv", period="1", base=tmp_path)
        with cells_of(source, policy) as cells:
            assert len(model_findings(cells, policy)) == short


@pytest.mark.parametrize("above", [0, BIG])
def test_a_method_asks_what_the_gate_asks(tmp_path: Path, above: int) -> None:
    """Groups of numbers that are 2 apart hold e = 2, and not e = 3, however large the numbers are."""
    (tmp_path / "t.csv").write_text(f"age,pay\n1,{above + 1}\n2,{above + 3}\n3,{above + 9}\n4,\n")
    for e, holds in ((2, True), (3, False)):
        policy = small_policy(
            {"age": {"type": "integer", "bounds": [0, 100]}},
            {"pay": {"type": "numeric", "stability": "stable"}},
            privacy={"e": e, "spread": 0.0},
        )
        table = prepare(read_table(policy, input_path=tmp_path / "t.csv", period="1", base=tmp_path), policy)
        limits = constraints_of(table, policy)
        assert limits.group_holds(np.array([0, 1])) is holds
        assert limits.group_holds(np.array([0, 2, 3])) is True
        assert limits.group_holds(np.array([0, 3])) is False


def test_spread_is_beside_the_number_itself(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"age,pay\n1,{BIG + 1}\n2,{2 * BIG}\n3,{BIG + 3}\n")
    policy = small_policy(
        {"age": {"type": "integer", "bounds": [0, 100]}},
        {"pay": {"type": "numeric", "stability": "stable"}},
        privacy={"spread": 0.05},
    )
    table = prepare(read_table(policy, input_path=tmp_path / "t.csv", period="1", base=tmp_path), policy)
    limits = constraints_of(table, policy)
    assert limits.group_holds(np.array([0, 1])) is True
    assert limits.group_holds(np.array([0, 2])) is False
