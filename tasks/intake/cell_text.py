"""One cell of Python's types as the text that a CSV file would hold."""

from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal

import numpy as np

BEGINNING = 40  # characters that are looked at of a column that a run does not read


class NoCell(TypeError):
    """A cell holds something else than a text, a number, a truth value or a time."""


def cell_text(cell: object) -> str | None:
    """Return a cell as text, None if it is missing: ISO 8601 for times, true or false, digits for numbers.

    A time at midnight is written as its date alone. NaN, NaT and NA are missing. Raises NoCell.
    """
    if cell is None or _is_missing_in_pandas(cell):
        return None
    if isinstance(cell, str):
        return str(cell)
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    return _time(cell) if isinstance(cell, dt.date | dt.time | dt.timedelta) else _number(cell)


def beginning(cell: object) -> str | None:
    """Return the first characters of a cell that is not read, None if it is missing or cannot be a text."""
    try:
        text = cell_text(cell) or ""
    except Exception:  # of whatever a program puts into a frame
        return None
    return text[:BEGINNING].encode(errors="ignore").decode().replace("\0", "") or None


def _is_missing_in_pandas(cell: object) -> bool:
    pandas = sys.modules.get("pandas")  # without it, no cell is one of its own
    return pandas is not None and (cell is pandas.NaT or cell is pandas.NA)


def _number(cell: object) -> str | None:
    if isinstance(cell, int | np.integer):
        return str(int(cell))
    if isinstance(cell, float | np.floating):
        return None if np.isnan(cell) else repr(float(str(cell)))  # of float32 the shortest form
    if isinstance(cell, Decimal):
        return None if cell.is_nan() else str(cell)
    raise NoCell


def _time(cell: dt.date | dt.time | dt.timedelta) -> str:
    if isinstance(cell, dt.timedelta):
        return str(cell)
    if isinstance(cell, dt.datetime):
        midnight = cell.timetz() == dt.time() and not getattr(cell, "nanosecond", 0)  # which pandas has
        return cell.date().isoformat() if midnight else cell.isoformat(sep=" ")
    return cell.isoformat()
