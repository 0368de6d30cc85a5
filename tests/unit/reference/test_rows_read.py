"""Rows are read for what may change beside what is known not to: signatures and the gate know of it."""

from __future__ import annotations

import pytest

from tests.reference.rows_read import attacked, main


@pytest.mark.enemy("reader", "learns a value")
@pytest.mark.parametrize("transient", ["compare", "ignore"])
def test_nobodys_cost_is_read_from_rows_unless_the_policy_ignores_it(transient: str) -> None:
    found = attacked(300, 3, "mondrian", transient)
    assert [people for _, people in found] == sorted(people for _, people in found)
    assert (found[-1][0] > 0) == (transient == "ignore")


@pytest.mark.nightly
def test_the_documented_share_of_costs_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--method", "mondrian"])  # by AE-LRHMA the share differs from processor to processor
    compared, ignored = capsys.readouterr().out.splitlines()
    assert compared.endswith("0.0%, 0.0%, 0.0%, 0.0% of the people")
    assert "3.9% of the people" in ignored  # docs/gates.md
