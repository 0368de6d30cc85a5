"""Rows are read for what may change beside what is known not to: signatures and the gate know of it."""

from __future__ import annotations

import pytest

from tests.reference.published_series import Published
from tests.reference.rows_read import attacked, certain, main


@pytest.mark.enemy("reader", "learns a value")
def test_nobodys_cost_is_read_from_rows() -> None:
    found = attacked(300, 3, "mondrian", "compare")
    assert [people for _, people in found] == sorted(people for _, people in found)
    assert found[-1][0] == 0


def test_a_cost_is_read_where_all_rows_that_may_be_somebodys_have_it() -> None:
    """Ann has flu by both of her classes, and each flu of the second costs 9; Bob may be either row."""
    first = Published("1", {0: [("flu", "1"), ("hiv", "2")]}, {"ann": 0})
    rows = {0: [("flu", "9"), ("flu", "9"), ("gout", "3")], 1: [("flu", "1"), ("gout", "2")]}
    second = Published("2", rows, {"ann": 0, "bob": 1})
    assert certain([first]) == (0, 1)
    assert certain([first, second]) == (1, 2)


@pytest.mark.nightly
def test_the_documented_share_of_costs_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--method", "mondrian"])  # by AE-LRHMA the share differs from processor to processor
    compared, ignored = capsys.readouterr().out.splitlines()
    assert compared.endswith("0.0%, 0.0%, 0.0%, 0.0% of the people")
    assert "0.5% of the people" in ignored  # docs/gates.md
