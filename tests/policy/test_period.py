"""The period of a run is the last one that was over when the run was due."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.period import period_at

DAYS = st.dates(min_value=date(1990, 1, 1), max_value=date(2100, 12, 31))


@pytest.mark.parametrize(
    ("kind", "day", "period"),
    [
        ("given", date(2026, 4, 1), "2026-04-01"),
        ("daily", date(2026, 4, 1), "2026-03-31"),
        ("daily", date(2024, 3, 1), "2024-02-29"),
        ("weekly", date(2026, 4, 5), "2026W13"),  # a Sunday: its own week is not over
        ("weekly", date(2026, 4, 6), "2026W14"),
        ("weekly", date(2027, 1, 4), "2026W53"),
        ("weekly", date(2026, 1, 3), "2025W52"),
        ("monthly", date(2026, 4, 1), "2026-03"),
        ("monthly", date(2026, 4, 30), "2026-03"),
        ("monthly", date(2026, 1, 31), "2025-12"),
        ("quarterly", date(2026, 4, 1), "2026Q1"),
        ("quarterly", date(2026, 6, 30), "2026Q1"),
        ("quarterly", date(2026, 1, 1), "2025Q4"),
        ("quarterly", date(2026, 12, 31), "2026Q3"),
    ],
)
def test_the_period_is_the_last_complete_one(kind: str, day: date, period: str) -> None:
    assert period_at(kind, day) == period


def _first_days(kind: str, day: date) -> bool:
    """Tell whether a period of `kind` begins on `day`."""
    begins = {
        "daily": True,
        "weekly": day.isoweekday() == 1,
        "monthly": day.day == 1,
        "quarterly": day.day == 1 and day.month in (1, 4, 7, 10),
    }
    return begins[kind]


@pytest.mark.parametrize("kind", ["daily", "weekly", "monthly", "quarterly"])
@given(day=DAYS)
def test_the_period_changes_on_a_first_day_and_on_no_other(kind: str, day: date) -> None:
    changed = period_at(kind, day) != period_at(kind, day - timedelta(days=1))
    assert changed is _first_days(kind, day)


@pytest.mark.parametrize("kind", ["given", "daily", "weekly", "monthly", "quarterly"])
@given(day=DAYS, later=st.integers(1, 2000))
def test_periods_never_come_back(kind: str, day: date, later: int) -> None:
    assert period_at(kind, day) <= period_at(kind, day + timedelta(days=later))
