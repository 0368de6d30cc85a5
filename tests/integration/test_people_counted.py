"""With a key of people, a release tells how many of its people were in each earlier one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from release_store.person_key import PERSON_KEY_VARIABLE, fingerprint_of
from tests.support.front_desk import N_ROWS, Desk, people

Capture = pytest.CaptureFixture[str]
KEY = bytes(range(64))


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "people.key"
    path.write_bytes(KEY)
    path.chmod(0o600)
    monkeypatch.setenv(PERSON_KEY_VARIABLE, str(path))
    return path


def by_person(capsys: Capture) -> dict[str, Any]:
    (found,) = [one for one in json.loads(capsys.readouterr().out)["gates"] if one["gate"] == "person"]
    return dict(found)


def test_people_are_followed_from_the_first_release_with_a_key_on(
    published: Desk, key: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = published
    assert desk.run(desk.policy(), desk.table(seed=1), "2026Q2", "ann", "--json") == 4
    told = "cannot follow people into clinic-2026Q1-r1: its people were hashed with another key, "
    assert told in by_person(capsys)["detail"]
    accepted = {"person": {"without": ["clinic-2026Q1-r1"]}}
    assert desk.run(desk.policy(gates=accepted), desk.table(seed=1), "2026Q2", "ann", "--json") == 5  # looser
    assert "not compared by person, as the policy says: clinic-2026Q1-r1" in by_person(capsys)["detail"]
    assert desk.say("approve", "clinic-2026Q2-c2", "--by", "bob", "--reason", "the key is lost") == 0
    # The first hundred have left, and others have come; who stays keeps their disease.
    person = [f"p{i:05d}" for i in (*range(100, N_ROWS), *range(N_ROWS, N_ROWS + 100))]
    later = people(1).iloc[[*range(100, N_ROWS), *range(100)]].assign(person=person)
    waits = desk.policy("waits.yaml", approval={"approvers": 1}, gates=accepted)
    later.to_csv(desk.folder / "later.csv", index=False)
    assert desk.run(waits, desk.folder / "later.csv", "2026Q3") == 5
    # Whoever approves has neither the table nor the key.
    monkeypatch.delenv(PERSON_KEY_VARIABLE)
    (desk.folder / "later.csv").unlink()
    assert desk.say("approve", "clinic-2026Q3-c1", "--by", "bob", "--reason", "seen") == 0
    capsys.readouterr()
    assert desk.say("show", "clinic-2026Q3-r1", "--json") == 0
    found = json.loads(capsys.readouterr().out)["people"]
    left_out = [N_ROWS - one.summary.document["n_published"] for one in desk.store.releases("clinic")]
    assert left_out == [0, 0, 0]
    assert found == {
        "key": fingerprint_of(KEY, "person"),
        "n": N_ROWS,
        "earlier": [
            {"release": "clinic-2026Q1-r1", "in_common": None},
            {"release": "clinic-2026Q2-r1", "in_common": N_ROWS - 100},
        ],
    }
    assert desk.say("show", "clinic-2026Q3-r1") == 0
    told = "400 kept as keyed hashes; clinic-2026Q1-r1 cannot be compared; 300 were in clinic-2026Q2-r1"
    assert f"people  {told}\n" in capsys.readouterr().out
    assert desk.say("show", "clinic-2026Q1-r1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["people"]["key"] != fingerprint_of(KEY, "person")
    assert desk.say("verify") == 0


def test_a_key_that_others_can_read_stops_a_run_before_its_work(
    desk: Desk, key: Path, capsys: Capture
) -> None:
    key.chmod(0o644)
    assert desk.run(desk.policy(), desk.table()) == 2
    told = capsys.readouterr().err
    assert f"releasegate: {key}: the key of people can be read by others\n" in told
    assert "intake" not in told
    assert desk.store.candidates() == []
