"""Who acts, where the command does not say."""

from __future__ import annotations

import getpass
import os


def system_user() -> str:
    """Return who RELEASEGATE_ACTOR names, else the system's user."""
    return os.environ.get("RELEASEGATE_ACTOR") or getpass.getuser()
