"""Signed texts of odd shapes: each is refused with a plain page, and moves nothing."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote_from_bytes

import pytest

from release_store.approval.login import login_statement
from release_store.audit import keys
from release_store.canonical import canonical_json, iso, utc_now
from release_store.protocol.proofs import statement
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import key_of
from tests.support.web_clients import ORIGIN, SENT_FROM_HERE, WebClient, attribute, token


def odd_form(web: WebClient, path: str, act: str, by: str, **changed: Any) -> dict[str, str]:
    text = web.get(path).text
    found = json.loads(attribute(text, "data-to-sign"))
    told: dict[str, Any] = {
        "act": act,
        "store_id": found["store_id"],
        "subject": found["object"],
        "bound": found["bound"],
        "by": by,
        "reason": "as agreed",
        "at": iso(utc_now()),
        **changed,
    }
    said = statement(**told)
    key = key_of(by).key
    document = {
        "statement": said,
        "public_key": keys.public_hex(key),
        "signature": key.sign(canonical_json(said)).hex(),
    }
    signed = base64.urlsafe_b64encode(canonical_json(document)).decode().rstrip("=")
    return {"form_token": token(text), "act": act, "signed": signed}


@pytest.mark.parametrize("reason", [5, None, ["a"], {"a": "b"}, True, "a\0b", "", "\u202e"])
@pytest.mark.parametrize("act", ["approve", "reject", "ask"])
@pytest.mark.by_day(6)
def test_a_reason_that_is_no_text_is_refused(web: WebClient, waiting: str, act: str, reason: Any) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    answer = web.post(path, odd_form(web, path, act, "bob", reason=reason))
    assert answer.status_code == 409


@pytest.mark.parametrize("act", ["reject", "ask"])
def test_what_a_refused_text_is_bound_to_moves_nothing(
    web: WebClient, store: ReleaseStore, waiting: str, act: str
) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    bound = {"candidate": waiting, "state": "published", "release": "r", "release_state": "withdrawn"}
    answer = web.post(path, odd_form(web, path, act, "bob", bound=bound))
    assert answer.status_code == 409
    assert store.candidate(waiting).state is CandidateState.AWAITING_APPROVAL
    kept = store.events_about(waiting)[-1]
    assert kept.action == "decision.refused"
    assert not bound.keys() & kept.payload.keys()
    assert verify(store) == []


HALVES = ["\ud800", "fine\udc9b", "\ude00\ud83d"]


def unsigned(document: object) -> str:
    """Return a document in the form of a signed text; json writes half a pair as an escape."""
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.enemy("other account", "stops the work")
def test_half_a_pair_in_a_login_is_refused(web: WebClient, half: str) -> None:
    said = login_statement(web.store_id, ORIGIN, "0" * 64)
    key = keys.public_hex(key_of("bob").key)
    odd = [{**said, field: half} for field in said] + [{**said, half: "x"}]
    logins = [{"statement": one, "public_key": key, "signature": "0" * 128} for one in odd]
    logins += [{"statement": said, "public_key": half, "signature": "0" * 128}]
    logins += [{"statement": said, "public_key": key, "signature": half}]
    answers = [web.post("/login", {"signed": unsigned(one)}) for one in logins]
    assert {answer.status_code for answer in answers} == {403}
    assert all("not a signed login" in answer.text for answer in answers)


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.enemy("approver", "stops the work")
def test_half_a_pair_in_a_form_or_its_signed_text_is_refused(
    web: WebClient, store: ReleaseStore, waiting: str, half: str
) -> None:
    web.log_in("bob")
    path = f"/candidates/{waiting}"
    form, logged = web.form(path, "reject", "bob"), store.n_events()
    document = json.loads(base64.urlsafe_b64decode(form["signed"] + "=" * (-len(form["signed"]) % 4)))
    for field in document["statement"]:
        odd = {**document, "statement": {**document["statement"], field: half}}
        assert web.post(path, {**form, "signed": unsigned(odd)}).status_code == 409
    written = quote_from_bytes(half.encode(errors="surrogatepass"))
    kind = {"Content-Type": "application/x-www-form-urlencoded", **SENT_FROM_HERE}
    for field in form:
        fields = "&".join(f"{name}={written if name == field else value}" for name, value in form.items())
        assert web.http.post(path, content=fields.encode(), headers=kind).status_code == 400
    assert web.get(f"/candidates/{written}").status_code == 404
    assert store.n_events() == logged
