"""Generate a made-up regional register of chronic conditions, one table a quarter.

    python -m examples.register.generate demo/data

writes `register-2026Q1.csv`, `register-2026Q2.csv` and `register-2026Q3.csv`. Nobody in them exists.
The same seed gives the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from examples.register import shares

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

QUARTERS = ("2026Q1", "2026Q2", "2026Q3")
ROWS = 20_000
OVERLAP = 0.99
SEED = 20260101

HOMES = [
    (region, district, municipality, size)
    for region, districts in enumerate(shares.PLACES.values())
    for district, municipalities in districts.items()
    for municipality, size in municipalities.items()
]
MUNICIPALITIES = tuple(municipality for _, _, municipality, _ in HOMES)
REGION = np.array([region for region, _, _, _ in HOMES])
DISTRICT = np.array([district for _, district, _, _ in HOMES])
SIZES = np.array([size for _, _, _, size in HOMES])
IS_CITY = np.isin(MUNICIPALITIES, shares.CITIES)
EDUCATION = tuple(shares.EDUCATION)
MARITAL_STATUS = tuple(shares.MARITAL_STATUS)
OCCUPATIONS = (*shares.WORK, *shares.OUT_OF_WORK)
BIRTH_REGIONS = (*shares.PLACES, *shares.BIRTH_ELSEWHERE)
DIAGNOSES = tuple(shares.DIAGNOSIS)
VALUES = {
    "sex": shares.SEXES,
    "municipality": MUNICIPALITIES,
    "education": EDUCATION,
    "marital_status": MARITAL_STATUS,
    "occupation_group": OCCUPATIONS,
    "birth_region": BIRTH_REGIONS,
    "diagnosis": DIAGNOSES,
}
COLUMNS = (
    "person_key",
    "name",
    "insurance_number",
    "street",
    "age",
    "sex",
    "municipality",
    "education",
    "marital_status",
    "occupation_group",
    "birth_region",
    "diagnosis",
    "care_cost",
)
STUDENT, UNEMPLOYED, AT_HOME, RETIRED = (OCCUPATIONS.index(name) for name in shares.OUT_OF_WORK)
FEMALE = shares.SEXES.index("female")

# Share of those who stay in whom this happens within a quarter.
MOVE, MOVE_WITHIN_DISTRICT, NEW_WORK, NEW_MARITAL_STATUS, NEW_DEGREE = 0.02, 0.6, 0.03, 0.01, 0.04


def generate(
    quarters: Sequence[str] = QUARTERS, n: int = ROWS, overlap: float = OVERLAP, seed: int = SEED
) -> dict[str, pd.DataFrame]:
    """Return one table of `n` people a quarter, `overlap` of whom are also in the next quarter's.

    Columns are COLUMNS; a missing value is None. Diagnosis, sex and region of birth never change in
    those who stay; the rest may.
    """
    rng = np.random.default_rng(seed)
    people = _newcomers(rng, n, first=0)
    tables: dict[str, pd.DataFrame] = {}
    known = n
    for quarter in quarters:
        if tables:
            stay = round(overlap * n)
            stayers = people.iloc[rng.permutation(n)[:stay]].reset_index(drop=True)
            newcomers = _newcomers(rng, n - stay, first=known)
            known += n - stay
            people = pd.concat([_a_quarter_later(rng, stayers), newcomers], ignore_index=True)
            people = people.iloc[rng.permutation(n)].reset_index(drop=True)
        tables[quarter] = _published(people)
    return tables


def _newcomers(rng: np.random.Generator, n: int, first: int) -> pd.DataFrame:
    """Draw `n` people as integer codes; `first` is the number of the first of them."""
    ages = np.arange(106)
    age_weights = np.interp(ages, *shares.AGE)
    age = rng.choice(ages, n, p=age_weights / age_weights.sum())
    sex = (rng.random(n) >= np.interp(age, *shares.FEMALE_SHARE)).astype(np.int64)
    municipality = rng.choice(len(SIZES), n, p=SIZES / SIZES.sum())
    education = _education(rng, age, municipality)
    people = pd.DataFrame(
        {
            "number": np.arange(first, first + n),
            # Ages are kept in quarters, so that a birthday falls in one of four.
            "quarters_old": age * 4 + rng.integers(0, 4, n),
            "sex": sex,
            "municipality": municipality,
            "education": education,
            "marital_status": _marital_status(rng, age, sex),
            "occupation_group": _occupation(rng, age, sex, education),
            "birth_region": _birth_region(rng, municipality),
            "diagnosis": _diagnosis(rng, age, sex),
            "cost_level": rng.standard_normal(n),
            "house": rng.integers(1, 120, n),
            "street": rng.integers(0, len(STREETS), n),
        }
    )
    for column, share in shares.MISSING.items():
        people[f"no_{column}"] = rng.random(n) < share
    return people


def _a_quarter_later(rng: np.random.Generator, people: pd.DataFrame) -> pd.DataFrame:
    """Return the same people a quarter older, some of them moved, wed, retired or graduated."""
    later = people.copy()
    n = len(later)
    later["quarters_old"] = np.minimum(later["quarters_old"] + 1, 106 * 4 - 1)
    age = later["quarters_old"].to_numpy() // 4
    sex = later["sex"].to_numpy()

    moves = rng.random(n) < MOVE
    later["municipality"] = np.where(
        moves, _next_home(rng, later["municipality"].to_numpy()), later["municipality"]
    )
    later.loc[moves, "house"] = rng.integers(1, 120, int(moves.sum()))

    weds = (age >= 18) & (rng.random(n) < NEW_MARITAL_STATUS)
    drawn = _marital_status(rng, age, sex)
    # Nobody who was married becomes "never married".
    possible = weds & (drawn != MARITAL_STATUS.index("never married"))
    later["marital_status"] = np.where(possible, drawn, later["marital_status"])

    studies = (age >= 12) & (age <= 30) & (rng.random(n) < NEW_DEGREE)
    drawn = _education(rng, age, later["municipality"].to_numpy())
    later["education"] = np.where(studies, np.maximum(drawn, later["education"]), later["education"])

    works = (rng.random(n) < NEW_WORK) & (later["occupation_group"].to_numpy() != RETIRED)
    drawn = _occupation(rng, age, sex, later["education"].to_numpy())
    later["occupation_group"] = np.where(works, drawn, later["occupation_group"])

    memory = shares.COST_MEMORY
    later["cost_level"] = memory * later["cost_level"] + np.sqrt(1 - memory**2) * rng.standard_normal(n)
    return later


def _draw(rng: np.random.Generator, weights: Floats) -> Codes:
    """Draw a column of `weights`, shape (n, values), for each row."""
    edges = np.cumsum(weights, axis=1)
    threshold = rng.random(len(weights)) * edges[:, -1]
    column: Codes = (threshold[:, None] >= edges).sum(axis=1)
    return column


def _by_age(age: Codes, knots: Sequence[float], rows: Iterable[Sequence[float]]) -> Floats:
    """Interpolate each value's weights between the `knots`: shape (n, values)."""
    return np.column_stack([np.interp(age, knots, row) for row in rows])


def _education(rng: np.random.Generator, age: Codes, municipality: Codes) -> Codes:
    weights = _by_age(age, shares.EDUCATION_AGES, shares.EDUCATION.values())
    higher = np.isin(EDUCATION, shares.HIGHER_EDUCATION)
    weights *= np.where(higher & IS_CITY[municipality][:, None], 1.5, 1.0)
    drawn = _draw(rng, weights)
    at_school = np.searchsorted([12, 15], age, side="right")
    return np.where(age < 18, at_school, drawn)


def _marital_status(rng: np.random.Generator, age: Codes, sex: Codes) -> Codes:
    weights = _by_age(age, shares.MARITAL_AGES, shares.MARITAL_STATUS.values())
    weights[:, MARITAL_STATUS.index("widowed")] *= np.where(sex == FEMALE, 1.5, 0.5)
    return np.where(age < 18, MARITAL_STATUS.index("never married"), _draw(rng, weights))


def _occupation(rng: np.random.Generator, age: Codes, sex: Codes, education: Codes) -> Codes:
    by_education = np.array([row for row, _ in shares.WORK.values()]).T
    among_women = np.array([factor for _, factor in shares.WORK.values()])
    weights = by_education[education] * np.where((sex == FEMALE)[:, None], among_women, 2 - among_women)
    student = np.interp(age, *shares.STUDENT_SHARE)
    retired = np.interp(age, *shares.RETIRED_SHARE)
    at_home = np.array([shares.AT_HOME_SHARE[name] for name in shares.SEXES])[sex]
    chance = rng.random((len(age), 3))
    work = _draw(rng, weights)
    work = np.where(chance[:, 0] < shares.UNEMPLOYED_SHARE, UNEMPLOYED, work)
    work = np.where(chance[:, 1] < at_home, AT_HOME, work)
    # The shares of students and pensioners do not meet: one chance serves both.
    return np.where(chance[:, 2] < student, STUDENT, np.where(chance[:, 2] < retired, RETIRED, work))


def _birth_region(rng: np.random.Generator, municipality: Codes) -> Codes:
    n_regions = len(shares.PLACES)
    weights = np.tile(
        [*[shares.BIRTH_OTHER_REGION] * n_regions, *shares.BIRTH_ELSEWHERE.values()], (len(municipality), 1)
    )
    weights[np.arange(len(municipality)), REGION[municipality]] = shares.BIRTH_OWN_REGION
    abroad = np.isin(BIRTH_REGIONS, shares.ABROAD)
    weights *= np.where(abroad & IS_CITY[municipality][:, None], 1.6, 1.0)
    return _draw(rng, weights)


def _diagnosis(rng: np.random.Generator, age: Codes, sex: Codes) -> Codes:
    weights = _by_age(age, shares.DIAGNOSIS_AGES, [row for row, _, _ in shares.DIAGNOSIS.values()])
    among_women = np.array([factor for _, factor, _ in shares.DIAGNOSIS.values()])
    return _draw(rng, weights * np.where((sex == FEMALE)[:, None], among_women, 2 - among_women))


def _next_home(rng: np.random.Generator, municipality: Codes) -> Codes:
    """Draw another municipality, mostly in the same district."""
    homes = np.arange(len(SIZES))
    near = DISTRICT[municipality][:, None] == DISTRICT[homes]
    other = municipality[:, None] != homes
    size = SIZES * other
    within = near & (rng.random(len(municipality)) < MOVE_WITHIN_DISTRICT)[:, None]
    anywhere = ~within.any(axis=1)
    return _draw(rng, size * (within | anywhere[:, None]))


def _care_cost(people: pd.DataFrame) -> NDArray[np.object_]:
    base = np.array([level for _, _, level in shares.DIAGNOSIS.values()])[people["diagnosis"]]
    age = people["quarters_old"].to_numpy() / 4
    level = people["cost_level"].to_numpy()
    cost = np.exp(base + shares.COST_PER_YEAR_OF_AGE * (age - 50) + shares.COST_SPREAD * level)
    band = np.searchsorted(list(shares.CARE_COST.values()), cost, side="right") - 1
    return np.array(list(shares.CARE_COST), dtype=object)[band]


def _published(people: pd.DataFrame) -> pd.DataFrame:
    """Return the table as the register would hand it out: text, and None where nothing is known."""
    number = people["number"].to_numpy()
    # An odd factor makes this one-to-one: keys are distinct, and their order says nothing.
    scrambled = (number * 0x9E3779B1 + 0x1234567) % 2**32
    table = pd.DataFrame(
        {
            "person_key": [f"K{key:08X}" for key in scrambled],
            "name": [_name(key) for key in scrambled],
            "insurance_number": [f"TEST-{key // 10_000:06d}-{key % 10_000:04d}" for key in scrambled],
            "street": [
                f"{house} {STREETS[street]}"
                for house, street in zip(people["house"], people["street"], strict=True)
            ],
            "age": people["quarters_old"] // 4,
            "care_cost": _care_cost(people),
        }
    )
    for column, values in VALUES.items():
        table[column] = np.array(values, dtype=object)[people[column]]
    for column in shares.MISSING:
        table[column] = table[column].where(~people[f"no_{column}"], None)
    return table[list(COLUMNS)]


STREETS = tuple(
    f"{kind} {form}" for kind in ("Sample", "Specimen", "Example") for form in ("Street", "Lane", "Row")
)
_SYLLABLES = ("ba", "do", "fe", "gi", "ka", "lu", "mo", "ne", "pi", "ra", "so", "tu", "va", "we", "xi", "zo")


def _name(key: int) -> str:
    """Spell a number as a given name and a family name that nobody bears."""
    parts = [_SYLLABLES[(key >> shift) & 15] for shift in range(0, 32, 4)]
    return f"{''.join(parts[:3]).capitalize()} {''.join(parts[3:7]).capitalize()}"


def write(folder: Path, tables: dict[str, pd.DataFrame]) -> list[Path]:
    """Write `register-<quarter>.csv` for each table; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for quarter, table in tables.items():
        path = folder / f"register-{quarter}.csv"
        table.to_csv(path, index=False, lineterminator="\n", encoding="utf-8")
        paths.append(path)
    return paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Write three quarters into a folder."""
    parser = argparse.ArgumentParser(description="Generate three quarters of a made-up register.")
    parser.add_argument("folder", type=Path, metavar="OUT_DIR", help="where the CSV files are written")
    parser.add_argument("--seed", type=int, default=SEED, help="same seed, same bytes (default %(default)s)")
    parser.add_argument("--rows", type=int, default=ROWS, help="people a quarter (default %(default)s)")
    options = parser.parse_args(arguments)
    if options.rows < 1 or options.seed < 0:
        parser.error("--rows must be at least 1 and --seed at least 0")
    for path in write(options.folder, generate(n=options.rows, seed=options.seed)):
        print(path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
