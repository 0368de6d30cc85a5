"""Counts in sentences."""

from __future__ import annotations

import pytest

from policy.errors import did_you_mean
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


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Zu\u0308rich", " (which looks like 'Z\u00fcrich', written in other characters)"),
        ("Bern\u200b", " (which looks like 'Bern', written in other characters)"),
        ("Zuerich", " (did you mean 'Z\u00fcrich'?)"),
        ("Lugano", ""),
    ],
)
def test_a_near_name_is_told_apart_from_one_that_looks_the_same(name: str, said: str) -> None:
    assert did_you_mean(name, ["Z\u00fcrich", "Bern"]) == said
