"""The exact attacker of `tests/reference/exact.py` reads whole stores as the flow makes them."""

from __future__ import annotations

import pytest

from tests.flows.front_desk import Desk, people
from tests.reference.exact import main

pytestmark = pytest.mark.flow


def test_a_first_release_pins_nobody_and_a_second_is_judged_with_it(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert desk.run(desk.policy(), desk.table()) == 0
    later = desk.folder / "later.csv"
    people().iloc[20:].to_csv(later, index=False)
    code = desk.run(desk.policy(), later, "2026Q2")
    capsys.readouterr()
    main([str(desk.root), "--series", "clinic"])
    first, *more = capsys.readouterr().out.splitlines()
    assert first.startswith("clinic-2026Q1-r1: 0 of 400 people (0.0%) have a value for certain, 0 undecided")
    assert len(more) == (code == 0)
