"""A release of a sample, with weights: its gates up to the report, and no weight in anything that is kept."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from release_store.records import Verdict
from tests.support import canary_search
from tests.support.front_desk import N_ROWS, POLICY, Desk, people
from tests.support.pages.lived import read

GATES = {
    "k_map": {"k": 100},
    "population_uniqueness": {"max": 1},
    "delta_presence": {"max": 0.9},
    "models": {"km": {"k": 3, "m": 1}},
    "ncp": {"max": 1},
}
WEIGHTS = 20 + np.arange(N_ROWS) * 0.0007731 + 0.000052917


def test_weights_are_measured_and_lie_nowhere(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    policy = desk.policy(
        roles={**POLICY["roles"], "weight": "stands_for"},
        gates=GATES,
        linkage={"control": "others.csv", "seeds": 1},
    )
    told = ["person", "name", "street"]
    others = pd.concat([people().assign(**(people()[told] + f"-{i}")) for i in range(3)])
    others.assign(stands_for=1.5).to_csv(desk.folder / "others.csv", index=False)
    table = desk.table(stands_for=WEIGHTS)
    assert desk.run(policy, table) == 0
    (release,) = desk.store.releases()
    gates = {one.gate: one for one in desk.store.gates(release.candidate_id)}
    assert all(gates[name].verdict is Verdict.PASS for name in ("k_map", "population_uniqueness", "km"))
    assert gates["k_map"].value == int(gates["k_map"].value or 0)
    # Each class has a quarter of the people who fit it, or less, and some people fit several.
    assert 0.25 < (gates["delta_presence"].value or 0) < 0.9
    assert "classes overlap" in gates["delta_presence"].detail
    page = read(desk.root / "releases/clinic" / release.release_id / "report.html").text()
    assert "people of the population." in page
    assert "share their exact values with nobody in the population" in page
    assert "by quasi-identifiers: " in page
    said = "".join(capfd.readouterr())
    (desk.root / "said.txt").write_text(said)
    needles = {
        str(weight): (repr(weight).encode(), np.float64(weight).tobytes(), f"{weight:.6f}".encode())
        for weight in WEIGHTS[::40].tolist()
    }
    assert canary_search.find(desk.root, needles) == {}
    assert len(canary_search.find(desk.folder, needles)) == len(needles)
    wrong = desk.table("wrong.csv", stands_for=np.where(np.arange(N_ROWS) < 2, -7731.0, WEIGHTS))
    assert desk.run(policy, wrong, "2026Q2") == 3
    said = "".join(capfd.readouterr())
    assert "2 of 400 rows in 'stands_for' hold a weight that is not over 0" in said
    assert "7731" not in said
