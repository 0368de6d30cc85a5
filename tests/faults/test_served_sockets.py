"""Requests over sockets to `releasegate serve` in a process of its own: by no browser, slow, many at once."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

import pytest

from release_store.approval.credentials import Statement, sign_text
from release_store.approval.login import login_statement
from release_store.canonical import utc_now
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed
from tests.support.at_work import decide, key_of
from tests.support.pages.served import served
from tests.support.timeouts import HANG_TIMEOUT
from tests.support.web_clients import attribute, signed_document, token

AT_ONCE = 8
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


class Line:
    """What a client without a browser sends to one server."""

    def __init__(self, address: str, store: ReleaseStore) -> None:
        self.origin, self.store = address, store
        self.named = address.partition("://")[2]
        self.host, _, port = self.named.partition(":")
        self.port = int(port)
        self.head = f"Host: {self.named}\r\nOrigin: {address}\r\n"

    def connect(self, data: bytes = b"") -> socket.socket:
        """Return a new connection over which something was sent."""
        made = socket.create_connection((self.host, self.port), timeout=HANG_TIMEOUT)
        made.sendall(data)
        return made

    def raw(self, data: bytes) -> bytes:
        """Return all that the server answers until it closes the connection."""
        answer = b""
        with self.connect(data) as made:
            while piece := made.recv(65_536):
                answer += piece
        return answer

    def ask(self, start: str, more: str = "", body: bytes = b"") -> tuple[int, str]:
        """Return the status of the answer to one request, and the answer."""
        head = f"{start} HTTP/1.1\r\n{self.head}Connection: close\r\n{more}\r\n"
        text = self.raw(head.encode("latin-1") + body).decode()
        return int(text.split(" ", 2)[1]), text

    def post(self, path: str, form: dict[str, str], cookie: str = "") -> tuple[int, str]:
        """Send a form."""
        body = urlencode(form).encode()
        return self.ask(f"POST {path}", f"{FORM}{cookie}Content-Length: {len(body)}\r\n", body)

    def signed_login(self, name: str) -> str:
        """Return a login with a new challenge."""
        challenge = attribute(self.ask("GET /login")[1], "data-challenge")
        return signed_document(name, login_statement(self.store.store_id, self.origin, challenge))

    def log_in(self, name: str) -> str:
        """Return the line of the cookie of a new session."""
        status, text = self.post("/login", {"signed": self.signed_login(name)})
        found = re.search(r"(?mi)^set-cookie: ([^;]+)", text)
        assert status == 303
        assert found is not None
        return f"Cookie: {found[1]}\r\n"

    def form(self, candidate: str, act: str, by: str, cookie: str) -> dict[str, str]:
        """Return a form of a candidate's page, filled and signed."""
        text = self.ask(f"GET /candidates/{candidate}", cookie)[1]
        found = json.loads(attribute(text, "data-to-sign"))
        said = Statement(act, found["store_id"], candidate, found["bound"], by, "as agreed", utc_now())
        return {"form_token": token(text), "act": act, "signed": sign_text(said, key_of(by).key)}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RELEASEGATE_LOG", str(tmp_path / "log.jsonl"))
    return tmp_path / "log.jsonl"


@pytest.fixture
def waiting(store: ReleaseStore) -> str:
    return assessed(store, "clinic", "2024", approvers=3).candidate_id


@pytest.fixture
def line(store: ReleaseStore, waiting: str, log: Path) -> Iterator[Line]:
    with served(store.root) as address:
        yield Line(address, store)


def refused_in(log: Path) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(line["error"], line["status"]) for line in lines if line["event"] == "request.refused"]


def at_once(work: Callable[[], int]) -> Counter[int]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return Counter(one.result() for one in [pool.submit(work) for _ in range(AT_ONCE)])


@pytest.mark.enemy("other account", "stops the work")
def test_more_connections_than_the_server_holds_keep_nobody_out(line: Line, log: Path) -> None:
    starts = (b"", b"GET /login HTTP/1.1\r\nX-A: ", f"POST /login HTTP/1.1\r\n{line.head}".encode())
    held = [line.connect(start) for start in starts for _ in range(50)]
    try:
        assert line.ask("GET /login")[0] == 200
    finally:
        for one in held:
            one.close()
    assert ("TooManyConnections", 503) in refused_in(log)


BODY = "Content-Length: 8\r\n\r\nsigned=a"
ODD: tuple[
    tuple[str, str, str, int], ...
] = (  # the request's first line, what follows, its refusal, the status
    ("POST /login", f"{FORM}Transfer-Encoding: chunked\r\n{BODY}", "BadRequest", 400),
    ("POST /login", f"{FORM}Content-Length: 9\r\n{BODY}", "BadRequest", 400),
    ("POST /login", f"{FORM}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "BadRequest", 400),
    ("POST /login", f"{FORM}Content-Length: 65537\r\n\r\n", "TooLarge", 413),
    (
        "POST /login",
        f"{FORM}Transfer-Encoding: chunked\r\n\r\n10001\r\n{'a' * 65_537}\r\n0\r\n\r\n",
        "TooLarge",
        413,
    ),
    ("POST /login", f"Origin: http://evil.example\r\n{FORM}{BODY}", "ForeignOrigin", 403),
    ("POST /login", f"Content-Type: multipart/form-data; boundary=x\r\n{BODY}", "BadForm", 400),
    ("POST /login", f"{FORM}Content-Length: 8\r\n\r\nsigned=\xe4", "BadForm", 400),
    ("POST /login", f"{FORM}Content-Length: 16\r\n\r\nsigned=%ED%A0%80", "BadForm", 400),
    ("POST /login", f"{FORM}Content-Length: 17\r\n\r\nsigned=a&signed=b", "BadForm", 400),
    ("GET /login", "Host: evil.example\r\n\r\n", "BadRequest", 400),
    ("GET /login", "X: y\r\n" * 2_000 + f"X: {'y' * 9_000}\r\n\r\n", "HeadTooLarge", 431),
    ("GET http://evil.example/login", "\r\n", "HTTPException", 404),
    ("GET //login", "\r\n", "HTTPException", 404),
    ("GET /assets/..%2f..%2fserve.py", "\r\n", "HTTPException", 404),
    ("GET /assets/%00", "\r\n", "NoSuchPage", 404),
    ("GET /assets/\0", "\r\n", "BadRequest", 400),
    ("GET /assets/\xff", "\r\n", "BadRequest", 400),
    ("TRACE /login", "\r\n", "HTTPException", 405),
    ("PUT /login", "Content-Length: 0\r\n\r\n", "HTTPException", 405),
    ("OPTIONS *", "\r\n", "HTTPException", 404),
)


@pytest.mark.enemy("other account", "stops the work")
def test_what_no_browser_sends_is_refused_and_logged(line: Line, log: Path) -> None:
    for start, more, kind, status in ODD:
        head = f"{start} HTTP/1.1\r\n{line.head}Connection: close\r\n{more}"
        answer = line.raw(head.encode("latin-1"))
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), (start, more[:80], answer[:80])
        assert b"frame-ancestors 'none'" in answer
        assert b"Traceback" not in answer
        assert refused_in(log)[-1] == (kind, status)
    assert "evil" not in log.read_text()
    assert "signed" not in log.read_text()


def test_requests_on_one_connection_are_answered_in_their_order(line: Line) -> None:
    first = f"GET /assets/serve.css HTTP/1.1\r\n{line.head}\r\n".encode()
    last = f"GET /nothing HTTP/1.1\r\n{line.head}Connection: close\r\n\r\n".encode()
    assert re.findall(rb"HTTP/1.1 (\d+)", line.raw(first + first + last)) == [b"200", b"200", b"404"]


@pytest.mark.enemy("other account", "gains a role")
def test_a_signed_login_that_comes_many_times_at_once_logs_in_once(line: Line, log: Path) -> None:
    signed = line.signed_login("bob")
    assert at_once(lambda: line.post("/login", {"signed": signed})[0]) == {303: 1, 403: AT_ONCE - 1}
    assert refused_in(log) == [("UsedChallenge", 403)] * (AT_ONCE - 1)


@pytest.mark.enemy("approver", "forges a word")
def test_a_signed_approval_that_comes_many_times_at_once_counts_once(line: Line, waiting: str) -> None:
    cookie = line.log_in("bob")
    form = line.form(waiting, "approve", "bob", cookie)
    assert at_once(lambda: line.post(f"/candidates/{waiting}", form, cookie)[0]) == {303: 1, 409: AT_ONCE - 1}
    assert [one.by for one in line.store.decisions(waiting)] == ["bob"]
    assert verify(line.store) == []


def test_a_rejection_by_another_process_and_an_approval_end_in_one_order(line: Line, waiting: str) -> None:
    cookie = line.log_in("bob")
    form = line.form(waiting, "approve", "bob", cookie)
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(lambda: line.post(f"/candidates/{waiting}", form, cookie)[0])
        decide(line.store, waiting, "reject", by="cid", reason="not so")
        status = sent.result()
    approved = [one.by for one in line.store.decisions(waiting) if one.decision == "approve"]
    assert (status, approved) in [(303, ["bob"]), (409, [])]
    assert line.store.candidate(waiting).state is CandidateState.REJECTED
    assert verify(line.store) == []
