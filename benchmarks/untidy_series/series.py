"""What a series of untidy tables is, and what several of them are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.untidy import UntidyTable

Texts = NDArray[np.object_]
SEXES = {
    "female": ("F", "f", "Female", "female", "FEMALE"),
    "male": ("M", "m", "Male", "male", "MALE"),
}
ICD_CHAPTERS = ("E", "F", "I", "J", "K", "M")


@dataclass(frozen=True)
class PeriodTable:
    """A period's table, and the person of each of its rows, who may be in no column."""

    period: str
    table: UntidyTable
    people: NDArray[np.int64]  # (n_rows,)


@dataclass(frozen=True)
class Series:
    """Tables of three periods with traps, and how many of the first are drafted from.

    Whoever knows the people says what is `sensitive` if the draft advises to leave out the column that it
    took for it, and whether the people of each period are others.
    """

    name: str
    traps: str
    tables: Callable[[int, int], list[PeriodTable]]  # of rows and a seed
    rows: int = 2_000
    drafted: int = 2
    sensitive: str = ""
    are_others: bool = False

    def write(self, folder: Path, rows: int, seed: int) -> list[tuple[PeriodTable, Path]]:
        """Write the files of all periods, and return each table with its file."""
        folder.mkdir(parents=True, exist_ok=True)
        return [(one, one.table.write(folder)) for one in self.tables(rows, seed)]


def present(
    draw: np.random.Generator, rows: int, stay: float, grow: float = 0.0, periods: int = 3
) -> list[NDArray[np.int64]]:
    """Return who is in each period: `stay` of a period's people are in the next one, which has others too.

    `grow` is by what share of `rows` each next table is larger. Nobody comes back.
    """
    now = np.arange(rows)
    found, next_one = [draw.permutation(now)], rows
    for _ in range(periods - 1):
        staying = draw.choice(now, round(stay * len(now)), replace=False)
        n_new = len(now) + round(grow * rows) - len(staying)
        now = np.concatenate([staying, np.arange(next_one, next_one + n_new)])
        next_one += n_new
        found.append(draw.permutation(now))
    return found


def everybody(who: Sequence[NDArray[np.int64]]) -> int:
    """Return how many people there are in all periods together."""
    return 1 + max(int(one.max()) for one in who)


def pick(draw: np.random.Generator, values: Sequence[str], n: int, falling: float = 0.0) -> Texts:
    """Draw n values; with `falling`, each is less frequent than the one before it, by that share."""
    shares = (1 - falling) ** np.arange(len(values))
    return draw.choice(np.array(values, dtype=object), n, p=shares / shares.sum())


def days(draw: np.random.Generator, first: date, last: date, n: int) -> list[date]:
    """Draw n days."""
    return [first + timedelta(days=int(one)) for one in draw.integers(0, (last - first).days, n)]


def isoformat(dates: Sequence[date]) -> Texts:
    """Return dates as yyyy-mm-dd."""
    return np.array([one.isoformat() for one in dates], dtype=object)


def spelt(draw: np.random.Generator, values: Texts, spellings: Mapping[str, Sequence[str]] = SEXES) -> Texts:
    """Return each value in one of its spellings."""
    return np.array([str(draw.choice(spellings[one])) for one in values], dtype=object)


def icd_codes(draw: np.random.Generator, number: int) -> list[str]:
    """Return different codes of ICD-10 with a point."""
    letters = draw.choice(ICD_CHAPTERS, number * 3)
    codes = (f"{one}{draw.integers(10, 60)}.{draw.integers(0, 10)}" for one in letters)
    return list(dict.fromkeys(codes))[:number]


def changed(draw: np.random.Generator, values: Texts, share: float, others: Sequence[str]) -> Texts:
    """Return values of which a share is another one."""
    return np.where(draw.random(len(values)) < share, pick(draw, others, len(values)), values)


def in_periods(
    periods: Sequence[str],
    who: Sequence[NDArray[np.int64]],
    table_of: Callable[[str, NDArray[np.int64]], UntidyTable],
) -> list[PeriodTable]:
    """Return the tables that `table_of` makes of a period and its people, a row a person."""
    return [
        PeriodTable(period, table_of(period, people), people)
        for period, people in zip(periods, who, strict=True)
    ]


def both(clean: Mapping[str, Texts], written: Mapping[str, Texts]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table as it is written, with `written` in place of clean columns, and clean."""
    frame = pd.DataFrame(dict(clean), dtype=object)
    file = frame.copy()
    for name, cells in written.items():
        file[name] = cells
    return file.where(file.notna(), ""), frame
