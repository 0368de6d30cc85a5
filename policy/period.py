"""The period that a run is for, from the moment for which it was scheduled."""

from __future__ import annotations

from datetime import date, timedelta


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
