"""A series whose policy counts households: its gates up to the report, and no household in what is kept."""

from __future__ import annotations

import numpy as np
import pytest

from release_store.records import Verdict
from release_store.verification.verify import verify
from tests.support import canary_search
from tests.support.front_desk import N_ROWS, POLICY, Desk
from tests.support.pages.lived import read

HOMES = np.array([f"home-77{i:04d}-x" for i in np.random.default_rng(2).integers(0, 150, N_ROWS)])


@pytest.mark.parametrize("history", ["repair", "sticky"])
def test_households_are_counted_in_every_release_and_lie_nowhere(
    desk: Desk, capfd: pytest.CaptureFixture[str], history: str
) -> None:
    policy = desk.policy(
        roles={**POLICY["roles"], "household": "home"},
        method={"name": "mondrian", "history": history},
        gates={"ncp": {"max": 1}, "suppression": {"max": 1}},
    )
    assert desk.run(policy, desk.table(home=HOMES)) == 0
    assert desk.run(policy, desk.table("next.csv", seed=2, home=HOMES), "2026Q2") == 0
    for release in desk.store.releases():
        gates = {one.gate: one for one in desk.store.gates(release.candidate_id)}
        assert gates["k"].verdict is Verdict.PASS
        assert gates["k"].detail.endswith("in households")
        assert (
            "home-77" not in read(desk.root / "releases/clinic" / release.release_id / "report.html").text()
        )
    assert verify(desk.store) == []
    (desk.root / "said.txt").write_text("".join(capfd.readouterr()))
    needles = {home: (home.encode(),) for home in HOMES[::40].tolist()}
    assert canary_search.find(desk.root, needles) == {}
    assert len(canary_search.find(desk.folder, needles)) == len(needles)


def test_a_table_without_a_household_is_refused(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    policy = desk.policy(roles={**POLICY["roles"], "household": "home"})
    homes = np.where(np.arange(N_ROWS) < 2, "", HOMES)
    assert desk.run(policy, desk.table(home=homes)) == 3
    said = "".join(capfd.readouterr())
    assert "2 of 400 rows in 'home' have no household" in said
    assert "home-77" not in said
