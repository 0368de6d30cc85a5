"""The ten series of untidy tables: their files hold the traps that they are said to have, from any seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.untidy_releases import decided
from benchmarks.untidy_series.all_series import SERIES

ROWS = 120


@pytest.mark.parametrize("name", SERIES)
def test_a_series_has_three_periods_of_the_same_columns(tmp_path: Path, name: str) -> None:
    written = SERIES[name].write(tmp_path / name, ROWS, 5)
    assert len({table.period for table, _ in written}) == 3
    first = written[0][0].table
    for table, file in written:
        assert table.period in file.name
        assert len(table.people) == len(table.table.clean) == len(table.table.written)
        assert list(table.table.clean.columns) == list(first.clean.columns)
        assert file.read_bytes().decode(table.table.encoding)
    again = SERIES[name].write(tmp_path / "again", ROWS, 5)
    assert [file.read_bytes() for _, file in written] == [file.read_bytes() for _, file in again]
    other = SERIES[name].write(tmp_path / "other", ROWS, 6)
    assert written[0][1].read_bytes() != other[0][1].read_bytes()


def test_the_traps_are_in_the_files(tmp_path: Path) -> None:
    def cells(name: str, column: str) -> list[str]:
        return [
            cell
            for table, _ in SERIES[name].write(tmp_path / name, 400, 5)
            for cell in table.table.written[column]
        ]

    assert "80 or older" in cells("survey", "AgeCategory")
    assert {"F", "f", "Female", "female", "FEMALE"} <= set(cells("clinic", "sex"))
    assert any(re.fullmatch(r"-\$\d+\.\d\d", cell) for cell in cells("payroll", "total_pay"))
    assert 50 < len(set(cells("loans", "purpose"))) <= 60
    assert {cell[0] for cell in cells("panel", "person_id")} == {"0"}
    assert any("," in cell for cell in cells("residents", "nationality"))
    assert len(cells("visits", "pid")) > 1.5 * len(set(cells("visits", "pid")))


def test_of_a_register_that_is_published_again_nearly_all_stay(tmp_path: Path) -> None:
    (first, _), (second, _), _ = SERIES["register"].write(tmp_path, 2_000, 5)
    assert len(set(first.people) & set(second.people)) == 1_994


def test_what_a_draft_says_is_to_be_decided_is_done_and_told() -> None:
    draft = (
        "# accept by `gates.worlds.unfollowed: accept` that each is assessed by itself\n"
        "source:\n  path: x\n  # values:\n"
        '  #   band: {"1-3": ["3-Jan"]} # a spreadsheet may have made dates of bands\n'
        "roles:\n  quasi_identifiers:\n    band:\n      type: ordinal\n"
        '      values: ["1-3", "3-Jan", "4-7"]\n'
        "gates:\n  ncp: {max: 0.2}\n"
    )
    policy, told = decided(draft, SERIES["students"])
    assert told == ["values that a spreadsheet changed", "each release is assessed by itself"]
    assert '\n  values:\n    band: {"1-3": ["3-Jan"]}' in policy
    assert 'values: ["1-3", "4-7"]' in policy
    assert "gates:\n  worlds: {unfollowed: accept}\n" in policy
    assert decided("source: {path: x}\nroles: {quasi_identifiers: {}}\n", SERIES["students"])[1] == []
