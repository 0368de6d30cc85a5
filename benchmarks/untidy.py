"""Untidy tables about people who do not exist, beside what a right reading of them gives.

    python -m benchmarks.untidy FOLDER

Writes four periods of students, as the Open University Learning Analytics Dataset has them (Kuzilek, Hlosta
and Zdrahal, 2017), and one table of a hospital, with the mess that spreadsheets and exports leave. The same
seed gives the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

SEED = 20_261
PERIODS = ("2013B", "2013J", "2014B", "2014J")
STUDENTS = 6_000  # rows of a period
PATIENTS = 4_000
STAYING = 0.6  # share of a period's students who are in the next one

REGIONS = ("Scotland", "Wales", "London Region", "South East Region", "North Western Region", "Ireland")
EDUCATION = (
    "No Formal quals",
    "Lower Than A Level",
    "A Level or Equivalent",
    "HE Qualification",
    "Post Graduate Qualification",
)
IMD = tuple(f"{low}-{low + 10}%" for low in range(0, 100, 10))
AGES = ("0-35", "35-55", "55<=")
RESULTS = ("Pass", "Fail", "Withdrawn", "Distinction")

CODES = (
    "E11.9",
    "I10",
    "I25.1",
    "J45.0",
    "M54.5",
    "F32.1",
    "E10.9",
    "I48.0",
    "J44.1",
    "C50.9",
    "K21.0",
    "N18.3",
)
STAYS = ("1-3", "4-7", "8-14", "15-30")
# What a spreadsheet makes of some of these: a day and a month, in two ways, or that day's number.
CHANGED_STAYS = {"1-3": ("3-Jan", "Mar-01", "43891"), "4-7": ("7-Apr",), "8-14": ("14-Aug",)}
UNKNOWN = ("n/a", "N/A", "-", "unknown", "?", "NULL", "#N/A", "")
POSTCODES = ("01067", "01069", "04109", "09111", "10115", "20095", "50667", "80331")
TOWNS = ("K\u00f6ln", "M\u00fcnchen", "N\u00fcrnberg", "D\u00fcsseldorf", "Li\u00e8ge", "Gen\u00e8ve")
UNKNOWN_HEIGHT = "9999"


@dataclass(frozen=True)
class UntidyTable:
    """A table as its file has it, and as a right reading gives it: text, None where a value is unknown."""

    name: str
    written: pd.DataFrame
    clean: pd.DataFrame
    delimiter: str = ","
    encoding: str = "utf-8"
    last_lines: tuple[str, ...] = field(default=())

    def data(self) -> bytes:
        """Return the bytes of the file."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self.delimiter, lineterminator="\n")
        writer.writerow(self.written.columns)
        writer.writerows(self.written.itertuples(index=False))
        return (text.getvalue() + "".join(f"{line}\n" for line in self.last_lines)).encode(self.encoding)

    def write(self, folder: Path) -> Path:
        """Write the file into a folder, and return its path."""
        path = folder / self.name
        path.write_bytes(self.data())
        return path


def students(rows: int = STUDENTS, seed: int = SEED) -> list[UntidyTable]:
    """Return four periods of a panel of students, a row a student; most are in several periods.

    The band `10-20%` of deprivation is written `10-20` in the first two, and `20-Oct` in the last two.
    The third has a byte order mark and blanks around cells and a name.
    """
    draw = np.random.default_rng(seed)
    n = 4 * rows
    people = pd.DataFrame(
        {
            "id_student": (draw.permutation(n) + 2_000_000).astype(str),
            "gender": draw.choice(["M", "F"], n),
            "region": draw.choice(REGIONS, n),
            "highest_education": draw.choice(EDUCATION, n, p=[0.05, 0.35, 0.4, 0.15, 0.05]),
            "imd_band": draw.choice([*IMD, ""], n, p=[0.097] * 10 + [0.03]),
            "age_band": draw.choice(AGES, n, p=[0.7, 0.25, 0.05]),
            "disability": draw.choice(["N", "Y"], n, p=[0.9, 0.1]),
        }
    )
    tables: list[UntidyTable] = []
    present = draw.choice(n, rows, replace=False)
    for number, period in enumerate(PERIODS):
        if number:
            stay = draw.choice(present, int(STAYING * rows), replace=False)
            others = np.setdiff1d(np.arange(n), present)
            present = np.concatenate([stay, draw.choice(others, rows - len(stay), replace=False)])
        clean = people.iloc[present].reset_index(drop=True)
        clean.insert(1, "code_module", draw.choice(["AAA", "BBB", "CCC", "DDD"], rows))
        clean["studied_credits"] = draw.choice(["30", "60", "90", "120", "240"], rows)
        clean["final_result"] = draw.choice(RESULTS, rows, p=[0.4, 0.22, 0.3, 0.08])
        written = clean.copy()
        band = "10-20" if number < 2 else "20-Oct"
        written["imd_band"] = written["imd_band"].replace({"10-20%": band, "": "?"})
        encoding = "utf-8"
        if number == 2:
            padded = draw.random(rows) < 0.2
            written["region"] = np.where(padded, " " + written["region"] + "  ", written["region"])
            written = written.rename(columns={"age_band": " age_band "})
            encoding = "utf-8-sig"
        clean = clean.replace({"imd_band": {"": None}})
        tables.append(UntidyTable(f"students-{period}.csv", written, clean, encoding=encoding))
    return tables


def hospital(rows: int = PATIENTS, seed: int = SEED) -> UntidyTable:
    """Return a table of patients in Latin-1, delimited by semicolons, with every kind of mess."""
    draw = np.random.default_rng(seed)
    every = range(rows)
    born = [date(1930, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 27_000, rows)]
    admitted = [date(2020, 1, 1) + timedelta(days=int(day)) for day in draw.integers(0, 365, rows)]
    height = draw.integers(1_480, 2_010, rows)
    cost = draw.integers(20_000, 900_000, rows)
    columns = {
        "Patient No": (draw.permutation(rows) + 700_001).astype(str),
        "surname": np.array([f"M\u00fcllerin{i}" for i in every]),
        "date of birth": np.array([day.isoformat() for day in born]),
        "Age": np.array([str(2020 - day.year) for day in born]),
        "sex": draw.choice(["male", "female"], rows),
        "zip": draw.choice(POSTCODES, rows),
        "plz": draw.choice(POSTCODES, rows),
        "town": draw.choice(TOWNS, rows),
        "icd": draw.choice(CODES, rows),
        "height": np.array([f"{one // 10}.{one % 10}" for one in height]),
        "cost": np.array([f"{one // 100}.{one % 100:02}" for one in cost]),
        "admitted": np.array([day.isoformat() for day in admitted]),
        "stay": draw.choice(STAYS, rows),
        "smoker": draw.choice(["yes", "no"], rows),
        "bed": np.array([""] * rows),
        "ward": np.array(["3B"] * rows),
        "remarks": np.array([f"seen by Dr. No{i}, to come again" for i in every]),
    }
    clean = pd.DataFrame(columns, dtype=object)
    written = clean.copy()
    written["date of birth"] = _mixed(draw, [_dotted(born), columns["date of birth"], _serials(born)])
    written["admitted"] = np.array([f"{day.day}/{day.month}/{day.year}" for day in admitted], dtype=object)
    written["sex"] = _mixed(
        draw, [clean["sex"], " " + clean["sex"].str.title(), clean["sex"].str.upper() + " "]
    )
    written["icd"] = _mixed(draw, [clean["icd"], clean["icd"], clean["icd"].str.lower()])
    written["plz"] = clean["plz"].str.lstrip("0")
    written["height"] = clean["height"].str.replace(".", ",", regex=False)
    written["cost"] = [_grouped(int(one)) for one in cost]
    written["stay"] = [
        draw.choice([stay, *CHANGED_STAYS[stay]]) if stay in CHANGED_STAYS else stay for stay in clean["stay"]
    ]
    for name, marks, share in (
        ("height", (UNKNOWN_HEIGHT,), 0.03),
        ("smoker", UNKNOWN, 0.1),
        ("town", UNKNOWN, 0.02),
    ):
        at = draw.random(rows) < share
        written.loc[at, name] = draw.choice(marks, int(at.sum()))
        clean.loc[at, name] = None
    clean["bed"] = None
    written = written.rename(columns={"Age": " Age "})
    return UntidyTable("hospital.csv", written, clean, delimiter=";", encoding="latin-1")


def _mixed(draw: np.random.Generator, ways: Sequence[object]) -> NDArray[np.object_]:
    """Return a column of which each cell is written in one of several ways."""
    written = np.array([np.asarray(way, dtype=object) for way in ways])
    return written[draw.integers(0, len(written), written.shape[1]), np.arange(written.shape[1])]


def _dotted(days: Sequence[date]) -> list[str]:
    return [f"{day:%d.%m.%Y}" for day in days]


def _serials(days: Sequence[date]) -> list[str]:
    return [str((day - date(1899, 12, 30)).days) for day in days]


def _grouped(cents: int) -> str:
    return f"{cents / 100:,.2f}".translate(str.maketrans(",.", ".,"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.untidy", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the files go; it is made")
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    for table in (*students(), hospital()):
        print(table.write(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
