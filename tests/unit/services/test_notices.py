"""Notices: each event that matters is told once, in order, to each channel; what is not taken stays due."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from policy.errors import UsageError
from release_store.approval.expiry import end_expired
from release_store.approval.reviewer_log import log_reviewers
from release_store.approval.reviewers import PEOPLE_VARIABLE, people_path
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.clock import correct_clock
from release_store.canonical import utc_now
from release_store.db.connection import transaction
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.observability.notice_channels import (
    COMMAND_VARIABLE,
    SECRET_VARIABLE,
    URL_VARIABLE,
    prefect_event,
)
from services.observability.notice_delivery import (
    CURSORS,
    CorruptCursors,
    DeliveryReport,
    RunLink,
    notify_on_exit,
    pending_counts,
    read_cursors,
    register_channels,
    send_all,
    send_due,
    verify_failed,
)
from services.observability.notice_kinds import KINDS
from services.observability.web import secret_of
from tests.support.at_work import key_of, member, restore, withdraw, write_people
from tests.support.front_desk import Desk
from tests.support.listener import listening
from tests.support.store.hand_made import K_FAILS, K_PASSES, approved, publish_one, stage
from tests.support.strangers import give_away, needs_root
from tests.support.timeouts import HANG_TIMEOUT

Capture = pytest.CaptureFixture[str]
KEEPER = "import sys, pathlib; p = pathlib.Path(sys.argv[1]); p.open('a').write(sys.stdin.read())"


@pytest.fixture(autouse=True)
def _no_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (COMMAND_VARIABLE, URL_VARIABLE, SECRET_VARIABLE, "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("services.observability.notice_channels.prefect_api", lambda: None)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the command channel adds each notice."""
    file = tmp_path / "told.jsonl"
    script = tmp_path / "keep.py"
    script.write_text(KEEPER)
    monkeypatch.setenv(COMMAND_VARIABLE, f"{sys.executable} '{script}' '{file}'")
    return file


def told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def blocked(store: ReleaseStore, **fields: Any) -> str:
    record = stage(store, **fields)
    store.record_gates(record.candidate_id, [K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return record.candidate_id


def awaiting(store: ReleaseStore, **fields: Any) -> str:
    record = stage(store, approvers=2, **fields)
    to = CandidateState.AWAITING_APPROVAL
    store.record_gates(record.candidate_id, [K_PASSES], to=to, actor="ann")
    return record.candidate_id


def test_what_happens_is_told_in_order_with_names_counts_and_links(desk: Desk, kept: Path) -> None:
    store = desk.store
    register_channels(store)
    held = blocked(store)
    waits = awaiting(store, period="2025", expires_at=datetime(2099, 5, 1, 12, 30, tzinfo=UTC))
    assert send_due(store).delivered == {"command": 2}
    first, second = told(kept)
    assert first["notice"] == "releasegate.candidate.blocked"
    assert first["text"] == f"{held} is blocked by the gates k: nothing was published."
    assert (first["failing"], first["gates"], first["published_rows"]) == (["k"], 1, 7)
    assert first["links"] == {"folder": str(desk.root.resolve() / "candidates" / held)}
    assert second["notice"] == "releasegate.candidate.awaiting"
    assert second["text"].startswith(f"{waits} awaits 2 approvals until 2099-05-01 12:30 UTC: every gate ")
    assert (second["series"], second["period"], second["candidate"]) == ("clinic", "2025", waits)
    assert first["number"] < second["number"]
    assert len({first["id"], second["id"]} & {event.hash for event in store.events()}) == 2


def test_nothing_is_told_twice(desk: Desk, kept: Path) -> None:
    register_channels(desk.store)
    blocked(desk.store)
    send_due(desk.store)
    assert send_due(desk.store).delivered == {"command": 0}
    assert len(told(kept)) == 1


def test_a_channel_that_was_never_used_begins_with_what_comes_next(desk: Desk, kept: Path) -> None:
    blocked(desk.store)
    assert send_due(desk.store).delivered == {"command": 0}
    blocked(desk.store, period="2025")
    assert send_due(desk.store).delivered == {"command": 1}


def test_each_channel_has_its_own_place(desk: Desk, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_channels(desk.store)
    blocked(desk.store)
    send_due(desk.store)
    with listening() as listener:
        monkeypatch.setenv(URL_VARIABLE, f"{listener.url}/hook")
        register_channels(desk.store)
        blocked(desk.store, period="2025")
        assert send_due(desk.store).delivered == {"command": 1, "url": 1}
    assert [body["period"] for body in listener.bodies] == ["2025"]
    assert [one["period"] for one in told(kept)] == ["2024", "2025"]


def test_a_delivery_that_fails_waits_with_all_after_it_and_keeps_their_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as listener:
        monkeypatch.setenv(URL_VARIABLE, f"{listener.url}/hook")
        register_channels(desk.store)
        for period in ("2021", "2022", "2023"):
            blocked(desk.store, period=period)
        refused: list[str] = []

        def once(request: Any) -> tuple[int, Any]:
            if request.body["period"] == "2022" and not refused:
                refused.append("2022")
                return 503, {"secret": "nothing of this is told"}
            return 200, None

        listener.answer = once
        sent = send_due(desk.store)
        assert (sent.delivered, sent.problems) == (
            {"url": 1},
            ["a notice by url waits: the address answers 503"],
        )
        assert pending_counts(desk.store) == {"url": 2}
        assert send_due(desk.store).delivered == {"url": 2}
        assert pending_counts(desk.store) == {"url": 0}
        assert [body["period"] for body in listener.bodies] == ["2021", "2022", "2022", "2023"]
        ids = [body["id"] for body in listener.bodies]
        assert ids[1] == ids[2]


@pytest.mark.parametrize(
    ("command", "limit", "finding"),
    [
        ("/nowhere/at/all", HANG_TIMEOUT, "the command cannot be run (FileNotFoundError)"),
        (f"{sys.executable} -c 'raise SystemExit(3)'", HANG_TIMEOUT, "the command ended with exit code 3"),
        (f"sleep {HANG_TIMEOUT:g}", 0.3, "the command took more than 0.3 s"),
        ("'", HANG_TIMEOUT, "is no command"),
    ],
)
def test_a_command_that_fails_is_one_line_and_stays_due(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str, limit: float, finding: str
) -> None:
    monkeypatch.setattr("services.observability.notice_channels.TIMEOUT", limit)
    monkeypatch.setenv(COMMAND_VARIABLE, command)
    register_channels(desk.store)
    blocked(desk.store)
    sent = send_due(desk.store, patience=HANG_TIMEOUT)
    assert sent.problems == [f"a notice by command waits: {finding}"]
    assert pending_counts(desk.store) == {"command": 1}


def test_a_command_is_not_given_our_secrets(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "environment"
    code = f"import os, pathlib; pathlib.Path({str(out)!r}).write_text(chr(10).join(os.environ))"
    monkeypatch.setenv(COMMAND_VARIABLE, f'{sys.executable} -c "{code}"')
    monkeypatch.setenv("RELEASEGATE_TOKEN", "a token")
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:word")
    monkeypatch.setenv("MAIL_HOST", "mail")
    register_channels(desk.store)
    blocked(desk.store)
    assert send_due(desk.store).problems == []
    names = out.read_text().split()
    assert "MAIL_HOST" in names
    assert not [name for name in names if name.startswith(("RELEASEGATE_", "PREFECT_"))]


@pytest.mark.parametrize(
    ("url", "finding"),
    [
        ("http://chat.example.org/x", "chat.example.org must not be reached by http"),
        ("file:///etc/hosts", "is not an http or https address"),
        ("https://", "is not an http or https address"),
        ("http://127.0.0.1:none/", "is not an http or https address"),
    ],
)
def test_an_address_is_https_or_on_this_machine(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, url: str, finding: str
) -> None:
    monkeypatch.setenv(URL_VARIABLE, url)
    register_channels(desk.store)
    blocked(desk.store)
    (problem,) = send_due(desk.store).problems
    assert problem == f"a notice by url waits: {finding}"
    assert url not in problem


def test_a_redirect_is_not_followed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as elsewhere, listening() as listener:
        listener.answer = lambda _request: (302, None)
        listener.headers = {"Location": f"{elsewhere.url}/taken"}
        monkeypatch.setenv(URL_VARIABLE, listener.url)
        register_channels(desk.store)
        blocked(desk.store)
        assert send_due(desk.store).problems == ["a notice by url waits: the address answers 302"]
        assert elsewhere.requests == []


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize("status", [None, 302, 401, 404, 500])
def test_no_address_and_no_secret_of_it_is_told_or_kept(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, status: int | None
) -> None:
    (tmp_path / "secret").write_text("s3cret\n")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.setenv(SECRET_VARIABLE, str(tmp_path / "secret"))
    monkeypatch.setenv("RELEASEGATE_LOG", str(tmp_path / "log"))
    with listening() as proxy, listening() as listener:
        listener.answer = lambda _request: (status or 204, {"told": "s3cret"})
        address = listener.url if status else "http://127.0.0.1:9"
        url = address.replace("//", "//s3cret:s3cret@") + "/s3cret?token=s3cret#s3cret"
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv(URL_VARIABLE, url)
        register_channels(desk.store)
        blocked(desk.store)
        for words in (["notify"], ["doctor"], ["history"]):
            desk.say(*words)
        assert proxy.requests == []
        assert bool(listener.requests) is (status is not None)
    said = capsys.readouterr()
    assert "a notice by url waits: the address" in said.err
    assert "s3cret" not in said.out + said.err + (tmp_path / "log").read_text()
    kept = [path for path in desk.root.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"s3cret" in path.read_bytes()]


def test_the_secret_comes_from_a_file_that_nobody_else_reads(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    secret.chmod(0o644)
    with listening() as listener:
        monkeypatch.setenv(URL_VARIABLE, listener.url)
        monkeypatch.setenv(SECRET_VARIABLE, str(secret))
        register_channels(desk.store)
        blocked(desk.store)
        assert send_due(desk.store).problems == [
            "a notice by url waits: has mode 0644, and others can read it"
        ]
        assert listener.requests == []
        secret.chmod(0o600)
        assert send_due(desk.store).problems == []
        assert [request.headers["authorization"] for request in listener.requests] == ["Bearer s3cret"]


@needs_root
@pytest.mark.enemy("other account", "reads a file")
def test_a_strangers_secret_is_none(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    secret.chmod(0o600)
    assert secret_of(secret, SECRET_VARIABLE) == "s3cret"
    give_away(secret)
    with pytest.raises(UsageError, match="belongs to user"):
        secret_of(secret, SECRET_VARIABLE)


def test_a_server_that_is_away_fails_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with listening() as listener:
        url = listener.url
    monkeypatch.setenv(URL_VARIABLE, url)
    with notify_on_exit(desk.root):
        blocked(desk.store)
    line = "releasegate: a notice by url waits: the address cannot be reached (ConnectionRefusedError)\n"
    assert capsys.readouterr().err == line
    assert pending_counts(desk.store) == {"url": 1}


def test_what_brought_an_error_about_is_told_too(desk: Desk, kept: Path) -> None:
    def work() -> None:
        with notify_on_exit(desk.root):
            blocked(desk.store)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert [one["notice"] for one in told(kept)] == ["releasegate.candidate.blocked"]


def test_a_place_that_is_no_store_is_left_to_whoever_works_in_it(tmp_path: Path, kept: Path) -> None:
    with notify_on_exit(tmp_path / "nothing"):
        pass
    assert told(kept) == []


def test_publications_withdrawals_expiry_and_inputs_are_told(desk: Desk, kept: Path) -> None:
    store = desk.store
    register_channels(store)
    release = publish_one(store, approved(store))
    withdraw(store, release.release_id, by="dan", reason="cnry a reason may quote anything")
    restore(store, release.release_id, by="dan", reason="cnry as any other")
    waits = awaiting(store, period="2025", expires_at=datetime.now(UTC) - timedelta(days=1))
    assert end_expired(store, actor="timer") == [waits]
    assert store.candidate(waits).state is CandidateState.EXPIRED

    with transaction(store.root) as con:
        audit.append(con, "ann", "input.missing", "clinic/2026", "late", {})
    send_due(store)
    notices_told = told(kept)
    assert notices_told.pop(1)["notice"] == "releasegate.people.changed"  # before the first decision
    assert [one["notice"].removeprefix("releasegate.candidate.") for one in notices_told] == [
        "published",
        "withdrawn",
        "restored",
        "awaiting",
        "expired",
        "input-missing",
    ]
    assert notices_told[0]["release"] == release.release_id
    assert notices_told[0]["links"]["folder"].endswith(f"/releases/clinic/{release.release_id}")
    assert notices_told[1]["text"] == (
        f"{release.release_id} was withdrawn by dan; a tombstone takes its place."
    )
    assert notices_told[2]["text"] == f"{release.release_id} was restored by dan: it is public again."
    last = notices_told[-1]
    assert (last["series"], last["period"], last["candidate"]) == ("clinic", "2026", "")
    assert last["text"] == "The input of clinic 2026 did not arrive in time."
    assert "cnry" not in kept.read_text()


def test_a_candidate_whose_time_has_not_passed_is_not_ended(desk: Desk) -> None:
    awaiting(desk.store, expires_at=datetime.now(UTC) + timedelta(days=1))
    awaiting(desk.store, period="2025")
    assert end_expired(desk.store, actor="timer") == []


def test_a_series_in_use_is_ended_later(desk: Desk) -> None:
    import threading

    waits = awaiting(desk.store, expires_at=datetime.now(UTC) - timedelta(days=1))
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with desk.store.series_lock("clinic"):
            inside.set()
            leave.wait(HANG_TIMEOUT)

    thread = threading.Thread(target=hold)
    thread.start()
    assert inside.wait(HANG_TIMEOUT)
    assert end_expired(desk.store, actor="timer") == []
    leave.set()
    thread.join()
    assert end_expired(desk.store, actor="timer") == [waits]


def test_the_command_ends_what_expired_and_tells_it(desk: Desk, kept: Path, capsys: Capture) -> None:
    register_channels(desk.store)
    waits = awaiting(desk.store, expires_at=datetime.now(UTC) - timedelta(days=1))
    assert desk.say("notify", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["expired"] == [waits]
    assert document["delivered"] == {"command": 3}
    assert document["due"] == {"command": 0}
    assert [one["notice"][-8:] for one in told(kept)] == ["awaiting", ".changed", ".expired"]


def test_the_command_says_what_could_not_be_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, "/nowhere/at/all")
    register_channels(desk.store)
    blocked(desk.store)
    assert desk.say("notify") == 2
    shown = capsys.readouterr()
    assert shown.out == "command: 0 delivered, 2 due\n"  # who is in force is told, too
    assert shown.err == (
        "releasegate: a notice by command waits: the command cannot be run (FileNotFoundError)\n"
        "  Write the absolute path of an existing program in RELEASEGATE_NOTICE_COMMAND.\n"
    )


@pytest.mark.parametrize(
    ("status", "code", "hint"),
    [
        (204, 0, None),
        (302, 2, "Set RELEASEGATE_NOTICE_URL to the address that it redirects to."),
        (401, 2, "Correct RELEASEGATE_NOTICE_SECRET_FILE or the address: the secret was refused."),
        (404, 2, "Correct RELEASEGATE_NOTICE_URL: that address does not accept notices."),
        (408, 1, None),
        (429, 1, None),
        (503, 1, None),
    ],
)
@pytest.mark.by_day(3)
def test_the_exit_code_of_the_command_says_whether_waiting_helps(
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    status: int,
    code: int,
    hint: str | None,
) -> None:
    with listening() as listener:
        listener.answer = lambda _request: (status, None)
        monkeypatch.setenv(URL_VARIABLE, listener.url)
        register_channels(desk.store)
        blocked(desk.store)
        assert desk.say("notify") == code
        lines = capsys.readouterr().err.splitlines()
    assert lines == (
        []
        if code == 0
        else [f"releasegate: a notice by url waits: the address answers {status}"]
        + ([f"  {hint}"] if hint else [])
    )
    assert pending_counts(desk.store) == {"url": 2 * (code != 0)}  # with who is in force


@pytest.mark.parametrize(
    ("command", "code"),
    [("/bin/sh -c 'exit 127'", 2), ("/bin/sh -c 'exit 75'", 1), ("/etc/hostname", 2)],
)
def test_a_program_that_is_none_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str, code: int
) -> None:
    monkeypatch.setenv(COMMAND_VARIABLE, command)
    register_channels(desk.store)
    blocked(desk.store)
    assert desk.say("notify") == code


@pytest.mark.parametrize(
    ("variable", "value", "name"),
    [
        (URL_VARIABLE, "mailto:nobody", "url"),
        (URL_VARIABLE, "http://chat.example.org/", "url"),
        (COMMAND_VARIABLE, "'", "command"),
        (SECRET_VARIABLE, "/nowhere/at/all", "url"),
    ],
)
def test_an_impossible_setting_is_told_before_anything_is_due(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture, variable: str, value: str, name: str
) -> None:
    log_reviewers(desk.store)  # else this is due
    monkeypatch.setenv(URL_VARIABLE if name == "url" else COMMAND_VARIABLE, "https://chat.example.org/")
    monkeypatch.setenv(variable, value)
    assert desk.say("notify") == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(f"releasegate: notices by {name} will wait: {variable} ")
    assert second.startswith("  ")
    assert desk.say("notify", "--json") == 2
    document = json.loads(capsys.readouterr().out)
    assert not document["ok"]
    assert [line.strip() for line in (first.removeprefix("releasegate: "), second)] == [
        *document["problems"],
        *document["mends"],
    ]
    assert desk.say("doctor", "--json") == 6
    checks = json.loads(capsys.readouterr().out)["checks"]
    (check,) = [one for one in checks if one["check"] == "notices"]
    assert check["condition"] == "wrong"
    assert check["mend"] == second.strip()


def test_prefects_server_that_asks_for_a_credential_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    register_channels(desk.store)
    with listening() as listener:
        listener.answer = lambda _request: (401, None)
        for url, told in (
            (f"{listener.url}/api", "Prefect's server answers 401"),
            ("no address", "is not an http or https address"),
        ):
            monkeypatch.setattr("services.observability.notice_channels.prefect_api", lambda url=url: url)
            register_channels(desk.store)
            blocked(desk.store)
            assert desk.say("notify") == 2
            first, second = capsys.readouterr().err.splitlines()
            assert first == f"releasegate: a notice by prefect waits: {told}"
            assert second.startswith("  ")


def test_a_machine_that_nobody_knows_is_not_waited_for(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    import socket

    def unknown(*_arguments: Any, **_options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "of the resolver")

    monkeypatch.setattr("socket.getaddrinfo", unknown)
    monkeypatch.setenv(URL_VARIABLE, "https://nowhere.invalid/hook")
    register_channels(desk.store)
    blocked(desk.store)
    assert desk.say("notify") == 2
    err = capsys.readouterr().err
    assert err.startswith("releasegate: a notice by url waits: the address names an unknown host")
    assert "nowhere" not in err


def test_many_notices_are_delivered_a_minute_at_a_time(
    desk: Desk, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is given back in between."""
    register_channels(desk.store)
    for period in ("2021", "2022", "2023"):
        blocked(desk.store, period=period)
    moments = itertools.count(0.0, 25.0)  # a delivery takes so long
    monkeypatch.setattr("services.observability.notice_delivery._PATIENCE", 60.0)
    monkeypatch.setattr(
        "services.observability.notice_delivery.time", SimpleNamespace(monotonic=lambda: next(moments))
    )
    calls = []

    def counted(store: ReleaseStore) -> DeliveryReport:
        calls.append(len(told(kept)))
        return send_due(store)

    monkeypatch.setattr("services.observability.notice_delivery.send_due", counted)
    assert send_all(desk.store).delivered == {"command": 3}
    assert calls == [0, 2]
    assert [one["period"] for one in told(kept)] == ["2021", "2022", "2023"]


def test_what_happened_in_a_run_leads_to_its_page_and_other_things_do_not(desk: Desk, kept: Path) -> None:
    store = desk.store
    register_channels(store)
    blocked(store)
    since = store.n_events()
    blocked(store)
    blocked(store, period="2025")
    send_due(store, run=RunLink("abc", "http://here/abc", "clinic", "2024", since))
    assert [one["links"].get("run") for one in told(kept)] == [None, "http://here/abc", None]


@pytest.fixture
def _no_wait() -> Iterator[None]:
    """A test that waits at a pipe ends, and fails."""

    def ended(*_: object) -> None:
        pytest.fail("waits")  # which nothing takes for an error of its own

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(int(HANG_TIMEOUT))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


BROKEN_PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda path: path.write_text("[1"), "is not a notices file"),
    "empty": (lambda path: path.write_text(""), "is not a notices file"),
    "a list": (lambda path: path.write_text("[]"), "is not a notices file"),
    "nested": (lambda path: path.write_text("[" * 100_000), "is not a notices file"),
    "no text": (lambda path: path.write_bytes(b"\xff\xfe"), "is not a notices file"),
    "true": (lambda path: path.write_text('{"command": true}'), "is not a notices file"),
    "negative": (lambda path: path.write_text('{"command": -1}'), "is not a notices file"),
    "beyond the log": (lambda path: path.write_text('{"command": 99}'), "names event 99, but the log has"),
    "a pipe": (os.mkfifo, "is not a regular file"),
    "a folder": (lambda path: path.mkdir(), "cannot be read (IsADirectoryError)"),
}


@pytest.mark.usefixtures("_no_wait")
@pytest.mark.parametrize("name", BROKEN_PLACES)
@pytest.mark.by_day(3)
def test_a_broken_file_of_places_stops_nothing_and_is_told_with_its_mend(
    desk: Desk, kept: Path, capsys: Capture, name: str
) -> None:
    path = desk.root / CURSORS
    spoil, finding = BROKEN_PLACES[name]
    spoil(path)
    hint = "  Remove it: notices then start with the next event, and those due now are lost."
    with notify_on_exit(desk.root):
        held = blocked(desk.store)
    told_of, mended = capsys.readouterr().err.splitlines()
    assert told_of.startswith(f"releasegate: notices wait: {path} {finding}")
    assert mended == hint
    with pytest.raises(CorruptCursors, match=re.escape(finding)):
        read_cursors(desk.store)
    assert desk.say("notify") == 2
    assert capsys.readouterr().err.splitlines()[1] == hint
    assert desk.say("doctor") == 6
    assert finding in capsys.readouterr().out
    assert told(kept) == []
    path.rmdir() if path.is_dir() else path.unlink()
    assert desk.say("notify") == 0
    blocked(desk.store, period="2025")
    assert send_due(desk.store).delivered == {"command": 1}
    assert [one["candidate"] != held for one in told(kept)] == [True]


@pytest.mark.integration
@pytest.mark.usefixtures("_no_wait")
def test_a_run_publishes_beside_a_broken_file_of_places(desk: Desk, kept: Path, capsys: Capture) -> None:
    os.mkfifo(desk.root / CURSORS)
    assert desk.run(desk.policy(), desk.table()) == 0
    assert capsys.readouterr().err.count(f"{desk.root / CURSORS} is not a regular file") == 1
    assert len(desk.store.releases()) == 1
    assert told(kept) == []


def test_a_broken_file_of_places_is_told_where_no_channel_is_set(desk: Desk, capsys: Capture) -> None:
    (desk.root / CURSORS).write_text("[" * 100_000)
    with notify_on_exit(desk.root):
        blocked(desk.store)
    assert capsys.readouterr().err == ""
    assert desk.say("notify", "--json") == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["due"], len(said["problems"]), len(said["mends"])) == (False, {}, 1, 1)


def test_people_who_cannot_be_read_are_told_after_what_is_due(
    desk: Desk, kept: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    register_channels(desk.store)
    blocked(desk.store)
    none = desk.folder / "none.yaml"
    monkeypatch.setenv(PEOPLE_VARIABLE, str(none))
    assert desk.say("notify") == 2
    shown = capsys.readouterr()
    assert shown.out == "command: 1 delivered, 0 due\n"
    assert shown.err == (
        f"releasegate: a change of the people cannot be told: {none} cannot be read (FileNotFoundError)\n"
        f"  Restore it, or name another in {PEOPLE_VARIABLE}.\n"
    )


def test_the_store_with_its_places_still_verifies(desk: Desk, kept: Path) -> None:
    register_channels(desk.store)
    publish_one(desk.store, approved(desk.store))
    send_due(desk.store)
    assert (desk.root / CURSORS).is_file()
    assert verify(desk.store) == []
    assert desk.say("doctor") == 0


def test_only_one_process_tells_at_a_time(desk: Desk, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    register_channels(desk.store)
    for period in ("2021", "2022", "2023"):
        blocked(desk.store, period=period)
    threads = [threading.Thread(target=send_due, args=(desk.store,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one["period"] for one in told(kept)] == ["2021", "2022", "2023"]


def test_a_call_ends_when_its_time_is_up_and_the_rest_stays_due(desk: Desk, kept: Path) -> None:
    register_channels(desk.store)
    blocked(desk.store)
    assert send_due(desk.store, patience=-1.0).problems == ["notices by command wait: time ran out"]
    assert pending_counts(desk.store) == {"command": 1}


def test_that_verify_failed_is_told_at_once_and_without_the_log(desk: Desk, kept: Path) -> None:
    n_events = desk.store.n_events()
    assert verify_failed(desk.store, 3).delivered == {"command": 1}
    (one,) = told(kept)
    assert one["notice"] == "releasegate.candidate.verify-failed"
    assert one["text"] == (
        "The audit review found 3 problems. "
        "Run `releasegate verify` and `releasegate audit SERIES` for details."
    )
    assert desk.store.n_events() == n_events


def test_every_kind_is_valid_for_prefect_with_the_same_id_each_time(desk: Desk) -> None:
    from prefect.events.schemas.events import Event

    from services.observability.notice_kinds import notice_of

    store = desk.store
    candidate = blocked(store)
    release = publish_one(store, approved(store, period="2025"))
    with transaction(store.root) as con:
        for action in KINDS:
            about = release.release_id if action.startswith("release.") else candidate
            things = {"series.audited": "clinic", "people.changed": "people", "clock.corrected": "clock"}
            about = things.get(action, about)
            about = "clinic/2024" if action.startswith("input.") else about
            audit.append(con, "ann", action, about, "", {})
    for event in store.events_of(KINDS):
        notice = notice_of(store, event)
        made = [Event.model_validate(prefect_event(notice)) for _ in range(2)]
        assert made[0] == made[1]
        assert made[0].event == notice.kind
        what = dict.fromkeys(("people", "clock"), "releasegate.store.")
        what["series"] = "releasegate.series.clinic"
        begins = what.get(event.action.partition(".")[0], ("releasegate.candidate.", "releasegate.period."))
        assert made[0].resource.id.startswith(begins)
    assert {event.action for event in store.events_of(KINDS)} == set(KINDS)


def test_who_came_and_went_is_told_by_name_and_without_keys(desk: Desk, kept: Path) -> None:
    register_channels(desk.store)
    publish_one(desk.store, approved(desk.store))
    write_people(desk.root, member("bob"), member("cid"), member("dan", ["approver"]))
    withdraw(desk.store, "clinic-2024-r1", by="bob", reason="wrong")
    write_people(desk.root, member("bob"), member("dan", ["admin"]), member("eve"))
    send_due(desk.store)
    people = [one for one in told(kept) if one["notice"] == "releasegate.people.changed"]
    assert people[0]["text"] == "The people who work with the store changed: bob, cid, dan added."
    assert (people[0]["added"], people[0]["removed"], people[0]["changed"]) == (["bob", "cid", "dan"], [], [])
    assert people[0]["series"] == ""
    log_reviewers(desk.store)
    log_reviewers(desk.store)  # nothing changed since
    send_due(desk.store)
    _, second = (one for one in told(kept) if one["notice"] == "releasegate.people.changed")
    assert second["text"] == (
        "The people who work with the store changed: eve added; cid removed; dan changed."
    )
    assert keys.public_hex(key_of("bob").key) not in kept.read_text()
    path = people_path(desk.root)
    path.write_text("approvers_at_least: 1\n" + path.read_text())
    log_reviewers(desk.store)
    send_due(desk.store)
    last = next(one for one in told(kept)[::-1] if one["notice"] == "releasegate.people.changed")
    assert last["text"].endswith("changed: every candidate now needs at least 1 approval.")


def test_a_corrected_clock_is_told(desk: Desk, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    register_channels(desk.store)
    write_people(desk.root)
    ahead = utc_now() + timedelta(days=9)
    with transaction(desk.root) as con:
        audit.append(con, "ann", "input.validated", "clinic/2024", "", {}, at=ahead)
    correct_clock(desk.store, by="dan", reason="the clock is right again", credential=key_of("dan"))
    send_due(desk.store)
    last = told(kept)[-1]
    assert last["notice"] == "releasegate.clock.corrected"
    assert last["text"].startswith("dan corrected the clock: ")
    assert (last["series"], last["candidate"]) == ("", "")


def test_a_review_that_fails_on_gates_alone_is_told(desk: Desk, kept: Path) -> None:
    register_channels(desk.store)
    found = [
        {"release": "clinic-2024-r1", "gates": 9, "not_passed": ["k", "e"], "not_run": ["ncp"]},
        {"release": "clinic-2025-r1", "gates": 9, "not_passed": [], "not_run": ["ncp"]},
    ]
    desk.store.record_review("clinic", policy_digest=None, releases=found[1:], actor="eve")  # all passes
    desk.store.record_review("clinic", policy_digest="0" * 64, releases=found, actor="eve")  # another policy
    assert send_due(desk.store).delivered == {"command": 0}
    desk.store.record_review("clinic", policy_digest=None, releases=found, actor="eve")
    assert pending_counts(desk.store) == {"command": 1}
    assert send_due(desk.store).delivered == {"command": 1}
    (one,) = told(kept)
    assert one["notice"] == "releasegate.release.gates-failed"
    assert one["text"] == (
        "The review of clinic found releases that would not pass now (clinic-2024-r1: k, e)."
    )
    assert (one["series"], one["by"], one["not_passed"]) == ("clinic", "eve", {"clinic-2024-r1": ["k", "e"]})
    assert pending_counts(desk.store) == {"command": 0}


def test_an_event_about_a_candidate_that_is_gone_is_still_told(desk: Desk, kept: Path) -> None:

    register_channels(desk.store)
    with transaction(desk.store.root) as con:
        audit.append(con, "ann", "candidate.blocked", "clinic-1999-c1", "", {})
    assert send_due(desk.store).problems == []
    assert told(kept)[0]["text"] == "clinic-1999-c1 is blocked: nothing was published."


def test_no_reason_and_no_detail_reaches_a_notice(desk: Desk, kept: Path) -> None:
    """What people type and what gates say in words may quote anything."""
    register_channels(desk.store)
    record = stage(desk.store)
    from dataclasses import replace

    fails = replace(K_FAILS, detail="cnrydetail", witness={"cnry": "cnrywitness"})
    desk.store.record_gates(record.candidate_id, [fails], to=CandidateState.BLOCKED, actor="ann")
    send_due(desk.store)
    assert len(told(kept)) == 1
    assert "cnry" not in kept.read_text()
