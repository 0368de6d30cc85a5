"""The values of people are sealed: they open with the key of people, for the people that they are of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from release_store.person_key import hashed_people
from release_store.person_values import NotOpened, PersonValues, open_values, sealed_values
from release_store.records import PersonHashes

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
CANARY = "rare illness 7319"


def people() -> PersonHashes:
    return hashed_people(KEY, "person", [("ann", 0), ("bob", 1), ("cid", 1)])


def values() -> PersonValues:
    return PersonValues(
        {"illness": (CANARY, "flu"), "cost": ("1", "2", "3")},
        np.array([[0, 2], [1, 0], [1, 1]], dtype=np.int32),
        np.array([[4, 0], [4, 1], [-1, -1]], dtype=np.int32),
        np.array([[1, -1, -1, 0, 0]], dtype=np.int32),
    )


def with_values() -> PersonHashes:
    return replace(people(), values=sealed_values(KEY, people(), values()))


def test_what_is_sealed_opens_with_the_key() -> None:
    found = open_values(KEY, with_values())
    assert found.texts == values().texts
    assert found.codes.tolist() == values().codes.tolist()
    assert found.seats.tolist() == values().seats.tolist()
    assert found.strangers.tolist() == values().strangers.tolist()


def test_equal_values_are_sealed_alike_and_show_nothing() -> None:
    sealed = with_values().values
    assert sealed == with_values().values
    assert sealed is not None
    assert CANARY.encode() not in sealed
    assert b"flu" not in sealed
    assert CANARY not in repr(with_values())


@pytest.mark.parametrize("change", ["key", "people", "class", "bit", "end", "nothing"])
def test_another_key_other_people_and_altered_bytes_do_not_open(change: str) -> None:
    found = with_values()
    sealed = found.values or b""
    key = OTHER_KEY if change == "key" else KEY
    if change == "people":
        found = replace(found, hashes=(found.hashes[0], found.hashes[1], "0" * 64))
    elif change == "class":
        found = replace(found, classes=tuple(1 - one for one in found.classes or ()))
    elif change == "bit":
        found = replace(found, values=sealed[:-1] + bytes([sealed[-1] ^ 1]))
    elif change == "end":
        found = replace(found, values=sealed[:-1])
    elif change == "nothing":
        found = replace(found, values=b"")
    with pytest.raises(NotOpened) as error:
        open_values(key, found)
    assert CANARY not in str(error.value)
