"""Kill a process at each of its writes to the disk, one after the other, and see what recovery makes of it.

    python -m tests.faults.every_write [ACTION ...]

A kill at a random moment seldom meets the few milliseconds in which the database is written. Here strace
(which must be installed) kills at the first write, then at the second, until the work ends by itself, and so
on for each call that changes the disk: between two of them a killed process leaves the disk as it is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.faults import kill
from tests.support.trusting import trust_test_folders

CALLS = (
    "pwrite64",
    "write",
    "fsync",
    "fdatasync",
    "ftruncate",
    "rename",
    "unlink",
    "unlinkat",
    "rmdir",
    "symlink",
    "mkdir",
)
ROOT = Path(__file__).parents[2]


def killed_at_each(name: str, folder: Path) -> Iterator[tuple[str, kill.Killed]]:
    """Kill an action at each of its writes, and yield the call with what was found after it."""
    # strace counts each kind of call by itself, so each has its turn.
    for call in CALLS:
        number, ended = 0, -1
        while ended:
            number += 1
            store = kill.fresh(folder)
            inject = f"inject={call}:signal=SIGKILL:when={number}"
            work = [sys.executable, "-m", "tests.faults.every_write", "--carry-out", name, str(store.root)]
            command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject, *work]
            ended = subprocess.run(command, cwd=ROOT, check=False).returncode
            if ended not in (0, -signal.SIGKILL, 128 + signal.SIGKILL):
                raise RuntimeError(f"strace ended with {ended}")
            yield call, kill.looked_at(number, name, 0.0, ended != 0, store, folder, [])


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill, count, and tell what went wrong."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["--carry-out"]:
        kill.ACTIONS[words[1]].work(kill.ReleaseStore.open(Path(words[2])))
        os._exit(0)  # what Python writes at its end is not the store's
    trust_test_folders()
    counted, wrong = Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "template").mkdir()
        kill.make(folder / "template")
        for action in words or kill.ACTIONS:
            for call, one in killed_at_each(action, folder):
                counted[action] += one.died
                for what in one.wrong:
                    wrong += 1
                    print(f"{action} at {call} {one.number}: {what}", flush=True)
            print(f"{action}: killed at each of {counted[action]} calls", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
