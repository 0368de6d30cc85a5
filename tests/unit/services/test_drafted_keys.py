"""The key of a draft from several periods: found by what equal values have in common, not by name alone."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

from policy.errors import PolicyError
from policy.load import parse_policy
from policy.model import ReleasePolicy
from services.drafting.draft import UNDECIDED
from services.drafting.draft import draft as draft_policy
from services.drafting.facts import table_facts
from tasks.intake.repeated_people import repeated_people

draft = partial(draft_policy, trial=False)

PEOPLE, ROWS, STAYING = 400, 200, 120


def panel(seed: int = 1, periods: int = 3, key: str = "ref") -> list[pd.DataFrame]:
    """Return a panel: 120 of 200 people are in the next period; only the diagnosis of a person changes."""
    draw = np.random.default_rng(seed)
    sexes = draw.choice(["f", "m"], PEOPLE)
    regions = draw.choice(["north", "south", "west", "east"], PEOPLE)
    present = draw.choice(PEOPLE, ROWS, replace=False)
    tables = []
    for _ in range(periods):
        columns = {
            key: present * 7 + 1003,
            "sex": sexes[present],
            "region": regions[present],
            "diagnosis": draw.choice(["flu", "gout", "none"], ROWS),
        }
        tables.append(pd.DataFrame(columns))
        others = np.setdiff1d(np.arange(PEOPLE), present)
        present = np.concatenate(
            [
                draw.choice(present, STAYING, replace=False),
                draw.choice(others, ROWS - STAYING, replace=False),
            ]
        )
    return tables


def written(folder: Path, tables: list[pd.DataFrame]) -> list[Path]:
    files = [folder / f"panel-202{number}.csv" for number in range(len(tables))]
    for table, file in zip(tables, files, strict=True):
        table.to_csv(file, index=False)
    return files


def policy_of(text: str) -> ReleasePolicy:
    return parse_policy(text, Path("panel.yaml"))


@pytest.mark.parametrize("key", ["ref", "zzz", "number"])
def test_a_column_whose_equal_values_are_the_same_peoples_is_the_key_whatever_its_name(
    tmp_path: Path, key: str
) -> None:
    text = draft(*written(tmp_path, panel(key=key)))
    assert policy_of(text).roles.key == key
    assert policy_of(text).rows == "one_per_person"
    named = ", and named like a key" if key == "number" else ""
    reason = f"unique in each table{named}: 60% of its values are in the next table, where "
    assert f"# {reason}" in text
    assert "is the same for 100.0% of them" in text


def test_in_one_table_a_unique_column_of_no_such_name_is_an_identifier(tmp_path: Path) -> None:
    policy = policy_of(draft(*written(tmp_path, panel(periods=1, key="zzz"))))
    assert (policy.roles.key, policy.roles.identifiers) == (None, ("zzz",))


@pytest.mark.parametrize("name", ["id", "zzz"])
@pytest.mark.parametrize("order", [None, "region"])
def test_a_running_number_of_rows_is_no_key_even_where_tables_are_sorted(
    tmp_path: Path, name: str, order: str | None
) -> None:
    tables = panel()
    for number, table in enumerate(tables):
        ordered = table if order is None else table.sort_values(order, kind="stable")
        tables[number] = ordered.reset_index(drop=True).drop(columns="ref")
        tables[number].insert(0, name, np.arange(1, ROWS + 1))
    text = draft(*written(tmp_path, tables))
    policy = policy_of(text)
    assert (policy.roles.key, policy.roles.dropped) == (None, (name,))
    assert "the same value is another person's in the next table: it numbers rows" in text


def test_people_are_followed_by_their_number_and_not_by_that_of_the_row(tmp_path: Path) -> None:
    tables = panel(key="zzz")
    for table in tables:
        table.insert(0, "id", np.arange(1, ROWS + 1))
    assert policy_of(draft(*written(tmp_path, tables))).roles.key == "zzz"


def test_a_key_by_its_name_stays_one_where_no_value_is_in_the_next_table(tmp_path: Path) -> None:
    tables = panel(key="patient_id")
    for number, table in enumerate(tables):
        table["patient_id"] += 10_000 * number
    text = draft(*written(tmp_path, tables))
    assert policy_of(text).roles.key == "patient_id"
    assert "# unique in every row, and named like a key" in text
    other = [table.rename(columns={"patient_id": "zzz"}) for table in tables]
    assert policy_of(draft(*written(tmp_path, other))).roles.key is None


def test_a_name_or_a_remark_is_no_key_though_it_is_the_same_persons(tmp_path: Path) -> None:
    tables = [
        table.assign(
            surname=table["ref"].map("Miller{}".format), remark=table["ref"].map("was ill {}".format)
        )
        .drop(columns="ref")
        .copy()
        for table in panel()
    ]
    policy = policy_of(draft(*written(tmp_path, tables)))
    assert policy.roles.key is None
    assert set(policy.roles.identifiers) == {"surname", "remark"}


def test_linked_rows_are_compared_with_those_of_their_neighbours(tmp_path: Path) -> None:
    with table_facts(*written(tmp_path, panel())) as facts:
        link = facts.linkage("ref")
    assert link.pairs == 2 * STAYING
    assert link.shared == pytest.approx(STAYING / ROWS)
    assert (link.column in ("sex", "region"), link.agreement, link.beyond_chance) == (True, 1.0, 1.0)
    assert link.of_people
    assert not link.of_nobody


def test_text_that_is_nearly_unique_in_each_table_is_an_identifier_however_often_periods_repeat_it(
    tmp_path: Path,
) -> None:
    tables = [
        pd.DataFrame(
            {
                "remark": [f"was here {n % 90}" for n in range(100)],
                "age": np.arange(100) % 40 + 20,
                "diagnosis": np.arange(100) % 3,
            }
        )
        for _ in range(4)
    ]
    text = draft(*written(tmp_path, tables))
    assert policy_of(text).roles.identifiers == ("remark",)
    assert "nearly unique text: 90 distinct values in 100 rows of a table" in text


def test_texts_are_counted_for_the_people_of_each_table(tmp_path: Path) -> None:
    # 30 texts for the 40 people of a table, all the same ones in each, and others' people: 30 for 160 in all.
    tables = [
        pd.DataFrame(
            {
                "patient": np.repeat(np.arange(40) + 1000 * period, 3),
                "label": [f"t{n % 30}" for n in range(120)],
                "age": np.arange(120) % 40 + 20,
                "diagnosis": np.arange(120) % 5,
            }
        )
        for period in range(4)
    ]
    text = draft(*written(tmp_path, tables))
    policy = policy_of(text)
    assert (policy.roles.key, policy.rows) == ("patient", "several")
    assert "label # nearly unique text: 30 distinct values for 40 people" in text


def with_code(values: int, *, people: bool) -> pd.DataFrame:
    """A table of 3,000 rows whose rows with one code are a person's, or anybody's; a sixth is ill."""
    draw = np.random.default_rng(5)
    code = draw.permutation(np.arange(3000) % values)
    whose = code if people else np.arange(3000)
    return pd.DataFrame(
        {
            "branch_code": code,
            "birth_year": draw.integers(1930, 2005, 3000)[whose],
            "sex": draw.choice(["f", "m"], 3000)[whose],
            "disease": np.where(draw.integers(0, 6, 3000)[whose] == 0, "flu", "none"),
        }
    )


@pytest.mark.parametrize("values", [60, 400])
def test_a_code_whose_rows_are_different_peoples_is_no_key(tmp_path: Path, values: int) -> None:
    text = draft(*written(tmp_path, [with_code(values, people=False)]))
    policy = policy_of(text)
    assert (policy.roles.key, policy.rows) == (None, "one_per_person")
    assert "branch_code" in policy.roles.dropped
    assert f"no person's: {values} values in 3,000 rows, {3000 / values:.0f} each" in text
    assert 0.8 < policy.privacy.p_max < 1


def test_a_code_whose_rows_agree_in_sex_and_birth_is_a_key(tmp_path: Path) -> None:
    policy = policy_of(draft(*written(tmp_path, [with_code(400, people=True)])))
    assert (policy.roles.key, policy.rows) == ("branch_code", "several")


@pytest.mark.parametrize("name", ["zzz", "token", "pseudonym"])
def test_a_column_that_tells_what_is_known_of_people_is_the_key_whatever_its_name(
    tmp_path: Path, name: str
) -> None:
    draw = np.random.default_rng(3)
    person = np.repeat(np.arange(80), draw.integers(2, 12, 80))
    draw.shuffle(person)
    table = pd.DataFrame(
        {
            name: [f"q{17 * one}" for one in person],
            "age": draw.integers(20, 90, 80)[person],
            "sex": draw.choice(["f", "m"], 80)[person],
            "town": draw.choice(["Ash", "Birch", "Cedar"], 80)[person],
            "diagnosis": draw.choice(["flu", "gout", "none"], len(person)),
        }
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    text = draft(tmp_path / "visits.csv")
    policy = policy_of(text)
    assert (policy.roles.key, policy.rows) == (name, "several")
    assert "No second release" in text


def of_employers(column: str, known: str, firms: int = 150, seed: int = 3) -> pd.DataFrame:
    """Return 600 people of firms, of which each is in one town, with one sector and one value of `known`."""
    draw = np.random.default_rng(seed)
    firm = draw.integers(0, firms, 600)
    of_firm = {
        "town": draw.choice(["Leeds", "York", "Hull", "Bath"], firms),
        "sector": draw.choice(["farm", "shop", "mine", "bank", "care"], firms),
        known: draw.choice(["a", "b"], firms),
    }
    return pd.DataFrame(
        {
            "id": np.arange(600) + 1000,
            column: [f"X{one}" for one in firm],
            **{name: values[firm] for name, values in of_firm.items()},
            "diagnosis": draw.choice(["flu", "asthma", "gout", "cold", "burn"], 600),
        }
    )


@pytest.mark.parametrize("key", [True, False])
def test_a_table_of_employers_is_drafted_with_their_column_accepted_and_says_so(
    tmp_path: Path, key: bool
) -> None:
    table = of_employers("employer", "size")
    text = draft(*written(tmp_path, [table if key else table.drop(columns="id")]))
    policy = policy_of(text)
    assert (policy.rows, policy.expectations.repeats) == ("one_per_person", ("employer",))
    assert "places or employers with different people: check that they are" in text
    assert not check(policy, table if key else table.drop(columns="id"))


@pytest.mark.parametrize(("column", "known"), [("token", "size"), ("employer", "sex")])
def test_a_table_that_a_run_would_refuse_is_drafted_with_a_line_to_decide(
    tmp_path: Path, column: str, known: str
) -> None:
    table = of_employers(column, known)
    text = draft_policy(*written(tmp_path, [table]))
    assert f"  repeats: {UNDECIDED}\n" in text
    assert f"`repeats: [{column}]`" in text
    assert f"marked {UNDECIDED}" in text
    with pytest.raises(PolicyError, match="list of columns"):
        policy_of(text)
    accepted = policy_of(text.replace(f"repeats: {UNDECIDED}", f"repeats: [{column}]"))
    assert not check(accepted, table)


def check(policy: ReleasePolicy, table: pd.DataFrame) -> list[str]:
    """Return what shows that people have several rows."""
    with duckdb.connect() as con:
        con.register("t", table.astype(str))
        return [str(one) for one in repeated_people(con, "t", list(table.columns), policy)]


def test_where_everybody_is_followed_people_are_compared_and_not_cells(tmp_path: Path) -> None:
    tables = panel(periods=2)
    assert policy_of(draft(*written(tmp_path, tables))).gates.person.cells == "unfollowed"
    nobody = [table.drop(columns="ref") for table in tables]
    assert policy_of(draft(*written(tmp_path, nobody))).gates.person.cells == "always"
