"""The ways that notices take: to Prefect's server as events, to a command, to an address.

A channel delivers one notice within some seconds and returns, or raises `NotDelivered` in one line without
addresses or answers. What takes longer is given up, whatever it waits for.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from policy.errors import ReleaseGateError, UsageError
from services.observability.limit import run_with_timeout
from services.observability.notice_kinds import Notice
from services.observability.web import Answered, UnknownHost, check_web_address, request_json, secret_of
from services.prefect_extra import INSTALL, MISSING, prefect_is_installed

COMMAND_VARIABLE = "RELEASEGATE_NOTICE_COMMAND"
URL_VARIABLE = "RELEASEGATE_NOTICE_URL"
SECRET_VARIABLE = "RELEASEGATE_NOTICE_SECRET_FILE"  # noqa: S105 -- names a file
API_VARIABLE = "PREFECT_API_URL"
TIMEOUT = 15.0  # seconds for one delivery, all of it

_NAME_IT = f"Write the absolute path of an existing program in {COMMAND_VARIABLE}."

Channel = Callable[[Notice, float], None]  # a notice, and the seconds that there are


_TRY_AGAIN = frozenset({408, 425, 429})  # statuses of HTTP that say no for now
_NO_COMMAND = frozenset({126, 127})  # what shells and `env` end with where there is no such program


class NotDelivered(ReleaseGateError):
    """A notice that a channel did not take; it is due again. With a mend where waiting does not help."""


def channels() -> dict[str, Channel]:
    """Return the channels that the environment names, by their names."""
    found: dict[str, Channel] = {}
    if prefect_api() is not None:
        found["prefect"] = _to_prefect
    if os.environ.get(COMMAND_VARIABLE):
        found["command"] = _to_command
    if os.environ.get(URL_VARIABLE):
        found["url"] = _to_url
    return found


def prefect_api() -> str | None:
    """Return the address of Prefect's API, where a server that stays is named; Prefect is not imported."""
    if url := os.environ.get(API_VARIABLE):
        return url
    if "prefect.settings" not in sys.modules:
        return None
    from prefect.settings.context import get_current_settings

    return get_current_settings().api.url


def check_channels() -> None:
    """Raise UsageError for a setting of the hooks that cannot be followed."""
    for name, error in wrong_settings().items():
        if name != "prefect":
            raise error


def wrong_settings() -> dict[str, UsageError]:
    """Return what is wrong with the settings of channels, by their names; nothing is sent."""
    looks = {"prefect": _prefect_address, "command": _command, "url": _address}
    found = {}
    for name in channels():
        try:
            looks[name]()
        except UsageError as error:
            found[name] = error
    return found


def _prefect_address() -> str:
    url = prefect_api() or ""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        hint = "Write the address of Prefect's API, such as http://127.0.0.1:4200/api."
        raise UsageError("is not an http or https address", where=API_VARIABLE, hint=hint)
    return url


def _command() -> list[str]:
    return _words(os.environ[COMMAND_VARIABLE])


def _address() -> dict[str, str]:
    check_web_address(os.environ[URL_VARIABLE], URL_VARIABLE)
    return _headers()


def prefect_event(notice: Notice) -> dict[str, Any]:
    """Return the notice as one of Prefect's events; its id follows from the notice's, so it is kept once."""
    subject = notice.candidate or "/".join(part for part in (notice.series, notice.period) if part)
    kind = "candidate" if notice.candidate else "period" if notice.period else "series"
    kind = kind if subject else "store"
    resource = {"prefect.resource.id": f"releasegate.{kind}.{subject or notice.id[:16]}"}
    resource["prefect.resource.name"] = subject or "the store"
    for name, value in (("series", notice.series), ("period", notice.period)):
        if value:
            resource[f"releasegate.{name}"] = value
    related = []
    if notice.release:
        release = f"releasegate.release.{notice.release}"
        related.append({"prefect.resource.id": release, "prefect.resource.role": "release"})
    if run := notice.links.get("run_id"):
        flow_run = f"prefect.flow-run.{run}"
        related.append({"prefect.resource.id": flow_run, "prefect.resource.role": "flow-run"})
    return {
        "id": str(uuid.UUID(notice.id[:32])),
        "event": notice.kind,
        "occurred": notice.at,
        "resource": resource,
        "related": related,
        "payload": notice.document(),
    }


def _to_prefect(notice: Notice, limit: float) -> None:
    """Post the event, and wait for the server's answer: Prefect's own `emit_event` returns before it."""
    if not prefect_is_installed():
        raise NotDelivered(MISSING, hint=INSTALL)
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    settings = {PREFECT_API_URL: _prefect_address(), PREFECT_CLIENT_MAX_RETRIES: 0}

    def post() -> None:
        with temporary_settings(settings), get_client({"timeout": limit}, sync_client=True) as client:
            client.request("POST", "/events", json=[prefect_event(notice)])

    try:
        run_with_timeout(limit, post)
    except TimeoutError:
        raise NotDelivered(f"Prefect's server took more than {limit:g} s") from None
    except Exception as error:  # whatever a server or its client does, the release goes on
        status = getattr(getattr(error, "response", None), "status_code", None)
        told = f"answers {status}" if status else f"cannot be reached ({type(error).__name__})"
        hint = ""
        if status in (401, 403):
            hint = "Set PREFECT_API_AUTH_STRING to the server's PREFECT_SERVER_API_AUTH_STRING."
        elif _is_final(status):
            hint = f"Check that {API_VARIABLE} is its address, ending in /api."
        raise NotDelivered(f"Prefect's server {told}", hint=hint) from None


def _to_command(notice: Notice, limit: float) -> None:
    """Run the command without a shell, the notice as JSON on its standard input.

    One that takes too long is ended with all that it has started, but for what left its process group.
    """
    words = _command()
    ours = ("RELEASEGATE_", "PREFECT_", "PYTHONSAFEPATH")  # tokens and keys among them
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise NotDelivered(f"the command cannot be run ({type(error).__name__})", hint=_NAME_IT) from None
    try:
        process.communicate(json.dumps(notice.document()).encode() + b"\n", timeout=limit)
    except subprocess.TimeoutExpired:
        raise NotDelivered(f"the command took more than {limit:g} s") from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1.0)  # one that waits for a disk ends when that answers
    if process.returncode:
        hint = _NAME_IT if process.returncode in _NO_COMMAND else ""
        raise NotDelivered(f"the command ended with exit code {process.returncode}", hint=hint)


def _to_url(notice: Notice, limit: float) -> None:
    headers = _address()
    try:
        request_json(os.environ[URL_VARIABLE], notice.document(), headers=headers, timeout=limit)
    except Answered as error:
        hint = f"Correct {URL_VARIABLE}: that address does not accept notices."
        if error.status in (401, 403):
            hint = f"Correct {SECRET_VARIABLE} or the address: the secret was refused."
        elif 300 <= error.status < 400:
            hint = f"Set {URL_VARIABLE} to the address that it redirects to."
        finding = f"the address {error.message}"
        raise NotDelivered(finding, hint=hint if _is_final(error.status) else "") from None
    except UnknownHost as error:
        raise NotDelivered(f"the address {error.message}", hint=f"Correct {URL_VARIABLE}.") from None
    except ReleaseGateError as error:
        raise NotDelivered(f"the address {error.message}") from None


def _is_final(status: int | None) -> bool:
    """Tell whether the same request is answered so tomorrow, too."""
    return status is not None and 300 <= status < 500 and status not in _TRY_AGAIN


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise UsageError("is no command", where=COMMAND_VARIABLE, hint="Write a program and its arguments.")
    return words


def _headers() -> dict[str, str]:
    path = os.environ.get(SECRET_VARIABLE)
    return {"Authorization": f"Bearer {secret_of(Path(path), SECRET_VARIABLE)}"} if path else {}
