"""Categories that hardly ever change: between which releases, and under which names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.signatures import NONE
from tasks.history.spells import spells_of
from tasks.history.subjects import Rows, Unfit

FOUR = dict(zip("abcdefgh", ["early", "late", "night", "day"] * 2, strict=True))
REDRAWN = dict(
    zip("abcdefgh", ["day", "day", "early", "early", "late", "late", "night", "night"], strict=True)
)
MOVED = {"early": "late", "late": "night", "night": "day", "day": "early"}


def rows(values: Mapping[str, str], strangers: tuple[str, ...] = ()) -> Rows:
    """One class of people with a shift each, and of people who are nobody known."""
    told = [*values.values(), *strangers]
    texts, codes = np.unique(told, return_inverse=True)
    seat = np.full((len(told), 2), NONE, dtype=np.int64)
    place = np.zeros(len(told), dtype=np.int64)
    person = [*values, *[None] * len(strangers)]
    return Rows(person, place, {"shift": texts.tolist()}, codes.reshape(-1, 1), seat)


def told(release: Rows, name: str) -> list[str]:
    return [release.texts[name][code] for code in release.of(name).tolist()]


def test_a_late_revision_tells_what_the_first_release_of_its_period_told() -> None:
    found = spells_of([rows(FOUR), rows(REDRAWN), rows(FOUR)], "shift")
    assert found is not None
    assert (found.attributes, found.otherwise) == (("shift",), ("shift otherwise",))
    assert (found.people, found.kept) == (8, 8)
    assert [sorted(each.texts) for each in found.releases] == [
        ["shift"], ["shift", "shift otherwise"], ["shift"],
    ]  # fmt: skip
    # The release between is filled in with what the others tell, and keeps its own values beside it.
    assert [told(each, "shift") for each in found.releases] == [list(FOUR.values())] * 3
    assert told(found.releases[1], "shift otherwise") == list(REDRAWN.values())
    assert found.releases[1].filled == {"shift"}


def test_an_earlier_spell_is_asked_about_after_all_was_drawn_anew() -> None:
    found = spells_of([rows(FOUR), rows(FOUR), rows(REDRAWN)], "shift")
    assert found is not None
    assert found.attributes == ("shift (1)",)
    assert found.otherwise == ("shift otherwise",)
    assert found.releases[2].filled == {"shift (1)"}


def test_two_spells_are_two_attributes() -> None:
    found = spells_of([rows(FOUR), rows(REDRAWN), rows(FOUR), rows(REDRAWN)], "shift")
    assert found is not None
    assert (found.attributes, found.otherwise) == (("shift (1)", "shift"), ())
    assert told(found.releases[1], "shift (1)") == list(FOUR.values())
    assert told(found.releases[0], "shift") == list(REDRAWN.values())


def test_a_roster_that_moves_everybody_on_is_one_category() -> None:
    releases = [dict(FOUR)]
    for _ in range(2):
        releases.append({who: MOVED[shift] for who, shift in releases[-1].items()})
    found = spells_of([rows(each, strangers=(each["a"],)) for each in releases], "shift")
    assert found is not None
    assert (found.attributes, found.kept) == (("shift",), 8)
    # Under the names of the first release, those of nobody known too.
    assert [told(each, "shift") for each in found.releases] == [[*FOUR.values(), "early"]] * 3


def test_a_new_name_that_nobody_kept_stays_apart_from_an_old_one() -> None:
    before = dict(zip("abcdefgh", ["one"] * 4 + ["two"] * 4, strict=True))
    after = {**dict(zip("abcdefgh", ["two"] * 4 + ["three"] * 4, strict=True)), "new": "one"}
    found = spells_of([rows(before), rows(after)], "shift")
    assert found is not None
    assert told(found.releases[1], "shift") == ["one"] * 4 + ["two"] * 4 + ["one later"]


def test_no_two_categories_get_one_name() -> None:
    before = dict(zip("abcdefgh", ["one"] * 4 + ["two"] * 4, strict=True))
    after = {
        **dict(zip("abcdefgh", ["two"] * 4 + ["three"] * 4, strict=True)),
        "new": "one",
        "old": "one later",
    }
    found = spells_of([rows(before), rows(after)], "shift")
    assert found is not None
    assert sorted(found.releases[1].texts["shift"]) == ["one", "one later", "one later later", "two"]


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_category_that_changed_for_nobody_is_a_spell_though_all_have_one(n: int) -> None:
    same = dict.fromkeys("abcde"[:n], "day")
    found = spells_of([rows(same, strangers=("late",)), rows(same, strangers=("early",))], "shift")
    assert found is not None
    assert (found.attributes, found.people, found.kept) == (("shift",), n, n)


@pytest.mark.parametrize("n", [4, 8])
def test_a_few_people_with_other_categories_are_no_spell(n: int) -> None:
    names = "abcdefgh"[:n]
    before = dict(zip(names, [f"was {one}" for one in names], strict=True))
    after = dict(zip(names, [f"is {one}" for one in names], strict=True))
    assert spells_of([rows(before), rows(after)], "shift") is None


def test_one_correction_does_not_end_a_spell() -> None:
    found = spells_of([rows(FOUR), rows({**FOUR, "a": "night"})], "shift")
    assert found is not None
    assert (found.people, found.kept) == (8, 7)


@pytest.mark.parametrize("own", ["shift otherwise", "shift (1)"])
def test_an_attribute_with_a_name_that_a_spell_makes_cannot_be_asked_about(own: str) -> None:
    one = rows(FOUR)
    both = Rows(
        one.person,
        one.place,
        {**one.texts, own: ["x"]},
        np.column_stack([one.codes, 0 * one.codes]),
        one.seat,
    )
    with pytest.raises(Unfit, match="the names of an attribute and of"):
        spells_of([both, rows(FOUR)], "shift")


def test_somebody_with_two_rows_cannot_be_asked_about() -> None:
    twice = rows({}, strangers=("early", "late"))
    broken = Rows(["a", "a"], twice.place, twice.texts, twice.codes, twice.seat)
    with pytest.raises(Unfit, match="several rows"):
        spells_of([broken, rows(FOUR)], "shift")


@given(st.lists(st.lists(st.sampled_from("xyz"), min_size=9, max_size=9), min_size=2, max_size=4))
def test_values_of_a_release_are_the_same_or_apart_as_they_were(values: list[list[str]]) -> None:
    """Whatever names a spell gives: two rows of one release are alike in it just if they were."""
    releases = [rows(dict(zip("abcdefghi", each, strict=True))) for each in values]
    found = spells_of(releases, "shift")
    if found is None:
        return
    for before, after in zip(releases, found.releases, strict=True):
        was = told(before, "shift")
        own = [name for name in (*found.attributes, *found.otherwise) if name in after.texts]
        for name in own:
            if name not in after.filled:
                now = told(after, name)
                assert len(set(zip(was, now, strict=True))) == len(set(was)) == len(set(now))
        assert any(name not in after.filled for name in own)
