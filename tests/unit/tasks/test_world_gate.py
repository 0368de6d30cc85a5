"""The gate over possible worlds, on releases that are small enough to solve by hand."""

from __future__ import annotations

import random
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_persons import AGE, ILLNESS, KEY, Told, asked, told

from policy.model import ReleasePolicy
from release_store.person_values import open_values, sealed_values
from release_store.records import GateResult, Verdict
from tasks.reporting.narrowing import narrowing_figures
from tasks.risk.evidence import Evidence
from tasks.risk.registry import gates_to_ask
from tests.reference import worlds
from tests.support.small import prepared, published, small_policy

OTHER_KEY = b"o" * 32


def judged(candidate: Told, *earlier: Told) -> GateResult:
    return candidate.asked("worlds", *earlier)


def with_gates(**gates: dict[str, object]) -> ReleasePolicy:
    return small_policy(AGE, ILLNESS, roles={"key": "person"}, gates=gates)


# The example of docs/gates.md: of all assignments of values to five people one fits the three releases.
FIVE_PEOPLE = (
    "two 10 a, four 11 c / zero 20 c, one 21 a, three 22 a",
    "one 30 a, four 31 c / zero 40 c, two 41 a, three 42 a",
    "three 50 a, four 51 c / zero 60 c, one 61 a, two 62 a",
)


def test_the_five_people_whom_no_other_gate_sees_are_found(tmp_path: Path) -> None:
    first, second, third = (told(tmp_path, text) for text in FIVE_PEOPLE)
    assert judged(second, first).verdict is Verdict.PASS
    found = judged(third, first, second)
    assert found.verdict is Verdict.FAIL
    assert (found.value, found.witness["undecided"]) == (5, 0)
    assert found.witness["by_sets"] == {"1": 0, "2": 5, "more": 0}
    by_person = [third.asked(gate, first, second).verdict for gate in ("person", "person_difference")]
    assert by_person == [Verdict.PASS, Verdict.PASS]
    assert "zero" not in str(found)
    assert "four" not in str(found)


def test_a_first_release_passes_without_a_question(tmp_path: Path) -> None:
    found = judged(told(tmp_path, "ann 1 flu, bob 2 hiv"))
    assert found.verdict is Verdict.PASS
    assert "nothing but their class is known of people" in found.detail


def test_who_leaves_a_class_alone_is_pinned_by_the_difference(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough")
    found = judged(told(tmp_path, "ann 1 flu, bob 2 hiv"), first)
    assert found.verdict is Verdict.FAIL
    assert found.value == 1
    assert found.witness["pinned_here"] == 0
    assert found.witness["by_sets"] == {"1": 0, "2": 2, "more": 1}


def test_whoever_leaves_and_is_followed_by_an_equal_is_hidden(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough")
    found = judged(told(tmp_path, "ann 1 flu, bob 2 hiv, dan 3 cough"), first)
    assert found.verdict is Verdict.PASS, found.detail
    assert found.witness["pinned"] == found.witness["undecided"] == 0
    assert found.witness["people"] == 4


def test_two_who_leave_together_hide_each_other(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough, dan 4 flu")
    found = judged(told(tmp_path, "ann 1 flu, bob 2 hiv"), first)
    assert found.verdict is Verdict.PASS, found.detail


def test_a_release_that_passes_tells_how_many_values_certificates_leave(tmp_path: Path) -> None:
    # Ann and bob can exchange with nobody else; cyd, dan, eve and fay have four values among them.
    text = "ann 1 flu, bob 2 hiv / cyd 3 a, dan 4 b, eve 5 c, fay 6 d"
    first, second = told(tmp_path, text), told(tmp_path, text + ", gil 7 a, hal 8 b")
    evidence = second.evidence(first)
    assert asked("worlds", evidence).verdict is Verdict.PASS
    left = evidence.left_by_worlds["illness"]
    assert (sorted(left.left.tolist()), left.releases) == ([2, 2, 2, 2, 4, 4, 4, 4], 1)
    (curve,) = [one for one in narrowing_figures(evidence, frozenset({"worlds"})) if one["basis"] == "worlds"]
    assert (curve["unit"], curve["counts"]) == ("people", [[1, 0], [2, 4], [3, 0], [4, 4]])


def test_a_release_that_fails_tells_nothing_of_headroom(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough")
    evidence = told(tmp_path, "ann 1 flu, bob 2 hiv").evidence(first)
    assert asked("worlds", evidence).verdict is Verdict.FAIL
    assert [one["basis"] for one in narrowing_figures(evidence, frozenset({"worlds"}))] == ["alone"]


def test_classes_that_are_cut_anew_leave_one_world(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 a, bea 2 b / cyd 3 a, dan 4 b")
    second = told(tmp_path, "ann 1 a, dan 4 b / bea 2 b, cyd 3 a")
    assert judged(second, first).verdict is Verdict.PASS  # all a and b may change places
    third = told(tmp_path, "ann 1 a, cyd 3 a / bea 2 b, dan 4 b")
    found = judged(third, first, second)
    assert found.verdict is Verdict.FAIL
    assert found.value == 4


def test_values_that_changed_leave_it_unknown(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough")
    found = judged(told(tmp_path, "ann 1 flu, bob 2 cough, cyd 3 hiv"), first)
    assert found.verdict is Verdict.UNKNOWN
    assert "2 of 3 people have another value than before" in found.detail
    assert found.detail.endswith(": no world fits")
    assert "raise `gates.worlds.changes` to 0.667 if attackers must allow for so many changes" in found.detail


def test_the_policy_says_how_many_changes_attackers_must_allow_for(tmp_path: Path) -> None:
    """Bob and Cyd changed; Ann, Dan and Eve did not, and have two possible values still."""
    texts = (
        "ann 1 flu, bob 2 hiv, cyd 3 cough, dan 4 hiv, eve 5 flu",
        "ann 1 flu, bob 2 cough, cyd 3 hiv, dan 4 hiv, eve 5 flu",
    )
    for share, verdict in ((0.4, Verdict.PASS), (0.39, Verdict.UNKNOWN)):
        policy = with_gates(worlds={"changes": share})
        first, second = (told(tmp_path, text, policy) for text in texts)
        found = judged(second, first)
        assert found.verdict is verdict
        assert found.witness["changed"] == 2


def test_people_whose_values_changed_are_counted_once(tmp_path: Path) -> None:
    """Of six people two changed, who are somebody else from then on."""
    policy = with_gates(worlds={"changes": 0.4})
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough, dan 4 hiv, eve 5 flu, fay 6 cough", policy)
    second = told(tmp_path, "ann 1 flu, bob 2 cough, cyd 3 hiv, dan 4 hiv, eve 5 flu, fay 6 cough", policy)
    found = judged(second, first)
    assert (found.verdict, found.witness["people"]) == (Verdict.PASS, 6)
    assert found.detail.startswith("of 6 people in 2 releases")
    assert found.witness["by_sets"] == {"1": 0, "2": 0, "more": 6}


def test_a_search_without_calls_is_undecided_and_says_what_to_raise(tmp_path: Path) -> None:
    policy = with_gates(worlds={"calls": 0})
    first, second, third = (told(tmp_path, text, policy) for text in FIVE_PEOPLE)
    found = judged(third, first, second)
    assert found.verdict is Verdict.UNKNOWN
    assert found.witness["undecided"] == 5
    assert found.witness["solver_calls"] == 0
    assert "`gates.worlds.calls` is 0" in found.detail


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ("no key", Verdict.NOT_RUN, "the key of people is missing, under which their values are sealed"),
        ("no values", Verdict.NOT_RUN, "are not stored, because an older version made it"),
        ("other key", Verdict.UNKNOWN, "the values of its people cannot be decrypted with this key"),
        ("no people", Verdict.UNKNOWN, "cannot follow people into r0"),
        ("other values", Verdict.UNKNOWN, "the values of its people do not match its classes"),
    ],
)
def test_what_is_missing_or_broken_never_passes(
    tmp_path: Path, change: str, verdict: Verdict, words: str
) -> None:
    first, second = (told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough") for _ in range(2))
    evidence: Evidence = replace(second.evidence(first), key=KEY)
    name = evidence.earlier[0][0]
    assert asked("worlds", evidence).verdict is Verdict.PASS
    people = first.people
    assert people is not None
    if change == "no key":
        evidence = replace(evidence, key=None)
    elif change == "other key":
        evidence = replace(evidence, key=OTHER_KEY)
    elif change == "no values":
        evidence = replace(evidence, earlier_people=[replace(people, values=None)])
    elif change == "no people":
        evidence = replace(evidence, earlier_people=[None])
    else:
        values = open_values(KEY, people)
        moved = replace(values, codes=np.roll(values.codes, 1) * 0)
        wrong = replace(people, values=sealed_values(KEY, people, moved))
        evidence = replace(evidence, earlier_people=[wrong])
    found = asked("worlds", evidence)
    assert found.verdict is verdict
    assert words.replace("r0", name) in found.detail


def test_a_release_that_the_policy_leaves_out_is_named(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough")
    second = told(tmp_path, "ann 1 flu, bob 2 hiv")
    name = second.evidence(first).earlier[0][0]
    policy = with_gates(person={"without": [name]})
    found = asked("worlds", replace(second.evidence(first), policy=policy, key=KEY))
    assert found.verdict is Verdict.PASS
    assert f"left out, as the policy says: {name}" in found.detail


# Everybody has two possible values, and three of four have flu in both releases.
UNEVEN = "ann 1 flu, bob 2 flu, cyd 3 flu, dan 4 hiv"


@pytest.mark.parametrize(
    ("worlds", "verdict", "n_over"),
    [
        ({}, Verdict.PASS, 0),
        ({"p_max": 0.75}, Verdict.PASS, 0),
        ({"p_max": 0.74}, Verdict.FAIL, 4),
    ],
)
def test_nobody_may_have_a_value_that_is_likelier_than_the_policy_says(
    tmp_path: Path, worlds: dict[str, object], verdict: Verdict, n_over: int
) -> None:
    first, second = (told(tmp_path, UNEVEN, with_gates(worlds=worlds)) for _ in range(2))
    found = judged(second, first)
    assert (found.verdict, found.value) == (verdict, n_over)
    sure = found.witness["sure"]
    assert (sure["people"], sure["share"], sure["limit"]) == (n_over, n_over / 4, worlds.get("p_max", 0.95))
    assert sure["sweeps"] == 20
    if n_over:
        assert "0 with fewer than l = 2 possible values, 4 with a value likelier than p_max" in found.detail
    assert "ann" not in str(found)


def test_who_fails_in_both_ways_is_counted_once(tmp_path: Path) -> None:
    policy = with_gates(worlds={"p_max": 0.9})
    first = told(tmp_path, "ann 1 flu, bob 2 hiv, cyd 3 cough", policy)
    found = judged(told(tmp_path, "ann 1 flu, bob 2 hiv", policy), first)
    assert found.verdict is Verdict.FAIL
    assert (found.value, found.witness["pinned"], found.witness["sure"]["people"]) == (1, 1, 1)


def test_who_fails_by_different_attributes_is_counted_with_the_others(tmp_path: Path) -> None:
    """In one class three of four have flu, in the other three of four the same ward: all eight fail."""
    policy = small_policy(AGE, WARD, roles={"key": "person"}, gates={"worlds": {"p_max": 0.6}})
    one = ("ann", "flu", "n"), ("ben", "flu", "e"), ("cyd", "flu", "s"), ("dan", "hiv", "w")
    other = ("eve", "flu", "n"), ("fay", "hiv", "n"), ("gil", "cold", "n"), ("hal", "gout", "w")
    rows = [(who, 10.0 * at, *cells) for at, each in enumerate((one, other)) for who, *cells in each]
    first, second = (Told(tmp_path / name, rows, [0] * 4 + [1] * 4, policy) for name in "ab")
    found = judged(second, first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 8)
    assert "4 with a value likelier than p_max = 0.6, 4 by what may change" in found.detail


def test_without_sweeps_nothing_is_said_of_how_sure(tmp_path: Path) -> None:
    first, second = (told(tmp_path, UNEVEN, with_gates(worlds={"sweeps": 0})) for _ in range(2))
    found = judged(second, first)
    assert found.verdict is Verdict.PASS
    assert "sure" not in found.witness


def test_the_policys_seed_decides_what_is_sampled(tmp_path: Path) -> None:
    texts = ("ann 1 a, bea 2 b / cyd 3 a, dan 4 b", "ann 1 a, dan 4 b / bea 2 b, cyd 3 a")

    def moved(seed: int) -> int:
        policy = small_policy(AGE, ILLNESS, roles={"key": "person"}, seed=seed)
        first, second = (told(tmp_path, text, policy) for text in texts)
        return int(judged(second, first).witness["sure"]["moved"])

    assert moved(1) == moved(1)
    assert len({moved(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize(("width", "n_pinned"), [(0, 0), (5, 0), (10, 2), (1000, 4)])
def test_near_numbers_count_as_one_where_the_policy_gives_a_width(
    tmp_path: Path, width: float, n_pinned: int
) -> None:
    """A class with 100 and 110, and one with 100 and 500."""
    illness = {"illness": {"stability": "stable", "type": "numeric", "width": width}}
    policy = small_policy(AGE, illness, roles={"key": "person"}, privacy={"spread": 0})
    text = "ann 1 100, bob 2 110 / cyd 30 100, dan 31 500"
    first, second = (told(tmp_path, text, policy) for _ in range(2))
    found = judged(second, first)
    assert (found.verdict is Verdict.FAIL) == (n_pinned > 0)
    assert (found.value, found.witness["undecided"]) == (n_pinned, 0)


WARD = {"illness": {"stability": "stable"}, "ward": {"stability": "transient"}}
BOTH = small_policy(AGE, WARD, roles={"key": "person"})


def release_of(folder: Path, *rows: tuple[str, float, str, str], policy: ReleasePolicy = BOTH) -> Told:
    folder.mkdir(exist_ok=True)
    columns = 2 + len(policy.roles.sensitive)
    return Told(
        folder / str(len(list(folder.iterdir()))), [row[:columns] for row in rows], [0] * len(rows), policy
    )


# Ann, Ben and Zoe are in both: their illness is flu, hiv or mumps, and their ward in the first is east.
FIRST_OF_THREE = (
    ("ann", 1.0, "flu", "east"), ("ben", 2.0, "hiv", "east"), ("zoe", 3.0, "mumps", "east"),
    ("cyd", 4.0, "cough", "west"), ("dan", 5.0, "gout", "east"),
)  # fmt: skip
SECOND_OF_THREE = (
    ("ann", 1.0, "flu", "north"), ("ben", 2.0, "hiv", "south"), ("zoe", 3.0, "mumps", "west"),
    ("eve", 6.0, "ulcer", "east"), ("fay", 7.0, "asthma", "west"),
)  # fmt: skip
# Ann and Ben are in both releases: their illness is flu or hiv.
ANN, BEN = ("ann", 1.0, "flu", "east"), ("ben", 2.0, "hiv", "east")
FIRST = (ANN, BEN, ("cyd", 3.0, "cough", "west"), ("dan", 4.0, "gout", "east"))
SECOND = (
    ("ann", 1.0, "flu", "north"), ("ben", 2.0, "hiv", "south"),
    ("eve", 5.0, "ulcer", "east"), ("fay", 6.0, "asthma", "west"),
)  # fmt: skip


def test_a_row_tells_what_may_change_of_who_can_have_no_other(tmp_path: Path) -> None:
    found = judged(release_of(tmp_path, *SECOND), release_of(tmp_path, *FIRST))
    assert (found.verdict, found.value) == (Verdict.FAIL, 2)
    assert "ward may change and is checked in each release by itself" in found.detail
    others = [(*row[:3], ward) for row, ward in zip(FIRST, ("east", "west", "west", "east"), strict=True)]
    assert judged(release_of(tmp_path, *SECOND), release_of(tmp_path, *others)).verdict is Verdict.PASS


@pytest.mark.parametrize(("history", "waiting"), [("sticky", True), ("repair", False)])
def test_too_many_left_out_beside_an_earlier_release_say_why(
    tmp_path: Path, history: str, waiting: bool
) -> None:
    policy = small_policy(AGE, WARD, roles={"key": "person"}, method={"name": "mondrian", "history": history})
    first = Told(tmp_path / "a", list(FIRST), [0, 0, 0, 0], policy)
    second = Told(tmp_path / "b", list(SECOND), [0, 0, 0, -1], policy)
    found = second.asked("suppression", first)
    assert found.verdict is Verdict.FAIL
    assert found.detail.startswith("1 of 4 records left out")
    assert ("people without a counterpart wait" in found.detail) is waiting
    assert "`gates.transient: ignore` leaves out nobody for that, and costs protection" in found.detail


def test_what_may_change_is_not_asked_about_where_the_policy_ignores_it(tmp_path: Path) -> None:
    policy = small_policy(AGE, WARD, roles={"key": "person"}, gates={"transient": "ignore"})
    first, second = (release_of(tmp_path, *rows, policy=policy) for rows in (FIRST, SECOND))
    found = judged(second, first)
    assert found.verdict is Verdict.PASS
    assert "ward may change and is not looked at" in found.detail


def test_what_an_earlier_release_told_is_known_though_the_policy_drops_it(tmp_path: Path) -> None:
    stable = small_policy(AGE, {name: {"stability": "stable"} for name in WARD}, roles={"key": "person"})
    dropped = with_gates()
    first = release_of(tmp_path, *FIRST, policy=stable)
    found = judged(release_of(tmp_path, *SECOND, policy=dropped), first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 2)
    assert "ward of earlier releases, which the policy no longer has" in found.detail
    # Who is in the second alone has no ward that anybody was told.
    apart = [(*row[:3], ward) for row, ward in zip(FIRST, ("east", "west", "west", "east"), strict=True)]
    assert (
        judged(
            release_of(tmp_path, *SECOND, policy=dropped), release_of(tmp_path, *apart, policy=stable)
        ).verdict
        is Verdict.PASS
    )


BOTH_STABLE = small_policy(AGE, {name: {"stability": "stable"} for name in WARD}, roles={"key": "person"})


def test_a_stable_attribute_that_is_new_is_told_by_its_own_release_alone(tmp_path: Path) -> None:
    first = release_of(tmp_path, *FIRST, policy=with_gates())
    apart = [(*row[:3], ward) for row, ward in zip(FIRST, ("east", "west", "west", "east"), strict=True)]
    found = judged(release_of(tmp_path, *apart, policy=BOTH_STABLE), first)
    assert found.verdict is Verdict.PASS, found.detail
    assert "ward was not published before and is checked in this release by itself" in found.detail
    # Ann and Ben are the only ones who stay: their illness is flu or hiv, and all with these are in the east.
    rows = [*FIRST[:2], *SECOND[2:]]
    found = judged(release_of(tmp_path, *rows, policy=BOTH_STABLE), first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 2)


def test_what_an_earlier_release_did_not_publish_is_known_of_who_stayed(tmp_path: Path) -> None:
    """By illness alone everybody has two; with the ward, which the last two releases have, some have one."""
    rows = [("ann", 1.0, "flu", "east"), ("bob", 2.0, "hiv", "west"), ("cyd", 3.0, "hiv", "east")]
    rows += [("dan", 4.0, "flu", "west")]
    alone = with_gates()
    first = Told(tmp_path / "a", [row[:3] for row in rows], [0, 0, 0, 0], alone)
    second = Told(tmp_path / "b", rows, [0, 0, 0, 0], BOTH_STABLE)
    third = Told(tmp_path / "c", rows, [0, 0, 0, 0], BOTH_STABLE)
    assert judged(second, first).verdict is Verdict.PASS
    found = judged(third, first, second)
    assert found.verdict is Verdict.PASS, found.detail
    assert "ward was not published by every release and is known of the people of those" in found.detail
    cut = Told(tmp_path / "d", [rows[i] for i in (0, 2, 1, 3)], [0, 0, 1, 1], BOTH_STABLE)
    found = judged(cut, first, second)
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)
    assert "leave out ward, which not every release published" in found.detail
    # Without it nobody is told from others, as one release alone published it.
    without = Told(tmp_path / "e", [rows[i][:3] for i in (0, 2, 1, 3)], [0, 0, 1, 1], alone)
    assert judged(without, first, second).verdict is Verdict.PASS


def test_categories_that_hardly_ever_change_are_asked_about_as_if_they_did_not(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, roles={"key": "person"})
    found = judged(*reversed([told(tmp_path, text, policy) for text in FIVE_PEOPLE]))
    assert (found.verdict, found.value) == (Verdict.FAIL, 5)
    assert "illness stayed the same for 5 of 5 people" in found.detail


def test_categories_that_change_say_nothing_of_other_releases(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, roles={"key": "person"})
    first = told(tmp_path, "ann 1 flu, ben 2 hiv, cyd 3 cough / dan 11 flu, eve 12 gout", policy)
    second = told(tmp_path, "ann 1 hiv, ben 2 flu / cyd 3 gout, dan 11 flu, eve 12 cough", policy)
    assert judged(second, first).verdict is Verdict.PASS


def test_a_first_release_with_too_few_values_in_a_class_fails(tmp_path: Path) -> None:
    assert judged(told(tmp_path, "ann 1 flu, bob 2 flu / cyd 3 flu, dan 4 hiv")).value == 2
    wage = {"illness": {"type": "numeric", "stability": "stable", "width": 50}}
    near = small_policy(AGE, wage, roles={"key": "person"})
    assert judged(told(tmp_path, "ann 1 1000, bob 2 1040, cyd 3 1049", near)).verdict is Verdict.FAIL
    assert judged(told(tmp_path, "ann 1 1000, bob 2 1040, cyd 3 1051", near)).verdict is Verdict.PASS


def test_beside_earlier_releases_into_which_nobody_is_followed_it_cannot_be_told(tmp_path: Path) -> None:
    without = small_policy(AGE, gates={"worlds": {"unfollowed": "block"}})
    first, second = (
        published(without, prepared(without, [(1.0, "flu"), (2.0, "hiv")]), [0, 0], tmp_path / name)
        for name in ("1", "2")
    )
    assert asked("worlds", first.evidence()).verdict is Verdict.PASS
    found = asked("worlds", second.evidence(first))
    assert found.verdict is Verdict.UNKNOWN
    assert "`gates.worlds.unfollowed: accept`" in found.detail
    unfollowed = small_policy(
        AGE, roles={"key": "person"}, gates={"person": {"compare": False}, "worlds": {"unfollowed": "block"}}
    )
    assert "worlds" in gates_to_ask(unfollowed)
    # Where the policy accepts it, nothing but the class is known, of which l holds.
    accepted = small_policy(AGE, gates={"worlds": {"unfollowed": "accept"}})
    for ill, verdict in (("hiv", Verdict.PASS), ("flu", Verdict.FAIL)):
        table = prepared(accepted, [(1.0, "flu"), (2.0, ill)])
        alone = published(accepted, table, [0, 0], tmp_path / ill)
        assert asked("worlds", alone.evidence(first)).verdict is verdict


def test_near_numbers_are_one_value_in_a_first_release_too(tmp_path: Path) -> None:
    wage = {"illness": {"type": "numeric", "stability": "stable", "width": 10}}
    near = small_policy(AGE, wage, roles={"key": "person"}, gates={"worlds": {"p_max": 0.5, "sweeps": 10}})
    table = "ann 1 100, bob 2 101, cyd 3 102, dan 4 900"
    assert judged(told(tmp_path, table, near)).value == 4
    assert judged(told(tmp_path, table.replace("102", "800"), near)).verdict is Verdict.PASS
    may_change = small_policy(
        AGE,
        {"illness": {**wage["illness"], "stability": "transient"}},
        roles={"key": "person"},
        gates={"worlds": {"p_max": 0.5, "sweeps": 10}},
    )
    assert judged(told(tmp_path, table, may_change)).value == 4


def test_rows_are_read_in_the_further_questions_too(tmp_path: Path) -> None:
    may_change = {name: {"stability": "transient"} for name in WARD}
    policy = small_policy(AGE, may_change, roles={"key": "person"})
    safe = [("gil", 7.0, "flu", "east"), ("hal", 8.0, "hiv", "west"), ("ida", 9.0, "gout", "north")]
    first, second = (
        release_of(
            tmp_path, *rows, *((*one[:3], ward) for one, ward in zip(safe, wards, strict=True)), policy=policy
        )
        for rows, wards in ((FIRST, ("west", "north", "south")), (SECOND, ("east", "west", "west")))
    )
    found = judged(second, first)
    assert "illness stayed the same for 5 of 5 people" in found.detail
    assert found.verdict is Verdict.PASS  # who stays may have had the rows of five
    apart = judged(
        *(release_of(tmp_path, *rows, policy=policy) for rows in (SECOND_OF_THREE, FIRST_OF_THREE))
    )
    assert (apart.verdict, "illness stayed the same for 3 of 3 people" in apart.detail) == (
        Verdict.FAIL,
        True,
    )


def test_a_class_of_one_value_fails_where_no_attribute_is_stable(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, roles={"key": "person"})
    first = told(tmp_path, "ann 1 flu, ben 2 hiv, cyd 3 cough", policy)
    assert judged(told(tmp_path, "dan 1 flu, eve 2 flu, fay 3 flu", policy), first).verdict is Verdict.FAIL


def test_figures_of_narrowing_know_the_attributes_of_the_policy_alone(tmp_path: Path) -> None:
    stable = small_policy(AGE, {name: {"stability": "stable"} for name in WARD}, roles={"key": "person"})
    apart = [(*row[:3], ward) for row, ward in zip(FIRST, ("east", "west", "west", "east"), strict=True)]
    first = release_of(tmp_path, *apart, policy=stable)
    evidence = release_of(tmp_path, *SECOND, policy=with_gates()).evidence(first)
    assert asked("worlds", evidence).verdict is Verdict.PASS
    assert set(evidence.left_by_worlds) == {"illness"}
    narrowing_figures(evidence, {"worlds"})


def test_a_late_revision_is_asked_about_with_the_first_release_of_its_period(tmp_path: Path) -> None:
    """Values that were all drawn anew between hide nothing of what two others tell together."""
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, roles={"key": "person"})
    first, second, third = (told(tmp_path, text, policy) for text in FIVE_PEOPLE)
    apart = told(tmp_path, "zero 1 b, one 2 c, two 3 b / three 4 c, four 5 b", policy)
    found = judged(third, first, second, apart)
    assert (found.verdict, found.value) == (Verdict.FAIL, 5)


def test_categories_that_are_called_otherwise_for_everybody_alike_are_asked_about(tmp_path: Path) -> None:
    policy = small_policy(AGE, {"illness": {"stability": "transient"}}, roles={"key": "person"})
    names = {"a": "b", "b": "c", "c": "a"}
    kinds = [f"{copy}{text}" for copy in "pqr" for text in "abc"]
    people = {f"{kind}{n}": kind[1] for kind in kinds for n in range(2)}

    def release(values: dict[str, str], groups: list[list[str]]) -> Told:
        classes = (
            ", ".join(f"{who} {age} {values[who]}" for who in group) for age, group in enumerate(groups)
        )
        return told(tmp_path, " / ".join(classes), policy)

    who = list(people)
    first = release(people, [who[:9], who[9:]])
    moved = {name: names[text] for name, text in people.items()}
    found = judged(release(moved, [who[1:9], [who[0], *who[9:]]]), first)
    assert "illness stayed the same for 18 of 18 people" in found.detail
    assert found.verdict is Verdict.FAIL  # one person went from one class to the other


KEPT = small_policy(AGE, ILLNESS, roles={"key": "person", "kept": ["ward"]})
KEPT_ACCEPTED = small_policy(
    AGE, ILLNESS, roles={"key": "person", "kept": ["ward"]}, gates={"worlds": {"kept": "accept"}}
)
# The four people of docs/gates.md: by illness alone everybody may have both.
FOUR_PEOPLE = (
    "ann 1 flu east, bob 1 hiv west / cyd 2 hiv east, dan 2 flu west",
    "ann 3 flu east, cyd 3 hiv east / bob 4 hiv west, dan 4 flu west",
)


def test_a_kept_column_that_stays_the_same_links_the_rows_of_two_releases(tmp_path: Path) -> None:
    first, second = (told(tmp_path, text, KEPT) for text in FOUR_PEOPLE)
    found = judged(second, first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)
    assert found.witness["pinned"] == 0  # by illness alone
    assert found.witness["changed_numbers"] == {
        "ward": {"people": 4, "followed": 4, "pinned": 4, "undecided": 0}
    }
    assert "ward stayed the same for 4 of 4 people, which leaves 4 with too few values" in found.detail
    accepting = replace(second.evidence(first), policy=KEPT_ACCEPTED)
    assert asked("worlds", accepting).verdict is Verdict.PASS
    assert (
        judged(*(told(tmp_path, re.sub(" (east|west)", "", text)) for text in FOUR_PEOPLE[::-1])).value == 0
    )


def test_a_kept_column_that_is_drawn_anew_links_nobody(tmp_path: Path) -> None:
    text = FOUR_PEOPLE[1].replace("hiv east", "hiv west").replace("flu west", "flu east")
    first, second = told(tmp_path, FOUR_PEOPLE[0], KEPT), told(tmp_path, text, KEPT)
    found = judged(second, first)
    assert found.verdict is Verdict.PASS, found.detail
    assert "changed_numbers" not in found.witness


def test_a_kept_column_that_is_one_value_is_no_question(tmp_path: Path) -> None:
    first, second = (
        re.sub("east|west", year, text) for text, year in zip(FOUR_PEOPLE, ("1", "2"), strict=True)
    )
    found = judged(told(tmp_path, second, KEPT), told(tmp_path, first, KEPT))
    assert found.verdict is Verdict.PASS
    assert "changed_numbers" not in found.witness


def test_few_who_keep_a_rare_value_are_linked(tmp_path: Path) -> None:
    """Six of ten get new numbers, and whoever finds a number again knows whose row it is."""
    before = "ann 1 flu 11, bob 1 hiv 12 / cyd 2 hiv 13, dan 2 flu 14 / eve 5 flu 15, fay 5 hiv 16"
    after = "ann 3 flu 11, cyd 3 hiv 13 / bob 4 hiv 12, dan 4 flu 14 / eve 6 flu 25, fay 6 hiv 26"
    before += ", gil 5 flu 17, hal 5 hiv 18, ida 5 flu 19, joe 5 hiv 20"
    after += ", gil 6 flu 27, hal 6 hiv 28, ida 6 flu 29, joe 6 hiv 30"
    rare = [re.sub(r"(1|2|3)(\d)\b(?=,| /|$)", r"n\1\2", text) for text in (before, after)]
    first, second = (told(tmp_path, text, KEPT) for text in rare)
    found = judged(second, first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)


def test_kept_numbers_that_change_by_one_rule_link_rows_too(tmp_path: Path) -> None:
    first, second = FOUR_PEOPLE
    for ward, old, new in (("east", "100", "102"), ("west", "200", "204")):
        first, second = first.replace(ward, old), second.replace(ward, new)
    found = judged(told(tmp_path, second, KEPT), told(tmp_path, first, KEPT))
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)
    assert "ward changed by one factor for 4 of 4 people" in found.detail


def test_releases_from_before_kept_columns_were_sealed_are_named(tmp_path: Path) -> None:
    first, second = (told(tmp_path, text, KEPT) for text in FOUR_PEOPLE)
    assert first.people is not None
    values = open_values(KEY, first.people)
    alone = replace(values, texts={"illness": values.texts["illness"]}, codes=values.codes[:, :1], kept=None)
    first.people = replace(first.people, values=sealed_values(KEY, first.people, alone))
    found = judged(second, first)
    assert found.verdict is Verdict.NOT_RUN
    assert "the kept columns of its people are not stored, because an older version" in found.detail
    accepting = replace(second.evidence(first), policy=KEPT_ACCEPTED)
    assert asked("worlds", accepting).verdict is Verdict.PASS


TEN = ", ".join(f"s{i} {i} flu w" for i in range(4))


@pytest.mark.parametrize("last", ["s4 4 flu w", "s4 4 flu v"])
def test_a_kept_column_that_changed_for_nobody_is_asked_about_whatever_it_says(
    tmp_path: Path, last: str
) -> None:
    """Those who stay have one ward, and who left or joined has another: each row is somebody's."""
    gone, new = (", ".join(f"{who}{i} {10 + i} hiv {ward}" for i in range(5)) for who, ward in ("lv", "ju"))
    first, second = (told(tmp_path, f"{TEN}, {last}, {others}", KEPT) for others in (gone, new))
    found = judged(second, first)
    assert (found.verdict, found.witness["pinned"]) == (Verdict.FAIL, 0)
    assert found.value == 15


def test_one_person_in_both_who_keeps_a_rare_value_is_linked(tmp_path: Path) -> None:
    first = told(tmp_path, "ann 1 flu east, bob 2 hiv west", KEPT)
    second = told(tmp_path, "ann 1 flu east, cyd 2 hiv north", KEPT)
    found = judged(second, first)
    assert found.verdict is Verdict.FAIL
    assert "ward stayed the same for 1 of 1 people" in found.detail


THREE_KEPT = (
    """p0 1 y 0 0 v, p2 2 x 0 1 v, p3 3 x 0 0 u, p4 4 y 1 1 v, p7 5 y 0 1 u
     / p1 41 x 1 1 u, p5 42 y 1 0 v, p6 43 x 0 1 v, p8 44 x 0 0 u, p9 45 y 0 0 u""",
    """p0 1 y 0 0 u, p1 2 x 1 1 v, p3 3 x 0 0 v, p7 4 y 0 1 v, p8 5 x 0 0 v
     / p2 41 x 0 1 u, p4 42 y 1 1 u, p5 43 y 1 0 u, p6 44 x 0 1 u, p9 45 y 0 0 v""",
)


def test_what_two_columns_tell_together_is_asked_without_a_third_that_changes(tmp_path: Path) -> None:
    """Whoever's third column changed would be another subject from then on, and hide it."""
    policy = small_policy(AGE, ILLNESS, roles={"key": "person", "kept": ["a", "b", "c"]})
    others = "".join(f", q{i} {60 + i} {'xy'[i % 2]} {i % 2} {i // 2 % 2} {'uv'[i % 2]}" for i in range(32))
    first, second = (told(tmp_path, f"{text} / {others[2:]}", policy) for text in THREE_KEPT)
    found = judged(second, first)
    asked = found.witness["changed_numbers"]
    assert asked["a with b with c"]["pinned"] == asked["a"]["pinned"] == asked["b"]["pinned"] == 0
    assert asked["a with b"]["pinned"] == 2
    assert found.verdict is Verdict.FAIL


def test_a_likely_value_counts_beside_a_kept_column_and_in_a_first_release(tmp_path: Path) -> None:
    """Nine of the ten who stay have one value, and who they are the ward tells."""
    policy = small_policy(
        AGE,
        ILLNESS,
        roles={"key": "person", "kept": ["ward"]},
        gates={"worlds": {"p_max": 0.75, "sweeps": 200}},
    )
    stay = ", ".join(f"s{i} {i} {'hiv' if i == 9 else 'flu'} w" for i in range(10))
    first, second = (
        told(
            tmp_path,
            f"{stay}, " + ", ".join(f"{who}{i} {i} {'hiv' if i else 'flu'} {who}" for i in range(10)),
            policy,
        )
        for who in ("l", "j")
    )
    assert judged(first).verdict is Verdict.PASS
    found = judged(second, first)
    assert (found.verdict, found.value) == (Verdict.FAIL, 30)
    assert found.witness["sure"]["people"] == 0  # by illness alone
    assert "30 with a value likelier than p_max" in found.detail
    alone = judged(told(tmp_path, stay, policy))
    assert (alone.verdict, alone.value) == (Verdict.FAIL, 10)


@pytest.mark.integration
@given(
    st.lists(st.sampled_from(["flu east", "flu west", "hiv east", "hiv west"]), min_size=4, max_size=7),
    st.lists(st.integers(0, 2**32), min_size=2, max_size=3),
)
@settings(max_examples=40)
def test_with_a_kept_column_the_verdict_is_that_of_all_worlds(truth: list[str], seeds: list[int]) -> None:
    """Rows are published whole: a world gives everybody an illness and a ward, and the illnesses count."""
    releases, texts = [], []
    for number, seed in enumerate(seeds):
        drawn = worlds.drawn_partition(range(len(truth)), random.Random(seed))  # noqa: S311 -- no secret
        releases.append(drawn)
        rows = (
            ", ".join(f"p{p} {10 * number + place} {truth[p]}" for p in sorted(each.people))
            for place, each in enumerate(drawn)
        )
        texts.append(" / ".join(rows))
    left = worlds.possible_values(releases, truth)
    pinned = sum(len({one.split()[0] for one in each}) < 2 for each in left)
    with tempfile.TemporaryDirectory() as folder:
        *earlier, last = (told(Path(folder), text, KEPT) for text in texts)
        found = judged(last, *earlier)
    assert found.witness["undecided"] == 0
    assert found.value == pinned
    assert (found.verdict is Verdict.FAIL) == bool(pinned)
