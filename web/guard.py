"""What every request passes before a page is asked: its host, its origin, how often, and how large it is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from web.headers import SECURITY_HEADERS
from web.rate_limit import RateLimit, client_of
from web.refusals import (
    BadRequest,
    ForeignHost,
    ForeignOrigin,
    HeadTooLarge,
    Refused,
    TooLarge,
    TooManyRequests,
)
from web.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
LOGIN = "/login"
_BESIDE = 4  # bytes of a header beside its name and value


class Guard:
    """Refuses what no page is to see, and sends every answer with the headers of security.

    The whole body of a request is read before the application gets it, up to the limit: it does not matter
    whether its length was told, told wrong, or not told.
    """

    def __init__(self, app: ASGIApp, settings: Settings, refuse: Callable[[Refused], Response]) -> None:
        self._app, self._settings, self._refuse = app, settings, refuse
        self._logins = RateLimit(settings.logins, settings.clock)
        self._posts = RateLimit(settings.posts, settings.clock)
        self._reads = RateLimit(settings.reads, settings.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it. Nothing but HTTP is spoken."""
        if scope["type"] != "http":
            return
        try:
            self._check(scope)
            body = await self._body(scope, receive)
        except Refused as refused:
            answer = self._refuse(refused)
            answer.headers["Connection"] = "close"  # what is left of the request is not read
            await answer(scope, receive, _with_headers(send))
            return
        if body is not None:
            with suppress(Exception):  # its page is sent and its kind is logged by then
                await self._app(scope, _given(body, receive), _with_headers(send))

    def _check(self, scope: Scope) -> None:
        """Raise Refused for a head that no browser sends, another host or origin, or too many requests."""
        headers = Headers(scope=scope)
        n_bytes = len(scope["raw_path"]) + len(scope["query_string"])
        n_bytes += sum(len(name) + len(value) + _BESIDE for name, value in headers.raw)
        if n_bytes > self._settings.largest_head:
            raise HeadTooLarge
        if "content-length" in headers and "transfer-encoding" in headers:
            raise BadRequest
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or host not in self._settings.hosts:
            raise ForeignHost
        is_post = scope["method"] not in SAFE_METHODS
        if is_post and not self._is_own(headers):
            raise ForeignOrigin
        client = client_of(str((scope.get("client") or ("",))[0]))
        limits = [self._posts if is_post else self._reads]
        if scope["path"] == LOGIN:
            limits.append(self._logins)
        if not all(limit.allows(client) for limit in limits):
            raise TooManyRequests

    def _is_own(self, headers: Headers) -> bool:
        """Tell whether a form was sent by a page of the address that the request itself was sent to."""
        origin = ", ".join(headers.getlist("origin"))
        site = headers.get("sec-fetch-site", "same-origin")
        same_address = origin.partition("://")[2] == headers.get("host", "")
        return origin in self._settings.origins and same_address and site == "same-origin"

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Return the body, or None if the client left. Raises TooLarge as soon as that is known."""
        told = Headers(scope=scope).get("content-length", "0")
        if not (told.isascii() and told.isdigit()) or int(told[:20]) > self._settings.largest_body:
            raise TooLarge
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self._settings.largest_body:
                raise TooLarge
            if not message.get("more_body", False):
                return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """Return what gives the application a body that was read already."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(send: Send) -> Send:
    """Return what sends an answer with the headers of security; those that the answer has stay."""

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
