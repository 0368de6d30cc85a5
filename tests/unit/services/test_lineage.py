"""OpenLineage: what is told of a run is valid, and a server that is away fails nothing."""

from __future__ import annotations

import json
import socket
import threading
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from policy.errors import UsageError
from policy.roles import Roles
from services.observability.lineage import (
    KEY_VARIABLE,
    VARIABLE,
    Dataset,
    Lineage,
    Parent,
    check_target,
    run_event,
)
from services.observability.lineage_datasets import roles_of
from tests.support.listener import listening

Capture = pytest.CaptureFixture[str]
SOURCE = Dataset(
    "clinic/input/people.csv", "a" * 64, {"age": "quasi-identifier", "disease": "sensitive"}, 400
)
RELEASE = Dataset("clinic/releases", f"clinic-2026Q1-r1:{'b' * 64}", rows=396, n_files=3)
ODD_ADDRESSES = [
    "http://evil.example\\@127.0.0.1/s3cret",
    "http://127.0.0.1/s3cret\\",
    "http://127.0.0.1 /s3cret",
    "http://127.0.0.1/s3cret\t",
    "http://127.0.0.1/\x1bs3cret",
    "http://s3cret:s3cret@evil.example/",
    "http://hooks.localhost/s3cret",  # DNS says which machine that is
    "http://127.1/s3cret",
    "http://[::ffff:127.0.0.1]/s3cret",
    "http://[::1/s3cret",
    "http://127.0.0.1:s3cret/",
    "ftp://127.0.0.1/s3cret",
    "://s3cret",
]
FLOW_RUN = "06436ee7-2693-4138-bbe5-c5696db29c35"


def lineage() -> Lineage:
    return Lineage("clinic.release", Parent(FLOW_RUN, "scheduled-release"))


def check(event: dict[str, Any]) -> None:
    """Hold an event against the specification: what must be there, and what every facet must carry."""
    assert event.keys() >= {"eventTime", "producer", "schemaURL", "run", "job", "eventType"}
    assert event["schemaURL"] == "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
    uuid.UUID(event["run"]["runId"])
    assert urlsplit(event["producer"]).scheme
    facets = [event["run"]["facets"], event["job"]["facets"]]
    for dataset in (*event["inputs"], *event["outputs"]):
        assert dataset["namespace"] == "releasegate"
        facets += [dataset["facets"], dataset.get("inputFacets", {}), dataset.get("outputFacets", {})]
    for group in facets:
        for facet in group.values():
            assert urlsplit(facet["_producer"]).scheme == "urn"
            assert urlsplit(facet["_schemaURL"]).netloc == "openlineage.io"


def test_a_run_is_a_start_and_an_end_of_one_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "lineage.jsonl"
    monkeypatch.setenv(VARIABLE, str(file))
    told = lineage()
    told.start()
    told.inputs, told.outputs = [SOURCE], [RELEASE]
    told.end("COMPLETE")
    start, end = [json.loads(line) for line in file.read_text().splitlines()]
    for event in (start, end):
        check(event)
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == end["run"]["runId"] != FLOW_RUN
    assert end["run"]["facets"]["parent"]["run"]["runId"] == FLOW_RUN
    assert end["job"]["name"] == "clinic.release"
    (source,), (release,) = end["inputs"], end["outputs"]
    columns = [(one["name"], one["description"]) for one in source["facets"]["schema"]["fields"]]
    assert columns == [("age", "quasi-identifier"), ("disease", "sensitive")]
    assert source["facets"]["version"]["datasetVersion"] == "a" * 64
    assert source["inputFacets"]["inputStatistics"]["rowCount"] == 400
    assert release["facets"]["version"]["datasetVersion"].startswith("clinic-2026Q1-r1:")
    assert release["outputFacets"]["outputStatistics"]["rowCount"] == 396


@pytest.mark.parametrize("kind", ["FAIL", "ABORT"])
def test_an_end_that_is_none_tells_the_kind_of_error_alone(kind: str) -> None:
    from openlineage.client.serde import Serde

    event = json.loads(
        Serde.to_json(run_event(kind, FLOW_RUN, "clinic.release", [SOURCE], [], error="ended by InputError"))
    )
    check(event)
    assert event["eventType"] == kind
    facet = event["run"]["facets"]["errorMessage"]
    assert (facet["message"], facet.get("stackTrace")) == ("ended by InputError", None)


def test_a_server_is_sent_the_events_with_the_key_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    key.write_text("k3y\n")
    key.chmod(0o600)
    monkeypatch.setenv(KEY_VARIABLE, str(key))
    with listening() as listener:
        monkeypatch.setenv(VARIABLE, listener.url)
        told = lineage()
        told.start()
        told.end("COMPLETE")
        monkeypatch.setenv(VARIABLE, f"{listener.url}/some/where")
        told.end("COMPLETE")
    assert [request.path for request in listener.requests] == ["/api/v1/lineage"] * 2 + ["/some/where"]
    assert {request.headers["authorization"] for request in listener.requests} == {"Bearer k3y"}
    for body in listener.bodies:
        check(body)


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    with listening() as elsewhere, listening() as listener:
        listener.answer = lambda _request: (307, None)
        listener.headers = {"Location": f"{elsewhere.url}/taken"}
        monkeypatch.setenv(VARIABLE, listener.url)
        lineage().start()
        assert elsewhere.requests == []
    assert "could not be sent to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:9", "http://lineage.example.org", "/no/such/folder/file"]
)
def test_a_target_that_is_away_is_told_once_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, target: str
) -> None:
    monkeypatch.setenv(VARIABLE, target)
    told = lineage()
    told.start()
    told.end("FAIL", "ended by StoreError")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"releasegate: the lineage could not be sent to {VARIABLE}: ")


def test_the_client_s_own_settings_add_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its environment facets could hold tokens, and its facets of source code folders."""
    file = tmp_path / "lineage.jsonl"
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setenv("OPENLINEAGE__FACETS__ENVIRONMENT_VARIABLES", '["HOME"]')
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:9")
    told = lineage()
    told.start()
    event = json.loads(file.read_text())
    assert set(event["run"]["facets"]) == {"parent"}
    assert set(event["job"]["facets"]) == {"jobType"}


@pytest.mark.enemy("owner of the folder", "stops the work")
def test_settings_of_the_client_in_the_current_folder_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "lineage.jsonl"
    with listening() as listener:
        (tmp_path / "openlineage.yml").write_text(f"transport: {{type: http, url: '{listener.url}'}}\n")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv(VARIABLE, str(file))
        lineage().start()
        assert (len(file.read_text().splitlines()), listener.requests) == (1, [])


@pytest.mark.enemy("other account", "learns a value")
def test_the_key_goes_to_the_server_alone_and_no_file_of_passwords_replaces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login eve password eve\n")
    (tmp_path / ".netrc").chmod(0o600)
    (tmp_path / "key").write_text("k3y\n")
    (tmp_path / "key").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("NETRC", raising=False)
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "key"))
    with listening() as proxy, listening() as listener:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv(VARIABLE, listener.url)
        lineage().start()
        assert proxy.requests == []
        assert [request.headers["authorization"] for request in listener.requests] == ["Bearer k3y"]


def test_an_answer_without_end_is_not_read_to_its_end(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    sent = 0

    def answer(listening_socket: socket.socket) -> None:
        nonlocal sent
        connection, _ = listening_socket.accept()
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while sent < 1 << 30:
                sent += connection.send(b"x" * 65536)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        monkeypatch.setenv(VARIABLE, f"http://127.0.0.1:{server.getsockname()[1]}")
        lineage().start()
        thread.join()
    assert sent < 64 << 20
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("url", ODD_ADDRESSES)
@pytest.mark.enemy("other account", "reads a file")
def test_an_address_that_programs_read_in_two_ways_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(VARIABLE, url)
    with pytest.raises(UsageError) as caught:
        check_target()
    assert caught.value.where == VARIABLE
    assert "s3cret" not in str(caught.value)
    lineage().start()
    (line,) = capsys.readouterr().err.splitlines()
    assert "s3cret" not in line


def test_every_column_has_its_role() -> None:
    roles = Roles.model_validate(
        {
            "key": "person",
            "identifiers": ["name"],
            "quasi_identifiers": {"age": {"type": "integer", "bounds": [0, 110]}},
            "sensitive": {"disease": {"stability": "stable"}},
            "kept": ["ward"],
            "dropped": ["street"],
        }
    )
    found = roles_of(roles)
    assert list(found) == list(roles.columns())
    assert found["age"] == "quasi-identifier"
    assert set(found.values()) == {"key", "identifier", "quasi-identifier", "sensitive", "kept", "dropped"}
