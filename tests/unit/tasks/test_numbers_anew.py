"""Numbers that stay, or follow one rule, between some releases, and are unrelated in the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_changes import PLACE, WAGE, rows_of, told
from test_linked_rows import crossed, policy_of, released, series_of_three
from test_persons import ILLNESS
from test_world_gate import judged

from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.history.changes import FIRST, PATH, undo_changes
from tasks.history.questions import questions, subjects_by
from tests.support.small import small_policy

ANEW = ["4711", "100", "9000", "6"]


def test_the_last_numbers_are_drawn_anew_and_the_others_are_one_attribute() -> None:
    first, second = (rows_of("abcd", each) for each in (["10", "25", "31", "47"], ["20", "50", "62", "94"]))
    found = undo_changes([first, second, rows_of("abce", ANEW)], "wage")
    assert found is not None
    assert (found.attributes, found.otherwise, found.spells) == (
        ("wage (1)",),
        ("wage otherwise",),
        ((0, 1),),
    )
    assert (found.change.people, found.change.factor) == (4, pytest.approx(2))
    last = found.releases[2]
    assert told(last, "wage (1)") == {"a": "20.0", "b": "50.0", "c": "62.0", "e": "\x00"}
    assert told(last, "wage otherwise") == dict(zip("abce", ANEW, strict=True))
    assert last.filled == {"wage (1)", "wage (1)" + FIRST, "wage (1)" + PATH}


def test_two_rules_that_no_rule_joins_make_two_attributes() -> None:
    wages = ["10", "25", "31", "47"], ANEW, ["20", "50", "62", "94"], ["4721", "110", "9010", "16"]
    found = undo_changes([rows_of("abcd", each) for each in wages], "wage")
    assert found is not None
    assert (found.attributes, found.otherwise) == (("wage (1)", "wage"), ())
    assert found.spells == ((0, 2), (1, 3))
    for name, values in (("wage (1)", wages[2]), ("wage", wages[3])):
        shown = dict(zip("abcd", [f"{value}.0" for value in values], strict=True))
        assert [told(each, name) for each in found.releases] == [shown] * 4


def test_a_rule_over_a_third_release_is_known_between_two_that_share_few_people() -> None:
    """Two are in the first and the second: too few to find a rule, which the third release tells."""
    first = rows_of("abcd", ["10", "25", "31", "47"])
    second = rows_of("cdefg", ["81", "97", "60", "99", "72"])
    last = rows_of("abcdefg", ["110", "125", "131", "147", "110", "149", "122"])
    found = undo_changes([first, second, last], "wage")
    assert found is not None
    assert found.spells == ((0, 1, 2),)
    for who in "cd":
        assert len({told(each)[who] for each in found.releases}) == 1
        assert len({told(each, "wage" + PATH)[who] for each in found.releases}) == 1


def test_a_release_that_one_person_joins_is_asked_about_by_itself_too() -> None:
    """Of those in the second release a alone was in the first, and has an equal wage by chance."""
    first = rows_of("abcd", ["10", "25", "31", "47"])
    second, last = (
        rows_of("aefgh", ["10", "77", "11", "85", "42"]),
        rows_of("abcdefgh", ["10", "25", "31", "47", *ANEW]),
    )
    (one, *_, other) = questions([first, second, last], ["wage"])
    assert (one.changed, one.otherwise) == (("wage",), ())
    assert (other.changed, other.otherwise) == (("wage",), ("wage otherwise",))
    assert told(other.releases[1], "wage otherwise")["e"] == "77"


def test_what_spells_make_of_an_attribute_has_its_width() -> None:
    sensitive = {"wage": {**WAGE["wage"], "width": 5}, **ILLNESS}
    policy = small_policy(PLACE, sensitive, roles={"key": "person"})
    wages = ["10", "25", "31", "47"], ["20", "50", "62", "94"], ["4711", "4713", "9000", "6"]
    (one,) = questions([rows_of("abcd", each) for each in wages], ["wage"])
    subjects = subjects_by(policy, one.releases, [], one.changed, one.transient(["wage"]))
    assert [each.width for each in subjects.attributes] == [5, 5]
    (otherwise,) = subjects.transient
    assert otherwise.attribute.width == 5


def numbers_policy(*, kept: bool) -> ReleasePolicy:
    return policy_of({} if kept else {"ward": WAGE["wage"]}, kept=("ward",) if kept else ())


@pytest.mark.parametrize("kept", [True, False])
def test_numbers_drawn_anew_in_the_last_release_hide_no_link_before_it(tmp_path: Path, *, kept: bool) -> None:
    """Four have a class with either illness in each release; by their numbers, one row has their illness."""
    first, second = crossed([("a", "flu", 11), ("b", "hiv", 47), ("c", "flu", 85), ("d", "hiv", 129)])
    anew = dict(zip("abcd", (903, 311, 577, 742), strict=True))
    third = [[(who, ill, anew[who]) for who, ill, _ in members] for members in first]
    of = [released(tmp_path, each, numbers_policy(kept=kept)) for each in (first, second, third)]
    found = judged(of[2], *of[:2])
    assert (found.verdict, found.value, found.witness["pinned"]) == (Verdict.FAIL, 4, 0)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)])
def test_classes_count_of_a_release_whose_numbers_are_drawn_anew(
    tmp_path: Path, order: tuple[int, ...], *, kept: bool
) -> None:
    """The others tell everybody's number; with the illnesses of its classes, four have one left."""
    tells, releases = series_of_three(1)
    anew = {who: at * at % 997 for at, who in enumerate(sorted(tells), 500)}
    of = []
    for at, classes in enumerate(releases):
        number = {who: anew[who] if at == 1 else int(ward) for who, (_, ward) in tells.items()}
        rows = [[(who, tells[who][0], number[who]) for who in each] for each in classes]
        of.append(released(tmp_path, rows, numbers_policy(kept=kept)))
    assert judged(of[2], of[0]).verdict is Verdict.PASS
    found = judged(of[order[2]], *(of[at] for at in order[:2]))
    assert (found.verdict, found.value, found.witness["pinned"]) == (Verdict.FAIL, 4, 0)
