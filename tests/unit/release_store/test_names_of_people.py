"""When two typed names are one person's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.permission import same_person

RAMA, RAAM = "\u0930\u092e\u093e", "\u0930\u093e\u092e"  # the same letters, another vowel sign
HARD = (
    "A",
    "b",
    "ß",
    "İ",
    "é",
    "e\u0301",
    "ﬁ",
    " ",
    "\u200b",
    "-",
    "!",
    "?",
    "🙂",
    "\u093e",
    "\ufe0f",
    "\u034f",
)
PIECES = st.lists(st.one_of(st.sampled_from(HARD), st.characters(exclude_categories=["Cs"])), max_size=6)
NAMES = PIECES.map("".join)


@pytest.mark.parametrize(
    "other",
    [
        "ADA archer",
        "Ada\u200bArcher",
        "Ada  Archer",
        "Ada-Archer",
        "\uff21da Archer",
        "Ada Archer\ufe0f",
        "Ada\u034f Archer",
        "Ada\u3164Archer",
    ],
)
@pytest.mark.enemy("operator", "gains a role")
def test_the_same_name_in_another_dress_is_the_same_person(other: str) -> None:
    assert same_person("Ada Archer", other)
    assert not same_person("Ada Archer", "Bea Archer")


@pytest.mark.parametrize(
    ("one", "other"), [(RAMA, RAAM), ("!!", "??"), ("🙂", "🙃"), ("!!", "Ada"), ("क", "कि")]
)
def test_other_names_are_other_people(one: str, other: str) -> None:
    assert not same_person(one, other)
    assert same_person(one, one)


def test_the_turkish_i_is_an_i_in_both_cases() -> None:
    assert same_person("\u0130lker", "ilker")
    assert same_person("\u0130LKER", "Ilker")


def test_a_name_of_signs_is_the_same_in_another_dress_too() -> None:
    assert same_person("! !", "!\u200b!")
    assert same_person("🙂", "🙂\ufe0f")


@given(NAMES)
def test_a_name_is_its_own_whatever_its_case_and_spaces(name: str) -> None:
    assert same_person(name, f"  {name}\u200b ")
    assert same_person(name, name.casefold())
