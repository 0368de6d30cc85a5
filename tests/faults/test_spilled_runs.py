"""Runs whose query does not fit into memory: killed, or without room on the disk, they leave nothing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

from cli.__main__ import main
from policy.trusted import TRUSTED_FILE
from release_store.verification.verify import verify
from tests.faults.site import ROOT
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect
from tests.support.spilled import spilled_bytes
from tests.support.timeouts import HANG_TIMEOUT

CANARY = b"name 1"  # the names of the desk's table begin so
# The names, again and again, sorted: more than the limit.
QUERY = (
    "SELECT i.* FROM input i JOIN (SELECT max(length(n.name)) AS longest FROM (SELECT name || again AS name "
    "FROM input, range(8000) t(again) ORDER BY hash(name, again) LIMIT 3100000) n) ON longest > 0"
)


@pytest.fixture
def spill(desk: Desk, tmp_path: Path) -> Path:
    """A folder that the owner of the store lets runs spill to, with little memory."""
    folder = tmp_path.resolve() / "spill"
    folder.mkdir(mode=0o700)
    trusted = desk.root.with_name(TRUSTED_FILE)
    trusted.write_text(yaml.safe_dump({"memory_limit": "64 MiB", "spill": str(folder)}))
    trusted.chmod(0o600)
    return folder


def words(desk: Desk, **source: str) -> list[str]:
    policy = desk.policy(source=source) if source else desk.policy()
    told = ["run", str(policy), "--input", str(desk.table()), "--period", "2026Q1"]
    return ["--store", str(desk.root), *told]


def publishes(desk: Desk) -> bool:
    """Tell whether the next run publishes, and the store is as it should be."""
    with plain_prefect():
        code = main(words(desk))
    found = [one.release_id for one in desk.store.releases()]
    return code == 0 and found == ["clinic-2026Q1-r1"] and verify(desk.store) == []


def begun(desk: Desk, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.plain_command", *words(desk, query=QUERY)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        **more,  # type: ignore[call-overload]
    )


@pytest.mark.enemy("other account", "reads a file")
def test_a_run_that_is_killed_while_it_spills_showed_no_cell_and_leaves_no_file(
    desk: Desk, spill: Path
) -> None:
    table = desk.table().read_bytes()
    assert CANARY in table
    run = begun(desk)
    try:
        end = time.monotonic() + HANG_TIMEOUT
        while len(spilled_bytes(run.pid, spill)) < 8 << 20:
            assert run.poll() is None, run.communicate()[1]
            assert time.monotonic() < end
            time.sleep(0.05)
        run.send_signal(signal.SIGSTOP)
        seen = spilled_bytes(run.pid, spill)
        below = psutil.Process(run.pid).children(recursive=True)
    finally:
        run.kill()
        run.communicate()
    assert below
    assert psutil.wait_procs(below, timeout=HANG_TIMEOUT)[1] == []  # they end with it
    assert len(seen) >= 8 << 20
    for cell in (CANARY, *{name for name in table.split(b",") if name.startswith(CANARY)}):
        assert cell not in seen
    assert [*spill.iterdir()] == []
    assert desk.store.releases() == []
    assert publishes(desk)


def test_a_disk_that_is_full_while_a_run_spills_is_named(desk: Desk, spill: Path) -> None:
    logged = desk.store.events()
    room = 4 << 20  # bytes of a file: more than anything else that the run writes
    run = begun(desk, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)))
    _, said = run.communicate(timeout=HANG_TIMEOUT)
    lines = said.partition("releasegate: ")[2].splitlines()
    assert run.returncode == 1, said
    assert lines[0] == f"{spill}: the disk has no room for temporary files (EFBIG)"
    assert lines[1].startswith("  Free room on this disk, or change spill or memory_limit in trusted.yaml")
    assert len(lines) == 2, said
    assert desk.store.events()[: len(logged)] == logged
    assert desk.store.releases() == []
    assert publishes(desk)
