"""What a server refuses: each time with a plain page, a line in the log, and nothing done."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from httpx import Response
from starlette.testclient import TestClient

from release_store.approval.login import login_statement
from release_store.audit import keys
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.support.at_work import key_of, member, write_people
from tests.support.web_clients import ORIGIN, Clock, WebClient, application, signed_document, token
from web.rate_limit import Rate
from web.settings import Settings

EVIL = "https://evil.example"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "log.jsonl"
    monkeypatch.setenv("RELEASEGATE_LOG", str(path))
    return path


def refused_in(log: Path) -> list[tuple[str, int]]:
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [(line["error"], line["status"]) for line in lines if line["event"] == "request.refused"]


def is_plain(answer: Response) -> bool:
    return (
        "Not done" in answer.text
        and "Traceback" not in answer.text
        and "script-src 'self'" in str(answer.headers)
    )


def test_nobody_reads_without_a_login(web: WebClient, waiting: str, log: Path) -> None:
    candidate = f"/candidates/{waiting}"
    paths = ("/", candidate, f"{candidate}/report", "/releases/x", "/releases/x/report")
    for path in paths:
        answer = web.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert waiting not in answer.text
    assert refused_in(log) == [("NotLoggedIn", 401)] * len(paths)


def test_nobody_decides_without_a_login(web: WebClient, store: ReleaseStore, waiting: str, log: Path) -> None:
    before = store.n_events()
    form = WebClient(web.app, store.store_id).log_in("bob").form(f"/candidates/{waiting}", "reject", "bob")
    answer = web.post(f"/candidates/{waiting}", form)
    assert answer.status_code == 401
    assert is_plain(answer)
    assert (refused_in(log), store.n_events()) == ([("NotLoggedIn", 401)], before)


def test_a_made_up_session_is_none(web: WebClient, log: Path) -> None:
    answer = web.get("/", Cookie="releasegate-8765=" + "A" * 43)
    assert answer.status_code == 303
    assert refused_in(log) == [("NotLoggedIn", 401)]


def test_a_session_of_another_server_is_none(web: WebClient, store: ReleaseStore) -> None:
    other = WebClient(application(store.root), store.store_id).log_in("bob")
    (name, value), *_ = other.http.cookies.items()
    assert web.get("/", Cookie=f"{name}={value}").status_code == 303


@pytest.mark.enemy("approver", "forges a word")
def test_a_word_of_somebody_else_is_refused_in_ones_own_session(
    web: WebClient, store: ReleaseStore, waiting: str
) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    answer = web.post(path, web.form(path, "reject", "cid"))
    assert answer.status_code == 409
    assert "was signed for another by" in answer.text
    answer = web.post(path, web.form(path, "reject", "bob", key="cid"))
    assert "the signature is not by the key of bob" in answer.text
    last = store.events()[-1]
    assert (last.action, last.payload["claimed_by"]) == ("decision.refused", "bob")
    assert store.candidate(waiting).state is CandidateState.AWAITING_APPROVAL


@pytest.mark.enemy("other account", "forges a word")
def test_a_form_of_another_session_is_refused(
    web: WebClient, store: ReleaseStore, waiting: str, log: Path
) -> None:
    web.log_in("bob")
    other = WebClient(web.app, store.store_id).log_in("cid")
    path = f"/candidates/{waiting}"
    form = web.form(path, "reject", "bob")
    for form_token in (token(other.get("/").text), "", "x"):
        assert web.post(path, {**form, "form_token": form_token}).status_code == 403
    assert refused_in(log) == [("WrongFormToken", 403)] * 3
    assert web.post("/logout", {"form_token": token(other.get("/").text)}).status_code == 403
    assert web.post(path, form).status_code == 303


@pytest.mark.enemy("other account", "gains a role")
def test_a_login_that_is_sent_again_is_refused(web: WebClient, store: ReleaseStore, log: Path) -> None:
    signed = web.signed_login("bob")
    assert web.post("/login", {"signed": signed}).status_code == 303
    thief = WebClient(web.app, store.store_id)
    answer = thief.post("/login", {"signed": signed})
    assert answer.status_code == 403
    assert "used before" in answer.text
    assert not thief.http.cookies
    assert refused_in(log) == [("UsedChallenge", 403)]


@pytest.mark.enemy("other account", "gains a role")
def test_a_login_for_another_place_is_refused(web: WebClient, clock: Clock, log: Path) -> None:
    for changed in ({"store_id": "another"}, {"origin": EVIL}, {"origin": "http://localhost:8765"}):
        assert web.post("/login", {"signed": web.signed_login("bob", **changed)}).status_code == 403
    assert web.post("/login", {"signed": web.signed_login("bob", challenge="0" * 64)}).status_code == 403
    late = web.signed_login("bob")
    clock.now += 120.0
    assert web.post("/login", {"signed": late}).status_code == 403
    assert [kind for kind, _ in refused_in(log)] == ["BadLogin"] * 3 + ["UsedChallenge"] * 2


@pytest.mark.enemy("other account", "gains a role")
def test_a_forged_login_is_refused_and_uses_its_challenge_up(web: WebClient, log: Path) -> None:
    challenge = web.challenge()
    mine = signed_document("eve", login_statement(web.store_id, ORIGIN, challenge))
    forged = _with_key(mine, "bob")
    assert web.post("/login", {"signed": forged}).status_code == 403
    assert web.post("/login", {"signed": mine}).status_code == 403
    assert [kind for kind, _ in refused_in(log)] == ["ForgedSignature", "UsedChallenge"]


def _with_key(text: str, name: str) -> str:
    """Return a signed text that names the key of somebody who did not sign it."""
    document = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    document["public_key"] = keys.public_hex(key_of(name).key)
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def test_what_is_no_login_is_refused(web: WebClient, log: Path) -> None:
    texts = ("", "!", "e30", "bnVsbA", "WzFd", "A" * 5_000)
    for text in texts:
        assert web.post("/login", {"signed": text}).status_code == 403
    assert refused_in(log) == [("BadLogin", 403)] * len(texts)


def test_a_decision_is_no_login_and_a_login_no_decision(web: WebClient, waiting: str) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    form = web.form(path, "reject", "bob")
    assert web.post("/login", {"signed": form["signed"]}).status_code == 403
    answer = web.post(path, {**form, "signed": web.signed_login("bob")})
    assert answer.status_code == 409
    assert "this is not a signed decision" in answer.text


def test_a_key_of_nobody_logs_nobody_in(web: WebClient, log: Path) -> None:
    assert web.post("/login", {"signed": web.signed_login("mallory")}).status_code == 403
    assert refused_in(log) == [("UnknownKey", 403)]


def test_who_is_no_longer_in_the_file_of_people_is_logged_out(web: WebClient, store: ReleaseStore) -> None:
    web.log_in("bob")
    assert web.get("/").status_code == 200
    write_people(store.root, member("ann"), member("cid"))
    assert web.get("/").status_code == 303
    write_people(store.root)
    assert web.get("/").status_code == 303  # and stays so


@pytest.mark.enemy("approver", "forges a word")
def test_a_signed_decision_counts_once(web: WebClient, store: ReleaseStore, waiting: str) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    form = web.form(path, "ask", "bob", "why?")
    assert web.post(path, form).status_code == 303
    answer = web.post(path, form)
    assert answer.status_code == 409
    assert "this signed text was used before" in answer.text
    assert len(store.questions(waiting)) == 1


@pytest.mark.parametrize("changed", [{"candidate_digest": "0" * 64}, {"history_head": "0" * 64}])
def test_a_decision_about_what_the_candidate_is_not_is_refused(
    web: WebClient, store: ReleaseStore, waiting: str, changed: dict[str, str]
) -> None:
    web.log_in("bob")
    record, path = store.candidate(waiting), f"/candidates/{waiting}"
    bound = {
        "candidate_digest": record.candidate_digest,
        "policy_digest": record.policy_digest,
        "history_head": record.history_head,
        **changed,
    }
    answer = web.post(path, web.form(path, "reject", "bob", bound=bound))
    assert answer.status_code == 409
    assert store.candidate(waiting).state is CandidateState.AWAITING_APPROVAL


def test_roles_are_those_of_the_file_of_people(web: WebClient, store: ReleaseStore, waiting: str) -> None:
    path = f"/candidates/{waiting}"
    web.log_in("bob")
    form = web.form(path, "reject", "bob")
    write_people(store.root, member("ann"), member("bob", ["auditor"]))
    assert "Your roles allow you to read" in web.get(path).text
    answer = web.post(path, form)
    assert answer.status_code == 409
    assert "bob does not have the role for this (approver)" in answer.text
    assert store.events()[-1].action == "decision.refused"


def test_the_maker_is_offered_no_decision_and_cannot_take_one(
    web: WebClient, store: ReleaseStore, waiting: str
) -> None:
    web.log_in("ann")
    path = f"/candidates/{waiting}"
    page = web.get(path).text
    assert "Ann made it, and cannot decide on it." in page
    bob = WebClient(web.app, store.store_id).log_in("bob")
    form = {**bob.form(path, "reject", "ann"), "form_token": token(page)}
    answer = web.post(path, form)
    assert answer.status_code == 409
    assert "ann made it, and cannot decide on it" in answer.text


FOREIGN: tuple[dict[str, str], ...] = (
    {},
    {"Origin": "null"},
    {"Origin": EVIL},
    {"Origin": "http://127.0.0.1:9999"},
    {"Origin": "http://localhost:8765"},  # one of its own, but not the one that was asked
    {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
)


@pytest.mark.enemy("other account", "forges a word")
def test_a_form_from_another_site_is_refused(
    web: WebClient, store: ReleaseStore, waiting: str, log: Path
) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    form = web.form(path, "reject", "bob")
    for headers in FOREIGN:
        assert web.post(path, form, headers).status_code == 403, headers
    assert refused_in(log) == [("ForeignOrigin", 403)] * len(FOREIGN)
    assert store.candidate(waiting).state is CandidateState.AWAITING_APPROVAL


@pytest.mark.enemy("other account", "reads a file")
def test_another_host_is_refused(web: WebClient, log: Path) -> None:
    web.log_in("bob")
    hosts = ("evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:80", "")
    for host in hosts:
        answer = web.get("/", Host=host)
        assert answer.status_code == 400, host
        assert is_plain(answer)
    assert refused_in(log) == [("ForeignHost", 400)] * len(hosts)


@pytest.mark.enemy("other account", "stops the work")
def test_a_large_body_is_refused_whether_its_length_is_told_or_not(web: WebClient, log: Path) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b"signed=" + b"A" * 10_000

    headers = {"Origin": ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}
    told = web.http.post("/login", content=b"signed=" + b"A" * 65_536, headers=headers)
    untold = web.http.post("/login", content=pieces(), headers=headers)
    lied = web.http.post("/login", content=b"signed=A", headers={**headers, "Content-Length": "9" * 30})
    for answer in (told, untold, lied):
        assert answer.status_code == 413
        assert is_plain(answer)
    assert refused_in(log) == [("TooLarge", 413)] * 3


FORM = "application/x-www-form-urlencoded"
NO_FORMS = (
    (b"signed=a", "text/plain"),
    (b"{}", "application/json"),
    (b"signed=a&signed=b", FORM),
    (b"other=a", FORM),
    (b"signed", FORM),
    (b"signed=\xff", FORM),
    (b"signed=%ff", FORM),
    (b"&".join(b"a%d=1" % n for n in range(20)), FORM),
)


def test_what_is_no_form_is_refused(web: WebClient, log: Path) -> None:
    for content, kind in NO_FORMS:
        answer = web.http.post("/login", content=content, headers={"Origin": ORIGIN, "Content-Type": kind})
        assert answer.status_code == 400, content
        assert is_plain(answer)
    assert refused_in(log) == [("BadForm", 400)] * len(NO_FORMS)


def test_an_act_that_is_none_is_refused(web: WebClient, waiting: str) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    form = web.form(path, "reject", "bob")
    for act in ("", "withdraw", "override", "answer", "correct the clock"):
        assert web.post(path, {**form, "act": act}).status_code == 400
    assert web.post(path, {**form, "act": "answer", "question": "-1"}).status_code == 400


NAMES = (
    "nobody-2024-c1",
    "..",
    "../..",
    "../../../../../../etc/passwd",
    "/etc/passwd",
    "clinic-2024-c1\0",
    "clinic-2024-c1/",
    "clinic-2024-c1/../clinic-2024-c1",
    "data.csv",
    "CLINIC-2024-C1",
)


@pytest.mark.enemy("auditor", "reads a file")
def test_a_name_that_the_store_does_not_have_is_no_page(web: WebClient, waiting: str) -> None:
    assert waiting == "clinic-2024-c1"
    web.log_in("bob")
    assert web.raw(f"/candidates/{waiting}") == 200
    for name in NAMES:
        for path in (
            f"/candidates/{name}",
            f"/candidates/{name}/report",
            f"/releases/{name}",
            f"/assets/{name}",
        ):
            assert web.raw(path) == 404, path


def test_other_methods_and_addresses_are_told_in_a_plain_page(web: WebClient, waiting: str) -> None:
    web.log_in("bob")
    for method, path, status in (
        ("POST", "/", 405),
        ("PUT", f"/candidates/{waiting}", 405),
        ("DELETE", f"/candidates/{waiting}", 405),
        ("GET", "/logout", 405),
        ("OPTIONS", "/", 405),
        ("TRACE", "/", 405),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
        ("GET", "/login/", 404),
    ):
        answer = web.http.request(method, path, headers={"Origin": ORIGIN})
        assert answer.status_code == status, (method, path)
        assert is_plain(answer)


@pytest.mark.enemy("other account", "stops the work")
def test_who_asks_too_often_waits(store: ReleaseStore, clock: Clock, log: Path) -> None:
    app = application(store.root, clock, logins=Rate(4, 60.0), posts=Rate(2, 60.0), reads=Rate(9, 60.0))
    web = WebClient(app, store.store_id)
    assert [web.get("/login").status_code for _ in range(5)] == [200] * 4 + [429]
    assert web.get("/").status_code == 303
    clock.now += 60.0
    web.log_in("bob")
    path, form = "/logout", {"form_token": "wrong"}
    assert [web.post(path, form).status_code for _ in range(2)] == [403, 429]
    assert [web.get("/").status_code for _ in range(9)] == [200] * 8 + [429]
    clock.now += 60.0
    assert web.get("/").status_code == 200
    assert [kind for kind, _ in refused_in(log)].count("TooManyRequests") == 3


@pytest.mark.enemy("other account", "stops the work")
def test_all_addresses_of_this_machine_together_ask_as_one(
    store: ReleaseStore, clock: Clock, log: Path
) -> None:
    app = application(store.root, clock, reads=Rate(50, 60.0))
    here = [TestClient(app, base_url=ORIGIN, client=(f"127.0.{n}.1", 1)) for n in range(60)]
    there = [TestClient(app, base_url=ORIGIN, client=(f"2001:db8::{n:x}", 1)) for n in range(1, 60)]
    for clients in (here, there):
        assert [one.get("/assets/sign.js").status_code for one in clients[:51]] == [200] * 50 + [429]
    assert refused_in(log) == [("TooManyRequests", 429)] * 2


def test_every_answer_has_the_headers_of_security(web: WebClient, waiting: str) -> None:
    answers = [web.get("/login"), web.get("/"), web.get("/nothing"), web.get("/", Host="evil.example")]
    web.log_in("bob")
    answers += [web.get("/"), web.get(f"/candidates/{waiting}"), web.get("/assets/sign.js")]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "server" not in answer.headers
    assert all("<style" not in one.text and "<script>" not in one.text for one in answers)


def test_the_cookie_of_a_session_is_for_this_server_alone(web: WebClient) -> None:
    answer = web.post("/login", {"signed": web.signed_login("bob")})
    parts = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert parts == {"httponly", "path=/", "samesite=strict"}


def test_under_tls_the_cookie_goes_nowhere_else(store: ReleaseStore) -> None:
    assert Settings(store.root, ("https://gate.example.org",)).cookie == "__Host-releasegate"
    assert Settings(store.root, ("https://gate.example.org",)).is_secure
    assert not Settings(store.root, (ORIGIN,)).is_secure


def test_what_nobody_foresaw_is_told_by_its_kind_alone(
    web: WebClient, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    def breaks(*_: object) -> None:
        raise RuntimeError("a secret of the store")

    web.log_in("bob")
    monkeypatch.setattr("web.views.waiting_lines", breaks)
    answer = web.get("/")
    assert answer.status_code == 500
    assert "RuntimeError" in answer.text
    assert "secret" not in answer.text + log.read_text()


def test_a_store_that_is_gone_is_told(web: WebClient, store: ReleaseStore) -> None:
    web.log_in("bob")
    (store.root / "history.duckdb").unlink()
    answer = web.get("/")
    assert answer.status_code == 503
    assert "database is missing" in answer.text
    assert is_plain(answer)


def test_no_name_and_no_text_reaches_the_log(web: WebClient, waiting: str, log: Path) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    web.post(path, web.form(path, "reject", "cid", "a private reason"))
    web.get("/candidates/a-private-name")
    lines = log.read_text()
    for text in ("private", "bob", "cid", "127.0.0.1"):
        assert text not in lines


@pytest.mark.parametrize("act", ["reject", "approve", "ask"])
def test_a_reason_that_is_too_long_is_told_on_the_page(
    web: WebClient, store: ReleaseStore, waiting: str, act: str
) -> None:
    client = web.log_in("bob")
    before = len(store.releases()), store.candidate(waiting).state
    form = client.form(f"/candidates/{waiting}", act, "bob", "x" * 2001)
    answer = client.post(f"/candidates/{waiting}", form)
    assert answer.status_code == 409
    assert is_plain(answer)
    assert "is longer than 2,000 letters" in answer.text
    assert (len(store.releases()), store.candidate(waiting).state) == before
