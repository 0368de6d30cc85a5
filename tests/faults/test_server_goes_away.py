"""Prefect's server is killed in mid-run: the release is whole all the same, and the command says so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from release_store.verification.verify import verify
from tests.faults.site import ROOT, Site
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT


def started(desk: Desk, environment: dict[str, str], stage: str) -> subprocess.Popen[str]:
    """Begin a run that stops itself when it begins the stage."""
    words = ["run", str(desk.policy()), "--input", str(desk.table()), "--period", "2026Q1", "--json"]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.faults.held_run", stage, "--store", str(desk.root), *words],
        cwd=ROOT,
        env={**environment, "PREFECT_CLIENT_MAX_RETRIES": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stopped(child: subprocess.Popen[str]) -> None:
    """Wait until the command has stopped itself."""
    how = os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert how is not None
    assert how.si_code == os.CLD_STOPPED, "the command ended before"


def ended(child: subprocess.Popen[str]) -> tuple[int, str, str]:
    child.send_signal(signal.SIGCONT)
    out, err = child.communicate(timeout=HANG_TIMEOUT)
    return child.returncode, out, err


@pytest.mark.nightly
@pytest.mark.parametrize("stage", ["validation", "risk gate"])
def test_the_release_is_made_without_it(desk: Desk, own_site: Site, stage: str) -> None:
    child = started(desk, own_site.environment, stage)
    stopped(child)
    own_site.kill("server")
    code, out, err = ended(child)
    assert code == 0, err
    assert json.loads(out)["release"] == "clinic-2026Q1-r1"
    assert "The connection to Prefect's server was lost" in err
    assert "Traceback" not in err
    assert [one.release_id for one in desk.store.releases()] == ["clinic-2026Q1-r1"]
    assert verify(desk.store) == []


def test_a_server_that_never_answers_is_told_in_a_line(desk: Desk, tmp_path: Path) -> None:
    with closing(Site(tmp_path / "site")) as nobody:  # nothing was started at its address
        code, out, err = ended(started(desk, nobody.environment, "no stage is begun"))
    assert (code, out) == (1, "")
    address = nobody.environment["PREFECT_API_URL"].removesuffix("/api")
    assert err.splitlines()[-2:] == [
        f"releasegate: PREFECT_API_URL: no Prefect server answers at {address} (ConnectError)",
        "  Correct PREFECT_API_URL (`prefect config view` shows it), or start the server.",
    ]
    assert desk.store.candidates() == []
