"""The check before a run: each thing that is wrong is one line, all at once, and no rare value is told."""

from __future__ import annotations

import copy
import csv
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.__main__ import main
from expectations.numbers import as_numbers
from policy.errors import PolicyError, UsageError
from policy.load import parse_policy
from policy.period import first_day, last_day, period_form, period_with
from release_store.person_key import hashed_people, person_key
from release_store.store import ReleaseStore
from services.checking.check import CheckResult, check
from services.checking.model import model_findings
from services.checking.period import name_finding
from services.checking.values import value_findings
from tasks.intake import lengths
from tasks.intake.cell_table import TABLE, Cells, cells_of
from tasks.intake.read import read_table
from tasks.intake.source import find_source
from tasks.validation.check import validate
from tasks.validation.feasible import feasible
from tests.faults.small_work import assessed, published
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, policy_text, source_of, write_source
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
N = 40
POLICY: dict[str, Any] = {
    "series": "register",
    "roles": {
        "key": "id",
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110]},
            "city": {"type": "categorical", "values": ["Leeds", "York"]},
        },
        "sensitive": {"disease": {"stability": "stable", "values": ["flu", "cold", "none"]}},
        "kept": ["ward"],
        "kept_values": {"ward": ["a", "b"]},
        "dropped": ["seen"],
    },
    "privacy": {"k": 5, "e": 2, "p_max": 0.9},
    "method": {"name": "mondrian"},
}


def table(**columns: list[str]) -> dict[str, list[str]]:
    """A table of 40 people with which nothing is wrong, with the columns given in place of its own."""
    return {
        "id": [f"p{i}" for i in range(N)],
        "name": [f"name {i}" for i in range(N)],
        "age": [str(20 + i) for i in range(N)],
        "city": ["Leeds", "York"] * (N // 2),
        "disease": ["flu", "cold", "none", "flu"] * (N // 4),
        "ward": ["a", "b"] * (N // 2),
        "seen": [f"2026-0{1 + i % 3}-11" for i in range(N)],
        **columns,
    }


Checked = Callable[..., CheckResult]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """Return a function that writes a policy and a table, and checks them."""

    def _checked(
        columns: dict[str, list[str]] | None = None,
        *,
        period: str | None = "2026Q1",
        file: str = "t.csv",
        **sections: Any,
    ) -> CheckResult:
        policy = tmp_path / "policy.yaml"
        policy.write_text(yaml.safe_dump({**copy.deepcopy(POLICY), **sections}, sort_keys=False))
        if columns is not None:
            _write(tmp_path / file, columns)
        return check(policy, store=tmp_path / "store", period=period, input_path=tmp_path / file)

    return _checked


def _write(path: Path, columns: dict[str, list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _lines(found: CheckResult) -> list[str]:
    """Return what is told, without the file's place."""
    return [one.line.replace(f"{one.where}: ", "") for one in found.findings]


def replaced(column: str, *cells: str) -> dict[str, list[str]]:
    """Return the table with the first cells of a column replaced."""
    before = table()[column]
    return table(**{column: [*cells, *before[len(cells) :]]})


def test_nothing_is_wrong_and_the_next_command_is_told(checked: Checked, tmp_path: Path) -> None:
    found = checked(table())
    assert (found.findings, found.exit_code, found.rows, found.columns) == ((), 0, N, 7)
    named = f"{tmp_path}/policy.yaml --period 2026Q1 --input {tmp_path}/t.csv"
    assert found.next_command == f"releasegate --store {tmp_path}/store run {named}"


@pytest.mark.parametrize(
    ("name", "period"),
    [
        ("t-2026-01.csv", "2026-01"),
        ("t-2026q3.csv", "2026Q3"),
        ("t.csv", None),
        ("t-2026-01-to-2026-02.csv", None),
        ("t-2026-13.csv", None),
    ],
)
def test_the_next_command_has_the_period_in_the_name_of_the_file(
    checked: Checked, name: str, period: str | None
) -> None:
    named = f" --period {period}" if period else ""
    assert f"policy.yaml{named} --input" in checked(table(), period=None, file=name).next_command


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (replaced("id", "p1"), "column 'id': 2 of 40 rows share their key with another row"),
        (replaced("id", ""), "column 'id': 1 of 40 rows have no key"),
        (replaced("age", "forty"), "column 'age': 1 of 40 rows hold no finite number"),
        (
            replaced("age", "1.5"),
            "column 'age': 1 of 40 rows hold a number that is not whole, or one of 2^53 or more",
        ),
        (replaced("age", "200", "-1"), "column 'age': 2 of 40 rows lie outside the bounds 0 to 110"),
        (
            replaced("city", *["Leads"] * 5),
            (
                "column 'city': 5 of 40 rows hold a value that the policy does not allow: "
                "'Leads' (5 rows) (did you mean 'Leeds'?)"
            ),
        ),
        (
            replaced("city", *["Leads"] * 5, "Hull", "Bath"),
            (
                "column 'city': 7 of 40 rows hold a value that the policy does not allow: "
                "'Leads' (5 rows) (did you mean 'Leeds'?), 2 more values that fewer than 5 rows each have"
            ),
        ),
        (
            replaced("ward", "x"),
            (
                "column 'ward': 1 of 40 rows hold a value that the policy does not allow: "
                "1 value that fewer than 5 rows have"
            ),
        ),
        (
            replaced("disease", *["hiv"] * 9),
            (
                "column 'disease': 9 of 40 rows hold a value that the policy does not allow: "
                "1 value of a sensitive attribute"
            ),
        ),
        (replaced("disease", "", "", ""), "column 'disease': 3 of 40 rows are missing; the limit is 5%"),
        (
            table(disease=["flu"] * N),
            "column 'disease': 'disease' has 1 distinct value, fewer than privacy.e (2)",
        ),
    ],
)
def test_each_fault_of_the_cells_is_one_line(
    checked: Checked, columns: dict[str, list[str]], told: str
) -> None:
    found = checked(columns)
    (line,) = _lines(found)
    assert line.startswith(f"{told}. ")
    assert (found.exit_code, found.next_command) == (3, "")


def test_all_findings_are_told_at_once(checked: Checked) -> None:
    found = checked({**replaced("age", "200"), "city": ["Hull"] * N, "phone": ["1"] * N})
    said = " ".join(_lines(found))
    assert len(found.findings) == 3
    assert all(part in said for part in ("'phone' has no role", "bounds 0 to 110", "'Hull' (40 rows)"))


def test_a_column_that_is_misspelt_is_told_from_both_sides(checked: Checked) -> None:
    columns = table()
    columns["cty"] = columns.pop("city")
    assert _lines(checked(columns)) == [
        (
            "the column 'city' of the policy's roles is missing (did you mean 'cty'?). "
            "Correct the name in roles, or the input."
        ),
        (
            "the column 'cty' has no role (did you mean 'city'?). "
            "Give it a role in the policy; roles.dropped leaves a column out."
        ),
    ]


def test_a_line_of_cells_in_place_of_names_is_not_told(checked: Checked) -> None:
    names = ["CANARY1", "CANARY2", "age", "CANARY3", "CANARY4", "CANARY5", "CANARY6"]
    found = checked(dict(zip(names, table().values(), strict=True)))
    assert "CANARY" not in repr(found)
    assert _lines(found)[0].startswith(
        "6 columns of the policy's roles are missing, and 6 columns of the input have no role. Line 1 must"
    )


def test_a_missing_file_and_a_wrong_one_are_told(checked: Checked) -> None:
    assert _lines(checked()) == ["no such file. Give --input FILE, or correct source.path."]
    source = {"inputs": {"more": "m.csv"}, "query": "select * from input, more"}
    (found,) = checked(table(), source=source).findings
    assert (Path(found.where).name, found.message) == ("m.csv", "no such file")


def test_other_files_that_the_policy_names_are_looked_at(checked: Checked) -> None:
    found = checked(table(), linkage={"control": "outside.csv"})
    assert [(Path(one.where).name, one.message, one.hint) for one in found.findings] == [
        ("outside.csv", "no such file", "Correct linkage.control, or the file.")
    ]


def test_a_policy_that_is_wrong_is_told_as_by_a_run(checked: Checked) -> None:
    with pytest.raises(PolicyError, match="unknown field"):
        checked(table(), privcy={"k": 3})
    with pytest.raises(PolicyError, match="unknown method 'mondrain'"):
        checked(table(), method={"name": "mondrain"})


def test_a_period_of_another_form_is_told_as_by_a_run(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump({**POLICY, "period": "quarterly"}))
    with pytest.raises(UsageError, match="is no quarter"):
        check(policy, store=tmp_path / "store", period="2026-01", input_path=tmp_path / "t.csv")


def test_a_query_runs_in_the_sandbox_and_its_values_are_not_named(checked: Checked) -> None:
    source = {"query": "select * replace ('CANARY' as city) from input"}
    (line,) = _lines(checked(table(), source=source))
    assert "40 of 40 rows hold a value that the policy does not allow: 1 value of the query" in line
    for query in ("select * from read_text('/etc/passwd')", "select random() from input", "selec"):
        found = checked(table(), source={"query": query})
        assert [one.where for one in found.findings] == ["source.query"]
        assert found.exit_code == 3


def test_k_people_must_have_a_value_where_people_are_counted(checked: Checked) -> None:
    columns = replaced("city", *["CANARY"] * 8)
    columns["id"] = [*["p1"] * 8, *columns["id"][8:]]
    found = checked(columns, rows="several")
    assert "CANARY" not in repr(found)
    assert "1 value that fewer than 5 people have" in " ".join(_lines(found))


def branches(n: int, *, people: bool) -> dict[str, list[str]]:
    """A table of so many rows in which five codes are the key: of people each of one age, or of anybody."""
    ages = [20 + (i % 5 if people else i % 7) for i in range(n)]
    columns = {name: [cells[i % N] for i in range(n)] for name, cells in table().items()}
    return {**columns, "id": [f"b{i % 5}" for i in range(n)], "age": [*map(str, ages)]}


def test_a_key_whose_rows_are_different_peoples_is_told(checked: Checked) -> None:
    found = checked(branches(350, people=False), rows="several", period="2026-01")
    (line,) = [line for line in _lines(found) if "no person's" in line]
    assert line.startswith("warning: column 'id': the key is no person's: 5 values in 350 rows, 70 each")
    assert "'age' is the same in 13% of their pairs only" in line
    assert not [
        line for line in _lines(checked(branches(350, people=True), rows="several")) if "no person's" in line
    ]


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"privacy": {"k": 5, "e": 2, "p_max": 1}}, ["privacy.p_max: limits nothing: all but a few"]),
        (
            {"privacy": {"k": 5, "e": 1, "p_max": 0.9, "attributes": {"disease": {"p_max": 1}}}},
            ["privacy.attributes.disease.p_max and privacy.e: limits nothing: everybody of a class"],
        ),
        ({"privacy": {"k": 5, "e": 1, "p_max": 1, "h_min": 0.2}}, []),
        ({"privacy": {"k": 5, "p_max": 1}, "gates": {"models": {"t_closeness": {"max": 0.3}}}}, []),
        (
            {"gates": {"models": {"t_closeness": {"max": 0.75}}}},
            ["gates.models.t_closeness.max: (0.75) limits nothing: no class of 'disease' can be over 0.75"],
        ),
        (
            {"gates": {"models": {"beta_likeness": {"max": 3}}}},
            ["gates.models.beta_likeness.max: (3) limits nothing: no class of 'disease' can be over 3"],
        ),
        ({"gates": {"models": {"beta_likeness": {"max": 2.9}}}}, []),
    ],
)
def test_limits_that_limit_nothing_are_told(
    checked: Checked, sections: dict[str, Any], told: list[str]
) -> None:
    found = checked(table(), **sections)
    assert (len(found.findings), found.exit_code) == (len(told), 0)
    assert all(f.line.startswith(f"warning: {one}") for f, one in zip(found.findings, told, strict=True))


def test_removed_duplicates_are_not_counted(checked: Checked) -> None:
    columns = {name: [cells[0], *cells] for name, cells in table().items()}
    assert "share their key" in _lines(checked(columns))[0]
    found = checked(columns, source={"duplicates": "removed"})
    assert (found.findings, found.rows) == ((), N)


@pytest.mark.parametrize("column", list(table()))
def test_no_value_of_fewer_than_k_rows_is_told(checked: Checked, column: str) -> None:
    rare = [f"CANARY{i % 3}" for i in range(12)]  # three values that four rows each have, under a k of 5
    found = checked(replaced(column, *rare))
    assert "CANARY" not in repr(found) + " ".join(_lines(found))
    assert bool(found.findings) is (column not in ("name", "seen"))


@pytest.mark.parametrize(
    ("name", "period", "other"),
    [
        ("register-2026Q2.csv", "2026Q3", "2026Q2"),
        ("register-2026q2.csv", "2026Q3", "2026q2"),
        ("register_2026-07.csv", "2026Q3", None),
        ("register_2026-05.csv", "2026Q3", "2026-05"),
        ("register-2025.csv", "2026Q3", "2025"),
        ("register-2026.csv", "2026Q3", None),
        ("register-2026Q3.csv", "2026Q3", None),
        ("register-2025Q1-2025Q4.csv", "2026Q3", None),
        ("export-2026-10-02.csv", "2026Q3", None),
        ("export-2026-10-02.csv", "2026-10-01", "2026-10-02"),
        ("register-2026Q2.csv", "autumn", None),
        ("register-99920261.csv", "2026Q3", None),
    ],
)
def test_a_files_name_contradicts_a_period(name: str, period: str, other: str | None) -> None:
    found = name_finding(name, period, name)
    if other is None:
        assert found is None
    else:
        assert found is not None
        assert found.line == (
            f"warning: {name}: --period: is {period}, and the file's name says {other}. "
            "Check --period and the input."
        )


def test_dates_that_lie_in_another_period_give_a_warning_alone(checked: Checked) -> None:
    found = checked(table(), period="2026Q3")
    assert _lines(found) == [
        (
            "warning: column 'seen': almost all of its dates are in 2026Q1, and --period is 2026Q3. "
            "Check --period and the input."
        )
    ]
    assert found.exit_code == 0
    dotted = [f"{1 + i % 28}.02.2026 10:00" for i in range(N)]
    assert "are in 2026-02" in _lines(checked(table(seen=dotted), period="2026-03"))[0]
    born = [f"{1930 + i}-05-01" for i in range(N)]
    assert checked(table(seen=born), period="2026Q3").findings == ()


@given(st.dates(), st.sampled_from(["year", "quarter", "month", "week", "day"]))
def test_a_period_begins_and_ends_where_its_days_do(day: Any, form: str) -> None:
    period = period_with(day, form)
    if not 1 < day.year < 9998:
        return
    first, last = first_day(period), last_day(period)
    assert period_form(period) == form
    assert first is not None
    assert last is not None
    assert first <= day <= last
    assert period_with(first, form) == period_with(last, form) == period


NUMBERS = duckdb.connect()
CELLS = st.lists(
    st.one_of(
        st.none(),
        st.text(alphabet=" +-.0123456789eEnaif", min_size=1, max_size=8),
        st.floats(allow_nan=False, width=32).map(str),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=30)
@given(CELLS)
def test_a_number_is_what_a_run_takes_for_one(column: list[str | None]) -> None:
    NUMBERS.execute(f"CREATE OR REPLACE TABLE {TABLE} AS SELECT unnest(?::VARCHAR[]) AS x", [column])
    cells = Cells(NUMBERS, "t", ("x",), frozenset(), len(column))
    found = [one for (one,) in cells.all(f"SELECT {cells.number('x')} FROM {TABLE} ORDER BY rowid")]
    wanted = as_numbers(pd.Series(column, dtype="str"))
    assert [one is None for one in found] == np.isnan(wanted).tolist()
    assert [one for one in found if one is not None] == wanted[~np.isnan(wanted)].tolist()


@pytest.mark.integration
@settings(max_examples=25)
@given(mixed_rows(1, 12), st.sampled_from([{}, {"e": 3}, {"k": 6, "p_max": 0.6}, {"h_min": 0.7}]))
def test_the_whole_table_misses_what_validation_says(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], privacy: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("whole")
    models = {"distinct_l": {"min": 2}, "alpha_k": {"alpha": 0.7, "k": 2}}
    text = policy_text(
        MIXED, TWO_SENSITIVE, privacy=privacy, gates={"models": models}, source={"line_breaks": True}
    )
    policy = parse_policy(text, folder / "policy.yaml")
    path = write_source(folder / "t.csv", policy, rows)
    source = find_source(policy, input_path=path, period="2026", base=folder)
    with cells_of(source, policy) as cells:
        found = [one.message for one in model_findings(cells, policy)]
        assert not [one for one in value_findings(cells, policy) if "finite" in one.message]
    assert found == [one.detail for one in feasible(source_of(policy, rows), policy) if not one.passed]


@pytest.mark.parametrize("method", ["mondrian", "mdav"])
def test_more_rows_than_are_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(lengths, "MOST_ROWS", 5)
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text(method={"name": method}))
    table = tmp_path / "t.csv"
    table.write_text("age,city,illness\n" + "30,Hull,flu\n40,Hull,gout\n" * 3)
    result = check(policy, store=tmp_path / "store", input_path=table, period="2026")
    found = [one.message for one in result.findings if not one.is_warning]
    assert found == ([] if method == "mondrian" else ["gives more than 5 rows"])


TYPED: dict[str, Any] = {
    "series": "clinic",
    "source": {
        "delimiter": ";",
        "strip": True,
        "missing": ["", "-"],
        "case": {"severity": "lower"},
        "values": {"value": {"12": ["12 (home)"]}},
        "dates": {"born": ["%d.%m.%Y"]},
        "decimal": ",",
    },
    "roles": {
        "key": "id",
        "quasi_identifiers": {
            "severity": {"type": "ordinal", "values": ["low", "middle", "high"]},
            "value": {"type": "code", "values": ["10", "12", "20"], "length": 2, "others": "else"},
            "born": {"type": "date", "bounds": ["1950", "1990"]},
            "weight": {"type": "numeric", "bounds": [40, 120]},
        },
        "sensitive": {"dose": {"type": "numeric", "stability": "stable"}, "illness": {"stability": "stable"}},
    },
    "privacy": {"k": 3, "e": 2, "p_max": 0.9},
    "method": {"name": "mondrian"},
}
UNTIDY = {
    "id": [f"p{i}" for i in range(12)],
    " severity ": ["Low", " MIDDLE", "high ", "low"] * 3,
    "value": ["1015", "12", "12 (home)", "9999", "2001", "x"] * 2,
    "born": [f"{1 + i}.3.{1960 + i}" for i in range(12)],
    "weight": ["70,5", "81", "\u00a055,25", "-"] + ["60,0"] * 8,
    "dose": ["1,5", "2,5", "3,0", "4,5"] * 3,
    "illness": ["flu", "cold", "none"] * 4,
}


def _both_ways(folder: Path, columns: dict[str, list[str]], **source: Any) -> tuple[list[str], list[str]]:
    """Return what a check and what the validation of a run say of a table: the columns that are wrong."""
    written = copy.deepcopy(TYPED)
    written["source"] |= source
    written["expectations"] = {"missing": 0.2}
    (folder / "policy.yaml").write_text(yaml.safe_dump(written, sort_keys=False))
    path = folder / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, delimiter=";").writerows([list(columns), *zip(*columns.values(), strict=True)])
    found = check(folder / "policy.yaml", store=folder / "store", period="2026Q1", input_path=path).findings
    policy = parse_policy((folder / "policy.yaml").read_text(), folder / "policy.yaml")
    read = read_table(policy, input_path=path, period="2026Q1", base=folder)
    results = [*validate(read, policy, None), *feasible(read, policy)]
    failed = {one.column or "" for one in results if not one.passed}
    return sorted({one.field.removeprefix("column ").strip("'") for one in found}), sorted(failed)


TWICE = {name: [cells[0], *cells] for name, cells in UNTIDY.items()} | {"value": ["1099", *UNTIDY["value"]]}


@pytest.mark.parametrize(
    ("columns", "source", "wrong"),
    [
        (UNTIDY, {}, []),
        (UNTIDY, {"case": {}}, ["severity"]),
        (UNTIDY, {"dates": {}}, ["born"]),
        (UNTIDY, {"decimal": "."}, ["dose", "weight"]),
        ({**UNTIDY, "born": ["1.3.1949", *UNTIDY["born"][1:]]}, {}, ["born"]),
        # Two rows that differ in a code's last characters alone are one row twice, once they are read.
        (TWICE, {}, ["id"]),
        (TWICE, {"duplicates": "removed"}, []),
    ],
)
@pytest.mark.by_day(3)
def test_untidy_cells_codes_and_dates_are_checked_as_a_run_reads_them(
    tmp_path: Path, columns: dict[str, list[str]], source: dict[str, Any], wrong: list[str]
) -> None:
    assert _both_ways(tmp_path, columns, **source) == (wrong, wrong)


def _write_rows(folder: Path, columns: dict[str, list[str]], kind: str) -> str | list[str]:
    """Write a table in two files, a workbook or a database; return their names as the policy has them."""
    rows = list(zip(*columns.values(), strict=True))
    if kind == "xlsx":
        workbook = openpyxl.Workbook()
        for row in [list(columns), *rows]:
            workbook.worksheets[0].append(row)
        workbook.save(folder / "t.xlsx")
        return "t.xlsx"
    if kind == "sqlite":
        with closing(sqlite3.connect(folder / "t.sqlite")) as database:
            database.execute(f"CREATE TABLE t ({', '.join(columns)})")
            database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", rows)
            database.commit()
        return "t.sqlite"
    _write(folder / "a.csv", {name: cells[:20] for name, cells in columns.items()})
    _write(folder / "b.csv", {name: cells[20:] for name, cells in columns.items()})
    return ["a.csv", "b.csv"]


@pytest.mark.parametrize("kind", ["parts", "xlsx", "sqlite"])
@pytest.mark.by_day(1)
def test_several_files_a_workbook_and_a_database_are_checked_as_one_file_is(
    tmp_path: Path, kind: str
) -> None:
    path = _write_rows(tmp_path, replaced("city", *["Leads"] * 5), kind)
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump({**POLICY, "source": {"path": path}}, sort_keys=False))
    found = check(policy, store=tmp_path / "store", period="2026Q1")
    assert (found.rows, found.columns) == (N, 7)
    (line,) = [one.message for one in found.findings]
    assert line.endswith("allow: 'Leads' (5 rows) (did you mean 'Leeds'?)")
    assert _imported(tmp_path, ["check", str(policy), "--period", "2026Q1"]) == ["3", "[]"]


def test_parts_of_a_table_have_the_same_columns(tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", table())
    _write(tmp_path / "b.csv", {name: cells for name, cells in table().items() if name != "ward"})
    policy = tmp_path / "policy.yaml"
    policy.write_text(yaml.safe_dump({**POLICY, "source": {"path": ["a.csv", "b.csv"]}}, sort_keys=False))
    (found,) = check(policy, store=tmp_path / "store", period="2026Q1").findings
    assert Path(found.where).name == "b.csv"
    assert found.message == "the column 'ward' of the policy's roles is missing"
    for name in ("a.csv", "b.csv"):
        _write(tmp_path / name, {column.replace("city", "cty"): cells for column, cells in table().items()})
    findings = check(policy, store=tmp_path / "store", period="2026Q1").findings
    told = [(Path(one.where).name, one.message.split(" (")[0]) for one in findings[:2]]
    assert told == [
        ("a.csv", "the column 'city' of the policy's roles is missing"),
        ("a.csv", "the column 'cty' has no role"),
    ]
    assert [one.message for one in findings[2:]] == ["80 of 80 rows share their key with another row"]


def test_a_check_imports_nothing_that_costs_seconds(checked: Checked, tmp_path: Path) -> None:
    checked(table())
    words = ["check", str(tmp_path / "policy.yaml"), "--input", str(tmp_path / "t.csv")]
    assert _imported(tmp_path, words) == ["0", "[]"]


def _imported(folder: Path, words: list[str]) -> list[str]:
    """Return the exit code of a command, and which dear modules it imports."""
    script = (
        "import sys; from cli.__main__ import main\n"
        f"code = main({['--store', str(folder / 'store'), *words]!r})\n"
        "dear = {'pandas', 'scipy', 'sklearn', 'torch', 'prefect', 'great_expectations', 'altair'}\n"
        "print(code); print(sorted(dear & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=True,
    )
    return done.stdout.splitlines()[-2:]


def test_a_run_of_a_missing_file_ends_before_anything_dear_is_imported(
    checked: Checked, tmp_path: Path
) -> None:
    checked()
    assert main(["--store", str(tmp_path / "store"), "init"]) == 0
    words = ["run", str(tmp_path / "policy.yaml"), "--period", "2026Q1", "--input", str(tmp_path / "t.csv")]
    assert _imported(tmp_path, words) == ["3", "[]"]


def test_keys_in_another_form_are_told(checked: Checked) -> None:
    found = checked(replaced("id", "7", "07", "7.0"))
    assert found.exit_code == 0
    (line,) = _lines(found)
    assert line.startswith("warning: column 'id': 2 keys are another key in another form")


def test_keys_of_earlier_people_in_another_form_are_told(checked: Checked, tmp_path: Path) -> None:
    store = ReleaseStore.create(tmp_path / "store")
    key = person_key(store.root)
    assert key is not None
    people = hashed_people(key, "id", [("p0", 0), ("007", 0)])
    published(store, assessed(store, "register", "2025Q4", people=people).candidate_id)
    line, _ = _lines(checked(replaced("id", "p0", "7")))
    assert line.startswith("warning: column 'id': 1 new person has the key of somebody in an earlier release")


@pytest.mark.parametrize(("gone", "told"), [(["q0"], []), (["q0", "q1"], ["only 83% of the people"])])
def test_few_people_of_the_last_release_are_told(
    checked: Checked, tmp_path: Path, gone: list[str], told: list[str]
) -> None:
    store = ReleaseStore.create(tmp_path / "store")
    key = person_key(store.root)
    assert key is not None
    people = hashed_people(key, "id", [(one, 0) for one in (*(f"p{n}" for n in range(10)), *gone)])
    published(store, assessed(store, "register", "2025Q4", people=people).candidate_id)
    lines = _lines(checked(table()))
    assert len(lines) == len(told)
    assert all(part in line for part, line in zip(told, lines, strict=True))
