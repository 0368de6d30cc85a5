"""Prefect's and Great Expectations' settings: quiet, local, and nothing of the data kept.

Applied where the package `flows` is imported, before either of them. A setting that the user made stays, but
those that keep data out of Prefect's database and storage are not for choice.
"""

from __future__ import annotations

import os
from urllib.parse import quote, urlsplit

from flows.runtime import machine_limits, working_folder
from services.doctor.required_settings import REQUIRED

SITE_VARIABLE = "RELEASEGATE_SITE_URL"
# A flow that is called where no server is named would start one, with all of the environment and no password.
_OWN_SERVER = "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE"
_SAME = {"false": ("false", "0", "off", "no", "f", "n"), "true": ("true", "1", "on", "yes", "t", "y")}
_SAME["1"] = _SAME["true"]
DEFAULTS = {
    # Errors come home as one or two lines; Prefect would log each of them with a traceback.
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_CLI_PROMPT": "false",
}


contradicted: list[str] = []
"""The settings that keep data out, and that the environment had otherwise."""


def apply_prefect_settings() -> None:
    """Set what must be, and what the user left open."""
    working_folder.ignore_working_folder()
    machine_limits.apply_process_limits()
    contradicted[:] = [
        name for name, value in REQUIRED.items() if os.environ.get(name, value).lower() not in _SAME[value]
    ]
    os.environ.update(REQUIRED)
    os.environ[_OWN_SERVER] = "false"
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)


def site_url() -> str:
    """Return the address at which the site of the store is served; "" where none of http is set."""
    given = os.environ.get(SITE_VARIABLE, "").strip()
    try:
        parts = urlsplit(given)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        return ""
    return quote(given.rstrip("/"), safe=":/@[]%~")
