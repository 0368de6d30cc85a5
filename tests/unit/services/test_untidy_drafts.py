"""Drafting from untidy tables: the policy reads each of them right, or one line says what is wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks import untidy
from benchmarks.untidy import UntidyTable
from policy.errors import InputError
from policy.load import parse_policy
from policy.model import ReleasePolicy
from services.drafting.draft import draft as draft_policy
from tasks.intake.read import read_table

draft = partial(draft_policy, trial=False)

ROWS = 600


def accepted(text: str) -> str:
    """Return a draft in which somebody agreed to all that it proposes in comments."""
    return re.sub(r"^  # (values:$|query: |  .*: \{\".* # )", r"  \1", text, flags=re.MULTILINE)


def read(policy: ReleasePolicy, file: Path) -> pd.DataFrame:
    """Return all columns that are read, in the policy's order."""
    table = read_table(policy, input_path=file, period="1", base=file.parent)
    identifiers = pd.DataFrame() if table.identifiers is None else table.identifiers
    return pd.concat([table.frame, identifiers], axis=1)


def differing(found: pd.DataFrame, table: UntidyTable) -> dict[str, list[tuple[Any, Any]]]:
    """Return, by column, the cells that are not read as they are clean: some of them, what was read first."""
    differences = {}
    for name in found.columns:
        own, clean = found[name], table.clean[name]
        numbers = pd.api.types.is_numeric_dtype(own)
        right = [None if one is None else float(one) if numbers else one for one in clean]
        if name == "date of birth":  # of which the year alone is read
            right = [None if one is None else one[:4] for one in right]
        cells = own.astype(object).where(own.notna(), None)
        wrong = [(a, b) for a, b in zip(cells, right, strict=True) if a != b]
        if wrong:
            differences[name] = wrong[:3]
    return differences


def test_four_periods_of_students_are_read_right(tmp_path: Path) -> None:
    tables = untidy.students(ROWS)
    files = [table.write(tmp_path) for table in tables]
    text = draft(*files)
    policy = parse_policy(accepted(text), tmp_path / "policy.yaml")
    assert (policy.series, policy.source.path) == ("students", "students-{period}.csv")
    assert policy.roles.key == "id_student"
    assert policy.rows == "one_per_person"  # in each period, though most are in several
    assert policy.source.strip
    for table, file in zip(tables, files, strict=True):
        assert differing(read(policy, file), table) == {}


def test_a_hospitals_table_is_read_right(tmp_path: Path) -> None:
    table = untidy.hospital(ROWS)
    file = table.write(tmp_path)
    text = draft(file)
    policy = parse_policy(accepted(text), tmp_path / "policy.yaml")
    source = policy.source
    assert (source.delimiter, source.encoding, source.decimal, source.thousands) == (";", "latin-1", ",", ".")
    assert source.case == {"sex": "lower", "icd": "upper"}
    assert set(source.dates["date of birth"]) == {"%d.%m.%Y", "%Y-%m-%d", "serial"}
    assert source.dates["admitted"] == ("%d/%m/%Y",)
    assert source.values["height"] == {"": ("9999",)}
    assert source.values["stay"] == {
        "1-3": ("3-Jan", "43891", "Mar-01"),
        "4-7": ("7-Apr",),
        "8-14": ("14-Aug",),
    }
    assert policy.roles.key == "Patient No"
    assert {"surname", "remarks"} <= set(policy.roles.identifiers)
    assert policy.roles.quasi_identifiers["date of birth"].type == "date"
    assert {"bed", "ward"} <= set(policy.roles.dropped)
    assert set(map(str, policy.roles.columns())) == set(table.clean.columns)
    assert differing(read(policy, file), table) == {}
    assert '# Without numbers that may say "unknown": [145, 205]' in text


def test_what_is_only_proposed_is_not_read_so_before_somebody_agrees(tmp_path: Path) -> None:
    file = untidy.hospital(ROWS).write(tmp_path)
    policy = parse_policy(draft(file), tmp_path / "policy.yaml")
    assert (policy.source.values, policy.source.query) == ({}, None)


def test_no_identifier_and_no_text_of_a_person_stands_in_a_draft(tmp_path: Path) -> None:
    hospital, students = untidy.hospital(ROWS), untidy.students(ROWS)
    text = draft(hospital.write(tmp_path))
    for name in ("Patient No", "surname", "date of birth", "remarks", "icd"):
        cells = {*hospital.written[name], *hospital.clean[name]}
        # The number of a day can be somebody's postal code too.
        assert not [cell for cell in cells if cell in text and not re.fullmatch("[0-9]{5}", cell)], name
    text = draft(*(table.write(tmp_path) for table in students))
    assert not [cell for table in students for cell in table.clean["id_student"] if cell in text]


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, again, other = (untidy.hospital(50, seed).data() for seed in (1, 1, 2))
    assert first == again != other
    assert [one.data() for one in untidy.students(50)] == [one.data() for one in untidy.students(50)]


@pytest.mark.integration
def test_the_command_writes_tables_that_are_read_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert untidy.main([str(tmp_path / "new")]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    tables = [*untidy.students(), untidy.hospital()]
    assert [file.name for file in files] == [table.name for table in tables]
    for group in (slice(0, 4), slice(4, 5)):
        policy = parse_policy(accepted(draft(*files[group])), tmp_path / "policy.yaml")
        for table, file in zip(tables[group], files[group], strict=True):
            assert differing(read(policy, file), table) == {}


# What ends in one line --------------------------------------------------------------------------------------


def ends_in_a_line(*files: Path) -> str:
    with pytest.raises(InputError) as refused:
        draft(*files)
    message = str(refused.value)
    assert len(message.splitlines()) <= 2
    assert "llerin" not in message
    return message


@pytest.mark.parametrize(
    ("last", "line"),
    [
        ("Total;;;;;;;;;;;;;;;;", "is a total of the others, and no person's"),
        ("SUMME:;;;50;;;;;;;;;;;;;", "is a total of the others, and no person's"),
        ("Total;600", "cells where line 1 has"),
    ],
)
def test_a_total_in_the_last_line(tmp_path: Path, last: str, line: str) -> None:
    table = replace(untidy.hospital(50), last_lines=(last,))
    assert line in ends_in_a_line(table.write(tmp_path))


def test_a_delimiter_at_the_end_of_each_line(tmp_path: Path) -> None:
    file = untidy.hospital(50).write(tmp_path)
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"".join(line + b";\n" for line in lines))
    assert "line 1 ends in a delimiter, as if it had 18 columns" in ends_in_a_line(file)
    file.write_bytes(b"".join([lines[0] + b"\n", *(line + b";\n" for line in lines[1:])]))
    assert "line 2 has more than 17 cells, the number in line 1 (50 such rows)" in ends_in_a_line(file)


def test_a_period_without_a_column(tmp_path: Path) -> None:
    first, second, *_ = untidy.students(50)
    files = [
        first.write(tmp_path),
        replace(second, written=second.written.drop(columns="region")).write(tmp_path),
    ]
    message = ends_in_a_line(*files)
    assert "students-2013J.csv: lacks the column 'region', which " in message
    assert "students-2013B.csv has" in message
    # In the other order, it is the same file that lacks it.
    assert "students-2013J.csv: lacks the column 'region', which " in ends_in_a_line(*reversed(files))


def test_a_period_whose_columns_stand_in_another_order(tmp_path: Path) -> None:
    tables = untidy.students(ROWS)[:2]
    turned = replace(tables[1], written=tables[1].written[list(tables[1].written.columns)[::-1]])
    as_they_were = draft(*(table.write(tmp_path) for table in tables))
    assert draft(tables[0].write(tmp_path), turned.write(tmp_path)) == as_they_were


def test_a_period_with_another_delimiter_or_encoding(tmp_path: Path) -> None:
    first, second, *_ = untidy.students(50)
    file = first.write(tmp_path)
    other = replace(second, delimiter=";").write(tmp_path)
    assert "is delimited by ';', and " in ends_in_a_line(file, other)
    accented = second.written.assign(region="C\u00f4te")
    latin = replace(second, written=accented, encoding="latin-1").write(tmp_path)
    assert parse_policy(draft(file, latin), tmp_path / "p.yaml").source.encoding == "latin-1"
    file = replace(first, written=first.written.assign(region="C\u00f4te")).write(tmp_path)
    assert "is latin-1, and " in ends_in_a_line(file, latin)


def test_utf_16_is_read_and_told(tmp_path: Path) -> None:
    file = replace(untidy.hospital(50), encoding="utf-16").write(tmp_path)
    assert parse_policy(draft(file), tmp_path / "p.yaml").source.encoding == "utf-16"
