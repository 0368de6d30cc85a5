"""Periods: which one a run is for, and how many lie between two of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from policy.errors import UsageError

_Reader = Callable[[str], int | None]


def period_at(kind: str, day: date) -> str:
    """Return the last period of `kind` that was complete on `day`; for `given`, the day itself.

    Written as 2026-03-31 (given, daily), 2026W13 (ISO week), 2026-03 (monthly) or 2026Q1 (quarterly).
    """
    if kind == "quarterly":
        last = day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1) - timedelta(days=1)
        return f"{last.year}Q{(last.month + 2) // 3}"
    if kind == "monthly":
        last = day.replace(day=1) - timedelta(days=1)
        return f"{last.year}-{last.month:02d}"
    if kind == "weekly":
        year, week, _ = (day - timedelta(days=day.isoweekday())).isocalendar()
        return f"{year}W{week:02d}"
    return (day - timedelta(days=1) if kind == "daily" else day).isoformat()


def day_at(moment: datetime, timezone: str) -> date:
    """Return the day that an aware `moment` is on in `timezone`, an IANA name."""
    return moment.astimezone(ZoneInfo(timezone)).date()


def read_period(text: str, kind: str) -> str:
    """Return a period that was given by its one spelling: 2026Q1 for 2026-Q1 or 2026q1, 2026W13 for 2026-W13.

    Raises UsageError for what is no period of `kind`, where that is of the calendar: a quarter that is
    written as a month would be another period, and have a release of its own.
    """
    period = _joined(text)
    form, example = _FORM_OF.get(kind, ("", ""))
    if form and _FORMS[form](period) is None:
        raise UsageError(
            f"the period {text!r} is no {form}, and the policy's period is {kind}",
            where="--period",
            hint=f"Write it like {example}.",
        )
    return period


def current_period(kind: str, timezone: str, given: str | None, moment: datetime) -> str:
    """Return the period `given`, by its one spelling, or the last that was complete at `moment`."""
    return period_at(kind, day_at(moment, timezone)) if given is None else read_period(given, kind)


def has_ended(period: str, kind: str, day: date) -> bool:
    """Tell whether a period has ended before `day`; one of a `given` series always has.

    Raises UsageError for one that has not begun by then: nothing can be known of it yet.
    """
    form, _ = _FORM_OF.get(kind, ("", ""))
    read = _FORMS[form] if form else None
    place = read(period) if read else None
    last = read(period_at(kind, day)) if read else None
    if place is None or last is None or place <= last:
        return True
    if place == last + 1:
        return False
    raise UsageError(
        f"the period {period} has not begun: it is {day} in the policy's time zone",
        where="--period",
        hint=f"Name a period that has ended, such as {period_at(kind, day)}.",
    )


def period_form(period: str) -> str | None:
    """Return the form of a period: year, quarter, month, week or day; None if it is not of the calendar."""
    return next((form for form, read in _FORMS.items() if read(period) is not None), None)


def period_with(day: date, form: str) -> str:
    """Return the period of a form that a day is in."""
    if form == "year":
        return f"{day.year:04d}"
    if form == "quarter":
        return f"{day.year:04d}Q{(day.month + 2) // 3}"
    if form == "month":
        return f"{day.year:04d}-{day.month:02d}"
    if form == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}W{week:02d}"
    return day.isoformat()


def first_day(period: str) -> date | None:
    """Return the first day of a period of the calendar, None for other names."""
    year = int(period[:4]) if period[:4].isdigit() and period[:4] != "0000" else 0
    form = period_form(period) if year else None
    if form == "quarter":
        return date(year, 3 * int(period[-1]) - 2, 1)
    if form == "month":
        return date(year, int(period[-2:]), 1)
    if form == "week":
        return date.fromisocalendar(year, int(period[-2:]), 1)
    if form == "day":
        return date.fromisoformat(period)
    return None if form is None else date(year, 1, 1)


def last_day(period: str) -> date | None:
    """Return the last day of a period of the calendar, None for other names."""
    first, form = first_day(period), period_form(period)
    if first is None or form is None or first.year == date.max.year:
        return first
    day = first
    while period_with(day + timedelta(days=1), form) == period_with(first, form):
        day += timedelta(days=1)
    return day


def spellings(period: str) -> tuple[str, ...]:
    """Return every way to write a period that names the same one, as stores may hold them; its own first."""
    own = _joined(period)
    if own == period and not _LETTERED.fullmatch(period):
        return (period,)
    year, rest = own[:4], own[4:]
    written = (period, own, f"{year}-{rest}", f"{year}{rest.lower()}", f"{year}-{rest.lower()}")
    return tuple(dict.fromkeys(written))


def _joined(text: str) -> str:
    return text.replace("-", "").upper() if _LETTERED.fullmatch(text) else text


def periods_apart(earlier: Sequence[str], period: str, kind: str) -> list[tuple[int, int]]:
    """Return for each earlier release's period how many periods `period` comes after it: least and most.

    Where all are years, quarters, months or ISO weeks, or days of a `daily` series, the calendar counts, so
    that a missed period counts too; a period before the other is negative, the same one 0. Days of
    another series are ordered, and the periods between that have a release are counted. Of names that are no
    calendar's, not even the order is known: those that have a release since then are counted both ways.
    """
    for form, read in _FORMS.items():
        places = [read(one) for one in (*earlier, period)]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            continue
        if form == "day" and kind != "daily":
            order = sorted(set(known))
            known = [order.index(place) for place in known]
        return [(known[-1] - place, known[-1] - place) for place in known[:-1]]
    since = [0 if one == period else len(set(earlier[at:]) - {period}) for at, one in enumerate(earlier)]
    return [(-count, count) for count in since]


def _year(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{4}", text) else None


def _quarter(text: str) -> int | None:
    found = re.fullmatch(r"(\d{4})-?Q([1-4])", text)
    return 4 * int(found[1]) + int(found[2]) if found else None


def _month(text: str) -> int | None:
    found = re.fullmatch(r"(\d{4})-(0[1-9]|1[0-2])", text)
    return 12 * int(found[1]) + int(found[2]) if found else None


def _week(text: str) -> int | None:
    found = re.fullmatch(r"(\d{4})-?W(\d\d)", text)
    try:
        return date.fromisocalendar(int(found[1]), int(found[2]), 1).toordinal() // 7 if found else None
    except ValueError:
        return None


def _day(text: str) -> int | None:
    try:
        return date.fromisoformat(text).toordinal() if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:
        return None


_FORMS: dict[str, _Reader] = {"year": _year, "quarter": _quarter, "month": _month, "week": _week, "day": _day}
_LETTERED = re.compile(r"\d{4}-?(?:[Qq][1-4]|[Ww]\d\d)")
_FORM_OF = {
    "daily": ("day", "2026-03-31"),
    "weekly": ("week", "2026W13"),
    "monthly": ("month", "2026-03"),
    "quarterly": ("quarter", "2026Q1"),
}
