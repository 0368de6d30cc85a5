"""Values that a spreadsheet took for something else: bands that became dates, and codes that lost zeros."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, timedelta

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAY_AND_MONTH = re.compile(r"(\d{1,2})-([a-z]{3})", re.IGNORECASE)
MONTH_AND_DAY = re.compile(r"([a-z]{3})-(\d{1,2})", re.IGNORECASE)
SERIAL = re.compile(r"[34]\d{4}|5[0-4]\d{3}")  # days of 1982 to 2050, as spreadsheets count them
BAND = re.compile(r"(\d+) ?[-\u2013] ?(\d+) ?(%?)")
FEWEST_BANDS = 2  # of a column, so that a day of a month in it was one


def changed_bands(values: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the bands that a column's values may have been, each with the other spellings of it.

    A spreadsheet takes `10-20` for the 20th of October and writes `20-Oct` or `Oct-20`, or the number of that
    day. Where all other bands end in `%`, so does what is returned. Empty where the column has no bands.
    """
    listed = list(values)
    bands = {value: found for value in listed if (found := BAND.fullmatch(value))}
    if len(bands) < FEWEST_BANDS:
        return {}
    shares = 2 * sum(found[3] == "%" for found in bands.values()) > len(bands)
    sign = "%" if shares else ""
    spellings: dict[str, list[str]] = {}
    for value in listed:
        if value in bands:
            low, high = int(bands[value][1]), int(bands[value][2])
            if bands[value][3] != sign:
                spellings.setdefault(f"{low}-{high}{sign}", []).append(value)
        elif ends := _day_and_month(value):
            spellings.setdefault(f"{min(ends)}-{max(ends)}{sign}", []).append(value)
    return {band: tuple(sorted(others)) for band, others in sorted(spellings.items())}


def _day_and_month(value: str) -> tuple[int, int] | None:
    if found := DAY_AND_MONTH.fullmatch(value):
        day, month = found[1], found[2]
    elif found := MONTH_AND_DAY.fullmatch(value):
        day, month = found[2], found[1]
    elif SERIAL.fullmatch(value):
        on = date(1899, 12, 30) + timedelta(days=int(value))
        return on.day, on.month
    else:
        return None
    return (int(day), MONTHS.index(month.lower()) + 1) if month.lower() in MONTHS else None
