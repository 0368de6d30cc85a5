"""Notices, automations, metrics and doctor's checks with a real Prefect server that asks for a credential."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from release_store.checkup import Condition
from release_store.records import CandidateState
from services.doctor.server import server
from services.observability.notice_channels import COMMAND_VARIABLE, URL_VARIABLE, prefect_event
from services.observability.notice_delivery import pending_counts, register_channels, send_due
from tests.support.front_desk import Desk
from tests.support.listener import listening
from tests.support.prefect_site import ROOT, PrefectSite
from tests.support.store.hand_made import K_FAILS, stage
from tests.support.timeouts import HANG_TIMEOUT

WORD = "tester:a word for tests"
BLOCK = """
import sys
from prefect.blocks.notifications import CustomWebhookNotificationBlock
block = CustomWebhookNotificationBlock(
    name="listener", url=sys.argv[1], method="POST", json_data={"subject": "{{subject}}", "body": "{{body}}"}
)
print(block.save("listener", overwrite=True))
"""


class Server(PrefectSite):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, {}, WORD)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")},
            "PREFECT_HOME": str(folder / "home"),
            "PREFECT_API_URL": f"{self.address}/api",
            "PREFECT_SERVER_API_AUTH_STRING": WORD,
            "PREFECT_API_AUTH_STRING": WORD,
            "PREFECT_SERVER_API_HOST": "127.0.0.1",
            "PREFECT_SERVER_METRICS_ENABLED": "true",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "DO_NOT_TRACK": "1",
            "PYTHONPATH": str(ROOT),
        }

    def python(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"))
    command = ["-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", made.port]
    try:
        made.begin("server", [sys.executable, *command])
        made.until("the server's start", lambda: made.ask("/admin/version"))
        yield made
    finally:
        made.close()


@pytest.fixture
def desk_of_server(running: Server, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    for name in (COMMAND_VARIABLE, URL_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    from prefect.settings import PREFECT_API_AUTH_STRING, temporary_settings

    monkeypatch.setenv("PREFECT_API_URL", f"{running.address}/api")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", WORD)
    with temporary_settings({PREFECT_API_AUTH_STRING: WORD}):
        yield desk


def blocked(desk: Desk) -> str:
    record = stage(desk.store)
    desk.store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return record.candidate_id


def events(running: Server) -> list[dict[str, Any]]:
    found = running.ask("/events/filter", {"filter": {"event": {"prefix": ["releasegate."]}}})
    return list(found["events"])


def told_of(running: Server) -> list[str]:
    return [one["payload"]["candidate"] for one in events(running)]


def test_a_notice_becomes_one_event_however_often_it_is_sent_and_an_automation_tells_it(
    running: Server, desk_of_server: Desk, tmp_path: Path
) -> None:
    desk = desk_of_server
    with listening() as listener:
        listener.answer = lambda _request: (200, {})
        block = running.python("-c", BLOCK, listener.url).split()[-1]
        text = (ROOT / "examples" / "automations.yaml").read_text()
        file = tmp_path / "automations.yaml"
        file.write_text(text.replace("00000000-0000-0000-0000-000000000000", block))
        said = running.python("-m", "prefect", "automation", "create", "--from-file", str(file))
        assert "Created 6 automation(s)" in said
        register_channels(desk.store)
        candidate = blocked(desk)
        assert send_due(desk.store).delivered == {"prefect": 1}
        (kept,) = running.until("the event", lambda: events(running))
        assert kept["event"] == "releasegate.candidate.blocked"
        assert kept["resource"]["prefect.resource.id"] == f"releasegate.candidate.{candidate}"
        assert kept["payload"]["text"] == f"{candidate} is blocked by the gates k: nothing was published."
        running.until("the notification", lambda: listener.requests)
    (told,) = listener.bodies
    assert told["subject"] == f"releasegate: {candidate}"
    assert told["body"].startswith(kept["payload"]["text"])

    (desk.root / "notices.json").write_text(json.dumps({"prefect": 0}))
    assert send_due(desk.store).delivered == {"prefect": 1}
    another = blocked(desk)
    assert send_due(desk.store).delivered == {"prefect": 1}
    # The server keeps events in the order in which they come: what was sent twice is kept before this one.
    running.until("the next event", lambda: another in told_of(running))
    assert sorted(told_of(running)) == sorted([candidate, another])


def test_a_wrong_credential_leaves_the_notice_due(
    running: Server, desk_of_server: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect.settings import PREFECT_API_AUTH_STRING, temporary_settings

    register_channels(desk_of_server.store)
    blocked(desk_of_server)
    with temporary_settings({PREFECT_API_AUTH_STRING: "tester:another"}):
        (problem,) = send_due(desk_of_server.store).problems
    assert problem == "a notice by prefect waits: Prefect's server answers 401"
    assert pending_counts(desk_of_server.store) == {"prefect": 1}


def test_doctor_knows_this_server(
    running: Server, desk_of_server: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {check.name: check for check in server()}
    assert found["server"].condition is Condition.FINE
    assert found["access"].found == "requires PREFECT_API_AUTH_STRING"
    assert found["deployments"].found == "none has the tag 'releasegate'"
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "tester:another")
    (refused,) = server()
    assert refused.found == "it answers 401: PREFECT_API_AUTH_STRING is not the server's"


def test_doctor_knows_deployments_pools_and_workers_of_this_server(
    running: Server, desk_of_server: Desk
) -> None:
    flow = running.ask("/flows/", {"name": "release"})
    running.ask("/work_pools/", {"name": "release-pool", "type": "process"})
    running.ask(
        "/deployments/",
        {
            "name": "scheduled-release",
            "flow_id": flow["id"],
            "tags": ["releasegate"],
            "work_pool_name": "release-pool",
            "schedules": [{"schedule": {"cron": "0 6 5 1 *"}, "active": True, "slug": "yearly"}],
            "job_variables": {"env": {"PREFECT_TASKS_DISABLE_CACHING": "true"}},
        },
    )
    found = {check.name: check.found for check in server()}
    assert found["deployments"] == "1 found, 1 with an active schedule"
    assert found["work pool"] == "release-pool exists, of type process"
    assert found["workers"] == "none of release-pool answers"
    assert found["late runs"] == "none"
    running.ask("/work_pools/release-pool/workers/heartbeat", {"name": "a worker"})
    assert {check.name: check.found for check in server()}["workers"] == "1 of release-pool answer"


def test_the_server_s_metrics_are_those_that_the_page_names(running: Server) -> None:
    text = running.ask("/metrics")
    names = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:prefect|process|python)_\w+)`", page))
    assert named
    assert named <= names, sorted(names)


def test_every_kind_of_event_is_taken(running: Server, desk_of_server: Desk) -> None:
    from services.observability.notice_kinds import Notice

    notice = Notice("releasegate.candidate.verify-failed", "ab" * 32, 0, "2026-01-01T00:00:00+00:00", "text")
    assert running.ask("/events", [prefect_event(notice)]) == ""
    with pytest.raises(urllib.error.HTTPError):
        running.ask("/events", [{"event": "no event"}])
