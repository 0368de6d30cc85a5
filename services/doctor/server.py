"""Is Prefect's server fit for releases? Asked over its API, as far as `PREFECT_API_URL` names one."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from policy.errors import TransientFailure, UsageError
from release_store.checkup import Check, Condition
from services.doctor.required_settings import REQUIRED
from services.observability.web import Answered, is_loopback, request_json
from services.prefect_extra import INSTALL, MISSING, prefect_is_installed

TAG = "releasegate"
_TIMEOUT = 2.0
_LISTEN = "0A"
_DEPLOY = "Run `prefect --no-prompt deploy --all`."
_AUTOMATION = "examples/crashed-runs.yaml"
_HEARTBEAT = "prefect.flow-run.heartbeat"
_HEADERS = "PREFECT_CLIENT_CUSTOM_HEADERS"
_OPEN = "Start it with `--host 127.0.0.1`, and set PREFECT_SERVER_API_AUTH_STRING."


def server() -> list[Check]:
    """Return what is wrong with the server, its pool, workers and deployments, or that nothing is."""
    url = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not url:
        found = "PREFECT_API_URL is not set: `run` and `rejudge` work without Prefect"
        return [Check("server", Condition.FINE, found)]
    check_server_address(url)
    if not prefect_is_installed():
        return [Check("server", Condition.WRONG, MISSING, INSTALL)]
    try:
        version = str(request_json(f"{url}/admin/version", headers=_credential(), timeout=_TIMEOUT))
    except Answered as error:
        return [_refused(error)]
    except TransientFailure as error:
        hint = "Start it, or correct PREFECT_API_URL (see docs/operations.md)."
        return [Check("server", Condition.WRONG, f"{urlsplit(url).netloc} {error.message}", hint)]
    return [_version(version), _access(url), *_work(url)]


def check_server_address(url: str) -> None:
    """Raise UsageError unless PREFECT_API_URL is an address that Prefect's client could reach."""
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 80) > 0
    except ValueError:
        fine = False
    if not fine:
        raise UsageError(
            "PREFECT_API_URL is not an http or https address",
            hint="Write it like http://127.0.0.1:4200/api, or leave it out.",
        )


def _refused(error: Answered) -> Check:
    if error.status == 401:
        set_here = "is not the server's" if os.environ.get("PREFECT_API_AUTH_STRING") else "is not set"
        found = f"it answers 401: PREFECT_API_AUTH_STRING {set_here}"
        hint = "Set it to the server's PREFECT_SERVER_API_AUTH_STRING."
        return Check("server", Condition.WRONG, found, hint)
    return Check(
        "server",
        Condition.WRONG,
        f"it {error.message}",
        "Check that PREFECT_API_URL is its address, ending in /api.",
    )


def _version(version: str) -> Check:
    here = metadata.version("prefect")
    if version == here:
        return Check("server", Condition.FINE, f"answers; Prefect {version} on both sides")
    found = f"is Prefect {version}, but {here} is installed here"
    return Check("server", Condition.WRONG, found, "Install requirements.lock in both places.")


def _access(url: str) -> Check:
    """Tell whether somebody without a credential is let in, and from where."""
    try:
        request_json(f"{url}/admin/version", timeout=_TIMEOUT)
    except Answered as error:
        if error.status in (401, 403):
            return Check("access", Condition.FINE, "requires PREFECT_API_AUTH_STRING")
        raise
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    if is_loopback(parts.hostname) and not listens_openly(port, _sockets()):
        return Check("access", Condition.FINE, "needs no credential, but listens on this machine only")
    found = "accepts everybody who can reach it, without a credential"
    return Check("access", Condition.WRONG, found, _OPEN)


def _sockets() -> list[str]:
    """Return Linux's lists of TCP sockets; none elsewhere."""
    names = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
    return [name.read_text(encoding="ascii") for name in names if name.is_file()]


def listens_openly(port: int, sockets: Sequence[str]) -> bool:
    """Tell whether some process here listens on `port` for other machines, by Linux's lists of sockets."""
    for text in sockets:
        for line in text.splitlines()[1:]:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port and not _own(address):
                return True
    return False


def _own(address: str) -> bool:
    """Tell whether an address, in the kernel's hexadecimal, is this machine's own: 127.x or ::1."""
    four = address[-8:]
    mapped = len(address) == 8 or address[:24] == "0000000000000000FFFF0000"
    return four.endswith("7F") if mapped else address == "0" * 24 + "01000000"


def _work(url: str) -> Iterator[Check]:
    """Look at the deployments, and at the pools, workers and runs of those that are there."""
    ours = {"deployments": {"tags": {"all_": [TAG]}}}
    deployments = _post(f"{url}/deployments/filter", ours)
    if not deployments:
        yield Check("deployments", Condition.WRONG, f"none has the tag '{TAG}'", _DEPLOY)
        return
    yield from _deployments(deployments)
    for name in sorted({str(one["work_pool_name"]) for one in deployments if one["work_pool_name"]}):
        yield from _pool(url, name)
    late = _post(f"{url}/flow_runs/count", {**ours, "flow_runs": {"state": {"name": {"any_": ["Late"]}}}})
    if late:
        found = f"{late} are late"
        yield Check("late runs", Condition.WRONG, found, "Start a worker; each period is released once.")
    else:
        yield Check("late runs", Condition.FINE, "none")
    yield _crashed_runs(_post(f"{url}/automations/filter", {}))


def _crashed_runs(automations: Sequence[dict[str, Any]]) -> Check:
    """Look for the automation that marks runs as crashed which say nothing any more."""
    ours = [one for one in automations if _marks_crashed(one)]
    if any(one.get("enabled") for one in ours):
        return Check("crashed runs", Condition.FINE, "an automation marks crashed runs")
    if ours:
        found, hint = (
            f"the automation {ours[0]['name']} is off",
            "Turn it on, on the server's page of automations.",
        )
    else:
        found = "no automation marks crashed runs, so one would block its deployment for ever"
        hint = f"Run `prefect automation create --from-file {_AUTOMATION}`."
    return Check("crashed runs", Condition.WRONG, found, hint)


def _marks_crashed(automation: dict[str, Any]) -> bool:
    trigger = automation.get("trigger") or {}
    return _HEARTBEAT in (trigger.get("after") or []) and any(
        (one.get("type"), one.get("state")) == ("change-flow-run-state", "CRASHED")
        for one in automation.get("actions") or []
    )


def _deployments(deployments: Sequence[dict[str, Any]]) -> Iterator[Check]:
    paused = sorted(str(one["name"]) for one in deployments if one.get("paused"))
    for name in paused:
        hint = "Resume it on the server's page of deployments."
        yield Check("deployments", Condition.WRONG, f"{name} is paused", hint)
    for one in deployments:
        environment = (one.get("job_variables") or {}).get("env") or {}
        keeping = [name for name, value in REQUIRED.items() if str(environment.get(name, value)) != value]
        for name in keeping:
            found = f"{one['name']} sets {name} differently, so Prefect would store data"
            yield Check("deployments", Condition.WRONG, found, f"Correct prefect.yaml. {_DEPLOY}")
    active = [one for one in deployments if any(s.get("active") for s in one.get("schedules") or [])]
    if not active:
        yield Check("deployments", Condition.WRONG, "none has an active schedule", _DEPLOY)
    elif not paused:
        found = f"{len(deployments)} found, {len(active)} with an active schedule"
        yield Check("deployments", Condition.FINE, found)


def _pool(url: str, name: str) -> Iterator[Check]:
    make = f"Run `prefect work-pool create {name} --type process`."
    try:
        pool = request_json(f"{url}/work_pools/{name}", headers=_credential(), timeout=_TIMEOUT)
    except Answered as error:
        yield Check("work pool", Condition.WRONG, f"{name} {error.message}", make)
        return
    if pool["type"] != "process":
        yield Check("work pool", Condition.WRONG, f"{name} is of type {pool['type']}, not process", make)
    elif pool.get("is_paused"):
        hint = f"Run `prefect work-pool resume {name}`."
        yield Check("work pool", Condition.WRONG, f"{name} is paused", hint)
    else:
        yield Check("work pool", Condition.FINE, f"{name} exists, of type process")
    workers = _post(f"{url}/work_pools/{name}/workers/filter", {})
    online = [one for one in workers if one["status"] == "ONLINE"]
    if online:
        yield Check("workers", Condition.FINE, f"{len(online)} of {name} answer")
    else:
        hint = f"Run `prefect worker start --pool {name}`, or its unit of examples/systemd."
        yield Check("workers", Condition.WRONG, f"none of {name} answers", hint)


def _post(url: str, body: dict[str, Any]) -> Any:
    return request_json(url, body, headers=_credential(), timeout=_TIMEOUT)


def _credential() -> dict[str, str]:
    """Return the headers by which Prefect's own client would be let in."""
    try:
        headers = dict(json.loads(os.environ.get(_HEADERS) or "{}"))
    except (ValueError, TypeError):
        raise UsageError(
            f"{_HEADERS} is not a JSON object", hint='Write it like {"X-Name": "text"}, or leave it out.'
        ) from None
    if word := os.environ.get("PREFECT_API_AUTH_STRING"):
        headers["Authorization"] = f"Basic {base64.b64encode(word.encode()).decode()}"
    elif key := os.environ.get("PREFECT_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    return {str(name): str(value) for name, value in headers.items()}
