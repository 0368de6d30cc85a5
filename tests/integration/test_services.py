"""A release made by the service alone, in a process that knows nothing of Prefect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from services.assessment import Assessment, assess_candidate
from services.candidate import stage_candidate
from services.pipeline import PublishableRows
from tasks.types import Candidate
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import json, sys
from pathlib import Path
from services.release import release
from services.reproduction import reproduce
from services.runtime import Runtime
from release_store.store import ReleaseStore

stages = []
policy, store, table = map(Path, sys.argv[1:])
made = release(
    policy, store=store, period="2026Q1", input_path=table,
    runtime=Runtime(lambda share, words: stages.append(words.partition(":")[0].partition(" (step")[0])),
)
again = release(policy, store=store, period="2026Q1", input_path=table)
same = reproduce(ReleaseStore.open(store), made.release_id, table).same
print(json.dumps([
    made.state, made.release_id, again.message, same, "prefect" in sys.modules,
    list(dict.fromkeys(stages)),
]))
"""


def test_a_release_is_made_and_reproduced_without_prefect(desk: Desk) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, desk.policy(), desk.root, desk.table()],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": str(desk.folder), "RELEASEGATE_TRUST": str(desk.folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    state, release_id, again, same, imported, stages = json.loads(done.stdout)
    assert (state, release_id, same) == ("published", "clinic-2026Q1-r1", True)
    assert again == "clinic-2026Q1-r1 is published already; nothing was done"
    assert not imported
    assert stages == [
        "intake", "validation", "preprocessing", "representation", "partitioning", "aggregation", "repair",
        "recoding", "staging", "figures", "risk gate", "report", "publication",
    ]  # fmt: skip


def test_the_gates_are_asked_when_the_rows_are_in_memory_no_more(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[weakref.ref[Any]] = []
    left: list[bool] = []

    def staged(made: PublishableRows, *args: Any, **kwargs: Any) -> Candidate:
        rows.extend(map(weakref.ref, (made.rows.frame, made.prepared.representation)))
        return stage_candidate(made, *args, **kwargs)

    def assessed(*args: Any, **kwargs: Any) -> Assessment:
        left.extend(one() is not None for one in rows)
        return assess_candidate(*args, **kwargs)

    monkeypatch.setattr("services.release.stage_candidate", staged)
    monkeypatch.setattr("services.candidate_run.assess_candidate", assessed)
    assert desk.run(desk.policy(), desk.table()) == 0
    assert left == [False, False]
