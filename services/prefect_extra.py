"""Prefect is an extra: a run needs it only where a server is to show it, or a schedule starts it."""

from __future__ import annotations

from importlib.util import find_spec

MISSING = "needs the package prefect, which is not installed"
INSTALL = "Run `pip install 'releasegate[server]'`, or unset PREFECT_API_URL."


def prefect_is_installed() -> bool:
    """Tell whether Prefect can be imported; it is not."""
    return find_spec("prefect") is not None
