"""Whether the set-up is fit for work: each check finds what it is there for, and says how to mend it."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from flows.runtime import settings
from release_store.approval.reviewers import PEOPLE_VARIABLE, people_path
from release_store.checkup import Check, Condition
from services.doctor import server as server_checks
from services.doctor import setup
from services.doctor import versions as version_checks
from services.doctor.server import listens_openly, server
from services.doctor.setup import check_environment
from services.doctor.versions import TRAPS, requirements, versions
from services.observability import lineage, logs
from services.observability.notice_channels import COMMAND_VARIABLE, URL_VARIABLE
from services.observability.notice_delivery import register_channels
from tests.support.at_work import member, write_people
from tests.support.front_desk import Desk
from tests.support.listener import Answer, Listener, Request, listening
from tests.support.store.hand_made import awaiting

VARIABLES = (
    "PREFECT_API_URL",
    "PREFECT_API_AUTH_STRING",
    "PREFECT_API_KEY",
    COMMAND_VARIABLE,
    URL_VARIABLE,
    logs.VARIABLE,
    lineage.VARIABLE,
    PEOPLE_VARIABLE,
)
ENVIRONMENT = {"PREFECT_TASKS_DISABLE_CACHING": "true"}
Capture = pytest.CaptureFixture[str]


def looked_at(root: Path) -> list[Check]:
    """What `releasegate doctor` asks of the set-up."""
    return check_environment(root, settings.contradicted)


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("services.observability.notice_channels.prefect_api", lambda: None)


class Api:
    """An API that answers as Prefect's does, of a server on which all is well until a test says otherwise."""

    def __init__(self) -> None:
        self.version: Any = metadata.version("prefect")
        self.word: str | None = "admin:word"
        self.deployments: Any = [
            {
                "name": "scheduled-release",
                "paused": False,
                "schedules": [{"active": True}],
                "work_pool_name": "release-pool",
                "job_variables": {"env": ENVIRONMENT},
            },
            {"name": "manual-release", "paused": False, "schedules": [], "work_pool_name": "release-pool"},
        ]
        self.pool: dict[str, Any] | None = {"type": "process", "is_paused": False}
        self.workers: list[dict[str, Any]] = [{"status": "OFFLINE"}, {"status": "ONLINE"}]
        self.late = 0
        file = Path(__file__).parents[3] / "examples" / "crashed-runs.yaml"
        self.automations: Any = yaml.safe_load(file.read_text(encoding="utf-8"))["automations"]

    def __call__(self, request: Request) -> Answer:
        if self.word is not None:
            wanted = f"Basic {base64.b64encode(self.word.encode()).decode()}"
            if request.headers.get("authorization") != wanted:
                return 401, {"exception_message": "Unauthorized"}
        found: dict[str, Any] = {
            "/api/admin/version": self.version,
            "/api/deployments/filter": self.deployments,
            "/api/work_pools/release-pool": self.pool,
            "/api/work_pools/release-pool/workers/filter": self.workers,
            "/api/flow_runs/count": self.late,
            "/api/automations/filter": self.automations,
        }
        body = found.get(request.path)
        return (404, None) if body is None else (200, body)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Api, Listener]]:
    with listening() as listener:
        made = Api()
        listener.answer = made
        monkeypatch.setenv("PREFECT_API_URL", f"{listener.url}/api")
        monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:word")
        yield made, listener


def wrong(checks: list[Check]) -> dict[str, str]:
    return {check.name: check.found for check in checks if check.condition is Condition.WRONG}


def test_a_server_on_which_all_is_well(api: tuple[Api, Listener]) -> None:
    found = {check.name: check.found for check in server()}
    assert wrong(server()) == {}
    assert found == {
        "server": f"answers; Prefect {metadata.version('prefect')} on both sides",
        "access": "requires PREFECT_API_AUTH_STRING",
        "deployments": "2 found, 1 with an active schedule",
        "work pool": "release-pool exists, of type process",
        "workers": "1 of release-pool answer",
        "late runs": "none",
        "crashed runs": "an automation marks crashed runs",
    }
    tags = {"tags": {"all_": ["releasegate"]}}
    (count,) = {json.dumps(one.body) for one in api[1].requests if one.path == "/api/flow_runs/count"}
    assert json.loads(count)["deployments"] == tags


@pytest.mark.parametrize(
    ("change", "name", "finding"),
    [
        ({"version": "3.9.0"}, "server", "is Prefect 3.9.0, but"),
        ({"word": "another"}, "server", "it answers 401: PREFECT_API_AUTH_STRING is not the server's"),
        ({"version": None}, "server", "it answers 404"),
        ({"deployments": []}, "deployments", "none has the tag 'releasegate'"),
        ({"pool": None}, "work pool", "release-pool answers 404"),
        ({"pool": {"type": "docker"}}, "work pool", "release-pool is of type docker, not process"),
        ({"pool": {"type": "process", "is_paused": True}}, "work pool", "release-pool is paused"),
        ({"workers": [{"status": "OFFLINE"}]}, "workers", "none of release-pool answers"),
        ({"workers": []}, "workers", "none of release-pool answers"),
        ({"late": 3}, "late runs", "3 are late"),
        (
            {"automations": []},
            "crashed runs",
            "no automation marks crashed runs, so one would block its deployment for ever",
        ),
        (
            {"automations": [{"name": "other", "enabled": True, "trigger": {}, "actions": [{"type": "x"}]}]},
            "crashed runs",
            "no automation marks crashed runs, so one would block its deployment for ever",
        ),
    ],
)
@pytest.mark.by_day(5)
def test_each_thing_that_is_wrong_is_found_and_has_its_mend(
    api: tuple[Api, Listener], change: dict[str, Any], name: str, finding: str
) -> None:
    for field, value in change.items():
        setattr(api[0], field, value)
    found = wrong(server())
    assert set(found) == {name}
    assert found[name].startswith(finding)
    assert all(check.hint for check in server() if check.condition is Condition.WRONG)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"paused": True}, "scheduled-release is paused"),
        ({"schedules": [{"active": False}]}, "none has an active schedule"),
        (
            {"job_variables": {"env": {"PREFECT_TASKS_DISABLE_CACHING": "false"}}},
            "scheduled-release sets PREFECT_TASKS_DISABLE_CACHING differently, so Prefect would store data",
        ),
    ],
)
def test_a_deployment_that_would_not_run_or_would_keep_data_is_found(
    api: tuple[Api, Listener], change: dict[str, Any], finding: str
) -> None:
    api[0].deployments[0] |= change
    assert wrong(server()) == {"deployments": finding}


def test_a_credential_that_is_missing_is_told_as_such(
    api: tuple[Api, Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_AUTH_STRING")
    assert wrong(server()) == {"server": "it answers 401: PREFECT_API_AUTH_STRING is not set"}


def test_a_server_that_asks_nobody_is_fine_on_this_machine_only(
    api: tuple[Api, Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    api[0].word = None
    monkeypatch.delenv("PREFECT_API_AUTH_STRING")
    assert wrong(server()) == {}
    monkeypatch.setattr(server_checks, "listens_openly", lambda *_arguments: True)
    assert wrong(server()) == {"access": "accepts everybody who can reach it, without a credential"}


def test_sockets_that_listen_for_others_are_told_from_those_that_do_not() -> None:
    head = "  sl  local_address rem_address   st\n"
    port = 4200

    def line(address: str, state: str = "0A", number: int = port) -> str:
        return f"{head}   0: {address}:{number:04X} 00000000:0000 {state} 00000000:00000000\n"

    assert listens_openly(port, [line("00000000")])
    assert listens_openly(port, [line("0100A8C0")])  # 192.168.0.1
    assert listens_openly(port, [head, line("0" * 32)])
    assert not listens_openly(port, [line("0100007F"), line("0" * 24 + "01000000")])
    assert not listens_openly(port, [line("0" * 16 + "FFFF0000" + "0100007F")])
    assert not listens_openly(port, [line("00000000", state="01")])
    assert not listens_openly(port, [line("00000000", number=4201)])
    assert not listens_openly(port, [])


def test_a_server_of_this_test_is_seen_to_listen_here_only() -> None:
    with listening() as listener:
        port = int(listener.url.rpartition(":")[2])
        assert not listens_openly(port, server_checks._sockets())


@pytest.mark.parametrize("body", [[1, 2], {"a": 1}, "text", [{"name": None}], True])
def test_an_answer_that_is_none_is_a_finding_and_no_exception(
    desk: Desk, api: tuple[Api, Listener], body: Any
) -> None:
    api[0].deployments = body
    assert "server" in wrong(looked_at(desk.root))


def test_an_automation_that_is_off_is_found(api: tuple[Api, Listener]) -> None:
    api[0].automations[0]["enabled"] = False
    assert wrong(server()) == {"crashed runs": "the automation releasegate crashed runs is off"}


@pytest.mark.parametrize(
    "url",
    ["nonsense", "http://[::1", "http://127.0.0.1:port/api", "http://127.0.0.1:70000", "ftp://x", "http://"],
)
def test_an_address_that_is_none_is_told_in_a_line(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    (check,) = [one for one in looked_at(desk.root) if one.name == "server"]
    assert check.found == "PREFECT_API_URL is not an http or https address"
    assert check.hint == "Write it like http://127.0.0.1:4200/api, or leave it out."


@pytest.mark.parametrize("headers", ["{x", "[1]", "7", '"text"'])
def test_headers_that_are_no_json_object_are_told_in_a_line(
    desk: Desk, api: tuple[Api, Listener], monkeypatch: pytest.MonkeyPatch, headers: str
) -> None:
    monkeypatch.setenv("PREFECT_CLIENT_CUSTOM_HEADERS", headers)
    (check,) = [one for one in looked_at(desk.root) if one.name == "server"]
    assert check.found == "PREFECT_CLIENT_CUSTOM_HEADERS is not a JSON object"
    assert check.hint


def test_a_server_that_is_away_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    tried: list[object] = []
    connect = socket.socket.connect
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("waits"))
    monkeypatch.setattr(
        socket.socket, "connect", lambda self, address: tried.append(address) or connect(self, address)
    )
    (check,) = server()
    assert tried == [("127.0.0.1", 9)]
    assert check.found == "127.0.0.1:9 cannot be reached (ConnectionRefusedError)"


def test_what_is_installed_here_is_what_is_needed() -> None:
    assert wrong(versions()) == {}
    python, needed = requirements()
    assert python
    names = {one.name for one in needed}
    assert names >= {"prefect", *TRAPS}
    assert "pytest" not in names


def test_what_was_installed_tells_the_same_where_the_project_s_file_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(version_checks, "_PROJECT", tmp_path / "none")
    python, needed = requirements()
    assert python
    names = {one.name for one in needed}
    assert names >= {"prefect", *TRAPS}
    assert "pytest" not in names


@pytest.mark.parametrize(
    ("here", "line", "finding"),
    [
        ("0.155.0", "fastapi>=0.139,<0.151", "Prefect's server then fails at import"),
        (
            "2.1.0",
            "sqlalchemy[asyncio]>=2.0,<2.1",
            "Prefect then silently never creates the runs of a schedule",
        ),
        ("1.0", "numpy>=2.4,<2.5", "numpy 1.0 is installed, but numpy<2.5,>=2.4 is needed"),
    ],
)
def test_a_version_that_is_not_the_one_that_was_tried_is_told_with_what_goes_wrong(
    monkeypatch: pytest.MonkeyPatch, here: str, line: str, finding: str
) -> None:
    monkeypatch.setattr(version_checks, "requirements", lambda: ("", [Requirement(line)]))
    monkeypatch.setattr(version_checks.metadata, "version", lambda _name: here)
    (found,) = wrong(versions()).values()
    assert finding in found


def test_a_package_that_is_not_there_and_an_old_python_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(version_checks, "requirements", lambda: (">=4", [Requirement("no-such-package")]))
    found = wrong(versions())
    assert found["packages"] == "no-such-package is not installed"
    assert found["Python"].endswith(" is running, but >=4 is needed")


def test_settings_that_would_keep_data_are_told(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> None:
    monkeypatch.setenv("PREFECT_RESULTS_PERSIST_BY_DEFAULT", "TRUE")
    monkeypatch.setenv("PREFECT_TASKS_DISABLE_CACHING", "1")
    monkeypatch.setattr(settings, "contradicted", [])
    settings.apply_prefect_settings()
    assert settings.contradicted == ["PREFECT_RESULTS_PERSIST_BY_DEFAULT"]
    assert "sets PREFECT_RESULTS_PERSIST_BY_DEFAULT differently" in wrong(looked_at(desk.root))["settings"]
    settings.apply_prefect_settings()
    assert settings.contradicted == []


def test_people_are_asked_for_as_many_as_a_policy_asks_for(desk: Desk) -> None:
    people_path(desk.root).unlink()
    (people,) = setup._people(desk.root, desk.store)
    assert people.condition is Condition.FINE
    awaiting(desk.store, approvers=2)
    assert wrong(setup._people(desk.root, desk.store)) == {
        "people": "there is no people.yaml, so nobody can decide on a candidate"
    }
    write_people(desk.root, member("ann", ["operator"]), member("bob", ["approver"]))
    found = wrong(setup._people(desk.root, desk.store))["people"]
    assert found == "2 approvals are required, but people.yaml lists 1 approver"
    file = write_people(desk.root, member("ann", ["approver"]), member("bob", ["approver", "admin"]))
    assert wrong(setup._people(desk.root, desk.store)) == {}
    file.write_text("approvers_at_least: 3\n" + file.read_text())
    found = wrong(setup._people(desk.root, desk.store))["people"]
    assert found == "3 approvals are required, but people.yaml lists 2 approvers"
    file.chmod(0o666)
    assert "people" in wrong(looked_at(desk.root))


def test_logs_lineage_and_notices_that_cannot_be_written_are_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "/nowhere/log")
    monkeypatch.setenv(lineage.VARIABLE, "http://lineage.example.org")
    monkeypatch.setenv(URL_VARIABLE, "http://chat.example.org/x")
    found = wrong(looked_at(desk.root))
    assert found["log"] == "/nowhere/log cannot be written"
    assert found["lineage"] == f"{lineage.VARIABLE}: lineage.example.org must not be reached by http"
    assert found["notices"] == f"{URL_VARIABLE}: chat.example.org must not be reached by http"
    assert all(check.hint for check in looked_at(desk.root) if check.condition is Condition.WRONG)


def test_notices_that_are_due_are_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "true")
    register_channels(desk.store)
    assert wrong(setup._notices(desk.store)) == {}
    awaiting(desk.store)
    (check,) = setup._notices(desk.store)
    assert (check.condition, check.found) == (Condition.WRONG, "due: 1 by command")
    assert check.hint == "Run `releasegate notify` to deliver them."


def test_the_command_tells_store_and_set_up_and_ends_with_six_where_one_is_wrong(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert desk.say("doctor") == 0
    shown = capsys.readouterr().out
    assert "  fine  database: " in shown
    assert "  fine  server: PREFECT_API_URL is not set: `run` and `rejudge` work" in shown
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    assert desk.say("doctor", "--json") == 6
    checks = json.loads(capsys.readouterr().out)["checks"]
    assert [one["check"] for one in checks if one["condition"] == "wrong"] == ["server"]


def test_nothing_is_raised_where_there_is_no_store(tmp_path: Path) -> None:
    checks = looked_at(tmp_path / "nothing")
    assert wrong(checks) == {}
    assert {"people", "notices"} <= {check.name for check in checks}
