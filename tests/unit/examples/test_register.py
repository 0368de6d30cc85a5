"""The made-up register: sizes, overlap, what changes and what stays."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest

from examples.register.generate import COLUMNS, VALUES, generate, main, write
from examples.register.shares import CARE_COST, MISSING
from policy.hierarchy import read_csv_hierarchy

HIERARCHIES = Path(__file__).parents[3] / "examples" / "policies" / "hierarchies"
HIERARCHICAL = (
    "sex",
    "municipality",
    "education",
    "marital_status",
    "occupation_group",
    "birth_region",
)


@pytest.fixture(scope="module")
def tables() -> list[pd.DataFrame]:
    return list(generate().values())


@pytest.fixture(scope="module")
def stayers(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """Those of the first quarter who are also in the second, with both quarters' values."""
    return tables[0].merge(tables[1], on="person_key", suffixes=("", "_later"))


def _changed(stayers: pd.DataFrame, column: str) -> float:
    return float((stayers[column].fillna("?") != stayers[f"{column}_later"].fillna("?")).mean())


def test_each_quarter_has_20_000_different_people(tables: list[pd.DataFrame]) -> None:
    assert len(tables) == 3
    for table in tables:
        assert list(table.columns) == list(COLUMNS)
        assert len(table) == 20_000
        assert table["person_key"].is_unique
        assert table["insurance_number"].is_unique


def test_99_percent_of_a_quarter_are_in_the_next(tables: list[pd.DataFrame]) -> None:
    for earlier, later in pairwise(tables):
        assert earlier["person_key"].isin(later["person_key"]).mean() == pytest.approx(0.99, abs=0.001)


@pytest.mark.parametrize("column", ["diagnosis", "sex", "birth_region", "name", "insurance_number"])
def test_what_is_stable_never_changes(stayers: pd.DataFrame, column: str) -> None:
    assert _changed(stayers, column) == 0


@pytest.mark.parametrize(
    ("column", "least", "most"),
    [
        ("municipality", 0.01, 0.03),
        ("marital_status", 0.002, 0.01),
        ("education", 0.0003, 0.01),
        ("occupation_group", 0.005, 0.03),
        ("care_cost", 0.35, 0.65),
        ("street", 0.01, 0.03),
    ],
)
def test_what_is_transient_changes_in_some(
    stayers: pd.DataFrame, column: str, least: float, most: float
) -> None:
    assert least < _changed(stayers, column) < most


def test_a_quarter_of_the_people_has_a_birthday(stayers: pd.DataFrame) -> None:
    growth = stayers["age_later"] - stayers["age"]
    assert set(growth) == {0, 1}
    assert growth.mean() == pytest.approx(0.25, abs=0.02)


def test_nobody_who_was_married_becomes_never_married(stayers: pd.DataFrame) -> None:
    once = stayers["marital_status"].notna() & (stayers["marital_status"] != "never married")
    assert not (stayers.loc[once, "marital_status_later"] == "never married").any()


def test_ages_lie_within_the_policys_bounds(tables: list[pd.DataFrame]) -> None:
    for table in tables:
        assert table["age"].between(0, 105).all()


@pytest.mark.parametrize("column", HIERARCHICAL)
def test_the_hierarchy_holds_exactly_the_values(tables: list[pd.DataFrame], column: str) -> None:
    leaves = read_csv_hierarchy(HIERARCHIES / f"{column}.csv").leaves
    assert leaves == VALUES[column]
    for table in tables:
        assert set(table[column].dropna()) == set(leaves)


def test_municipalities_lie_in_8_districts_in_3_regions() -> None:
    paths = read_csv_hierarchy(HIERARCHIES / "municipality.csv").paths
    assert [len({path[level] for path in paths}) for level in range(4)] == [40, 8, 3, 1]


@pytest.mark.parametrize("column", COLUMNS)
def test_1_to_2_percent_are_missing_where_they_may_be(tables: list[pd.DataFrame], column: str) -> None:
    for table in tables:
        share = table[column].isna().mean()
        assert share == (pytest.approx(MISSING[column], abs=0.005) if column in MISSING else 0)


def test_no_sensitive_value_is_too_frequent(tables: list[pd.DataFrame]) -> None:
    for table in tables:
        diagnoses = table["diagnosis"].value_counts(normalize=True)
        assert len(diagnoses) == 10
        assert diagnoses.max() < 0.25
        assert set(table["care_cost"]) == set(CARE_COST)


def _share(people: pd.DataFrame, column: str, *values: str) -> float:
    return float(people[column].isin(values).mean())


@pytest.mark.parametrize("sex", ["female", "male"])
def test_diagnoses_depend_on_age(tables: list[pd.DataFrame], sex: str) -> None:
    people = tables[0].query("sex == @sex")
    young, old = people.query("age < 60"), people.query("age >= 60")
    assert _share(young, "diagnosis", "asthma") > 2 * _share(old, "diagnosis", "asthma")
    assert _share(old, "diagnosis", "heart disease") > 3 * _share(young, "diagnosis", "heart disease")


def test_diagnoses_depend_on_sex(tables: list[pd.DataFrame]) -> None:
    women, men = (tables[0].query("age >= 60 and sex == @sex") for sex in ("female", "male"))
    musculoskeletal = "musculoskeletal disorder"
    assert _share(women, "diagnosis", musculoskeletal) > 1.3 * _share(men, "diagnosis", musculoskeletal)


def test_costs_depend_on_the_diagnosis(tables: list[pd.DataFrame]) -> None:
    cancer, hypertension = (tables[0].query("diagnosis == @d") for d in ("cancer", "hypertension"))
    costly = ("2000-4999", "5000 and over")
    assert _share(cancer, "care_cost", *costly) > 4 * _share(hypertension, "care_cost", *costly)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second, other = (
        [path.read_bytes() for path in write(tmp_path / name, generate(n=500, seed=seed))]
        for name, seed in (("first", 1), ("second", 1), ("other", 2))
    )
    assert first == second
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_the_command_writes_one_file_a_quarter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "data"), "--rows", "50", "--seed", "7"]) == 0
    names = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert names == ["register-2026Q1.csv", "register-2026Q2.csv", "register-2026Q3.csv"]
    assert [Path(line).name for line in capsys.readouterr().out.splitlines()] == names
    for name in names:
        assert len((tmp_path / "data" / name).read_text(encoding="utf-8").splitlines()) == 51


def test_the_command_refuses_no_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--rows", "0"])
    assert "--rows must be at least 1" in capsys.readouterr().err


def test_keys_and_numbers_are_visibly_made_up(tables: list[pd.DataFrame]) -> None:
    assert tables[0]["person_key"].map(lambda key: re.fullmatch(r"K[0-9A-F]{8}", key) is not None).all()
    assert tables[0]["insurance_number"].str.startswith("TEST-").all()
    assert tables[0]["street"].str.contains("Sample|Specimen|Example").all()
