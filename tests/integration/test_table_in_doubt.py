"""A table whose rows may be of one person is published by nobody alone, and whoever agrees reads why."""

from __future__ import annotations

import json

import pytest

from services.observability.notice_kinds import notice_of
from tests.support.front_desk import Desk, people

Capture = pytest.CaptureFixture[str]
C1 = "clinic-2026Q1-c1"
WHY = (
    "in doubt: a column that is not published has 100 values in 400 rows, and rows with the same value have "
    "the same 'age', 'income': they may be of one person; 1 approval required"
)


@pytest.mark.enemy("policy author", "publishes a person")
def test_visits_are_not_published_as_people_by_one_operator(desk: Desk, capsys: Capture) -> None:
    rows = people(2)
    visits = {name: rows[name].head(100).repeat(4).to_numpy() for name in ("street", "age", "income")}
    visits["street"] = [f"house {i // 4}" for i in range(400)]
    table = desk.table(seed=2, **visits)
    assert desk.run(desk.policy(), table, "2026Q1") == 5
    told = capsys.readouterr()
    assert "people.csv: the column 'street' has 100 values in 400 rows" in told.err
    assert f"{C1} awaits 1 approval: {WHY}" in told.out
    assert desk.say("show", C1, "--json") == 0
    assert "street" not in json.dumps(json.loads(capsys.readouterr().out)["summary"])
    page = (desk.root / "candidates" / C1 / "report.html").read_text(encoding="utf-8")
    assert "in doubt: a column that is not published has 100 values" in page
    waits = [one for one in desk.store.events() if one.action == "candidate.awaiting_approval"][-1]
    assert notice_of(desk.store, waits).text.endswith(f" It is {WHY}.")
    assert desk.say("verify") == 0
    assert desk.run(desk.policy(expectations={"repeats": ["street"]}), table) == 0


@pytest.mark.enemy("policy author", "publishes a person")
def test_a_policy_that_limits_nothing_and_a_key_of_nobody_are_agreed_to(desk: Desk, capsys: Capture) -> None:
    table = desk.table(person=[f"p{i % 10}" for i in range(400)])
    unlimited = desk.policy(privacy={"k": 5, "e": 2, "p_max": 1})
    assert desk.run(unlimited, desk.table("right.csv")) == 5
    said = "privacy.p_max limits nothing: all but a few of a class may have the same value of 'disease'"
    assert f"{C1} awaits 1 approval: in doubt: {said}; 1 approval required" in capsys.readouterr().out
    assert desk.run(desk.policy(rows="several"), table) == 4  # ten people have every disease
    assert "column 'person': the key is no person's: 10 values in 400 rows" in capsys.readouterr().err
    summary = desk.store.candidate("clinic-2026Q1-c2").summary
    assert summary.doubts == ("the key may be no person's",)
    assert summary.required_approvals
    assert summary.required_approvals.needed == 1


@pytest.mark.enemy("data supplier", "publishes a person")
def test_one_person_under_two_forms_of_a_key_is_agreed_to(desk: Desk, capsys: Capture) -> None:
    keys = [f"{i // 2:05}" if i % 2 or i >= 60 else f"{i // 2}" for i in range(400)]
    keys[60:] = [f"{i:05}" for i in range(60, 400)]
    table = desk.table(person=keys)
    assert desk.run(desk.policy(), table) == 5
    said = "in doubt: 30 keys are another key in another form (zeros, case, blanks, `.0`): somebody may count"
    assert f"{C1} awaits 1 approval: {said}" in capsys.readouterr().out
    assert desk.run(desk.policy(gates={"person": {"other_forms": "accept"}}), table) == 0


def test_a_run_tells_that_fewer_people_than_before_are_followed(desk: Desk, capsys: Capture) -> None:
    assert desk.run(desk.policy(), desk.table(), "2026Q1") == 0
    assert "people of the last release" not in capsys.readouterr().err
    changed = [f"p{i:05}" if i % 3 else f"x-p{i:05}" for i in range(400)]
    desk.run(desk.policy(), desk.table(person=changed), "2026Q2")
    said = "releasegate: warning: column 'person': only 66% of the people of the last release are in it"
    assert said in capsys.readouterr().err
