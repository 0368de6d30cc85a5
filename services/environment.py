"""The environment of child processes that are not ours."""

from __future__ import annotations

import os

OWN_PREFIX = "RELEASEGATE_"


def child_environment() -> dict[str, str]:
    """Return the environment without our variables, tokens and keys among them."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OWN_PREFIX)}
