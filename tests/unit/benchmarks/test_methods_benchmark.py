"""The benchmark of all methods runs, on few rows, in processes of its own."""

from __future__ import annotations

import pytest
from test_benchmarks_run import cells

from benchmarks import methods, report


def test_the_exponent_of_a_quadratic_method_is_two() -> None:
    assert methods.exponent([10, 20], [1.0, 4.0]) == pytest.approx(2)
    assert methods.exponent([5, 10, 20], [9.0, 1.0, 2.0]) == pytest.approx(1)


@pytest.mark.data
def test_a_method_is_measured_stage_by_stage() -> None:
    found = methods.measure("mondrian", "adult", 150)
    assert found["rows"] == 150
    assert found.keys() == {*methods.STAGES, "cpu", "wall", "peak", "rows"}
    assert found["cpu"] == pytest.approx(sum(found[stage] for stage in methods.STAGES))


@pytest.mark.data
@pytest.mark.nightly
def test_every_stage_of_a_method_is_measured() -> None:
    if not (report.datasets() / "adult").is_dir():
        pytest.fail("the data sets that docs/datasets.md names are not there")
    text = methods.main(
        ["--methods", "mondrian", "mdav", "--sizes", "150", "300", "--sample-rows", "300", "--runs", "1"]
    )
    first, second = (cells(part) for part in text.split("\n\n") if part.startswith("|"))
    assert [row[0] for row in first] == [row[0] for row in second] == ["method", "mondrian", "mdav"]
    assert first[0] == ["method", *methods.STAGES, "all", "wall"]
    assert second[0][-2:] == ["exponent", "MiB at the largest"]
    assert all(float(cell) >= 0 for row in first[1:] for cell in row[1:])
