"""The reader of maximum entropy, on series that are small enough to work out by hand."""

from __future__ import annotations

from collections import Counter

from tests.reference.entropy import Sure, drawn, fitted
from tests.reference.published_series import History, Published, history_of


def series(*releases: str) -> History:
    """Releases such as "ann a, bob b / cyd a": classes with people and their values."""
    found = []
    for number, text in enumerate(releases):
        classes = [[pair.split() for pair in part.split(", ")] for part in text.split(" / ")]
        people = {name: i for i, pairs in enumerate(classes) for name, _ in pairs}
        values = {name: (value,) for pairs in classes for name, value in pairs}
        rows = {i: [(value,) for _, value in pairs] for i, pairs in enumerate(classes)}
        found.append(Published(str(number), rows, people, values))
    return history_of(found)


def test_of_one_class_nobody_is_read_but_where_all_are_alike() -> None:
    assert fitted(series("ann a, bob a, cyd b"), 0) == Sure(3, 0, 0)
    assert fitted(series("ann a, bob a / cyd b, dan c"), 0) == Sure(4, 2, 2)


def test_whose_classes_have_one_value_in_common_is_read_and_so_are_the_others() -> None:
    assert fitted(series("ann a, bob b / cyd c, dan d", "ann a, cyd c / bob b, dan d"), 0) == Sure(4, 4, 4)
    assert fitted(series("ann a, bob b / cyd c, dan d", "ann a, cyd c"), 0) == Sure(4, 4, 4)


def test_a_shift_that_all_share_is_no_certainty_until_one_is_known() -> None:
    history = series("ann a, bob b / cyd a, dan b", "ann a, dan b / bob b, cyd a")
    assert fitted(history, 0) == Sure(4, 0, 0)
    told = [Counter("a") if own == Counter({("a",): 1}) else Counter[str]() for own in history.world or []]
    one = [told[0], *(Counter[str]() for _ in told[1:])] if told[0] else [Counter[str](), told[1], *told[2:]]
    found = fitted(history, 0, one)
    assert found.people < 4
    assert (found.sure, found.right) == (found.people, found.people)


def test_the_known_are_drawn_from_what_people_have() -> None:
    history = series("ann a, bob a, cyd b")
    assert drawn(history, 0, 1.0, 1) == [Counter("aab")]
    assert not any(each.total() for each in drawn(history, 0, 0.0, 1))
