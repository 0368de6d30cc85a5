"""What a draft finds in several tables: who comes again, what moved, which columns tell the period."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from policy.load import parse_policy
from policy.model import ReleasePolicy
from services.drafting.draft import draft

PEOPLE = 600


def people(*, key: bool) -> pd.DataFrame:
    """A register in which nearly every row differs from all others."""
    draw = np.random.default_rng(11)
    columns = {
        "age": draw.integers(20, 80, PEOPLE),
        "height": draw.integers(150, 200, PEOPLE),
        "town": draw.choice(["Riga", "Oslo", "Cork", "Bern"], PEOPLE),
        "disease": draw.choice(["flu", "gout", "none"], PEOPLE),
    }
    return pd.DataFrame({"person_id": np.arange(PEOPLE) + 5000, **columns} if key else columns)


def drafted(folder: Path, *tables: pd.DataFrame) -> tuple[str, ReleasePolicy]:
    files = [folder / f"register-202{year}.csv" for year in range(len(tables))]
    for table, file in zip(tables, files, strict=True):
        table.to_csv(file, index=False)
    text = draft(*files, trial=False)
    return text, parse_policy(text, folder / "register.yaml")


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize(
    ("first", "second", "population", "told"),
    [
        ((0, 500), (0, 520), "cumulative", "500 are in the next one (100.0%)"),
        ((0, 500), (5, 520), "cumulative", "495 are in the next one (99.0%)"),
        ((0, 500), (200, 600), "overlapping", "300 are in the next one (60.0%)"),
        ((0, 500), (5, 480), "overlapping", "475 are in the next one (95.0%)"),
    ],
)
def test_who_comes_again_decides_the_population(
    tmp_path: Path,
    first: tuple[int, int],
    second: tuple[int, int],
    population: str,
    told: str,
    *,
    key: bool,
) -> None:
    everybody = people(key=key)
    text, policy = drafted(tmp_path, everybody[slice(*first)], everybody[slice(*second)])
    # By a key, the gates follow newcomers, and a release may leave somebody out.
    assert (policy.population, policy.roles.key is not None) == ("overlapping" if key else population, key)
    assert told in text or not key
    assert ("tell newcomers by subtraction" in text) == (key and "60.0%" not in told)
    assert ("the second period is blocked by the gate `worlds`" in text) != key
    # Nobody of the first table is gone, so that the gates would not hold back a series that says so.
    assert ("It blocks a release that lacks somebody." in text) == (key and "100.0%" in told)


@pytest.mark.parametrize(("staying", "may_be_accepted"), [(0.997, False), (0.6, True)])
def test_without_a_key_a_register_that_comes_again_has_no_second_release(
    tmp_path: Path, staying: float, *, may_be_accepted: bool
) -> None:
    everybody, n = people(key=False), 300
    text, _ = drafted(tmp_path, everybody[:n], everybody[round((1 - staying) * n) :][:n])
    assert ("`gates.worlds.unfollowed: accept`" in text) == may_be_accepted
    assert ("Do not accept that." in text) != may_be_accepted


@pytest.mark.parametrize(("staying", "may_be_independent"), [(0.6, False), (0.0, True)])
def test_independent_is_proposed_only_where_rows_do_not_come_again(
    tmp_path: Path, staying: float, *, may_be_independent: bool
) -> None:
    everybody, n = people(key=False), 300
    text, _ = drafted(tmp_path, everybody[:n], everybody[round((1 - staying) * n) :][:n])
    assert ("`population: independent`" in text) == may_be_independent


def test_rows_come_again_though_everybodys_pay_has_grown(tmp_path: Path) -> None:
    table = people(key=False).assign(pay=np.random.default_rng(5).integers(20_000, 90_000, PEOPLE))
    text, _ = drafted(tmp_path, table[:590], table[10:].assign(pay=table.pay * 102 // 100))
    assert "are in the next one (9" in text
    assert "Do not accept that." in text
    assert "`population: independent`" not in text


def test_rows_that_many_share_say_nothing_of_who_comes_again(tmp_path: Path) -> None:
    table = people(key=False)[["town", "disease"]].assign(sex=np.arange(PEOPLE) % 2)
    text, policy = drafted(tmp_path, table, table)
    assert "in the next one" not in text
    assert policy.population == "overlapping"


def test_a_column_of_one_value_in_each_table_tells_the_period(tmp_path: Path) -> None:
    table = people(key=True)
    text, policy = drafted(
        tmp_path, table.assign(year=2020, wave="a", sex="f"), table.assign(year=2021, wave="b", sex="f")
    )
    assert {"year", "wave", "sex"} <= set(policy.roles.dropped)
    assert text.count("one value in each table: it tells the period") == 2


def test_what_was_measured_to_move_is_what_attackers_are_told(tmp_path: Path) -> None:
    table = people(key=True)
    some = np.arange(PEOPLE) % 10 == 0
    later = table.assign(
        age=table.age + np.arange(PEOPLE) % 3,
        height=table.height + np.where(np.arange(PEOPLE) == 7, 90, np.where(some, -4, 2)),
        town=np.where(some, "Kyiv", table.town),
    )
    _, policy = drafted(tmp_path, table, later)
    numbers, towns = policy.roles.numeric, policy.roles.categorical
    assert (numbers["age"].moves, numbers["height"].moves) == ((0, 2), (-4, 2))
    assert towns["town"].may_change
    _, policy = drafted(tmp_path, table, table)
    numbers, towns = policy.roles.numeric, policy.roles.categorical
    assert (numbers["age"].moves, numbers["height"].moves) == ((0, 1), (0, 0))
    assert not towns["town"].may_change


def test_bounds_have_room_for_numbers_that_move_one_way(tmp_path: Path) -> None:
    table = people(key=True)
    moved = table.assign(age=table.age + 1, height=table.height + np.where(table.index % 2, 3, -3))
    _, policy = drafted(tmp_path, table, moved)
    ages, heights = policy.roles.numeric["age"].bounds, policy.roles.numeric["height"].bounds
    assert ages[1] >= moved.age.max() + 4
    assert heights[1] < moved.height.max() + 4 * 3


def test_values_of_which_one_person_has_several_are_transient(tmp_path: Path) -> None:
    first = people(key=True)
    rows = pd.concat([first, first.assign(disease=np.roll(first.disease, 7))])
    _, policy = drafted(tmp_path, rows)
    assert (policy.rows, policy.roles.sensitive["disease"].stability) == ("several", "transient")
    text, policy = drafted(tmp_path, pd.concat([first, first]))
    assert (policy.rows, policy.roles.sensitive["disease"].stability) == ("several", "stable")
    assert "several values in a table" not in text
