"""What the site reads of a store: all at one moment; what no store writes there is refused in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from policy.errors import StoreError, VerificationFailed
from release_store.snapshot import StoreSnapshot, read_snapshot
from reports.documents import check_known_series

_HINT = "Run `releasegate verify` for details; restore the store from a backup."


@contextmanager
def refusing_alterations() -> Iterator[None]:
    """Let what cannot be read of an open history end with VerificationFailed, as what was altered does."""
    try:
        yield
    except StoreError as error:
        raise VerificationFailed(error.message, where=error.where, hint=error.hint or _HINT) from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, duckdb.ConversionException):
        raise VerificationFailed("the history has invalid content", hint=_HINT) from None


def read_history(con: duckdb.DuckDBPyConnection, series: str | None = None) -> StoreSnapshot:
    """Return all about one series or all. Raises UsageError for a series that the store does not know."""
    whole = read_snapshot(con, series)
    if series is not None and not whole.known_series:
        known = con.execute("SELECT series FROM candidate UNION SELECT series FROM validation").fetchall()
        check_known_series(series, sorted(name for (name,) in known))
    return whole
