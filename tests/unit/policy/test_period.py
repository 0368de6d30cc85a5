"""The period of a run is the last one that was over when the run was due."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import UsageError
from policy.period import day_at, has_ended, period_at, periods_apart, read_period, spellings

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


@pytest.mark.parametrize(
    ("kind", "earlier", "period", "apart"),
    [
        ("given", ["2024", "2025"], "2026", [2, 1]),
        ("given", ["2020", "2025"], "2026", [6, 1]),  # missed years count
        ("quarterly", ["2025Q3", "2026Q1", "2026Q1", "2026Q2"], "2026Q1", [2, 0, 0, -1]),
        ("quarterly", ["2025-Q4"], "2026-Q1", [1]),
        ("monthly", ["2025-12", "2026-02"], "2026-01", [1, -1]),
        ("weekly", ["2020W53", "2021W02"], "2021W01", [1, -1]),  # 2020 has 53 weeks
        ("daily", ["2026-02-27", "2026-03-02"], "2026-03-01", [2, -1]),
        # Days of another series: only those that have a release are counted.
        ("given", ["2025-03-31", "2025-06-30", "2025-12-31"], "2025-09-30", [2, 1, -1]),
        ("given", ["2025-03-31", "2025-03-31"], "2025-06-30", [1, 1]),
        ("given", [], "2026", []),
    ],
)
def test_periods_of_the_calendar_are_counted_by_it(
    kind: str, earlier: list[str], period: str, apart: list[int]
) -> None:
    assert periods_apart(earlier, period, kind) == [(count, count) for count in apart]


@pytest.mark.parametrize(
    ("earlier", "period", "apart"),
    [
        (["spring"], "summer", [1]),
        (["spring", "summer", "summer"], "autumn", [2, 1, 1]),
        (["spring", "summer"], "spring", [0, 1]),
        (["2025", "2025Q1"], "2026", [2, 1]),  # not of one form
        (["2021W54"], "2022W01", [1]),  # there is no such week
        (["2025-02-30"], "2025-03-01", [1]),  # nor such a day
        (["2025-13"], "2026-01", [1]),
    ],
)
def test_of_other_names_not_even_the_order_is_known(
    earlier: list[str], period: str, apart: list[int]
) -> None:
    assert periods_apart(earlier, period, "given") == [(-count, count) for count in apart]


@given(
    st.lists(DAYS, min_size=1, max_size=6), DAYS, st.sampled_from(["daily", "weekly", "monthly", "quarterly"])
)
def test_distances_add_up(days: list[date], day: date, kind: str) -> None:
    """From a to c is from a to b and from b to c; a later day is never fewer periods away."""
    names = [period_at(kind, one) for one in days]
    period = period_at(kind, day)
    from_first = [-low for low, _ in periods_apart([*names, period], names[0], kind)]
    to_now = [low for low, _ in periods_apart(names, period, kind)]
    assert all(there + back == from_first[-1] for there, back in zip(from_first, to_now, strict=False))
    for one, count in zip(days, to_now, strict=True):
        assert count >= 0 if one <= day else count <= 0


@pytest.mark.parametrize(
    ("zone", "moment", "kind", "period"),
    [
        ("Asia/Tokyo", "2025-12-31T15:30:00+00:00", "quarterly", "2025Q4"),  # 00:30 on 1 January there
        ("UTC", "2025-12-31T15:30:00+00:00", "quarterly", "2025Q3"),
        ("America/New_York", "2026-01-01T04:30:00+00:00", "monthly", "2025-11"),  # still December there
        ("America/New_York", "2026-01-01T05:00:00+00:00", "monthly", "2025-12"),
        ("Pacific/Kiritimati", "2026-04-04T10:00:00+00:00", "weekly", "2026W13"),  # a Sunday there
        ("Pacific/Kiritimati", "2026-04-05T10:00:00+00:00", "weekly", "2026W14"),  # a Monday there
        ("Europe/Berlin", "2026-03-29T22:00:00+00:00", "daily", "2026-03-29"),  # the clock went on that night
    ],
)
def test_the_day_is_counted_in_the_policys_time_zone(zone: str, moment: str, kind: str, period: str) -> None:
    assert period_at(kind, day_at(datetime.fromisoformat(moment), zone)) == period


@given(st.integers(0, 4 * 10**9), st.integers(-14, 14))
def test_one_moment_is_one_day_in_a_zone_however_it_is_written(seconds: int, hours: int) -> None:
    moment = datetime.fromtimestamp(seconds, UTC)
    there = moment.astimezone(timezone(timedelta(hours=hours)))
    assert day_at(there, "Asia/Tokyo") == day_at(moment, "Asia/Tokyo")


@pytest.mark.parametrize(
    ("written", "kind", "period"),
    [
        ("2026-Q1", "quarterly", "2026Q1"),
        ("2026q1", "given", "2026Q1"),
        ("2026-w07", "weekly", "2026W07"),
        ("2026-03", "monthly", "2026-03"),
        ("2026-03-31", "daily", "2026-03-31"),
        ("spring-Q1", "given", "spring-Q1"),
        ("2026-Q1b", "given", "2026-Q1b"),
        ("2026Q9", "given", "2026Q9"),
    ],
)
def test_a_period_has_one_spelling(written: str, kind: str, period: str) -> None:
    assert read_period(written, kind) == period
    assert read_period(period, kind) == period
    assert {written, period} <= set(spellings(written))
    assert written in spellings(period)


@pytest.mark.parametrize(
    ("written", "kind", "finding"),
    [
        ("2026-3", "monthly", "the period '2026-3' is no month"),
        ("2026Q9", "quarterly", "the period '2026Q9' is no quarter"),
        ("2026-03", "quarterly", "is no quarter"),
        ("2026W54", "weekly", "is no week"),
        ("2026-02-30", "daily", "is no day"),
        ("", "quarterly", "is no quarter"),
    ],
)
def test_a_series_of_the_calendar_takes_no_other_period(written: str, kind: str, finding: str) -> None:
    with pytest.raises(UsageError, match=finding):
        read_period(written, kind)


@given(DAYS, st.sampled_from(["daily", "weekly", "monthly", "quarterly"]))
def test_what_a_schedule_yields_is_spelt_as_it_is_read(day: date, kind: str) -> None:
    period = period_at(kind, day)
    assert read_period(period, kind) == period
    assert all(read_period(one, kind) == period for one in spellings(period))


@pytest.mark.parametrize(
    ("kind", "day", "ended", "running", "ahead"),
    [
        ("daily", date(2026, 4, 1), "2026-03-31", "2026-04-01", "2026-04-02"),
        ("weekly", date(2027, 1, 3), "2026W52", "2026W53", "2027W01"),
        ("monthly", date(2026, 12, 31), "2026-11", "2026-12", "2027-01"),
        ("quarterly", date(2026, 12, 31), "2026Q3", "2026Q4", "2027Q1"),
        ("quarterly", date(2026, 10, 1), "2026Q3", "2026Q4", "2099Q1"),
    ],
)
def test_a_period_that_has_not_begun_is_refused(
    kind: str, day: date, ended: str, running: str, ahead: str
) -> None:
    assert has_ended(ended, kind, day)
    assert not has_ended(running, kind, day)
    with pytest.raises(UsageError, match=f"the period {ahead} has not begun") as caught:
        has_ended(ahead, kind, day)
    assert caught.value.hint == f"Name a period that has ended, such as {ended}."
    assert has_ended(ahead, "given", day)


@given(DAYS, st.sampled_from(["daily", "weekly", "monthly", "quarterly"]))
def test_the_last_complete_period_has_ended_and_not_before_its_end(day: date, kind: str) -> None:
    period = period_at(kind, day)
    assert has_ended(period, kind, day)
    earlier = day - timedelta(days=1)
    if period_at(kind, earlier) != period:
        assert not has_ended(period, kind, earlier)
