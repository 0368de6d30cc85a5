"""A process killed at a random moment leaves nothing that recovery does not settle.

In a process of its own, since it forks: `python -m tests.faults.kill --n 200` is the whole of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from release_store.public_files import release_folder
from release_store.store import ReleaseStore
from tests.faults import kill
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_work_killed_at_random_moments_is_settled_and_can_be_completed() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.faults.kill", "--n", "20", "--seed", "7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("0 wrong\n")
    assert sum("killed" in line for line in ended.stdout.splitlines()) >= len(kill.ACTIONS)


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
