"""SUDA scores: by hand, and each record beside each other one."""

from __future__ import annotations

import importlib
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.risk.suda import dis_suda, suda

reference = importlib.import_module("tests.reference.suda")

# Sex, age, employment, marital status.
FIVE = np.array([[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])

TABLES = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        st.lists(st.tuples(*[st.integers(0, 2)] * width), min_size=1, max_size=9), st.integers(1, width)
    )
)


def test_scores_by_hand() -> None:
    """Record 1 alone has 1 in the fourth place: an MSU of one, (4 - 1)! = 6. Record 2 has it in the second.

    Record 0 is alone with (0, 0, ., 0) only: an MSU of three, (4 - 3)! = 1. Records 3 and 4 are alike.
    """
    found = suda(FIVE)
    assert found.score.tolist() == [1, 6, 6, 0, 0]
    assert found.msus.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0] * 4, [0] * 4]
    assert found.contribution[0].tolist() == [1, 1, 0, 1]
    assert found.contribution[1].tolist() == [0, 0, 0, 1]
    # Looking at two attributes at most: 3 x 2 for an MSU of one, and nothing is known of record 0.
    assert suda(FIVE, 2).score.tolist() == [0, 6, 6, 0, 0]
    assert suda(FIVE, 1).score.tolist() == [0, 3, 3, 0, 0]
    assert suda(FIVE[1:3, 1:2]).score.tolist() == [1, 1]


@given(TABLES)
def test_scores_are_those_of_each_subset_of_each_record(table: tuple[list[tuple[int, ...]], int]) -> None:
    rows, largest = table
    width = len(rows[0])
    found = suda(np.array(rows), largest)
    for record in range(len(rows)):
        msus = reference.minimal_sample_uniques(rows, record, largest) if len(rows) > 1 else []
        assert found.score[record] == reference.score(msus, width, largest)
        assert found.msus[record].tolist() == [sum(len(m) == k for m in msus) for k in range(1, width + 1)]
        weight = [reference.score([m], width, largest) for m in msus]
        by_attribute = [sum(w for w, m in zip(weight, msus, strict=True) if a in m) for a in range(width)]
        total = found.score[record] or 1.0
        assert found.contribution[record].tolist() == pytest.approx([each / total for each in by_attribute])


def test_dis_scores_by_hand() -> None:
    """f1 = 3, f2 = 1, p = 0.1: DIS is 0.3 / (0.3 + 2 x 0.9) = 1/7, odds 1 to 6.

    q = 1 + (8 - 4) / 20 = 1.2, so record i has odds s^1.2 (1 + 2 / 6^1.2) / (3 x 6).
    """
    found = dis_suda(FIVE, suda(FIVE), 0.1)
    together = 1 + 2 / 6**1.2
    odds = [together / 18, 6**1.2 * together / 18]
    assert found.tolist() == pytest.approx([odds[0] / (1 + odds[0]), *[odds[1] / (1 + odds[1])] * 2, 0, 0])


@given(TABLES, st.floats(0.01, 1))
def test_dis_scores_have_the_probability_of_intrusion_as_their_harmonic_mean(
    table: tuple[list[tuple[int, ...]], int], fraction: float
) -> None:
    rows, _ = table
    codes = np.array(rows)
    scores = suda(codes)
    found = dis_suda(codes, scores, fraction)
    alike = [rows.count(row) for row in rows]
    ones, pairs = alike.count(1), alike.count(2) // 2
    assert ((found > 0) == (scores.score > 0)).all()
    if ones and len(rows) > 1:
        expected = ones * fraction / (ones * fraction + 2 * pairs * (1 - fraction))
        assert 1 / np.mean(1 / found[found > 0]) == pytest.approx(expected)
        order = np.argsort(scores.score[found > 0])
        assert (np.diff(found[found > 0][order]) >= -1e-12).all()


def test_nobody_is_scored_where_nobody_is_alone() -> None:
    twice = np.array(list(chain([[0, 1]] * 2, [[1, 0]] * 3)))
    assert suda(twice).score.tolist() == [0] * 5
    assert dis_suda(twice, suda(twice), 0.5).tolist() == [0] * 5


@pytest.mark.parametrize("largest", [0, 5])
def test_a_size_that_no_subset_has_is_refused(largest: int) -> None:
    with pytest.raises(ValueError, match="there are 4 attributes"):
        suda(FIVE, largest)
