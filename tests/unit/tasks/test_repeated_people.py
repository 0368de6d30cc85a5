"""People with several rows are found by what a column determines, whatever its name."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import InputError
from policy.model import ReleasePolicy
from services.checking.check import check
from tasks.intake.read import read_table
from tasks.intake.repeated_people import repeated_people
from tasks.intake.table_object import TableObject
from tasks.validation.feasible import feasible
from tests.support.small import small_policy

QI: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 100]},
    "sex": {"type": "categorical", "values": ["f", "m"]},
}
ILL = {"illness": {"stability": "transient"}}


def table(people: int, visits: tuple[int, int], seed: int = 1) -> pd.DataFrame:
    """A random table in which each of so many people has a number of visits, in any order."""
    draw = random.Random(seed)  # noqa: S311 -- a test table
    rows = [
        (f"x{17 * i}", age, sex, draw.choice(["flu", "cough", "none"]), f"office {i % 5}", str(draw.random()))
        for i in range(people)
        for age, sex in [(draw.randint(20, 90), draw.choice("fm"))]
        for _ in range(draw.randint(*visits))
    ]
    draw.shuffle(rows)
    return pd.DataFrame(rows, columns=["token", "age", "sex", "illness", "office", "claim"])


def policy_of(**sections: Any) -> ReleasePolicy:
    roles = {"dropped": ["token", "office", "claim"], **sections.pop("roles", {})}
    return small_policy(QI, ILL, roles=roles, privacy={"k": 2}, **sections)


def found(rows: pd.DataFrame, policy: ReleasePolicy) -> dict[str, tuple[int, int]]:
    """Return how many people have how many rows, by the columns that show it, with + between them."""
    with duckdb.connect() as con:
        con.register("t", rows)
        all_of_it = repeated_people(con, "t", list(rows.columns), policy)
    return {"+".join(one.columns): (one.people, one.rows) for one in all_of_it}


@pytest.mark.parametrize("visits", [(12, 12), (1, 9), (2, 3), (5, 80), (1, 2)])
def test_a_column_that_determines_all_quasi_identifiers_is_found(visits: tuple[int, int]) -> None:
    rows = table(60, visits)
    assert found(rows, policy_of()) == {"token": (60, len(rows))}


def test_few_people_with_several_rows_are_found() -> None:
    rows = table(400, (1, 1))
    rows = pd.concat([rows, rows[:30], rows[:15]], ignore_index=True).assign(claim="c")
    assert found(rows, policy_of()) == {"token": (400, 445)}
    assert found(pd.concat([rows[:400], rows[:3]], ignore_index=True), policy_of()) == {}
    nine = table(9, (60, 90))
    assert found(nine, policy_of()) == {"token": (9, len(nine))}


def test_no_column_of_a_table_with_one_row_each_is_found() -> None:
    assert found(table(600, (1, 1)), policy_of()) == {}


def test_somebody_may_have_become_older_in_the_meantime() -> None:
    rows = table(60, (10, 10))
    late = rows.groupby("token").cumcount() == 9
    rows.loc[late & rows["token"].str.endswith("7"), "age"] += 1
    assert [*found(rows, policy_of())] == ["token"]


def test_a_column_that_determines_one_quasi_identifier_is_not_people() -> None:
    rows = table(600, (1, 1))
    rows["token"] = "school of " + (rows["age"] // 2).astype(str)
    assert found(rows, policy_of()) == {}


def test_a_column_whose_rows_differ_is_not_people_however_few_combinations_there_are() -> None:
    rows = table(990, (1, 1))
    rows["age"] = 20 + rows["age"] % 4
    rows["token"] = [f"ward {i % 10}" for i in range(len(rows))]
    assert found(rows, policy_of()) == {}


def test_two_columns_that_are_people_together_are_found() -> None:
    rows = table(60, (3, 9))
    number = rows["token"].str[1:].astype(int) // 17
    family, member = "f" + (number // 4).astype(str), (number % 4).astype(str)
    rows = rows.assign(token=family, office=member)
    assert found(rows, policy_of()) == {"token+office": (60, len(rows))}
    assert found(rows.assign(office="1"), policy_of()) == {}


def test_what_is_accepted_of_columns_by_name_is_refused_of_others() -> None:
    rows = table(60, (3, 9))
    both = rows.assign(claim=rows["token"].str.replace("x", "y"))
    for named, left in (
        (["token"], {"claim"}),
        (["token", "claim"], set()),
        (["office"], {"token", "claim"}),
    ):
        assert {*found(both, policy_of(expectations={"repeats": named}))} == left
    # What a place determines, it determines beside any other column, too.
    assert found(rows, policy_of(expectations={"repeats": ["token"]})) == {}
    number = rows["token"].str[1:].astype(int) // 17
    rows = rows.assign(token="f" + (number // 4).astype(str), office=(number % 4).astype(str))
    assert [*found(rows, policy_of(expectations={"repeats": ["token"]}))] == ["token+office"]
    assert found(rows, policy_of(expectations={"repeats": ["token", "office"]})) == {}


def test_a_hint_names_the_columns_to_accept() -> None:
    rows = table(60, (3, 9))
    with duckdb.connect() as con:
        con.register("t", rows)
        (one,) = repeated_people(con, "t", list(rows.columns), policy_of())
    assert one.hint.endswith("name it in expectations.repeats: ['token'].")


def test_two_columns_that_write_quasi_identifiers_anew_are_not_people() -> None:
    rows = table(900, (1, 1))
    rows["token"] = "born " + (2025 - rows["age"]).astype(str)
    rows["office"] = rows["sex"].map({"f": "woman", "m": "man"})
    assert found(rows, policy_of()) == {}


def test_a_quasi_identifier_may_differ_from_row_to_row() -> None:
    rows = table(60, (3, 9)).assign(month=lambda rows: rows["claim"].str[-1])
    months = {"month": {"type": "categorical", "values": [*"0123456789"]}}
    policy = small_policy(QI | months, ILL, roles={"dropped": ["token", "office", "claim"]}, privacy={"k": 2})
    assert found(rows, policy) == {"token": (60, len(rows))}
    # A hundred schools of 30 pupils each: many have the same two of the three.
    pupils = table(3000, (1, 1), seed=2)
    school = pupils.index // 30
    pupils["token"] = [f"school {number}" for number in school]
    pupils["sex"], pupils["month"] = ["fm"[number % 2] for number in school], [str(n % 3) for n in school]
    assert found(pupils, policy) == {}


def of_towns(rows: pd.DataFrame, number: pd.Series[int]) -> tuple[pd.DataFrame, ReleasePolicy]:
    """Give each row a town by a number, and return the rows and a policy that calls it a quasi-identifier."""
    rows = rows.assign(town="t" + number.astype(str))
    kind = {"town": {"type": "categorical", "values": sorted(set(rows["town"]))}}
    dropped = [name for name in ("token", "office", "claim") if name in rows]
    return rows, small_policy(QI | kind, ILL, roles={"dropped": dropped}, privacy={"k": 2})


def test_by_three_quasi_identifiers_a_person_may_have_more_than_a_hundred_rows() -> None:
    rows = table(30, (120, 150))
    rows, policy = of_towns(rows, rows["token"].str[1:].astype(int) % 7)
    assert found(rows, policy) == {"token": (30, len(rows))}


def test_a_quasi_identifier_that_is_people_is_found() -> None:
    rows = table(60, (3, 9))
    rows, policy = of_towns(rows.drop(columns="token"), rows["token"].str[1:].astype(int))
    assert found(rows, policy) == {"town": (60, len(rows))}


@pytest.mark.parametrize("visits", [(12, 12), (1, 9), (120, 150)])
def test_rows_are_of_one_person_that_are_equal_where_hardly_any_are_nearly_equal(
    visits: tuple[int, int],
) -> None:
    rows = table(80, visits)
    town = rows["token"].str[1:].astype(int) % 13
    rows, policy = of_towns(rows.drop(columns="token"), town)
    assert found(rows, policy)[""][1] == len(rows)


@given(
    people=st.integers(30, 1500),
    ages=st.integers(1, 60),
    towns=st.integers(1, 30),
    heaped=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_rows_of_different_people_are_nearly_equal_as_often(
    people: int, ages: int, towns: int, heaped: bool, seed: int
) -> None:
    """In some towns people are old; ages may be told in fives."""
    draw = random.Random(seed)  # noqa: S311 -- a test table
    town = [draw.randrange(towns) for _ in range(people)]
    age = [20 + one % 7 + draw.randrange(ages) for one in town]
    age = [5 * (one // 5) if heaped and draw.random() < 0.5 else one for one in age]
    rows = pd.DataFrame({"age": age, "sex": [draw.choice("fm") for _ in town], "illness": "flu"})
    rows, policy = of_towns(rows, pd.Series(town))
    assert found(rows, policy) == {}


def test_the_policy_can_accept_it_or_count_people() -> None:
    rows = table(60, (12, 12))
    assert found(rows, policy_of(expectations={"repeats": "accepted"})) == {}
    several = policy_of(rows="several", roles={"key": "token", "dropped": ["office", "claim"]})
    assert found(rows, several) == {}


def _given(rows: pd.DataFrame, folder: Path, kind: str) -> Path | TableObject:
    path = folder / f"t.{kind}"
    if kind == "frame":
        return TableObject(rows)
    if kind == "xlsx":
        rows.to_excel(path, index=False)
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            rows.to_sql("t", database, index=False)
    else:
        with duckdb.connect() as con:
            con.register("rows", rows)
            con.execute(f"COPY rows TO '{path}'")
    return path


def _refused(policy: ReleasePolicy, folder: Path, given: Path | TableObject | None = None) -> InputError:
    match = r"'token' has 60 values in .* they may be of one person"
    with pytest.raises(InputError, match=match) as caught:
        read_table(policy, input_path=given, period="2026", base=folder)
    return caught.value


@pytest.mark.parametrize("query", [None, "SELECT * FROM input WHERE sex <> 'x'"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "sqlite", "frame"])
def test_such_a_table_is_refused(tmp_path: Path, kind: str, query: str | None) -> None:
    given = _given(table(60, (3, 9)), tmp_path, kind)
    refused = _refused(policy_of(source={"query": query} if query else {}), tmp_path, given)
    assert "rows: several" in str(refused.hint)


@pytest.mark.parametrize("kinds", [("csv", "csv"), ("csv", "sqlite", "parquet")])
def test_people_with_a_row_in_each_part_of_a_table_are_found(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    first = table(60, (1, 1))
    policy = policy_of(source={"path": [f"{number}/t.{kind}" for number, kind in enumerate(kinds)]})
    for number, kind in enumerate(kinds):
        (tmp_path / str(number)).mkdir()
        _given(first.sample(frac=1, random_state=number), tmp_path / str(number), kind)
    refused = _refused(policy, tmp_path)
    assert refused.where == f"the parts up to {tmp_path}/1/t.{kinds[1]}"


def test_a_query_that_leaves_the_column_out_shows_nobody(tmp_path: Path) -> None:
    source = {"query": "SELECT age, sex, illness FROM input"}
    policy = policy_of(roles={"dropped": []}, source=source)
    given = TableObject(table(60, (3, 9)))
    assert read_table(policy, input_path=given, period="2026", base=tmp_path).frame.shape[1] == 3


def test_what_is_not_certain_is_a_doubt(tmp_path: Path) -> None:
    rows = table(60, (3, 9)).assign(month=lambda rows: rows["claim"].str[-1])
    months = {"month": {"type": "categorical", "values": [*"0123456789"]}}
    policy = small_policy(QI | months, ILL, roles={"dropped": ["token", "office", "claim"]}, privacy={"k": 2})
    for kind in ("csv", "sqlite", "frame"):
        read = read_table(policy, input_path=_given(rows, tmp_path, kind), period="2026", base=tmp_path)
        (doubt,) = read.doubts
        assert "the column 'token' has 60 values" in doubt.said
        assert "the same 'age', 'sex': they may be of one person" in doubt.said
        assert doubt.kept in doubt.said.replace("the column 'token'", "a column that is not published")
    assert len(read.frame) == len(rows)


def _said(rows: pd.DataFrame, policy: ReleasePolicy, folder: Path) -> list[str]:
    path = folder / "t.csv"
    rows.to_csv(path, index=False)
    source = read_table(policy, input_path=path, period="2026", base=folder)
    return [one.detail for one in feasible(source, policy) if not one.passed]


def test_equal_numbers_of_rows_are_found_without_any_column(tmp_path: Path) -> None:
    policy = small_policy(QI, ILL, privacy={"k": 2})
    names = ["age", "sex", "illness"]
    (said,) = _said(table(60, (12, 12))[names], policy, tmp_path)
    assert "combinations of quasi-identifiers is in 12 rows, or a multiple of it" in said
    assert _said(table(60, (1, 9))[names], policy, tmp_path) == []
    accepted = small_policy(QI, ILL, privacy={"k": 2}, expectations={"repeats": "accepted"})
    assert _said(table(60, (12, 12))[names], accepted, tmp_path) == []


def _of_births(people: int) -> pd.DataFrame:
    """A table of people with several rows each: a date of birth, a sex, a town and what they weigh."""
    draw = random.Random(3)  # noqa: S311 -- a test table
    rows = [
        (str(birth), sex, town, weight, draw.choice(["flu", "cough", "none"]))
        for i in range(people)
        for birth, sex, town, weight in [
            (
                date(1960 + i % 5, 1, 1) + timedelta(days=draw.randrange(365)),
                draw.choice("fm"),
                draw.choice(["Leeds", "York", "Hull"]),
                f"{draw.randint(40, 110)},5",
            )
        ]
        for _ in range(4)
    ]
    return pd.DataFrame(rows, columns=["birth", "sex", "town", "weight", "illness"])


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ({}, ["birth", "sex", "town"]),
        ({"query": "SELECT * FROM input"}, ["birth", "sex", "town"]),
        ({"decimal": ",", "delimiter": ";"}, ["weight", "sex", "town"]),
    ],
    ids=["dates", "dates of a query", "decimal commas"],
)
@pytest.mark.parametrize("resolution", ["year", "month"])
@pytest.mark.by_day(3)
def test_a_check_finds_what_a_run_finds(
    tmp_path: Path, resolution: str, source: dict[str, str], names: list[str]
) -> None:
    kinds: dict[str, Any] = {
        "birth": {"type": "date", "bounds": ["1950-01", "1970-12"], "resolution": resolution},
        "sex": QI["sex"],
        "town": {"type": "categorical", "values": ["Leeds", "York", "Hull"]},
        "weight": {"type": "numeric", "bounds": [0, 200]},
    }
    rows = _of_births(60)[[*names, "illness"]]
    policy = small_policy({name: kinds[name] for name in names}, ILL, privacy={"k": 2}, source=source)
    path = tmp_path / "t.csv"
    rows.to_csv(path, index=False, sep=source.get("delimiter", ","))
    written = tmp_path / "p.yaml"
    written.write_text(yaml.safe_dump(policy.model_dump(mode="json", exclude_unset=True)))
    doubts = read_table(policy, input_path=path, period="2026", base=tmp_path).doubts
    checked = check(written, store=tmp_path / "store", period="2026", input_path=path).findings
    assert len(doubts) == 1
    assert "240 rows" in doubts[0].said
    assert f"warning: {doubts[0].said}" in [one.line for one in checked]


def test_a_check_finds_people_of_each_part_as_a_run_does(tmp_path: Path) -> None:
    rows = table(60, (3, 5))
    rows.iloc[::2].to_csv(tmp_path / "a.csv", index=False)
    rows.iloc[1::2].to_csv(tmp_path / "b.csv", index=False)
    policy = policy_of(source={"path": ["a.csv", "b.csv"]})
    written = tmp_path / "p.yaml"
    written.write_text(yaml.safe_dump(policy.model_dump(mode="json", exclude_unset=True)))
    with pytest.raises(InputError) as refused:
        read_table(policy, input_path=None, period="2026", base=tmp_path)
    checked = check(written, store=tmp_path / "store", period="2026").findings
    assert str(refused.value).replace("\n  ", ". ") in [one.line for one in checked]


@pytest.mark.parametrize(("grows", "n_doubts"), [(True, 1), (False, 0)])
def test_people_whose_ages_grow_are_told_from_employers_of_many_ages(
    tmp_path: Path, grows: bool, n_doubts: int
) -> None:
    """Many values share the sex and town that each has; the ages of one are near one another, or any."""
    draw = random.Random(5)  # noqa: S311 -- a test table
    rows = []
    for i in range(120):
        age, sex, town = draw.randint(18, 70), draw.choice("fm"), draw.choice(["Leeds", "York", "Hull"])
        ages = [age + n if grows else draw.randint(18, 79) for n in range(draw.randint(5, 9))]
        rows += [(f"r{i}", each, sex, town, draw.choice(["flu", "cough", "none"])) for each in ages]
    draw.shuffle(rows)
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["ref", "age", "sex", "town", "illness"]).to_csv(path, index=False)
    kinds = QI | {"town": {"type": "categorical", "values": ["Leeds", "York", "Hull"]}}
    policy = small_policy(kinds, ILL, roles={"dropped": ["ref"]}, privacy={"k": 8})
    found = read_table(policy, input_path=path, period="2026", base=tmp_path).doubts
    assert [one.kept.partition(" has ")[0] for one in found] == ["a column that is not published"] * n_doubts
