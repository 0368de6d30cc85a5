"""Numbers of which each person has another one: a draft rounds them, or groups those of followed people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from policy.load import parse_policy
from policy.model import ReleasePolicy
from services.drafting.draft import draft
from services.drafting.rounding import MOST_BANDS, MOST_SINGLE, Rounding, bands, least_rounding
from tasks.intake.read import read_table

PEOPLE = 600


def wages(seed: int = 3) -> pd.DataFrame:
    """A table of wages in cents, written with a currency; some are negative."""
    draw = np.random.default_rng(seed)
    wage = np.round(draw.gamma(4.0, 600.0, PEOPLE) - 150, 2)
    return pd.DataFrame(
        {
            "town": draw.choice(["Riga", "Oslo", "Cork"], PEOPLE),
            "sex": draw.choice(["f", "m"], PEOPLE),
            "wage": [f"{'-' if one < 0 else ''}\u00a3{abs(one):,.2f}" for one in wage],
        }
    )


def drafted(folder: Path, table: pd.DataFrame) -> tuple[str, ReleasePolicy, pd.Series]:
    """Return a draft, its policy, and the wages as the policy reads them."""
    file = folder / "wages-2024.csv"
    table.to_csv(file, index=False)
    text = draft(file, trial=False)
    policy = parse_policy(text, folder / "wages.yaml")
    read = read_table(policy, input_path=file, period="2024", base=folder)
    return text, policy, read.frame["wage"]


def test_numbers_of_people_who_are_not_followed_are_rounded_until_they_repeat(tmp_path: Path) -> None:
    text, policy, read = drafted(tmp_path, wages())
    assert policy.roles.sensitive["wage"].type == "numeric"
    single = sum(n == 1 for n in Counter(read).values())
    assert 0 < single <= MOST_SINGLE * PEOPLE
    assert "# Most numbers of wage are in one row" in text
    assert "round them" not in text


def test_numbers_of_people_who_are_followed_are_grouped(tmp_path: Path) -> None:
    table = wages()
    table.insert(0, "person_id", np.arange(PEOPLE) + 5_000)
    text, policy, read = drafted(tmp_path, table)
    assert policy.roles.key == "person_id"
    assert 2 < read.nunique() <= MOST_BANDS + 2
    assert "groups them in steps of" in text
    assert not set(read.astype(str)) & {one.strip("\u00a3") for one in table["wage"]}


@pytest.mark.parametrize(("changed", "grouped"), [(0, True), (PEOPLE, False)])
def test_numbers_that_people_keep_are_grouped(tmp_path: Path, changed: int, grouped: bool) -> None:
    draw = np.random.default_rng(5)
    table = wages().assign(person_id=np.arange(PEOPLE) + 5_000, wage=draw.integers(100, 300, PEOPLE) * 50)
    later = table.assign(wage=table["wage"] + np.where(np.arange(PEOPLE) < changed, 50, 0))
    files = [tmp_path / f"wages-{year}.csv" for year in (2023, 2024)]
    for file, one in zip(files, (table, later), strict=True):
        one.to_csv(file, index=False)
    text = draft(*files, trial=False)
    assert ("# Most numbers of wage are the same people's in the next table" in text) == grouped
    policy = parse_policy(text, tmp_path / "wages.yaml")
    read = read_table(policy, input_path=files[0], period="2023", base=tmp_path).frame["wage"]
    assert (2 < read.nunique() <= MOST_BANDS + 2) == grouped


def test_exact_numbers_beside_another_sensitive_column_are_left_out_as_before(tmp_path: Path) -> None:
    file = tmp_path / "wages.csv"
    wages().assign(disease=["flu", "gout", "none"] * (PEOPLE // 3)).to_csv(file, index=False)
    policy = parse_policy(draft(file, trial=False), tmp_path / "wages.yaml")
    assert (list(policy.roles.sensitive), "wage" in policy.roles.dropped) == (["disease"], True)


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        ([float(i) for i in range(1000)], 2),
        ([float(i // 2) for i in range(1000)], 1),
        ([i / 100 for i in range(1000)], 1),
        ([float(i) for i in range(20)], 5),
    ],
)
def test_the_least_step_is_taken(numbers: list[float], step: float) -> None:
    with duckdb.connect() as con:
        con.register("given", pd.DataFrame({"x": numbers, "t": 0}))
        con.execute("CREATE TABLE cells AS FROM given")
        assert least_rounding(con, "x", "t") == Rounding(step)


def test_rare_numbers_at_both_ends_are_in_the_last_band() -> None:
    with duckdb.connect() as con:
        given = [float(i) for i in range(1000)] + [-1e6, 1e9]
        con.register("given", pd.DataFrame({"x": given}))
        con.execute("CREATE TABLE cells AS FROM given")
        found = bands(con, "x")
        assert found == Rounding(200.0, (0.0, 1000.0))
        read = con.execute(f"SELECT DISTINCT {found.sql('x')} FROM cells ORDER BY ALL").fetchall()
        missing = con.execute(f"SELECT {found.sql('CAST(NULL AS DOUBLE)')}").fetchall()
    assert [value for (value,) in read] == [0, 200, 400, 600, 800, 1000]
    assert missing == [(None,)]
