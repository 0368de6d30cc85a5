"""Serve a store until it is interrupted: a socket on one address, and uvicorn before the application."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import stat
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from cryptography import x509

from policy.accepted import check_whose
from policy.errors import UsageError
from release_store.approval.reviewers import needed_reviewers
from release_store.canonical import utc_now
from web.app import make_app
from web.connections import connection_of
from web.settings import Settings

_LOOPBACK_NAME = "localhost"
_LARGEST_PORT = 65_535
_HANDSHAKE_TIME = 10.0  # seconds for the handshake of TLS


@dataclass(frozen=True)
class Address:
    """Where a server listens, and as what browsers know it; `origin` is empty where that follows."""

    host: str
    port: int
    origin: str = ""
    certificate: Path | None = None
    certificate_key: Path | None = None

    @property
    def has_tls(self) -> bool:
        """Whether the server itself speaks TLS."""
        return self.certificate is not None


class _Loop(asyncio.SelectorEventLoop):
    """A loop whose servers wait for a handshake of TLS no longer than for a request."""

    async def create_server(self, *args: Any, **more: Any) -> asyncio.Server:
        """Return a server that listens, as the loop's own method does."""
        if more.get("ssl") is not None:
            more.setdefault("ssl_handshake_timeout", _HANDSHAKE_TIME)
        return await super().create_server(*args, **more)


def serve(root: Path, address: Address, tell: Callable[[str], None]) -> None:
    """Serve the store in `root` until the process is interrupted; `tell` gets the address for browsers.

    Raises UsageError for an address that would not be safe or cannot be used, and where nobody could log in.
    """
    check_address(address)
    needed_reviewers(root)
    listening = _listen(address)
    port = listening.getsockname()[1]
    origins = origins_of(address, port)
    server = uvicorn.Server(server_config(Settings(root, origins), address))
    tell(origins[0])
    try:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(server.serve(sockets=[listening]))
    except KeyboardInterrupt:
        pass  # the way to stop it
    finally:
        listening.close()


def server_config(settings: Settings, address: Address) -> uvicorn.Config:
    """Return how the application is served."""
    return uvicorn.Config(
        make_app(settings),
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=connection_of(settings),
        lifespan="off",
        timeout_keep_alive=5,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.certificate_key,
    )


def check_address(address: Address) -> None:
    """Raise UsageError for what others could reach without TLS, or an origin that is none."""
    if not 0 <= address.port <= _LARGEST_PORT:
        raise UsageError("is not a port", where="--port", hint=f"Give a number from 0 to {_LARGEST_PORT}.")
    if (address.certificate is None) is not (address.certificate_key is None):
        raise UsageError(
            "TLS needs a certificate and its key", hint="Give --certificate and --certificate-key."
        )
    if not is_loopback(address.host) and not address.has_tls:
        raise UsageError(
            f"{address.host} can be reached by other machines, and there is no TLS",
            where="--host",
            hint="Give --certificate and --certificate-key, or leave --host out.",
        )
    if not is_loopback(address.host) and not address.origin:
        raise UsageError(
            "the address that browsers use is not known",
            where="--origin",
            hint="Give it, such as --origin https://gate.example.org:8765.",
        )
    if address.origin:
        _check_origin(address.origin)
    if address.certificate is not None and address.certificate_key is not None:
        _check_certificate(address.certificate, address.certificate_key)


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == _LOOPBACK_NAME


def origins_of(address: Address, port: int) -> tuple[str, ...]:
    """Return the origins by which browsers may know the server, that to open first."""
    if address.origin:
        return (address.origin,)
    scheme, ending = ("https", 443) if address.has_tls else ("http", 80)
    named = f"[{address.host}]" if ":" in address.host else address.host
    hosts = dict.fromkeys([named, _LOOPBACK_NAME])
    return tuple(f"{scheme}://{host}" + ("" if port == ending else f":{port}") for host in hosts)


def _check_origin(origin: str) -> None:
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError:
        parts, port = None, None
    written = "" if parts is None else f"https://{parts.hostname}" + (f":{port}" if port else "")
    if origin != written:
        raise UsageError(
            "is not the origin of a page under TLS",
            where="--origin",
            hint="Give it in small letters without a path, such as https://gate.example.org:8765.",
        )


def _check_certificate(certificate: Path, key: Path) -> None:
    """Raise UsageError for files that TLS cannot use, others' files, a key that all read, and dates over."""
    for path in (certificate, key):
        check_whose(path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_no_password)
        own = x509.load_pem_x509_certificates(certificate.read_bytes())[0]
        mode = stat.S_IMODE(key.stat().st_mode)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot be used as a certificate with that key ({type(error).__name__})",
            where=str(certificate),
            hint="Give a PEM file with the certificate, and one with its key, which has no password.",
        ) from None
    if mode & 0o007:
        raise UsageError("can be read by others", where=str(key), hint=f"Run `chmod o= {key}`.")
    first, last = own.not_valid_before_utc, own.not_valid_after_utc
    if not first <= utc_now() <= last:
        raise UsageError(
            f"is valid from {first:%Y-%m-%d} to {last:%Y-%m-%d} only",
            where=str(certificate),
            hint="Give a certificate that is valid now: whoever clicks a warning away meets anybody.",
        )


def _no_password() -> str:
    raise ValueError


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family)
    except OSError as error:
        unknown = isinstance(error, socket.gaierror)
        why = "unknown host" if unknown or error.errno is None else os.strerror(error.errno)
        raise UsageError(
            f"{address.host}:{address.port} cannot be listened on ({why})",
            where="--host" if unknown else "--port",
            hint="Give another address." if unknown else "Give another --port.",
        ) from None
