"""A store that lost its database, and a lock that somebody holds: what to do, and who holds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.__main__ import main
from release_store.audit.keys import PUBLIC_KEY_FILE
from release_store.db.connection import DATABASE
from release_store.store import ReleaseStore, SeriesInUse

HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("command", [["verify"], ["history"], ["show", "x"], ["audit", "clinic"]])
@pytest.mark.parametrize("left", [PUBLIC_KEY_FILE, "releases"])
def test_a_lost_database_is_restored_and_not_made_anew(
    store: ReleaseStore, capsys: pytest.CaptureFixture[str], command: list[str], left: str
) -> None:
    (store.root / DATABASE).unlink()
    if left == "releases":
        (store.root / PUBLIC_KEY_FILE).unlink()
    else:
        (store.root / "releases").rmdir()
    assert main(["--store", str(store.root), *command]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"releasegate: {store.root / DATABASE}: the store's database is missing"
    assert second.startswith("  Restore it from a backup")
    assert not (store.root / DATABASE).exists()


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux names the holder of a lock")
def test_a_lock_that_is_held_names_its_process(store: ReleaseStore) -> None:
    path = store.root / "locks" / "clinic.lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SeriesInUse) as caught, store.series_lock("clinic", 0.1):
            pass
        assert (
            caught.value.message == f"process {other.pid} has been publishing to 'clinic' for more than 0.1 s"
        )
        assert caught.value.where == str(path)
        other.communicate()
    with store.series_lock("clinic", 0.1):
        assert os.getpid() != other.pid
