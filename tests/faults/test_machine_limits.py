"""Few open files and little memory: a command says so in two lines before it begins, and nothing is lost."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import pytest

from flows.runtime import machine_limits
from release_store.db.connection import DATABASE
from release_store.verification.verify import verify
from tests.faults.site import ROOT
from tests.support import front_desk
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT, LONG_TIMEOUT

OPERATOR, STOPS = "operator", "stops the work"


def run_under(
    desk: Desk, kind: int, limit: int, timeout: float = HANG_TIMEOUT
) -> subprocess.CompletedProcess[str]:
    words = ["run", str(desk.policy()), "--input", str(desk.table()), "--period", "2026Q1"]
    return subprocess.run(
        [sys.executable, "-m", "cli", "--store", str(desk.root), *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.enemy(OPERATOR, STOPS)
@pytest.mark.parametrize(
    ("kind", "limit", "said"),
    [
        (resource.RLIMIT_NOFILE, 20, "the limit of open files is 20;"),
        (resource.RLIMIT_NOFILE, machine_limits.FEWEST_FILES - 1, "the limit of open files is"),
        (resource.RLIMIT_AS, 2**30, "the limit is 1024 MiB of memory;"),
        (resource.RLIMIT_AS, 300 * 2**20, "the limit is 300 MiB of memory;"),
    ],
    ids=["20 files", "a file too few", "1 GiB", "300 MiB"],
)
def test_a_command_without_room_says_so_and_touches_nothing(
    desk: Desk, kind: int, limit: int, said: str
) -> None:
    before = (desk.root / DATABASE).read_bytes()
    done = run_under(desk, kind, limit)
    assert done.returncode == 1, done.stderr
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 2, done.stderr
    assert (desk.root / DATABASE).read_bytes() == before


def test_a_soft_limit_of_open_files_is_raised(desk: Desk) -> None:
    code = "import flows, resource; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard)),
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=True,
    )
    assert int(done.stdout) == min(hard, machine_limits.FILES_WANTED)


@pytest.mark.nightly
@pytest.mark.enemy("data supplier", STOPS)
def test_a_table_that_memory_does_not_hold_is_refused(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_desk, "N_ROWS", 1_500_000)
    done = run_under(desk, resource.RLIMIT_AS, machine_limits.LEAST_MEMORY + 2**27, LONG_TIMEOUT)
    said = done.stderr.partition("releasegate: ")[2].splitlines()
    assert done.returncode == 1, done.stderr
    assert "the system refused" in said[0] or "OutOfMemory" in said[0]
    assert len(said) == 2
    assert desk.store.releases() == []
    assert verify(desk.store) == []
