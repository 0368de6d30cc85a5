"""A client of an S3 store that asks the store alone, and takes nothing from it that was not asked for.

It is imported where an object is read, because it needs the extra `s3`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from aiobotocore.httpsession import AIOHTTPSession
from aiohttp import ClientTimeout
from s3fs import S3FileSystem

from policy.trusted import ObjectStore

CONNECT_SECONDS = 10
READ_SECONDS = 30  # without a byte
ANSWER_SECONDS = 300  # for all of an answer
TRIES = 3
PART_BYTES = 16 << 20
MOST_BYTES = 1 << 20  # of an answer that is no part of an object: an error, a list of names
_ASKED = re.compile(r"bytes=(\d+)-(\d+)")


class Redirected(Exception):
    """The store names another address, where nobody asks."""


class OtherAnswer(Exception):
    """The store answers with other bytes than were asked for, or does not say what they are."""


def check_answer(method: str, asked: Mapping[str, str], status: int, headers: Mapping[str, str]) -> None:
    """Hold an answer against what was asked; the names of all headers are in lower case.

    A part has the length, the place and the ETag that were asked for; of an object, the store tells the size
    and the ETag. Raises Redirected and OtherAnswer. An error of the store is read elsewhere.
    """
    if 300 <= status < 400:
        raise Redirected
    if status >= 400:
        return
    if method == "HEAD" and not (headers.get("etag") and headers.get("content-length", "").isdecimal()):
        raise OtherAnswer
    if method != "GET" or "range" not in asked:
        return
    part = _ASKED.fullmatch(asked["range"])
    if part is None:
        raise OtherAnswer
    first, last = int(part[1]), int(part[2])
    if (
        status != 206
        or "transfer-encoding" in headers  # then the length is what the store makes of it
        or headers.get("content-length") != str(last - first + 1)
        or not headers.get("content-range", "").startswith(f"bytes {first}-{last}/")
        or not headers.get("etag")
        or headers["etag"] != asked.get("if-match")
    ):
        raise OtherAnswer


class _Direct:
    """A session of aiohttp that follows no redirect, and waits for no answer without end."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def request(self, method: str, **settings: Any) -> Any:
        limits = ClientTimeout(ANSWER_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)
        settings = {**settings, "timeout": limits, "allow_redirects": False}
        response = await self._session.request(method, **settings)
        is_part = response.status == 206 and "Range" in settings["headers"]
        return response if is_part else _Small(response)


class _Small:
    """An answer of aiohttp that is read up to `MOST_BYTES`."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    async def read(self) -> bytes:
        """Return the body. Raises OtherAnswer where it is too large."""
        parts, left = [], MOST_BYTES
        while left >= 0 and (part := await self._response.content.read(left + 1)):
            parts.append(part)
            left -= len(part)
        if left < 0:
            self._response.close()
            raise OtherAnswer
        return b"".join(parts)


class _Session(AIOHTTPSession):  # type: ignore[misc]  # aiobotocore has no types
    async def _get_session(self, proxy_url: str | None) -> _Direct:
        return _Direct(await super()._get_session(proxy_url))

    async def send(self, request: Any) -> Any:
        response = await super().send(request)
        asked = {name.lower(): _text(value) for name, value in request.headers.items()}
        try:
            check_answer(request.method, asked, response.status_code, response.headers)
        except (Redirected, OtherAnswer):
            response.raw.close()
            raise
        return response


class _FileSystem(S3FileSystem):  # type: ignore[misc]  # s3fs has no types
    """A client without a protocol: fsspec's own settings (`FSSPEC_*`, `~/.config/fsspec`) go by protocols."""

    protocol = ()


def file_system(store: ObjectStore) -> Any:
    """Return a client of the store: it keeps no listing and no file, and asks no other endpoint.

    An endpoint without TLS is on this machine, and is asked without a proxy.
    """
    config: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "retries": {"total_max_attempts": 1},  # s3fs tries again itself
        "ignore_configured_endpoint_urls": True,
        "http_session_cls": _Session,
    }
    if store.endpoint is not None and not store.endpoint.startswith("https://"):
        config["proxies"] = {}
    system = _FileSystem(
        anon=False,
        endpoint_url=store.endpoint,
        use_ssl=True,
        client_kwargs={} if store.region is None else {"region_name": store.region},
        config_kwargs=config,
        default_block_size=PART_BYTES,
        default_cache_type="readahead",
        use_listings_cache=False,
        skip_instance_cache=True,
    )
    system.retries = TRIES
    return system


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
