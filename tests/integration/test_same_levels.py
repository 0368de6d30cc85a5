"""The levels of one release decided for the next: `show` prints them, and both have the same cells."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.support.front_desk import N_ROWS, Desk


def test_the_next_release_has_the_cells_of_the_levels_that_show_prints(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    method = {"name": "full-domain", "recoding": "full-domain", "history": "blind"}
    loose = {"ncp": {"max": 1}, "suppression": {"max": 0.3}}
    policy = desk.policy(method=method, gates=loose, population="independent")
    assert desk.run(policy, desk.table()) == 0
    (first,) = desk.store.releases()
    capsys.readouterr()
    assert desk.say("show", first.release_id) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if one.startswith("  levels  ")]
    levels = {name: int(level) for name, level in (each.split(": ") for each in line[10:].split(", "))}
    assert {*levels} == {"age", "income", "city"}
    others = [f"q{number:05d}" for number in range(N_ROWS)]  # a sample of other people
    policy = desk.policy(method={**method, "levels": levels}, gates=loose, population="independent")
    assert desk.run(policy, desk.table("next.csv", seed=2, person=others), "2026Q2") == 0
    cells = []
    for release in desk.store.releases():
        frame = pd.read_csv(desk.root / "releases/clinic" / release.release_id / "data.csv")
        widths = frame["age_max"] - frame["age_min"], frame["income_max"] - frame["income_min"]
        cells.append(({*widths[0]}, {*widths[1]}, {*frame["city"]}))
    assert cells[0] == cells[1]
