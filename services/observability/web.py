"""Short talks over HTTP with addresses of the settings: a time limit, no redirects, no address told."""

from __future__ import annotations

import ipaddress
import json
import logging
import socket
import ssl
import stat
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from policy.accepted import check_whose
from policy.errors import TransientFailure, UsageError
from policy.plain_file import not_read, read_bytes
from services.observability.limit import run_with_timeout

_LARGEST = 1 << 20


# It would log addresses, which may be secrets.
logging.getLogger("httpx").setLevel(logging.WARNING)


def is_loopback(host: str | None) -> bool:
    """Tell whether a host's name or address is this machine's own; of a name below localhost, DNS decides."""
    try:
        return host is not None and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_web_address(url: str, where: str) -> str:
    """Return the host of an address. Raises UsageError unless it is https, or http on this machine.

    The address itself is not told: those of chats are secrets. `where` names the setting.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port  # raises for one that is no number
    except ValueError:
        host = None
    if "\\" in url or not url.isprintable() or " " in url:  # programs differ in what host that is
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise UsageError("is not an http or https address", where=where, hint="Write https://HOST/PATH.")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{host} must not be reached by http", where=where, hint="Take https.")
    return host


def secret_of(path: Path, where: str) -> str:
    """Return the secret in a file. Raises UsageError for a stranger's, one that others read, or none."""
    check_whose(path)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = read_bytes(path).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            not_read(error),
            where=where,
            hint="Name a file with the secret in one line, readable by its owner alone (mode 0600).",
        ) from None
    if mode & 0o077:
        raise UsageError(
            f"has mode {mode:04o}, and others can read it", where=where, hint=f"Run `chmod 600 {path}`."
        )
    if not text.isascii() or not text.isprintable() or not text:
        raise UsageError(
            "is not one line of text", where=where, hint="Write the secret there, in one line of ASCII."
        )
    return text


def request_json(
    url: str, document: Any = None, *, headers: dict[str, str] | None = None, timeout: float = 10.0
) -> Any:
    """Post a document as JSON, or get where there is none, and return the JSON that comes back, if any.

    `timeout` is for all of it, in seconds: looking the name up, connecting, sending and reading. Raises
    TransientFailure with the status or the kind of what went wrong, and no more.
    """
    sent = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "releasegate"} | (
        headers or {}
    )
    try:
        body = run_with_timeout(timeout, lambda: _exchange(url, document, sent, timeout))
    except (TimeoutError, httpx.TimeoutException):
        raise TransientFailure(f"took more than {timeout:g} s") from None
    except Answered:
        raise
    except httpx.TransportError as error:
        cause = _first_cause(error)
        if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME:
            raise UnknownHost("names an unknown host") from None
        raise TransientFailure(f"cannot be reached ({type(cause).__name__})") from None
    except Exception as error:  # a server may answer anything
        raise TransientFailure(f"cannot be used ({type(error).__name__})") from None
    try:
        return json.loads(body) if body.strip() else None
    except ValueError:
        return None


def _exchange(url: str, document: Any, headers: dict[str, str], timeout: float) -> bytes:
    """Return what comes back, and stop reading when the time is over: nobody waits for it then.

    No redirect is followed: it would carry what is sent, and the secret beside it, to an address that nobody
    named. What is on this machine is reached without a proxy. Certificates are those that the system trusts.
    """
    end = time.monotonic() + timeout
    method, body = ("GET", None) if document is None else ("POST", json.dumps(document).encode())
    if body is not None:
        headers = {**headers, "Content-Type": "application/json"}
    trust_env = not is_loopback(urlsplit(url).hostname)
    read = b""
    with (
        httpx.Client(timeout=timeout, trust_env=trust_env, verify=ssl.create_default_context()) as client,
        client.stream(method, url, content=body, headers=headers) as response,
    ):
        if not response.is_success:
            raise Answered(response.status_code)
        for piece in response.iter_raw():
            read += piece
            if time.monotonic() > end:
                raise TimeoutError
            if len(read) >= _LARGEST:
                break
    return read


def _first_cause(error: BaseException) -> BaseException:
    """Return what an error goes back to."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


class UnknownHost(TransientFailure):
    """A name that is no machine's, as far as the network knows."""


class Answered(TransientFailure):
    """An answer that says no, with its HTTP status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"answers {status}")

    def __reduce__(self) -> tuple[object, ...]:
        return (Answered, (self.status,))
