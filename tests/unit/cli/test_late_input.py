"""An input that is late: what counts as late, how a command waits for it, and how it is given up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows.runtime.scheduling import LookParameters, await_input
from policy.errors import InputError, UsageError
from policy.load import load_policy
from release_store.canonical import utc_now
from release_store.verification.verify import verify
from services.awaited_input import ExpectedInput, InputCheck, look, wait_here
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[3]
WAIT = {"hours": 1, "every_minutes": 10, "settled_seconds": 60}


def wanted(desk: Desk, input_path: Path | None = None, **source: object) -> ExpectedInput:
    """The input of 2026Q1 of a policy that waits."""
    file = desk.policy(source={"path": "{period}.csv", "wait": WAIT, **source})
    return ExpectedInput(load_policy(file), "2026Q1", input_path, desk.folder)


def table(desk: Desk, age: float = 3600) -> Path:
    """The input, last changed so many seconds ago."""
    path = desk.table("2026Q1.csv")
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def test_a_file_that_is_there_and_has_settled_is_not_late(desk: Desk) -> None:
    table(desk)
    found = look(wanted(desk))
    assert found.late == ""
    assert look(wanted(desk), found.seen) == found


def test_a_table_in_parts_is_late_while_one_of_them_is(desk: Desk) -> None:
    parts = wanted(desk, path=["{period}.csv", "more.csv"])
    table(desk)
    found = look(parts)
    assert (found.late, parts.paths[found.which].name) == ("is not there", "more.csv")
    moment = time.time() - 3600
    more = desk.table("more.csv")
    os.utime(more, (moment, moment))
    settled = look(parts, found.seen)
    assert settled.late == ""
    assert look(parts, settled.seen) == settled
    more.write_text(more.read_text() + "\n")
    os.utime(more, (moment, moment))
    assert look(parts, settled.seen).late == "has changed since the last check"


def test_a_file_that_is_not_there_is_late(desk: Desk) -> None:
    assert look(wanted(desk)) == InputCheck("is not there")


@pytest.mark.parametrize(("age", "late"), [(2, True), (59, True), (120, False), (-30, True), (-3600, False)])
def test_a_file_that_has_just_changed_is_late(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, age: float, late: bool
) -> None:
    now = int(time.time())
    monkeypatch.setattr("services.awaited_input.time", SimpleNamespace(time=lambda: now))
    os.utime(table(desk), (now - age, now - age))
    found = look(wanted(desk))
    assert bool(found.late) is late
    if late:
        assert found.late.endswith("s ago and may be incomplete")


def test_a_file_that_differs_from_the_last_look_is_late_whatever_its_age(desk: Desk) -> None:
    path = table(desk)
    before = look(wanted(desk))
    with path.open("a") as file:
        file.write("more\n")
    os.utime(path, (1e9, 1e9))
    changed = look(wanted(desk), before.seen)
    assert changed.late == "has changed since the last check"
    assert look(wanted(desk), changed.seen).late == ""


def test_what_is_no_file_is_for_intake_to_tell(desk: Desk) -> None:
    folder = desk.folder / "2026Q1.csv"
    folder.mkdir()
    os.utime(folder, (1e9, 1e9))
    assert look(wanted(desk)).late == ""


def test_a_query_without_a_file_cannot_be_waited_for(desk: Desk) -> None:
    with pytest.raises(UsageError, match="only a file can be awaited, and none is named"):
        look(wanted(desk, path=None, query="SELECT 1"))


class Clock:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = utc_now()
        monkeypatch.setattr("services.awaited_input.utc_now", lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def test_a_command_waits_until_the_file_is_there(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, said = Clock(monkeypatch), []
    begun = clock.now

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now - begun >= timedelta(minutes=15) and not (desk.folder / "2026Q1.csv").exists():
            table(desk)

    wait_here(wanted(desk), desk.store, actor="ann", say=said.append, sleep=sleep)
    assert clock.now - begun == timedelta(minutes=20)  # the third look
    assert len(said) == 2
    assert said[0].startswith("waits: 2026Q1.csv is not there; next check at ")
    assert said[0].endswith("; Ctrl-C ends it")
    assert desk.store.events()[-1].action == "store.created"


def test_after_its_time_it_is_given_up_once_and_in_the_log(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    begun, logged = clock.now, len(desk.store.events())
    for _ in range(2):
        with pytest.raises(InputError, match="is not there") as caught:
            wait_here(wanted(desk), desk.store, actor="ann", say=lambda _: None, sleep=clock.sleep)
        assert caught.value.hint.startswith("Stopped after 7 checks")
    assert clock.now - begun == timedelta(hours=2)
    (event,) = desk.store.events()[logged:]
    assert (event.action, event.object, event.actor) == ("input.missing", "clinic/2026Q1", "ann")
    assert event.payload["looks"] == 7
    assert event.reason.startswith("the input is not there; it was due by ")
    assert verify(desk.store) == []


def test_without_a_deployment_a_run_fails_at_once(desk: Desk) -> None:
    common = {"this": LookParameters(), "actor": "ann", "scheduled": utc_now()}
    with pytest.raises(InputError, match="is not there") as caught:
        await_input(wanted(desk), desk.store, **common)  # type: ignore[arg-type]
    assert caught.value.hint == "Run it again when the file has arrived, or with --wait."
    table(desk)
    assert await_input(wanted(desk), desk.store, **common) is None  # type: ignore[arg-type]


def test_a_policy_that_does_not_wait_asks_for_nothing(desk: Desk) -> None:
    patient = wanted(desk, wait=None)
    common = {"this": LookParameters(), "actor": "ann", "scheduled": utc_now()}
    assert await_input(patient, desk.store, **common) is None  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="does not say how long to wait"):
        wait_here(patient, desk.store, actor="ann", say=print)


def test_a_waiting_command_ends_at_ctrl_c_and_leaves_nothing(desk: Desk) -> None:
    policy = wanted(desk) and desk.folder / "clinic.yaml"
    command = [sys.executable, "-m", "cli", "--store", str(desk.root), "run", str(policy)]
    # What a shell starts with `&` passes Ctrl-C over, and so do its children, if they are not told otherwise.
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command, "--period", "2026-Q1", "--wait"],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stderr is not None
        assert child.stderr.readline().startswith("  waits: 2026Q1.csv is not there; next check at ")
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=HANG_TIMEOUT)
        assert told == "releasegate: interrupted; no partial result is visible\n"
        assert child.returncode == 130
    assert len(desk.store.events()) == 1
    assert desk.store.candidates() == []
