"""The command `draft` over several tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.__main__ import main
from policy.load import parse_policy


@pytest.mark.integration
def test_several_tables_make_one_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{number},{20 + number},d{number % 3}\n" for number in range(30))
    files = [tmp_path / f"ward-2026Q{quarter}.csv" for quarter in (1, 2)]
    for file in files:
        file.write_text("person,age,disease\n" + rows)
    assert main(["draft", *map(str, files)]) == 0
    policy = parse_policy(capsys.readouterr().out, tmp_path / "ward.yaml")
    assert policy.source.path == "ward-{period}.csv"
    assert (policy.roles.key, policy.expectations.rows.min) == ("person", 15)


def test_a_table_that_lacks_a_column_ends_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("age,disease\n30,flu\n")
    second.write_text("age\n30\n")
    assert main(["draft", str(first), str(second)]) == 3
    said, *hint = capsys.readouterr().err.splitlines()
    assert f"{second}: lacks the column 'disease', which {first} has" in said
    assert len(hint) == 1
