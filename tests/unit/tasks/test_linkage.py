"""ERR and UMR, worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tasks.recoding.generalize import generalized
from tasks.risk.attacks.linkage import draws, expected_risk, link, unique_match_rate
from tests.support.small import prepared, published, small_policy

AGE = small_policy({"age": {"type": "integer", "bounds": [0, 100]}})
# Classes [10, 30] of four, [20, 40] of two, [50, 60] of three. 20 and 30 lie in the first two.
ROWS = [
    *[(age, illness) for age, illness in ((10, "flu"), (15, "flu"), (20, "flu"), (30, "hiv"))],
    *[(age, illness) for age, illness in ((20, "hiv"), (40, "hiv"))],
    *[(age, illness) for age, illness in ((50, "flu"), (55, "hiv"), (60, "cough"))],
]
LABELS = [0, 0, 0, 0, 1, 1, 2, 2, 2]
EVERYBODY = [np.arange(9)]


def links(labels: list[int]):  # type: ignore[no-untyped-def]
    table = prepared(AGE, ROWS)
    return link(table, generalized(table, np.array(labels), AGE))


def test_everybody_has_classes_and_the_smallest_of_them() -> None:
    found = links(LABELS)
    assert found.candidates.tolist() == [1, 1, 2, 2, 2, 1, 1, 1, 1]
    assert found.smallest.tolist() == [4, 4, 2, 2, 2, 2, 3, 3, 3]
    assert found.only.tolist() == [0, 0, -1, -1, -1, 1, 2, 2, 2]


def test_err_and_umr_over_everybody() -> None:
    found = links(LABELS)
    err = (2 * 1 / 4 + 4 * 1 / 2 + 3 * 1 / 3) / 9
    assert expected_risk(found, EVERYBODY).mean == pytest.approx(err)
    assert unique_match_rate(found, EVERYBODY).mean == pytest.approx(6 / 9)


def test_mean_and_deviation_are_over_draws() -> None:
    found = links(LABELS)
    spread = unique_match_rate(found, [np.array([0, 1]), np.array([2, 5]), np.array([3, 4])])
    assert spread.mean == pytest.approx(0.5)
    assert spread.std == pytest.approx(0.5)
    assert unique_match_rate(found, EVERYBODY).std == 0


def test_whoever_is_in_no_class_links_to_nobody() -> None:
    found = links([0, 0, 0, 0, 0, -1, -1, -1, -1])
    assert found.candidates.tolist() == [1, 1, 1, 1, 1, 0, 0, 0, 0]
    assert found.smallest[5:].tolist() == [0, 0, 0, 0]
    assert found.only[5:].tolist() == [-1] * 4
    assert expected_risk(found, EVERYBODY).mean == pytest.approx(5 / 5 / 9)
    assert unique_match_rate(found, EVERYBODY).mean == pytest.approx(5 / 9)


def test_an_unknown_number_fits_every_class() -> None:
    table = prepared(AGE, [*ROWS, (None, "flu")])
    found = link(table, generalized(table, np.array([*LABELS, 2]), AGE))
    assert found.candidates[-1] == 3
    assert found.smallest[-1] == 2


def test_an_empty_release_links_nobody(tmp_path: Path) -> None:
    table = prepared(AGE, ROWS)
    made = published(AGE, table, [-1] * 9, tmp_path / "c")
    assert made.classes.n_classes == 0
    found = link(table, made.classes)
    assert not found.candidates.any()
    assert expected_risk(found, EVERYBODY).mean == 0


def test_draws_are_seeded_shares_of_the_source_without_repetition() -> None:
    tables = draws(100, 0.2, 3)
    assert [len(set(rows.tolist())) for rows in tables] == [20, 20, 20]
    assert len({tuple(rows) for rows in tables}) == 3
    assert all(np.array_equal(a, b) for a, b in zip(tables, draws(100, 0.2, 3), strict=True))
    assert len(draws(3, 0.05, 1)[0]) == 1
