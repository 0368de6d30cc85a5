"""The steward's benchmark: its table has the columns it says, and its commands lead to a release."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import steward
from benchmarks.child import Run, run_child


def test_the_table_of_the_hearts_size_has_the_columns_and_values_of_the_survey() -> None:
    table = steward.heart(2_000)
    pd.testing.assert_frame_equal(table, steward.heart(2_000))
    assert table.shape == (2_000, 18)
    assert tuple(table.columns) == steward.COLUMNS
    assert not table.isna().to_numpy().any()
    for name, share in steward.YES.items():
        assert (table[name] == "Yes").mean() == pytest.approx(share, abs=0.05)
    assert table["AgeCategory"].nunique() == 13
    for name, least, most in (
        ("PhysicalHealth", 0, 30),
        ("MentalHealth", 0, 30),
        ("SleepTime", 1, 24),
        ("BMI", 12, 95),
    ):
        assert table[name].between(least, most).all()
    assert 200 < table["BMI"].nunique() < 2_000
    assert np.isclose((table["HeartDisease"] == "Yes").mean(), 0.09, atol=0.04)


def test_the_cost_of_all_commands_from_the_file_to_the_release_is_added() -> None:
    seconds = {step: 2.0**n for n, step in enumerate((*steward.STEPS, *steward.OTHERS))}
    found = steward.Released("t", 1_000, 3, seconds, 12, 0.25)
    assert found.to_release == 63  # 1 + 2 + 4 + 8 + 16 + 32
    cells = dict(zip(steward.HEADER, found.cells(), strict=True))
    assert cells["from file to release"] == "63.0"
    assert (cells["commands"], cells["approve"], cells["history"]) == ("6", "32.00", "128.00")
    assert (cells["rows"], cells["columns"], cells["NCP"]) == ("1,000", "3", "0.250")


def test_a_command_that_ends_otherwise_is_an_error(tmp_path: Path) -> None:
    assert run_child([sys.executable, "-c", "print('x'); raise SystemExit(5)"], 5)[1] == "x\n"
    with pytest.raises(RuntimeError):
        run_child([sys.executable, "-c", "raise SystemExit(5)"])
    with pytest.raises(RuntimeError):
        run_child([sys.executable, "-c", ""], 5)


@pytest.mark.integration
def test_the_readmes_commands_lead_to_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command is carried out in this process, on a table of 300 rows."""
    from cli.__main__ import main

    def here(command: list[str], exit_code: int = 0) -> tuple[Run, str]:
        capsys.readouterr()
        assert main(command[3:]) == exit_code
        return Run(1.0, 1.0, 1), capsys.readouterr().out

    monkeypatch.setattr(steward, "run_child", here)
    found: Any = steward.release("students", tmp_path, 300)
    assert (found.rows, found.columns) == (300, 10)
    assert found.to_release == len(steward.STEPS)
    assert found.classes > 1
