"""The benchmarks run, on few rows, and their tables have the rows and columns that they promise."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

from benchmarks import gate, report, scale
from benchmarks.meter import Meter, peak_memory


def cells(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table, its rule left out."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in [lines[0], *lines[2:]]]


def tables_in(text: str) -> list[list[list[str]]]:
    return [cells(part) for part in text.split("\n\n") if part.startswith("|")]


def test_a_table_is_markdown() -> None:
    table = report.table(["", "k"], [["ours", "8"], ["a longer name", "16"]])
    assert table.splitlines() == [
        "|               |   k |",
        "| ------------- | --: |",
        "| ours          |   8 |",
        "| a longer name |  16 |",
    ]


def test_the_meter_sees_time_and_memory_of_each_stage() -> None:
    meter = Meter()
    held = meter.run("large", lambda: bytearray(b"\1" * 60_000_000))
    assert len(held) == 60_000_000
    meter.run("small", sum, range(1000))
    assert meter.costs["large"].peak >= 60_000_000
    assert 0 < meter.costs["small"].wall <= meter.total().wall
    assert meter.total(("small",)).cpu == meter.costs["small"].cpu
    assert peak_memory() > 0


def test_the_slope_of_a_quadratic_stage_is_two() -> None:
    runs = [
        {"rows": n, "costs": {"linkage": {"wall": 1.0, "cpu": (n / 1000) ** 2, "peak": 1}}}
        for n in (1000, 3000, 9000)
    ]
    rising = scale.slope(runs, "linkage")
    assert rising == pytest.approx(2.0)
    assert scale.slope(runs, "pairwise") is None


@pytest.mark.data
def test_the_scale_benchmark_measures_every_stage_in_its_own_process(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = scale.main(["--sizes", "900", "--methods", "mondrian"])
    assert "## mondrian" in capsys.readouterr().out
    outcome, cpu, wall, memory = tables_in(text)
    assert outcome[0] == ["rows", "900"]
    assert cpu[0] == ["", "900", "slope"]
    for table in (cpu, wall, memory):
        assert [row[0] for row in table[1:]] == [*scale.STAGES, "all"]
        assert not any("left out" in row for row in table)


@pytest.mark.data
def test_ae_lrhma_runs_on_nested_samples_and_a_dear_comparison_is_left_out(tmp_path: Path) -> None:
    files = scale.write_samples(report.datasets() / scale.PANEL, [100, 1000], tmp_path)
    with duckdb.connect() as con:
        small, large = (con.execute(f"SELECT * FROM '{file}'").fetchall() for file in files.values())
    assert [len(small), len(large)] == [100, 1000]
    assert set(small) <= set(large)
    run = scale.measure(files[1000], "ae-lrhma", most_pairs=1)
    assert run["rows"] == 1000
    assert run["pairs"] > 1
    assert set(run["costs"]) == set(scale.STAGES) - {"pairwise", "whole history"}
    assert "left out" in scale.tables("ae-lrhma", [run])


def test_the_gate_benchmark_attacks_releases_of_disjoint_and_of_overlapping_classes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = gate.main(["--attackers", "300", "900", "--classes", "40"])
    assert "## Overlapping classes" in capsys.readouterr().out
    disjoint, overlapping = ({row[0]: row[1:] for row in table} for table in tables_in(text))
    assert disjoint["attackers"] == overlapping["attackers"] == ["300", "900"]
    assert disjoint["candidate classes a person"] == ["1.00", "1.00"]
    assert all(float(found) > 1 for found in overlapping["candidate classes a person"])
    assert disjoint["UMR"] == ["1.0000", "1.0000"]


def test_the_people_of_the_gate_benchmark_are_all_different_and_in_their_classes() -> None:
    crowd = gate.people(2000)
    rows = np.hstack([crowd.numbers, crowd.codes])
    assert len(np.unique(rows, axis=0)) == 2000
    size = gate.release(crowd, "disjoint", 50).size
    assert (len(size), size.sum()) == (50, 2000)
