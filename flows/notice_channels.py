"""The ways that notices take: to Prefect's server as events, to a command, to an address.

A channel delivers one notice and returns, or raises `NotDelivered` in one line without addresses or answers.
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

from flows.notice import Notice
from flows.web import check_address, secret_of, talk
from policy.errors import ReleaseGateError, UsageError

COMMAND_VARIABLE = "RELEASEGATE_NOTICE_COMMAND"
URL_VARIABLE = "RELEASEGATE_NOTICE_URL"
SECRET_VARIABLE = "RELEASEGATE_NOTICE_SECRET_FILE"  # noqa: S105 -- names a file
API_VARIABLE = "PREFECT_API_URL"
TIMEOUT = 15.0  # seconds for one delivery

Channel = Callable[[Notice], None]


class NotDelivered(ReleaseGateError):
    """A notice that a channel did not take; it is due again."""


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
    if command := os.environ.get(COMMAND_VARIABLE):
        _words(command)
    if url := os.environ.get(URL_VARIABLE):
        check_address(url, URL_VARIABLE)
        _headers()


def prefect_event(notice: Notice) -> dict[str, Any]:
    """Return the notice as one of Prefect's events; its id follows from the notice's, so it is kept once."""
    subject = notice.candidate or f"{notice.series}/{notice.period}" if notice.series else notice.candidate
    kind = "candidate" if notice.candidate else "period" if notice.series else "store"
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


def _to_prefect(notice: Notice) -> None:
    """Post the event, and wait for the server's answer: Prefect's own `emit_event` returns before it."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    settings = {PREFECT_API_URL: prefect_api(), PREFECT_CLIENT_MAX_RETRIES: 0}
    try:
        with temporary_settings(settings), get_client({"timeout": TIMEOUT}, sync_client=True) as client:
            client.request("POST", "/events", json=[prefect_event(notice)])
    except Exception as error:  # whatever a server or its client does, the release goes on
        status = getattr(getattr(error, "response", None), "status_code", None)
        told = f"answers {status}" if status else f"cannot be reached ({type(error).__name__})"
        raise NotDelivered(f"Prefect's server {told}") from None


def _to_command(notice: Notice) -> None:
    """Run the command without a shell, the notice as JSON on its standard input."""
    words = _words(os.environ[COMMAND_VARIABLE])
    ours = ("RELEASEGATE_", "PREFECT_")  # tokens and keys among them
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
        raise NotDelivered(f"the command cannot be run ({type(error).__name__})") from None
    try:
        process.communicate(json.dumps(notice.document()).encode() + b"\n", timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise NotDelivered(f"the command took more than {TIMEOUT:g} s") from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        raise NotDelivered(f"the command ended with exit code {process.returncode}")


def _to_url(notice: Notice) -> None:
    url = os.environ[URL_VARIABLE]
    check_address(url, URL_VARIABLE)
    headers = _headers()
    try:
        talk(url, notice.document(), headers=headers, timeout=TIMEOUT)
    except ReleaseGateError as error:
        raise NotDelivered(f"the address {error.finding}") from None


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise UsageError("is no command", where=COMMAND_VARIABLE, mend="Write a program and its arguments.")
    return words


def _headers() -> dict[str, str]:
    path = os.environ.get(SECRET_VARIABLE)
    return {"Authorization": f"Bearer {secret_of(Path(path), SECRET_VARIABLE)}"} if path else {}
