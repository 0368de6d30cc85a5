"""The benchmark of the comparison: its series are what it says they are, and what is promised holds."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import comparison
from benchmarks.synthetic_series import cut, series


def test_made_up_classes_have_k_to_2_k_minus_1_rows_and_are_the_same_for_the_same_seed() -> None:
    random = np.random.default_rng(1)
    columns = [random.integers(0, 9, 1000) for _ in range(3)]
    labels = cut(columns, 5, seed=3)
    sizes = np.bincount(labels)
    assert sizes.min() >= 5
    assert sizes.max() <= 9
    assert np.array_equal(labels, cut(columns, 5, seed=3))
    assert not np.array_equal(labels, cut(columns, 5, seed=4))


@pytest.mark.parametrize("population", ["cumulative", "overlapping"])
def test_made_up_releases_are_of_the_population_that_they_are_called(population: str) -> None:
    evidence = series("cumulative" if population == "cumulative" else "overlapping", 600, 3)
    sizes = [int(classes.size.sum()) for _, classes in evidence.earlier]
    growing = [582, 588, 594]
    assert sizes == (growing if population == "cumulative" else [600] * 3)
    assert evidence.n_published == 600
    assert len(evidence.space.numeric) + len(evidence.space.domains) == 5


@pytest.mark.nightly
def test_every_check_is_measured_in_its_own_process(capsys: pytest.CaptureFixture[str]) -> None:
    kinds = ["--kinds", "cumulative", "overlapping"]
    text = comparison.main(["--rows", "600", "--earlier", "1", "2", *kinds])
    assert "## cumulative" in capsys.readouterr().out
    lines = [line for line in text.splitlines() if line.startswith(("| 1 ", "| 2 "))]
    assert len(lines) == 4
    assert all("600" in line for line in lines)
    assert text.count("Slope of log CPU seconds") == 2
    assert "difference, CPU s" in text


def test_the_slope_of_a_cost_that_doubles_with_the_releases_is_one() -> None:
    runs = [
        {"earlier": n, "costs": {"pairwise": {"wall": 1.0, "cpu": float(n), "peak": 1}}} for n in (1, 2, 4)
    ]
    assert comparison.slope(runs) == pytest.approx(1.0)
    assert comparison.slope(runs[:1]) is None


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["cumulative", "overlapping"])
def test_all_checks_beside_eight_earlier_releases_take_the_seconds_promised(kind: str) -> None:
    run = comparison.in_a_process(kind, comparison.ROWS, 8)
    assert run["rows"] == 60_000
    assert run["classes"] > 10_000
    assert run["failing"]["pairwise"] > 0
    assert comparison.total(run).cpu <= comparison.PROMISED
