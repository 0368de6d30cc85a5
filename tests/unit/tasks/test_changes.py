"""Numbers that change by one rule for everybody: taken back, they are an attribute that never changed."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_persons import AGE, ILLNESS, Told, asked

from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.history.changes import FIRST, PATH, undo_changes
from tasks.history.questions import questions, subjects_by
from tasks.history.rules import Change, change_of
from tasks.history.subjects import Rows, Unfit
from tasks.history.worlds import possible_values
from tests.support.small import small_policy

WAGE = {"wage": {"stability": "transient", "type": "numeric"}}
PLACE = {"place": {"type": "integer", "bounds": [0, 10000]}}
ALONE = small_policy(PLACE, WAGE, roles={"key": "person"})


def rows_of(people: str, wages: list[str]) -> Rows:
    """A release of one class in which each person (a letter) has a wage."""
    texts = sorted(set(wages))
    codes = np.array([texts.index(wage) for wage in wages], dtype=np.int64).reshape(-1, 1)
    n = len(wages)
    return Rows(list(people), np.zeros(n, dtype=np.int64), {"wage": texts}, codes, np.full((n, 2), -1))


def told(rows: Rows, name: str = "wage") -> dict[str | None, str]:
    return {
        who: rows.texts[name][code] for who, code in zip(rows.person, rows.of(name).tolist(), strict=True)
    }


def test_a_raise_is_found_through_its_rounding_and_beside_those_who_had_another() -> None:
    before = np.array([1000.0, 2050.0, 3333.0, 4111.0, 5000.0, 0.0])
    after = np.array([1020.0, 2091.0, 3400.0, 4193.0, 7000.0, 0.0])
    change = change_of(before, after)
    assert (change.people, change.followed, change.sum) == (6, 5, 0.0)
    assert change.factor == pytest.approx(1.02, abs=2e-4)
    change = change_of(before, before + 250)
    assert (change.followed, change.factor, change.sum) == (6, 1.0, pytest.approx(250))
    assert not change_of(np.array([]), np.array([])).common


def test_a_sum_that_is_exact_for_most_is_not_lost_to_one_that_is_nearly_so() -> None:
    before = np.array([1, 1, 7, 9, 10, 8, 8, 6, 2, 11, 2, 10], dtype=float)
    after = before + 86
    change = change_of(before, after)
    assert (change.followed, change.sum, change.half_after) == (12, pytest.approx(86), 0.0)
    after[0] -= 1
    assert change_of(before, after).followed >= 11


def test_numbers_are_told_as_they_would_be_in_the_last_release() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    second = rows_of("abce", ["1020", "2040", "3060", "7000"])
    third = rows_of("abef", ["1120", "2140", "7100", "1130"])  # all have 100 more
    found = undo_changes([first, second, third], "wage")
    assert found is not None
    (one, two, three), change = found.releases, found.change
    assert told(three) == {"a": "1120.0", "b": "2140.0", "e": "7100.0", "f": "1130.0"}
    assert told(two) | {"c": ""} == {"a": "1120.0", "b": "2140.0", "c": "", "e": "7100.0"}
    assert float(told(two)["c"]) == pytest.approx(3160)
    assert told(one) | {"d": ""} == {"a": "1120.0", "b": "2140.0", "c": told(two)["c"], "d": ""}
    assert float(told(one)["d"]) == pytest.approx(4180, rel=1e-3)
    assert (change.people, change.followed) == (3, 3)


@pytest.mark.parametrize(
    "between",
    [
        ("efgh", ["5", "6", "7", "8"]),  # others
        ("abcd", ["4711", "100", "9000", "6"]),  # a mistake, which is corrected
        ("abcd", ["missing", "missing", "missing", "8"]),
        ("", []),
    ],
)
def test_who_skips_a_release_is_followed(between: tuple[str, list[str]]) -> None:
    first = rows_of("abcd", ["10", "25", "31", "47"])
    last = rows_of("abcd", ["110", "125", "131", "147"])
    found = undo_changes([first, rows_of(*between), last], "wage")
    assert found is not None
    assert told(found.releases[0]) == told(found.releases[2])


def test_what_follows_no_rule_is_told_as_numbers_of_its_own() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    assert undo_changes([first, rows_of("abcd", ["4711", "100", "9000", "6"])], "wage") is None
    assert undo_changes([first, rows_of("wxyz", ["1020", "2040", "3060", "4080"])], "wage") is None
    assert (
        undo_changes([first, rows_of("ab", ["1020", "2040"])], "wage") is None
    )  # two always follow some rule
    # A promotion is no rule: who had one is somebody else from then on, and everybody else is followed.
    found = undo_changes([first, rows_of("abcd", ["1020", "2040", "3060", "6000"])], "wage")
    assert found is not None
    assert told(found.releases[0])["d"] != told(found.releases[1])["d"]
    assert told(found.releases[0])["c"] == told(found.releases[1])["c"]


def test_a_release_without_the_attribute_is_filled_in() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    nothing = Rows(["a"], np.zeros(1, dtype=np.int64), {}, np.zeros((1, 0), np.int64), np.full((1, 2), -1))
    assert undo_changes([first, nothing], "wage") is None
    found = undo_changes([nothing, first, rows_of("abcd", ["1020", "2040", "3060", "4080"])], "wage")
    assert found is not None
    assert [told(one)["a"] for one in found.releases] == ["1020.0"] * 3
    assert ["wage" in one.filled for one in found.releases] == [True, False, False]


def test_a_missing_number_is_told_as_it_is() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "missing"])
    found = undo_changes([first, rows_of("abcd", ["1020", "2040", "3060", "missing"])], "wage")
    assert found is not None
    assert told(found.releases[1])["d"] == "missing"


@pytest.mark.parametrize("made", [FIRST, PATH, " otherwise"])
def test_an_attribute_that_has_the_name_of_a_made_one_is_refused(made: str) -> None:
    one = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    other = replace(one, texts={"wage" + made: one.texts["wage"], **one.texts}, codes=one.codes[:, [0, 0]])
    with pytest.raises(Unfit, match="the names of an attribute and of"):
        undo_changes([other, other], "wage")


def test_a_number_that_nothing_can_hold_is_none() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "1e999999999"])
    found = undo_changes([first, rows_of("abcd", ["1020", "2040", "3060", "1e999999999"])], "wage")
    assert found is not None
    assert told(found.releases[0])["d"] == told(found.releases[1])["d"] == "1e999999999"


def test_numbers_that_become_equal_are_one_value_and_stay_apart() -> None:
    first = rows_of("abcdefg", ["1000.4", "1000.1", "2000.4", "3000.3", "4000.2", "5000.1", "6000.4"])
    second = rows_of("abcdefg", ["1000", "1000", "2000", "3000", "4000", "5000", "6000"])
    found = undo_changes([first, second], "wage")
    assert found is not None
    (one, two), change = found.releases, found.change
    assert change.followed == 7
    assert told(two)["a"] == told(two)["b"] == "1000.0"
    assert told(one)["a"] == "1000.0"
    ways = [one.texts["wage" + PATH][code] for code in one.of("wage" + PATH)]
    assert len(set(ways)) == 7
    at_first = [one.texts["wage" + FIRST][code] for code in one.of("wage" + FIRST)]
    assert at_first[0] != at_first[1]


def test_somebody_twice_in_a_release_is_said() -> None:
    twice = rows_of("aabc", ["1000", "2000", "3000", "4000"])
    with pytest.raises(Unfit, match="several rows in one release"):
        undo_changes([twice, rows_of("abcd", ["1020", "2040", "3060", "4080"])], "wage")


# Whoever is read by taking the change back, class by class, is seen -----------------------------------------

LEAST = 2


@st.composite
def changed_series(draw: st.DrawFn) -> tuple[list[list[float]], list[list[int]], list[int]]:
    """Numbers and classes of 12 people in 2 or 3 releases, and the places of their numbers."""
    n, grid = 12, draw(st.sampled_from([0, -1, -2, 1, 5]))  # whole numbers, tens, hundreds, tenths, tiny ones
    unit = 10.0**-grid
    start = draw(st.lists(st.integers(1, draw(st.sampled_from([12, 400]))), min_size=n, max_size=n))
    rules = st.sampled_from([(1.02, 0), (1.1, 0), (2.0, 0), (1.0, 0), (1.0, 3), (1.0, 86)])
    numbers = [[i * unit for i in start]]
    for factor, added in draw(st.lists(rules, min_size=1, max_size=2)):
        numbers.append([round((one * factor + added * unit) / unit) * unit for one in numbers[-1]])
    classes = [draw(st.permutations([i // 3 for i in range(n)])) for _ in numbers]
    return numbers, classes, [max(grid, 0)] * len(numbers)


def read(numbers: list[list[float]], classes: list[list[int]]) -> set[int]:
    """Who has one number left: those of each class that become, by the change, one of the next class."""
    way = list(zip(*numbers, strict=True))
    found = set()
    for person in range(len(way)):
        mine = [{way[other] for other in range(len(way)) if of[other] == of[person]} for of in classes]
        values = [{one[place] for one in ways} for place, ways in enumerate(mine)]
        left = {one for one in set(way) if all(one[place] in each for place, each in enumerate(values))}
        if any(len({one[place] for one in left}) < LEAST for place in range(len(classes))):
            found.add(person)
    return found


@given(changed_series())
def test_nobody_who_is_read_by_taking_the_change_back_is_missed(
    series: tuple[list[list[float]], list[list[int]], list[int]],
) -> None:
    numbers, classes, places = series
    people = "abcdefghijkl"
    releases = []
    for values, of, places_shown in zip(numbers, classes, places, strict=True):
        made = rows_of(people, [f"{value:.{places_shown}f}" for value in values])
        releases.append(replace(made, place=np.array(of, dtype=np.int64)))
    asked = questions(releases, ["wage"])
    assert asked
    subjects = subjects_by(ALONE, asked[0].releases, [], ["wage"])
    found = possible_values(subjects.classes, subjects.value, subjects.attributes, LEAST)
    pinned = found.pinned(LEAST) | found.undecided(LEAST)
    assert read(numbers, classes) <= {person for person in range(12) if pinned[subjects.rows[-1][person]]}


def staff(n: int) -> tuple[list[float], list[float]]:
    """Somebody's distance from work in metres, which nobody else has, and wage."""
    rng = np.random.default_rng(7)
    return rng.permutation(10_000)[:n].astype(float).tolist(), np.round(rng.lognormal(10.5, 0.5, n)).tolist()


def in_fives(places: list[float]) -> list[int]:
    labels = np.empty(len(places), dtype=np.int64)
    labels[np.argsort(places)] = np.arange(len(places)) // 5
    return labels.tolist()


def two_years(
    tmp_path: Path, policy: ReleasePolicy, raised: Any, n: int = 900
) -> tuple[Told, Told, list[Any], list[Any]]:
    """Two thirds of a staff stay, with the wages that `raised` makes of theirs."""
    places, wages = staff(n + n // 3)
    stay = sorted(np.random.default_rng(3).permutation(n)[: n - n // 3].tolist())
    before = [(f"p{i}", places[i], wages[i]) for i in range(n)]
    after = [(f"p{i}", places[i], raised(wages[i])) for i in stay]
    after += [(f"p{i}", places[i], wages[i]) for i in range(n, n + n // 3)]
    first = Told(tmp_path / "first", before, in_fives([row[1] for row in before]), policy)
    second = Told(tmp_path / "second", after, in_fives([row[1] for row in after]), policy)
    return first, second, before, after


def read_by_division(before: list[Any], after: list[Any]) -> int:
    """How many exact wages an attacker reads who divides those of the second class by 1.02."""
    sides = []
    for rows, factor in ((before, 1.0), (after, 1.02)):
        labels, values = in_fives([row[1] for row in rows]), defaultdict(set)
        for label, row in zip(labels, rows, strict=True):
            values[label].add(round(row[2] / factor))
        sides.append({row[0]: values[label] for label, row in zip(labels, rows, strict=True)})
    return sum(len(sides[0][who] & sides[1][who]) == 1 for who in sides[0].keys() & sides[1].keys())


def test_a_raise_that_everybody_had_pins_nobody_unseen(tmp_path: Path) -> None:
    first, second, before, after = two_years(tmp_path, ALONE, lambda wage: float(round(wage * 1.02)))
    assert read_by_division(before, after) == 110
    others = {name: verdict for name, verdict in second.verdicts(first).items() if name != "worlds"}
    assert [
        name for name in ("pairwise", "person", "person_difference") if others[name] is not Verdict.PASS
    ] == []
    found = second.asked("worlds", first)
    assert found.verdict is Verdict.FAIL
    assert found.value == 222
    assert (
        found.witness["changed_numbers"]["wage"]["people"]
        == found.witness["changed_numbers"]["wage"]["followed"]
        == 600
    )
    assert "wage changed by one factor for 600 of 600 people" in found.detail


def test_a_raise_by_a_factor_and_a_sum_pins_nobody_unseen(tmp_path: Path) -> None:
    first, second, *_ = two_years(tmp_path, ALONE, lambda wage: float(round(wage * 1.02 + 137)), n=300)
    found = second.asked("worlds", first)
    assert found.verdict is Verdict.FAIL
    assert found.value > 40
    assert "wage changed by one factor and sum for 200 of 200 people" in found.detail


@given(
    st.floats(0.5, 2.0), st.floats(-900.0, 900.0), st.integers(0, 2), st.floats(0.0, 0.35), st.integers(0, 99)
)
def test_a_factor_with_a_sum_is_found_beside_those_who_had_another(
    factor: float, added: float, digits: int, others: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    before = np.sort(np.round(rng.lognormal(8, 0.6, 200), digits))
    after = np.round(factor * before + added, digits)
    strange = rng.random(200) < others
    after[strange] = np.round(rng.lognormal(8, 0.6, int(strange.sum())), digits)
    half = 0.5 * 10.0**-digits
    change = change_of(before, after, half, half)
    assert change.common
    assert change.followed >= 0.97 * (~strange).sum()


def test_a_rule_that_few_follow_is_asked_where_the_policy_states_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)

    def raised(wage: float) -> float:
        return float(round(wage * (1.02 if wage % 3 == 0 else rng.uniform(1.1, 2))))

    first, second, *_ = two_years(tmp_path, ALONE, raised, n=300)
    assert second.asked("worlds", first).verdict is Verdict.PASS
    stated = {"wage": {**WAGE["wage"], "change": {"factor": 1.02}}}
    second.policy = small_policy(PLACE, stated, roles={"key": "person"})
    found = asked("worlds", replace(second.evidence(first), policy=second.policy))
    assert found.verdict is Verdict.FAIL
    followed = found.witness["changed_numbers"]["wage"]["followed"]
    assert 50 < followed < 100
    assert f"wage changed by one factor for {followed} of 200 people" in found.detail


def test_a_stated_rule_holds_from_each_release_to_the_next() -> None:
    rule = Change(1.02, 10.0).repeated(2)
    assert (rule.factor, rule.sum) == (pytest.approx(1.0404), pytest.approx(20.2))
    names, wages = "abcdefgh", [1000.0 + 137 * i * i for i in range(8)]
    first, third = (
        rows_of(names, [repr(float(each.expected(np.array([wage]))[0])) for wage in wages])
        for each in (Change(), rule)
    )
    between = rows_of(names, [str(7 * i % 11) for i in range(8)])
    found = undo_changes([first, between, third], "wage", Change(1.02, 10.0))
    assert found is not None
    assert told(found.releases[0]) == told(found.releases[2])


@pytest.mark.parametrize("ago", [(3, 0), (1, 1), (-1, 0)])
def test_a_stated_rule_holds_from_each_period_to_the_next_where_periods_are_counted(
    ago: tuple[int, int],
) -> None:
    """Over missed periods, not at all between two releases of one, and backwards to an older one."""
    names, wages = "abcdefgh", [1000.0 + 137 * i * i for i in range(8)]
    rule = Change(1.02, 10.0).repeated(ago[0] - ago[1])
    # Half of them follow it: what few follow is known by the rule alone.
    expected = rule.expected(np.array(wages)).tolist()
    later = [one if i % 2 else 50_000.0 * i for i, one in enumerate(expected)]
    first, second = (
        replace(rows_of(names, [repr(float(one)) for one in each]), ago=periods)
        for each, periods in ((wages, ago[0]), (later, ago[1]))
    )
    found = undo_changes([first, second], "wage", Change(1.02, 10.0))
    assert found is not None
    assert found.change.followed == 4
    first_told, last_told = map(told, found.releases)
    assert [first_told[who] for who in names[1::2]] == [last_told[who] for who in names[1::2]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("large", [1e300, 1e306, 1e308])
def test_nobody_follows_a_rule_that_is_too_large_for_a_number(large: float) -> None:
    names, wages = "abcdefgh", [str(137 * i * i) for i in range(8)]
    others = [str(7 * i % 11 + 1) for i in range(8)]
    releases = [rows_of(names, each) for each in (wages, others, wages[::-1])]
    assert undo_changes(releases, "wage", Change(large, large)) is None


def test_raises_of_everybodys_own_tell_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    first, second, *_ = two_years(tmp_path, ALONE, lambda wage: float(round(wage * rng.uniform(1, 2))))
    found = second.asked("worlds", first)
    assert (found.verdict, found.witness) == (Verdict.PASS, {})
    assert "no number changed by one rule" in found.detail


def test_a_policy_may_say_that_attackers_know_of_no_raise(tmp_path: Path) -> None:
    policy = small_policy(PLACE, WAGE, roles={"key": "person"}, gates={"transient": "ignore"})
    first, second, *_ = two_years(tmp_path, policy, lambda wage: float(round(wage * 1.02)))
    assert second.asked("worlds", first).verdict is Verdict.PASS


def test_beside_a_stable_attribute_both_questions_are_asked(tmp_path: Path) -> None:
    policy = small_policy(AGE, {**ILLNESS, **WAGE}, roles={"key": "person"})
    ill = ("flu", "hiv", "cough", "asthma")

    def table(factor: float) -> list[tuple[Any, ...]]:
        return [(f"p{i}", 20.0 + i, ill[i % 4], round(1000 * factor * (i + 3))) for i in range(12)]

    rows = table(1.0)
    first = Told(tmp_path / "first", rows, [i // 4 for i in range(12)], policy)
    again = Told(tmp_path / "again", table(1.02), [i // 4 for i in range(12)], policy)
    assert again.asked("worlds", first).verdict is Verdict.PASS  # the same people together: nothing is new
    assert "wage changed by one factor" in again.asked("worlds", first).detail
    # Cut anew so that illnesses alone tell nothing, but wages do: everybody is with others than before.
    anew = Told(tmp_path / "anew", table(1.02), [(i % 4 + i // 4) % 3 for i in range(12)], policy)
    found = anew.asked("worlds", first)
    assert found.verdict is Verdict.FAIL
    assert found.witness["changed_numbers"]["wage"]["pinned"] > found.witness["pinned"]


NAMES = "abcdefghijkl"
BEFORE, AFTER = "abc/def/ghi/jkl", "adg/bej/chk/fil"


def shown(folder: Path, groups: str, wages: dict[str, float], policy: ReleasePolicy = ALONE) -> Told:
    """Somebody is a letter, and lives at a place of that number."""
    rows = [(who, float(ord(who)), wages[who]) for group in groups.split("/") for who in group]
    labels = [number for number, group in enumerate(groups.split("/")) for _ in group]
    folder.mkdir(exist_ok=True)
    return Told(folder / f"{len(list(folder.iterdir()))}", rows, labels, policy)


def wages_of(factor: float = 1.0, digits: int = 0) -> dict[str, float]:
    first = {who: 1000.0 * (i + 1) + 70 * i * i for i, who in enumerate(NAMES)}
    return {who: float(round(round(wage, digits) * factor, digits)) for who, wage in first.items()}


def test_a_mistake_that_is_corrected_hides_no_raise(tmp_path: Path) -> None:
    first, last = shown(tmp_path, BEFORE, wages_of()), shown(tmp_path, AFTER, wages_of(1.02))
    rng = np.random.default_rng(1)
    mistake = shown(tmp_path, BEFORE, {who: float(rng.integers(1000, 20_000)) for who in NAMES})
    assert last.asked("worlds", first).value == 12
    assert last.asked("worlds", first, mistake).value == 12


@pytest.mark.parametrize("digits", [-1, -2])
def test_a_raise_of_round_numbers_is_found(tmp_path: Path, digits: int) -> None:
    first = shown(tmp_path, BEFORE, wages_of(digits=digits))
    assert shown(tmp_path, AFTER, wages_of(1.05, digits)).asked("worlds", first).value == 12


def test_numbers_far_below_one_are_numbers_like_others(tmp_path: Path) -> None:
    first, last = (
        shown(tmp_path, groups, {who: float(f"{wage * 1e-9:.3g}") for who, wage in wages.items()})
        for groups, wages in ((BEFORE, wages_of()), (AFTER, wages_of(2)))
    )
    assert last.asked("worlds", first).value == 12


def test_two_attributes_that_changed_are_taken_together(tmp_path: Path) -> None:
    both = {**WAGE, "bonus": {"stability": "transient", "type": "numeric"}}
    policy = small_policy(PLACE, both, roles={"key": "person"})
    wages = dict(zip(NAMES, [1000, 2000, 3000] * 4, strict=True))
    bonus = dict(zip(NAMES, [10, 20, 30, 20, 30, 10, 30, 10, 20, 10, 20, 30], strict=True))

    def made(groups: str, factor: float, added: int) -> Told:
        places = enumerate(groups.split("/"))
        rows = [
            (who, float(ord(who)), round(wages[who] * factor), bonus[who] + added, number)
            for number, group in places
            for who in group
        ]
        return Told(tmp_path / f"{factor}", [row[:4] for row in rows], [row[4] for row in rows], policy)

    first, second = made("abc/def/ghi/jkl", 1.0, 0), made("aei/bfg/cdh/jkl", 1.02, 5)
    found = second.asked("worlds", first)
    assert found.verdict is Verdict.FAIL
    moved = found.witness["changed_numbers"]
    assert moved["wage"]["pinned"] == moved["bonus"]["pinned"] == 0
    assert moved["wage with bonus"]["pinned"] == found.value > 0
