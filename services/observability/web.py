"""Short talks over HTTP with addresses of the settings: a time limit, no redirects, no address told."""

from __future__ import annotations

import ipaddress
import json
import socket
import stat
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from policy.errors import TransientFailure, UsageError
from policy.plain_file import not_read, read_bytes
from services.observability.limit import run_with_timeout

_LARGEST = 1 << 20
_PIECE = 1 << 16


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry what is sent, and the secret beside it, to an address that nobody named."""

    def redirect_request(self, *_arguments: Any, **_options: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect)
_direct = urllib.request.build_opener(_NoRedirect, urllib.request.ProxyHandler({}))


def is_loopback(host: str | None) -> bool:
    """Tell whether a host's name or address is this machine's own."""
    if host is None:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(url: str, where: str) -> str:
    """Return the host of an address. Raises UsageError unless it is https, or http on this machine.

    The address itself is not told: those of chats are secrets. `where` names the setting.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port  # raises for one that is no number
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise UsageError("is no http or https address", where=where, hint="Write https://HOST/PATH.")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{host} is to be reached by http", where=where, hint="Take https.")
    return host


def secret_of(path: Path, where: str) -> str:
    """Return the secret in a file. Raises UsageError for one that others can read, or that holds none."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = read_bytes(path).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            not_read(error),
            where=where,
            hint="Name a file there with the secret in one line, that its owner alone reads (mode 0600).",
        ) from None
    if mode & 0o077:
        raise UsageError(
            f"has mode {mode:04o}, and others can read it", where=where, hint=f"Run `chmod 600 {path}`."
        )
    if not text.isascii() or not text.isprintable() or not text:
        raise UsageError(
            "holds no secret of one line", where=where, hint="Write the secret there, in one line of ASCII."
        )
    return text


def request_json(
    url: str, document: Any = None, *, headers: dict[str, str] | None = None, timeout: float = 10.0
) -> Any:
    """Post a document as JSON, or get where there is none, and return the JSON that comes back, if any.

    `timeout` is for all of it, in seconds: looking the name up, connecting, sending and reading. Raises
    TransientFailure with the status or the kind of what went wrong, and no more.
    """
    data = None if document is None else json.dumps(document).encode()
    sent = {"Accept": "application/json", "User-Agent": "releasegate", **(headers or {})}
    if data is not None:
        sent["Content-Type"] = "application/json"
    opener = _direct if is_loopback(urlsplit(url).hostname) else _opener
    try:
        request = urllib.request.Request(url, data, sent)  # noqa: S310 -- checked by check_address
        body = run_with_timeout(timeout, lambda: _exchange(opener, request, timeout))
    except TimeoutError:
        raise TransientFailure(f"took more than {timeout:g} s") from None
    except Answered:
        raise
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise TransientFailure(f"took more than {timeout:g} s") from None
        if isinstance(error.reason, socket.gaierror) and error.reason.errno == socket.EAI_NONAME:
            raise UnknownHost("names a machine that nobody knows") from None
        kind = type(error.reason).__name__ if isinstance(error.reason, Exception) else type(error).__name__
        raise TransientFailure(f"cannot be reached ({kind})") from None
    except Exception as error:  # a server may answer anything
        raise TransientFailure(f"cannot be talked to ({type(error).__name__})") from None
    try:
        return json.loads(body) if body.strip() else None
    except ValueError:
        return None


def _exchange(
    opener: urllib.request.OpenerDirector, request: urllib.request.Request, timeout: float
) -> bytes:
    """Return what comes back, and stop reading when the time is over: nobody waits for it then."""
    end = time.monotonic() + timeout
    body = b""
    try:
        answer = opener.open(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        raise Answered(error.code) from None
    with answer:
        while len(body) < _LARGEST and (piece := answer.read1(_PIECE)):
            body += piece
            if time.monotonic() > end:
                raise TimeoutError
    return body


class UnknownHost(TransientFailure):
    """A name that is no machine's, as far as the network knows."""


class Answered(TransientFailure):
    """An answer that says no, with its HTTP status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"answers {status}")

    def __reduce__(self) -> tuple[object, ...]:
        return (Answered, (self.status,))
