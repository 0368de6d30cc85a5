"""Five series about health: a survey, a clinic, visits, a register without a key, and a panel."""

from __future__ import annotations

from datetime import date

import numpy as np
from numpy.typing import NDArray

from benchmarks.untidy import UntidyTable
from benchmarks.untidy_series.series import (
    PeriodTable,
    Texts,
    both,
    changed,
    days,
    everybody,
    icd_codes,
    in_periods,
    pick,
    present,
    spelt,
)

AGES = ("18-24", *(f"{low}-{low + 4}" for low in range(25, 80, 5)), "80 or older")
DIABETIC = ("No", "Yes", "No, borderline diabetes", "Yes (during pregnancy)")
HEALTH = ("Very good", "Good", "Excellent", "Fair", "Poor")
CZECH_TOWNS = ("Plze\u0148", "T\u0159eb\u00ed\u010d", "Ostrava", "D\u011b\u010d\u00edn", "\u0160umperk")
TOWNS = tuple(f"{begin}{end}" for begin in ("Ash", "Birk", "Cold", "Dun") for end in ("ford", "ham", "wick"))
DISEASES = ("asthma", "diabetes", "hypertension", "depression", "arthritis", "none", "cancer")


def survey(rows: int, seed: int) -> list[PeriodTable]:
    """Return a survey that asks other people each year, with bands of ages, commas and five sexes."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.0)
    n = everybody(who)
    people = {
        "AgeCategory": pick(draw, AGES, n),
        "Sex": pick(draw, ("female", "male"), n),
        "Smoking": pick(draw, ("No", "Yes"), n, 0.3),
        "Diabetic": pick(draw, DIABETIC, n, 0.5),
        "GenHealth": pick(draw, HEALTH, n, 0.2),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean = {name: cells[here] for name, cells in people.items()}
        written, right = both(clean, {"Sex": spelt(draw, clean["Sex"])})
        return UntidyTable(f"survey_{period}.csv", written, right)

    return in_periods(("2019", "2020", "2021"), who, table)


def clinic(rows: int, seed: int) -> list[PeriodTable]:
    """Return a clinic's patients at three days, in Windows-1250, delimited by semicolons."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.9)
    n = everybody(who)
    born, codes = days(draw, date(1935, 1, 1), date(2002, 1, 1), n), icd_codes(draw, 30)
    numbers = draw.permutation(n) + 1
    people = {
        "patient_no": np.array([f"{one:06}" for one in numbers], dtype=object),
        "birth_day": np.array([str(one.day) for one in born], dtype=object),
        "birth_month": np.array([str(one.month) for one in born], dtype=object),
        "birth_year": np.array([str(one.year) for one in born], dtype=object),
        "sex": pick(draw, ("female", "male"), n),
        "town": pick(draw, CZECH_TOWNS, n, 0.2),
        "dx_code": pick(draw, codes, n, 0.08),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        weight = draw.integers(480, 1_200, len(here)) / 10
        clean["weight_kg"] = np.array([f"{one:.1f}" for one in weight], dtype=object)
        comma = np.array([f"{one:.1f}".replace(".", ",") for one in weight], dtype=object)
        written, right = both(clean, {"weight_kg": comma, "sex": spelt(draw, clean["sex"])})
        return UntidyTable(f"clinic-{period}.csv", written, right, delimiter=";", encoding="windows-1250")

    return in_periods(("2020-04-14", "2020-07-14", "2020-10-14"), who, table)


def visits(rows: int, seed: int) -> list[PeriodTable]:
    """Return visits of patients, one to three rows a person and quarter, by the key `pid`."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows // 2, 0.9)
    n = everybody(who)
    codes = icd_codes(draw, 24)
    people = {
        "pid": np.array([str(one) for one in draw.permutation(n) + 50_000], dtype=object),
        "yob": np.array([str(one) for one in draw.integers(1935, 2003, n)], dtype=object),
        "gender": pick(draw, ("female", "male"), n),
        "district": pick(draw, TOWNS[:8], n, 0.1),
    }
    found = []
    for number, period in enumerate(("2023Q1", "2023Q2", "2023Q3")):
        rows_of = np.repeat(who[number], draw.integers(1, 4, len(who[number])))
        here = draw.permutation(rows_of)
        clean = {name: cells[here] for name, cells in people.items()}
        clean["code"] = pick(draw, codes, len(here), 0.1)
        written, right = both(clean, {"gender": spelt(draw, clean["gender"])})
        found.append(PeriodTable(period, UntidyTable(f"visits-{period}.csv", written, right), here))
    return found


def register(rows: int, seed: int) -> list[PeriodTable]:
    """Return a register without a key, published again with 99.7% of its rows and as many newcomers."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.997)
    n = everybody(who)
    people = {
        "year_of_birth": np.array([str(one) for one in draw.integers(1930, 2005, n)], dtype=object),
        "sex": pick(draw, ("female", "male"), n),
        "municipality": pick(draw, TOWNS, n, 0.05),
        "disease": pick(draw, DISEASES, n, 0.2),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean = {name: cells[here] for name, cells in people.items()}
        padded = np.where(draw.random(len(here)) < 0.2, clean["municipality"] + "  ", clean["municipality"])
        written, right = both(clean, {"municipality": padded, "sex": spelt(draw, clean["sex"])})
        return UntidyTable(f"register {period}.csv", written, right)

    return in_periods(("2024-01", "2024-02", "2024-03"), who, table)


def panel(rows: int, seed: int) -> list[PeriodTable]:
    """Return a panel in UTF-16 with the quarter in a column, and names that clash or hold a comma."""
    draw = np.random.default_rng(seed)
    who = present(draw, rows, 0.85)
    n = everybody(who)
    age = draw.integers(18, 90, n)
    people = {
        "person_id": np.array([f"{one:07}" for one in draw.permutation(n) + 1], dtype=object),
        "sex": pick(draw, ("female", "male"), n),
        "region, of birth": pick(draw, ("North", "South", "East", "West", "abroad"), n, 0.2),
        "disease": pick(draw, DISEASES, n, 0.2),
    }

    def table(period: str, here: NDArray[np.int64]) -> UntidyTable:
        clean: dict[str, Texts] = {name: cells[here] for name, cells in people.items()}
        clean["quarter"] = np.full(len(here), period, dtype=object)
        clean["age"] = np.array([str(one) for one in age[here]], dtype=object)
        clean["age_min"] = np.array([str(one // 20 * 20) for one in age[here]], dtype=object)
        clean["disease"] = changed(draw, clean["disease"], 0.01, DISEASES)
        people["disease"][here] = clean["disease"]
        written, right = both(clean, {"sex": spelt(draw, clean["sex"])})
        return UntidyTable(f"panel-{period}.csv", written, right, delimiter=";", encoding="utf-16")

    return in_periods(("2022Q1", "2022Q2", "2022Q3"), who, table)
