"""Signed texts of odd shapes: each is refused with a plain page, and moves nothing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from release_store.audit import keys
from release_store.canonical import canonical_json, iso, utc_now
from release_store.protocol.proofs import statement
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import key_of
from tests.support.web_clients import WebClient, attribute, token


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
