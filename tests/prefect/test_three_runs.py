"""Three commands release one period at once, without a server: one candidate comes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]
PATIENT = f"""
from release_store.db import connection
connection.LOCK_TIMEOUT = {HANG_TIMEOUT}
from cli.__main__ import entry
entry()
"""


@pytest.mark.parametrize(("approvers", "code"), [(1, 5), (0, 0)], ids=["waits", "published"])
def test_runs_of_one_period_in_three_processes_make_one_candidate(
    desk: Desk, approvers: int, code: int
) -> None:
    policy, table = desk.policy(approval={"approvers": approvers}), desk.table()
    words = ["run", str(policy), "--input", str(table), "--period", "2026Q1"]
    command = [sys.executable, "-c", PATIENT, "--store", str(desk.root), *words]
    runs = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = [run.communicate(timeout=HANG_TIMEOUT)[0] for run in runs]
    assert [run.returncode for run in runs] == [code] * 3, told
    (found,) = desk.store.candidates()
    assert found.candidate_id == "clinic-2026Q1-c1"
    assert str(found.state) == ("awaiting_approval" if approvers else "published")
    assert sum("nothing was done" in text for text in told) == 2
    assert desk.say("verify") == 0
