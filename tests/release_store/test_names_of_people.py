"""When two typed names are one person's."""

from __future__ import annotations

import pytest

from release_store.decisions import same_person


@pytest.mark.parametrize(
    "other", ["ADA archer", "Ada\u200bArcher", "Ada  Archer", "Ada-Archer", "\uff21da Archer"]
)
def test_the_same_name_in_another_dress_is_the_same_person(other: str) -> None:
    assert same_person("Ada Archer", other)
    assert not same_person("Ada Archer", "Bea Archer")
