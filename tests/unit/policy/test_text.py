"""Counts in sentences."""

from __future__ import annotations

import pytest

from policy.text import number_of


@pytest.mark.parametrize(
    ("n", "noun", "plural", "said"),
    [
        (0, "release", "", "0 releases"),
        (1, "release", "", "1 release"),
        (2_000, "release", "", "2,000 releases"),
        (0, "person fails", "people fail", "0 people fail"),
        (1, "person fails", "people fail", "1 person fails"),
        (2, "class", "classes", "2 classes"),
    ],
)
def test_counts_have_their_noun(n: int, noun: str, plural: str, said: str) -> None:
    assert number_of(n, noun, plural) == said
