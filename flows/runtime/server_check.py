"""Ask the Prefect server that a run is to use whether it is there, before the run begins."""

from __future__ import annotations

from urllib.parse import urlsplit

from policy.errors import ReleaseGateError, TransientFailure, UsageError
from services.observability.notice_channels import API_VARIABLE

ANSWERS_WITHIN = 60.0  # seconds; a busy server is slow
CLOUD = ".prefect.cloud"  # its workspaces have no address that says whether the server is there


def check_server() -> None:
    """Raise UsageError where Prefect's settings name no server's address, or another service answers there;
    TransientFailure where nobody answers in time. Nothing else is asked, and nothing is done.
    """
    from prefect.settings import PREFECT_API_URL

    address = str(PREFECT_API_URL.value())
    hint = f"Correct {API_VARIABLE} (`prefect config view` shows it), or start the server."
    try:
        parts = urlsplit(address)
        shown = (
            f"{parts.scheme}://{parts.hostname or ''}:{parts.port or {'https': 443}.get(parts.scheme, 80)}"
        )
    except ValueError:
        raise UsageError("is no address of a server", where=API_VARIABLE, hint=hint) from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not address.isprintable()
        or " " in address
    ):
        raise UsageError("is no address of a server", where=API_VARIABLE, hint=hint)
    if not parts.hostname.endswith(CLOUD) and (failure := _failure(shown, hint)) is not None:
        raise failure


def _failure(shown: str, hint: str) -> ReleaseGateError | None:
    """Return what a user is told of a server that does not answer as Prefect's does."""
    from httpx import HTTPStatusError
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings

    with (
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 0}),
        get_client(sync_client=True, httpx_settings={"timeout": ANSWERS_WITHIN}) as client,
    ):
        problem = client.api_healthcheck()
    if problem is None:
        return None
    if isinstance(problem, HTTPStatusError):
        status = problem.response.status_code
        message = f"the server at {shown} answers with status {status}: it is not Prefect's, or not ready"
        return UsageError(message, where=API_VARIABLE, hint=hint)
    message = f"no Prefect server answers at {shown} ({type(problem).__name__})"
    return TransientFailure(message, where=API_VARIABLE, hint=hint)
