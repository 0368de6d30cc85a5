"""The benchmarks run, on few rows, and their tables have the rows and columns that they promise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from benchmarks import (
    command,
    curve,
    curve_points,
    gate,
    inversion,
    membership,
    models,
    reading,
    report,
    scale,
)
from benchmarks.meter import Meter, peak_memory
from benchmarks.papers.s0_printed import PUBLISHED, RERUN, theirs
from policy.trusted import Memory
from release_store.trusted import load_trusted


def cells(table: str) -> list[list[str]]:
    """Return the cells of a Markdown table, its rule left out."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in [lines[0], *lines[2:]]]


def tables_in(text: str) -> list[list[list[str]]]:
    return [cells(part) for part in text.split("\n\n") if part.startswith("|")]


@pytest.mark.parametrize("kind", ["csv", "sqlite", "xlsx"])
def test_reading_is_measured(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert reading.main(["--kind", kind, "--rows", "50", "--runs", "1"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"50 rows of {kind}: ")
    assert float(told.split(": ")[1].split()[0]) > 0


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


@pytest.mark.integration
@pytest.mark.data
def test_the_benchmark_of_models_compares_with_a_larger_k(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "RAISED", (8, 16, 32, 64))
    page = models.main(
        ["--tables", "adult", "--methods", "mondrian", "--models", "alpha_k", "distinct_l", "--rows", "1000"]
    )
    (table,) = tables_in(page)
    assert tuple(table[0]) == models.HEADER
    assert [row[0] for row in table[1:]] == ["alpha_k"] * 3 + ["distinct_l"] * 3
    for row in table[1:]:
        assert 0 < float(row[2]) < 1
        if row[4] != "none passes":
            assert float(row[2]) <= float(row[5])


@pytest.mark.nightly
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
def test_a_method_runs_on_a_sample_and_a_dear_comparison_is_left_out(tmp_path: Path) -> None:
    files = scale.write_samples(report.datasets() / scale.PANEL, [300], tmp_path)
    run = scale.measure(files[300], "mondrian", most_pairs=1)
    assert run["rows"] == 300
    assert set(run["costs"]) == {*scale.STAGES, "repair"} - {"pairwise", "whole history"}
    assert "left out" in scale.tables("mondrian", [run])


@pytest.mark.data
@pytest.mark.nightly
def test_ae_lrhma_runs_on_nested_samples_and_a_dear_comparison_is_left_out(tmp_path: Path) -> None:
    files = scale.write_samples(report.datasets() / scale.PANEL, [100, 1000], tmp_path)
    with duckdb.connect() as con:
        small, large = (con.execute(f"SELECT * FROM '{file}'").fetchall() for file in files.values())
    assert [len(small), len(large)] == [100, 1000]
    assert set(small) <= set(large)
    run = scale.measure(files[1000], "ae-lrhma", most_pairs=1)
    assert run["rows"] == 1000
    assert run["pairs"] > 1
    assert set(run["costs"]) == {*scale.STAGES, "repair"} - {"pairwise", "whole history"}
    assert "left out" in scale.tables("ae-lrhma", [run])


def test_the_store_of_a_benchmark_has_the_limit_of_memory_and_a_folder_to_spill(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    command.limit_memory(tmp_path, "2 GiB")
    assert load_trusted(tmp_path / "store").memory == Memory(2 << 30, tmp_path.resolve() / "spill")


@pytest.mark.data
@pytest.mark.nightly
def test_the_command_benchmark_publishes_a_whole_release(capsys: pytest.CaptureFixture[str]) -> None:
    (table,) = tables_in(command.main(["--tables", "eph", "--rows", "2000", "--methods", "mondrian"]))
    assert table[0] == list(command.HEADER)
    assert table[1][:3] == ["eph", "2,000", "mondrian"]
    assert "# The first release" in capsys.readouterr().out


def test_the_gate_benchmark_attacks_releases_of_disjoint_and_of_overlapping_classes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "in_own_process", gate.measure)  # a process is only for the memory
    text = gate.main(["--attackers", "100", "300", "--classes", "20"])
    assert "## Overlapping classes" in capsys.readouterr().out
    disjoint, overlapping = ({row[0]: row[1:] for row in table} for table in tables_in(text))
    assert disjoint["attackers"] == overlapping["attackers"] == ["100", "300"]
    assert disjoint["candidate classes a person"] == ["1.00", "1.00"]
    assert all(float(found) > 1 for found in overlapping["candidate classes a person"])
    assert disjoint["UMR"] == ["1.0000", "1.0000"]


@pytest.mark.nightly
def test_the_gate_benchmark_measures_in_processes_of_their_own() -> None:
    disjoint, overlapping = tables_in(gate.main(["--attackers", "300", "900", "--classes", "40"]))
    assert disjoint[0] == overlapping[0] == ["attackers", "300", "900"]


def test_the_people_of_the_gate_benchmark_are_all_different_and_in_their_classes() -> None:
    crowd = gate.people(2000)
    rows = np.hstack([crowd.numbers, crowd.codes])
    assert len(np.unique(rows, axis=0)) == 2000
    size = gate.release(crowd, "disjoint", 50).size
    assert (len(size), size.sum()) == (50, 2000)


def run_of(ncp: float, err: float, umr: float, broken: int = 0, sets: bool = False) -> curve.Figures:
    return curve.Figures(9, ncp, err, umr, 2.0, 0.3, 0.2, (0, 0, broken, 0), 1.0, sets)


def test_the_front_holds_what_no_other_point_beats() -> None:
    found = {
        "low ncp": [run_of(0.1, 0.05, 0.9)],
        "low umr": [run_of(0.2, 0.05, 0.1), run_of(0.3, 0.05, 0.1)],
        "beaten": [run_of(0.25, 0.05, 0.2)],
        "another measure": [run_of(0, 0, 0, sets=True)],
    }
    assert curve.front(found) == {"low ncp", "low umr"}


def test_a_goal_is_met_by_the_mean_and_not_by_classes_that_break_the_model() -> None:
    met = run_of(0.13, 0.061, 0.04)
    found = {label: [met, replace(met, ncp=0.131)] for label in curve_points.goals_of("adult")}
    rows = {row[0]: row[1:] for row in cells(curve.goals("adult", found))[1:]}
    assert rows["narrow: NCP, intervals"] == ["0.1305", "0.1310", "0.15115", "met"]
    assert rows["overlapping: NCP, intervals"] == ["0.1305", "0.1310", "0.13", "not met"]
    assert rows["overlapping: UMR"] == ["0.0400", "0.0400", "0.05", "met"]
    assert rows["low-umr: UMR"] == ["0.0400", "0.0400", "0.0054", "not met"]
    assert rows["narrow: classes that break the model"] == ["0", "0", "0", "met"]
    said = {row[0]: row[-1] for row in cells(curve.goals("bank", {**found, "narrow": [run_of(0, 0, 0, 1)]}))}
    assert said["narrow: classes that break the model"] == "not met"


@pytest.mark.parametrize("name", ["adult", "bank"])
def test_a_goal_is_set_against_a_release_of_the_same_measure(name: str) -> None:
    goals = curve_points.goals_of(name)
    rerun, published = theirs(name, RERUN), theirs(name, PUBLISHED)
    assert (rerun.measure, published.measure) == ("sets", "intervals")
    assert goals[f"narrow{curve_points.AS_SETS}"].ncp == rerun.ncp / 2
    assert goals["narrow"].ncp == published.ncp / 2
    low = goals["low-umr"]
    assert (low.err, low.umr) == (published.err, published.umr)
    assert low.ncp < published.ncp


def test_intervals_and_value_sets_have_columns_of_their_own() -> None:
    found = {
        "of intervals": [run_of(0.1, 0.05, 0.9), run_of(0.3, 0.05, 0.9)],
        "of sets": [run_of(0.2, 0.05, 0.9, sets=True)],
    }
    head, *rows = cells(curve.curve("bank", found))
    assert head[2:4] == ["NCP, intervals", "NCP, value sets"]
    assert [row[2:4] for row in rows[:2]] == [["0.2000 ± 0.1414", ""], ["", "0.2000"]]
    assert [row[2:4] for row in rows[2:]] == [["", "0.051"], ["", "0.308"], ["", "0.182"], ["0.1789", ""]]


@pytest.mark.data
def test_the_curve_benchmark_measures_presets_and_points(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--rows", "100", "--seeds", "1", "--sweep-seeds", "1", "--epochs", "1"]
    text = curve.main(["--samples", "bank", "--points", "score paper, no polish", *small])
    assert "## Bank sample" in capsys.readouterr().out
    reached, points = tables_in(text)
    assert len(reached) == 1 + 4 * 4
    names = [row[0] for row in points[1:]]
    assert names[:3] == ["plain Mondrian, k 8", "plain Mondrian, k 16", "narrow"]
    assert "score paper, no polish" in names
    assert sum(name.startswith(("its program", "their published")) for name in names) == 4
    assert all(row[10].startswith("0, 0, 0") for row in points[1:-4])
    for row in (dict(zip(points[0], row, strict=True)) for row in points[1:-4]):
        assert (
            (row["NCP, intervals"] == "") is ("value sets" in row[""]) is not (row["NCP, value sets"] == "")
        )


@pytest.mark.data
def test_value_sets_are_in_the_order_of_their_numbers() -> None:
    sample = curve_points.sample_of("bank", 300, sets=True)
    assert sample.table.numeric_names == ()
    ages = [float(value) for value in sample.table.domains["age"]]
    assert ages == sorted(ages)


def test_a_register_is_inverted_with_and_without_its_defence(capsys: pytest.CaptureFixture[str]) -> None:
    text = inversion.main(
        ["--tables", "register", "--rows", "400", "--methods", "mondrian", "--classes", "50"]
    )
    assert text in capsys.readouterr().out
    table, costs = tables_in(text)
    assert [row[0] for row in costs] == ["classes", "50", "50"]
    assert table[0] == list(inversion.HEADER)
    assert [row[:2] for row in table[1:]] == [
        ["mondrian", f"{recoding}, {ends}"] for recoding, ends in inversion.CELLS
    ]
    assert "rounding adds" in text


def test_rows_of_a_page_are_kept_and_measured_anew_by_their_first_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    header = ["register", "method", "seconds"]
    report.kept_rows("some.csv", header, [["a", "x", "1"], ["a", "y", "2"]], keys=2)
    kept = report.kept_rows("some.csv", header, [["a", "x", "3"]], keys=2)
    assert [row[:3] for row in kept] == [["a", "x", "3"], ["a", "y", "2"]]
    assert report.kept_rows("some.csv", [*header, "more"], [["b", "x", "1", "2"]], keys=2)[0][0] == "b"


def test_fewer_members_are_certain_where_cells_are_closed_up_to_hierarchies() -> None:
    text = membership.main(["--tables", "register", "--rows", "400", "--methods", "mondrian"])
    (table,) = tables_in(text)
    assert table[0] == list(membership.HEADER)
    certain = {row[1]: float(row[3].rstrip("%")) for row in table[1:]}
    assert [*certain] == [f"{recoding}, {ends}" for recoding, ends in membership.CELLS]
    assert certain["sets, attained"] > certain["hierarchy, rounded"]
