"""Somebody who asks a server of `releasegate serve` for pages, in process and without a browser."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

from httpx import Response
from starlette.testclient import TestClient

from release_store.approval.credentials import Statement, sign_text
from release_store.approval.login import login_statement
from release_store.audit import keys
from release_store.canonical import canonical_json, utc_now
from tests.support.at_work import key_of
from web.app import make_app
from web.guard import Guard
from web.settings import Settings

ORIGIN = "http://127.0.0.1:8765"
SENT_FROM_HERE = {"Origin": ORIGIN}


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        """Return the seconds that it shows."""
        return self.now


def application(root: Path, clock: Clock | None = None, **changed: Any) -> Guard:
    """Return the application for a store, by a clock that stands still if none is given."""
    return make_app(Settings(root, (ORIGIN, "http://localhost:8765"), clock or Clock(), **changed))


class WebClient:
    """One browser: its cookies, and what it sends."""

    def __init__(self, app: Guard, store_id: str) -> None:
        self.app, self.store_id = app, store_id
        self.http = TestClient(app, base_url=ORIGIN, follow_redirects=False)

    def get(self, path: str, **headers: str) -> Response:
        """Ask for a page."""
        found: Response = self.http.get(path, headers=headers)
        return found

    def raw(self, path: str) -> int:
        """Ask for a path as it is written, which a client would shorten, and return the status."""
        cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        headers = [(b"host", ORIGIN.partition("://")[2].encode()), (b"cookie", cookie.encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "http",
            "http_version": "1.1",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 8765),
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        return int(sent[0]["status"])

    def post(self, path: str, form: dict[str, str], headers: dict[str, str] | None = None) -> Response:
        """Send a form, by default as a page of the server does."""
        sent = SENT_FROM_HERE if headers is None else headers
        found: Response = self.http.post(path, data=form, headers=sent)
        return found

    def challenge(self) -> str:
        """Return a new challenge."""
        return attribute(self.get("/login").text, "data-challenge")

    def signed_login(self, name: str, **changed: str) -> str:
        """Return a login with a new challenge that somebody signed, with other texts where they are given."""
        told = {"store_id": self.store_id, "origin": ORIGIN, **changed}
        if "challenge" not in told:
            told["challenge"] = self.challenge()
        statement = login_statement(told["store_id"], told["origin"], told["challenge"])
        return signed_document(name, statement)

    def log_in(self, name: str) -> WebClient:
        """Log in as somebody of the tests."""
        answer = self.post("/login", {"signed": self.signed_login(name)})
        assert answer.status_code == 303, answer.text
        return self

    def form(self, path: str, act: str, by: str, reason: str = "as agreed", **changed: Any) -> dict[str, str]:
        """Return the filled form of a page: what it is bound to is what the page says."""
        text = self.get(path).text
        found = json.loads(attribute(text, "data-to-sign"))
        bound = changed.pop("bound", found["bound"])
        said = Statement(act, found["store_id"], found["object"], bound, by, reason, utc_now())
        signed = sign_text(said, key_of(changed.pop("key", by)).key)
        return {"form_token": token(text), "act": act, "signed": signed, **changed}


def signed_document(name: str, statement: dict[str, Any]) -> str:
    """Return a text that somebody signed, as the script of the pages writes it."""
    key = key_of(name).key
    document = {
        "statement": statement,
        "public_key": keys.public_hex(key),
        "signature": key.sign(canonical_json(statement)).hex(),
    }
    return base64.urlsafe_b64encode(canonical_json(document)).decode().rstrip("=")


def token(text: str) -> str:
    """Return the token of the session in the forms of a page."""
    found = re.search(r'name="form_token" value="([^"]+)"', text)
    assert found is not None, text
    return unescape(found[1])


def attribute(text: str, name: str) -> str:
    """Return the value of the first attribute of that name in a page."""
    found = re.search(rf'{name}="([^"]*)"', text)
    assert found is not None, text
    return unescape(found[1])
