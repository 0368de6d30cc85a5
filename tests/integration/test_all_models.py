"""A policy of all privacy models, and a sensitive number with decimals, up to its release's report."""

from __future__ import annotations

import numpy as np
import pytest

from policy.privacy_models import Models
from release_store.db.changes import gate_json
from release_store.records import Verdict
from release_store.verification.verify import verify
from reports.gate_wording import asks
from reports.protection import protected
from tests.support.front_desk import N_ROWS, POLICY, Desk
from tests.support.pages.lived import read

MODELS = {
    "distinct_l": {"min": 2},
    "entropy_l": {"min": 1.05},
    "recursive_cl": {"c": 90, "l": 2},
    "t_closeness": {"max": 0.95},
    "alpha_k": {"alpha": 0.9, "k": 4, "values": {"disease": ["flu"]}},
    "beta_likeness": {"max": 5000},
    "km": {"k": 3, "m": 2},
    "lkc": {"l": 2, "k": 3, "c": 0.95},
}
LOOSE = {"max": 1}
ATTACKS = {"err": LOOSE, "umr": LOOSE, "forced": LOOSE, "sadr": LOOSE, "pr_dr": LOOSE, "inversion": LOOSE}
ROLES = {
    **POLICY["roles"],
    "sensitive": {
        **POLICY["roles"]["sensitive"],
        "dose": {"type": "numeric", "stability": "transient"},
    },
}


@pytest.mark.parametrize("history", ["repair", "sticky"])
def test_the_classes_of_a_later_release_hold_a_model_that_compares_with_the_table(
    desk: Desk, history: str
) -> None:
    """The repair merges groups and leaves records out, after which the table is another."""
    gates = {"models": {"t_closeness": {"max": 0.25}}, "ncp": LOOSE, "suppression": LOOSE}
    policy = desk.policy(method={"name": "mondrian", "history": history}, gates=gates)
    for seed, period in ((1, "2026Q1"), (2, "2026Q2"), (3, "2026Q3")):
        assert desk.run(policy, desk.table(seed=seed), period) == 0
    for release in desk.store.releases():
        (result,) = [one for one in desk.store.gates(release.candidate_id) if one.gate == "t_closeness"]
        assert result.value is not None
        assert 0 < result.value <= 0.25


@pytest.mark.parametrize("method", ["mondrian", "mdav"])
def test_a_policy_that_known_values_blocked_comes_to_a_release(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Groups of 5 rows are too few for what two known values match, as long as none are merged for it."""
    models = {"km": {"k": 15, "m": 2}, "lkc": {"l": 2, "k": 12, "c": 0.5}}
    gates = {"models": models, "ncp": LOOSE}
    policy = desk.policy(method={"name": method}, gates=gates)
    with monkeypatch.context() as before:
        before.setattr("tasks.composition.asks_for_known_values", lambda _policy: False)
        assert desk.run(policy, desk.table()) == 4
    (blocked,) = desk.store.candidates()
    failing = {one.gate for one in desk.store.gates(blocked.candidate_id) if one.verdict is Verdict.FAIL}
    assert failing == {"km", "lkc"}
    assert desk.run(policy, desk.table()) == 0
    (release,) = desk.store.releases()
    verdicts = {one.gate: one.verdict for one in desk.store.gates(release.candidate_id)}
    assert verdicts["km"] is verdicts["lkc"] is Verdict.PASS
    assert len(desk.store.classes(release.release_id).size) > 10


@pytest.mark.parametrize("history", ["repair", "sticky"])
def test_known_values_match_enough_rows_in_a_later_release(desk: Desk, history: str) -> None:
    """The repair merges groups and leaves records out, after which other rows match."""
    models = {"km": {"k": 15, "m": 2}, "lkc": {"l": 2, "k": 12, "c": 0.5}}
    gates = {"models": models, "ncp": LOOSE, "suppression": LOOSE}
    policy = desk.policy(method={"name": "mondrian", "history": history}, gates=gates)
    for seed, period in ((1, "2026Q1"), (2, "2026Q2"), (3, "2026Q3")):
        assert desk.run(policy, desk.table(seed=seed), period) == 0
    for release in desk.store.releases():
        values = {one.gate: one.value for one in desk.store.gates(release.candidate_id)}
        assert values["km"] is not None
        assert 15 <= values["km"] < 400
        assert values["lkc"] is not None
        assert values["lkc"] <= 0.5


def test_every_model_and_a_number_with_decimals_come_to_a_release_and_its_report(desk: Desk) -> None:
    # No class has all values of an attribute with as many as `dose`, as delta-disclosure asks.
    assert MODELS.keys() | {"delta_disclosure", "attributes", "added"} == Models.model_fields.keys()
    policy = desk.policy(
        roles=ROLES,
        privacy={"k": 5, "e": 1},
        gates={**ATTACKS, "ncp": LOOSE, "models": MODELS},
        linkage={"seeds": 1, "ext_frac": [0.1]},
    )
    dose = np.random.default_rng(5).uniform(0.1, 2.0, N_ROWS).round(2) * 0.997
    assert desk.run(policy, desk.table(dose=dose)) == 0
    (release,) = desk.store.releases()
    gates = [gate_json(one) for one in desk.store.gates(release.candidate_id)]
    assert {one["gate"] for one in gates} >= {"k", "e", "ncp", *MODELS, *ATTACKS}
    broken = {one["gate"] for one in gates if one["value"] is not None and one["value"] % 1}
    assert broken >= {"e", "entropy_l", "t_closeness", "lkc"}  # what is not whole takes another way to words
    page = read(desk.root / "releases/clinic" / release.release_id / "report.html").text()
    for gate in gates:
        assert asks(gate["gate"])
        assert asks(gate["gate"]) in page
    told = protected(gates, desk.store.policy(desk.store.candidate(release.candidate_id).policy_digest))
    assert [line for line in told if line not in page] == []
    for beginning in (
        "Every class has at least ",
        "The sensitive values of every class are as mixed as ",
        "No class has one sensitive value that outweighs ",
        "In every class, the mix of sensitive values is within",
        "No class has a larger share of a sensitive value that the policy lists than ",
        " rows that match.",
        " sure of a sensitive value of the people drawn.",
    ):
        assert beginning in page
    assert verify(desk.store) == []
    assert desk.say("report", "--out", desk.folder / "site") == 0
    assert read(desk.folder / f"site/series/clinic/{release.release_id}.html").text().count("t_closeness")
