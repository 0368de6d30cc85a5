"""Names that become folders and keys: checked before they reach a path."""

from __future__ import annotations

import re

from policy.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PERIOD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_series(series: str) -> None:
    """Raise UsageError unless `series` can name a folder."""
    _check(_NAME, "series", series, "at most 64 letters, digits, '_' and '-'")


def check_period(period: str) -> None:
    """Raise UsageError unless `period` can be part of a folder's name."""
    _check(_PERIOD, "period", period, "at most 64 letters, digits, '.', '_' and '-'")


def check_file_name(name: str) -> None:
    """Raise UsageError unless `name` is a plain file name that is not hidden."""
    _check(_FILE, "file", name, "at most 128 letters, digits, '.', '_' and '-'")


def _check(pattern: re.Pattern[str], kind: str, name: str, allowed: str) -> None:
    if not pattern.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid name for a {kind}", hint=f"Use {allowed}; begin with a letter or digit."
        )
