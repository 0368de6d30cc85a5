"""Five series about school, work and money: students, pupils, a payroll, loans, and residents."""

from __future__ import annotations

from datetime import date

import numpy as np
from numpy.typing import NDArray

from benchmarks import untidy
from benchmarks.untidy import UntidyTable
from benchmarks.untidy_series.series import (
    PeriodTable,
    Texts,
    both,
    changed,
    days,
    everybody,
    in_periods,
    isoformat,
    pick,
    present,
    spelt,
)

TITLES = tuple(
    f"{rank} {what}"
    for what in ("clerk", "nurse", "driver", "planner", "cook", "analyst", "cleaner", "guard", "fitter",
                 "buyer", "editor", "tester")
    for rank in ("Junior", "Senior", "Chief", "Deputy", "Acting")
)  # fmt: skip
SITES = ("Li\u00e8ge", "Gen\u00e8ve", "K\u00f6ln", "Z\u00fcrich", "Brussels")
ABSENCES = ("none", "back pain", "depression", "parental leave", "accident", "burnout", "surgery")
PURPOSES = tuple(f"purpose {number:02}" for number in range(60))
BANDS = ("under 18", "18-29", "30-44", "45-59", "60-79", "80 or older")
RELIGIONS = ("Catholic", "none", "Protestant", "Muslim", "Orthodox", "Jewish", "not told")
NATIONS = (
    "Austria",
    "Belgium",
    "Congo, Republic of",
    "Denmark",
    "Korea, Republic of",
    "Egypt",
)


def students(rows: int, seed: int) -> list[PeriodTable]:
    """Return three periods of the students of `benchmarks.untidy`, of which one has a byte order mark."""
    periods = zip(untidy.PERIODS[1:], untidy.students(rows, seed)[1:], strict=True)
    return [
        PeriodTable(period, one, one.clean["id_student"].astype("int64").to_numpy())
        for period, one in periods
    ]


def payroll(rows: int, seed: int) -> list[PeriodTable]:
    """Return a payroll in Windows-1252: pay in dollars with negatives, hire dates, 60 titles."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.9)
    n = everybody(who)
    hired = days(draw, date(1985, 1, 1), date(2018, 12, 31), n)
    cents = draw.integers(2_500_000, 12_000_000, n)
    cents = np.where(draw.random(n) < 0.01, -draw.integers(1_000, 99_999, n), cents)
    people = {
        "employee_id": np.array([f"{one:05}" for one in draw.permutation(n) + 1], dtype=object),
        "gender": pick(draw, ("female", "male"), n),
        "site": pick(draw, SITES, n, 0.2),
        "job_title": pick(draw, TITLES, n, 0.03),
        "hire_date": isoformat(hired),
        "absence_reason": pick(draw, ABSENCES, n, 0.3),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        pay = (cents[here] * draw.normal(1.02, 0.08, len(here))).astype(np.int64)  # with its overtime
        clean["total_pay"] = np.array([f"{one / 100:.2f}" for one in pay], dtype=object)
        dollars = [f"{'-' if one < 0 else ''}${abs(one) / 100:,.2f}" for one in pay]
        written, right = both(
            clean,
            {
                "total_pay": np.array(dollars, dtype=object),
                "hire_date": np.array([f"{hired[one]:%m/%d/%Y}" for one in here], dtype=object),
                "gender": spelt(draw, clean["gender"]),
            },
        )
        return UntidyTable(f"payroll{period}.csv", written, right, encoding="windows-1252")

    return in_periods(("2019", "2020", "2021"), who, table)


def loans(rows: int, seed: int) -> list[PeriodTable]:
    """Return borrowers in Windows-1252: amounts in euros, postal codes with zeros, 60 purposes."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.7)
    n = everybody(who)
    born = days(draw, date(1945, 1, 1), date(2000, 1, 1), n)
    cents = draw.integers(20, 400, n) * 50_000
    people = {
        "customer_id": np.array([f"{one:08}" for one in draw.permutation(n) + 1], dtype=object),
        "date_of_birth": isoformat(born),
        "plz": pick(draw, untidy.POSTCODES, n),
        "purpose": pick(draw, PURPOSES, n, 0.04),
        "default": pick(draw, ("no", "yes"), n, 0.6),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        clean["amount"] = np.array([f"{one / 100:.2f}" for one in cents[here]], dtype=object)
        euros = [f"{one / 100:,.2f} \u20ac".translate(str.maketrans(",.", ".,")) for one in cents[here]]
        written, right = both(
            clean,
            {
                "amount": np.array(euros, dtype=object),
                "date_of_birth": np.array([f"{born[one]:%d.%m.%Y}" for one in here], dtype=object),
            },
        )
        return UntidyTable(f"loans_{period}.csv", written, right, delimiter=";", encoding="windows-1252")

    return in_periods(("202301", "202302", "202303"), who, table)


def residents(rows: int, seed: int) -> list[PeriodTable]:
    """Return a population that only grows: bands of ages, nations with commas, several unknowns."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 1.0, grow=0.03)
    n = everybody(who)
    people = {
        "person": np.array([f"R{one:05}" for one in draw.permutation(n)], dtype=object),
        "age_group": pick(draw, BANDS, n),
        "sex": pick(draw, ("female", "male"), n),
        "nationality": pick(draw, NATIONS, n, 0.2),
        "religion": pick(draw, RELIGIONS, n, 0.2),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        unknown = draw.random(len(here)) < 0.02
        marks = pick(draw, ("n/a", "-", "#N/A", ""), len(here))
        nation = np.where(unknown, marks, clean["nationality"])
        clean["nationality"] = np.where(unknown, None, clean["nationality"])
        written, right = both(clean, {"nationality": nation, "sex": spelt(draw, clean["sex"])})
        return UntidyTable(f"residents.{period}.csv", written, right)

    return in_periods(("2021-H1", "2021-H2", "2022-H1"), who, table)


def pupils(rows: int, seed: int) -> list[PeriodTable]:
    """Return pupils: the school year in a column, free text, and results that change."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.8)
    n = everybody(who)
    results = ("passed", "failed", "repeats the year", "left, no result")
    people = {
        "pupil_ref": np.array([f"{one:06}" for one in draw.permutation(n) + 1], dtype=object),
        "sex": pick(draw, ("female", "male"), n),
        "school": pick(draw, tuple(f"School {one:02}" for one in range(24)), n, 0.05),
        "language": pick(draw, ("German", "Turkish", "Polish", "Arabic", "Russian"), n, 0.4),
    }
    age = draw.integers(6, 17, n)

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        clean["school_year"] = np.full(len(here), period, dtype=object)
        years = int(period[:4]) - 2019
        clean["age"] = np.array([str(one + years) for one in age[here]], dtype=object)
        clean["result"] = pick(draw, results, len(here), 0.3)
        remarks = [f"talked to the parents of no. {one}, twice" for one in here]
        clean["remarks"] = np.array(remarks, dtype=object)
        clean["language"] = changed(draw, clean["language"], 0.02, ("German",))
        people["language"][here] = clean["language"]
        written, right = both(clean, {"sex": spelt(draw, clean["sex"])})
        return UntidyTable(f"pupils {period}.csv", written, right)

    return in_periods(("2019-20", "2020-21", "2021-22"), who, table)
