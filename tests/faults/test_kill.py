"""A process killed at a step, or at a random moment, leaves nothing that recovery does not settle.

In a process of its own, since it forks: `python -m tests.faults.kill --n 200` is the whole of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from release_store.publishing.public_files import release_folder
from release_store.publishing.recovery import REASON
from release_store.store import ReleaseStore
from tests.faults import kill
from tests.support.timeouts import LONG_TIMEOUT

ROOT = Path(__file__).parents[2]


SETTLED = {
    "approve": "ward-2025-c1: publication undone, nothing was public; state: approved",
    "publish": "clinic-2025-c1: publication finished as clinic-2025-r1; "
    "releases/clinic/clinic-2025-r1.checkpoint.json: written again; "
    "releases/clinic/latest: written again; releases/catalog.json: written again",
    "purge": "pool-2025-c1: purged, and its rows are now removed",
    "restore": "park-2025-r1: restored, and now put back; "
    "releases/park/park-2025-r1.restored.checkpoint.json: written again; "
    "releases/park/latest: written again; releases/catalog.json: written again",
    "revise": "releases/clinic/clinic-2024-r2.checkpoint.json: written again; "
    "releases/clinic/clinic-2024-r1.superseded.json: written again; "
    "releases/clinic/latest: written again; releases/catalog.json: written again",
    "run": f"shop-2025-c1: failed, {REASON}",
    "withdraw": "clinic-2024-r1: withdrawn, and now taken down; "
    "releases/clinic/clinic-2024-r1.withdrawn.checkpoint.json: written again; "
    "releases/catalog.json: written again",
}


def killed(*words: str) -> list[str]:
    """Kill in a process of its own, in which nothing may be wrong, and return the lines that it tells."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.kill", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG_TIMEOUT,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    *lines, last = ended.stdout.splitlines()
    assert last == "0 wrong"
    return lines


def test_each_kind_of_work_killed_at_a_step_is_settled_and_can_be_completed() -> None:
    assert killed("--steps") == [f"   1 {name}, killed, {said}" for name, said in SETTLED.items()]


@pytest.mark.nightly
def test_work_killed_at_random_moments_is_settled_and_can_be_completed() -> None:
    lines = killed("--n", "20", "--seed", "7")
    assert sum("killed" in line for line in lines) >= len(kill.ACTIONS)


def test_a_half_release_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELEASEGATE_SIGNING_KEY", str(tmp_path / "signing.key"))
    kill.make(tmp_path)
    store = ReleaseStore.open(tmp_path / "store")
    assert kill.found_wrong(store) == []
    folder = release_folder(store.root, "clinic", "clinic-2024-r1")
    os.truncate(folder / "data.csv", 5)
    folder.with_name("clinic-2030-r1").mkdir()
    wrong = kill.found_wrong(store)
    assert "clinic-2024-r1 is not whole" in wrong
    assert "clinic-2030-r1 is visible, and no release" in wrong
