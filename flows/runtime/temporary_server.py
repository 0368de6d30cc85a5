"""The server that Prefect starts for one command: behind a password, and told no secret of ours."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from services.environment import child_environment

SERVER_WORD = "PREFECT_SERVER_API_AUTH_STRING"
CLIENT_WORD = "PREFECT_API_AUTH_STRING"


def guard() -> None:
    """Have temporary servers started by `_start`."""
    from prefect.server.api.server import SubprocessASGIServer

    SubprocessASGIServer._run_uvicorn_command = _start  # type: ignore[method-assign]


def agree_on_password() -> None:
    """Make a password for the temporary server, where the settings name no server and no password."""
    from prefect.context import refresh_global_settings_context
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    if settings.api.url or settings.api.auth_string or settings.server.api.auth_string:
        return
    word = f"releasegate:{secrets.token_urlsafe(32)}"
    os.environ[CLIENT_WORD] = os.environ[SERVER_WORD] = word
    refresh_global_settings_context()


def _start(self: Any) -> subprocess.Popen[Any]:
    """Start uvicorn as Prefect does, from a folder in which nothing is to be read."""
    import prefect
    from prefect.settings import get_current_settings

    folder = Path(prefect.__file__).parent
    return subprocess.Popen(
        args=[
            sys.executable,
            "-m",
            "uvicorn",
            "--app-dir",
            str(folder.parent),
            "--factory",
            "prefect.server.api.server:create_app",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--log-level",
            "error",
            "--lifespan",
            "on",
        ],
        cwd=folder,
        env={
            **child_environment(),
            "PREFECT_UI_ENABLED": "0",
            "PREFECT__SERVER_EPHEMERAL": "1",
            "PREFECT__SERVER_FINAL": "1",
            **get_current_settings().to_environment_variables(exclude_unset=True),
            "PYTHONSAFEPATH": "1",
        },
    )
