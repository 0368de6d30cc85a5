"""A table in a program's memory, or in several files, is released, recorded and made again as a file's is."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.errors import UsageError
from release_store.commitment import is_made_of
from release_store.verification.verify import verify
from services.release import release
from services.reproduction import reproduce
from tasks.intake.table_object import TableObject
from tests.support.front_desk import Desk, people


def test_a_frame_is_released_and_made_again(desk: Desk) -> None:
    policy = desk.policy()
    outcome = release(policy, store=desk.root, period="2026Q1", input=people())
    assert outcome.state == "published"
    (one,) = desk.store.releases()
    assert reproduce(desk.store, one.release_id, TableObject(people())).same
    with pytest.raises(UsageError, match="is not the table of"):
        reproduce(desk.store, one.release_id, TableObject(people(seed=2)))
    again = release(policy, store=desk.root, period="2026Q1", input=people())
    assert (again.state, len(desk.store.releases())) == ("published", 1)
    assert verify(desk.store) == []


def test_texts_are_paths(desk: Desk) -> None:
    policy, table = desk.policy(), desk.table()
    outcome = release(str(policy), store=str(desk.root), period="2026Q1", input_path=str(table))
    assert outcome.state == "published"


def test_a_policy_that_waits_for_a_file_does_not_wait_for_an_object(desk: Desk) -> None:
    policy = desk.policy(source={"path": "gone.csv", "wait": {"hours": 1}})
    assert release(policy, store=desk.root, period="2026Q1", input=people()).state == "published"


def test_two_tables_or_none_are_refused(desk: Desk) -> None:
    policy, table = desk.policy(), desk.table()
    with pytest.raises(UsageError, match="is given beside input_path"):
        release(policy, store=desk.root, period="2026Q1", input=people(), input_path=table)
    with pytest.raises(UsageError, match="is no table, but str"):
        release(policy, store=desk.root, period="2026Q1", input=str(table))
    assert desk.store.releases() == []


def test_a_table_in_parts_is_released_and_made_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = people()
    whole.iloc[:150].to_csv(desk.folder / "2026Q1_a.csv", index=False)
    second: Path = desk.folder / "2026Q1_b.csv"
    whole.iloc[150:].to_csv(second, index=False)
    policy = desk.policy(source={"path": ["{period}_a.csv", "{period}_b.csv"]})
    assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == 0
    (one,) = desk.store.releases()
    assert one.summary.n_source == len(whole)
    monkeypatch.chdir(desk.folder)
    assert desk.say("reproduce", one.release_id) == 0
    recorded = desk.store.candidate(one.candidate_id).input_digest
    assert not is_made_of(desk.root, recorded, "0" * 64)
    second.write_text(second.read_text().replace("name 399", "name 400"))
    assert desk.say("reproduce", one.release_id) == UsageError.exit_code
