"""Numbers that change by one rule for everybody: taken back, they are an attribute that never changed."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import small_policy
from test_persons import AGE, ILLNESS, Told

from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.history.changes import change_of, undone
from tasks.history.subjects import Rows

WAGE = {"wage": {"stability": "transient", "type": "numeric"}}
PLACE = {"place": {"type": "integer", "bounds": [0, 10000]}}
ALONE = small_policy(PLACE, WAGE, roles={"key": "person"})


def rows_of(people: str, wages: list[str]) -> Rows:
    """A release of one class in which each person (a letter) has a wage."""
    texts = sorted(set(wages))
    codes = np.array([[texts.index(wage)] for wage in wages], dtype=np.int64)
    n = len(wages)
    return Rows(list(people), np.zeros(n, dtype=np.int64), {"wage": texts}, codes, np.full((n, 2), -1))


def told(rows: Rows) -> dict[str | None, str]:
    return {
        who: rows.texts["wage"][code] for who, code in zip(rows.person, rows.of("wage").tolist(), strict=True)
    }


def followed(before: list[float], after: list[float], half: float) -> int:
    """How many follow the best of all rules that somebody's ends, or the middles between two, give."""
    ends = {(b + side * half) / a for a, b in zip(before, after, strict=True) if a for side in (-1, 1)}
    some = sorted(ends | {1.0})
    factors = [*some, *((one + other) / 2 for one, other in pairwise(some))]
    ends = {b + side * half - a for a, b in zip(before, after, strict=True) for side in (-1, 1)}
    some = sorted(ends)
    sums = [*some, *((one + other) / 2 for one, other in pairwise(some))]
    pairs = list(zip(before, after, strict=True))
    by_factor = max(sum(abs(b - f * a) <= half + 1e-9 for a, b in pairs) for f in factors)
    return max(by_factor, *(sum(abs(b - s - a) <= half + 1e-9 for a, b in pairs) for s in sums))


numbers = st.integers(-6, 30).map(float)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=8), st.sampled_from([0.5, 0.25]))
def test_the_rule_is_the_one_that_most_people_follow(pairs: list[tuple[float, float]], half: float) -> None:
    before, after = (np.array(side) for side in zip(*pairs, strict=True))
    change = change_of(before, after, np.full(len(before), half + 1e-9))
    assert change.followed == followed(before.tolist(), after.tolist(), half)
    expected = change.factor * before + change.sum
    assert int((np.abs(expected - after) <= half + 2e-9).sum()) == change.followed


def test_a_raise_is_found_through_its_rounding_and_beside_those_who_had_another() -> None:
    before = np.array([1000.0, 2050.0, 3333.0, 4111.0, 5000.0, 0.0])
    after = np.array([1020.0, 2091.0, 3400.0, 4193.0, 7000.0, 0.0])
    change = change_of(before, after, np.full(6, 0.5))
    assert (change.people, change.followed, change.sum) == (6, 5, 0.0)
    assert change.factor == pytest.approx(1.02, abs=2e-4)
    change = change_of(before, before + 250, np.full(6, 0.5))
    assert (change.followed, change.factor, change.sum) == (6, 1.0, pytest.approx(250))


def test_numbers_are_told_as_they_were_in_the_first_release() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    second = rows_of("abce", ["1020", "2040", "3060", "7000"])
    third = rows_of("abef", ["1120", "2140", "7100", "1130"])  # all have 100 more
    found = undone([first, second, third], "wage")
    assert found is not None
    (one, two, three), change = found
    assert told(one) == told(first)
    assert told(two) | {"e": ""} == {"a": "1000", "b": "2000", "c": "3000", "e": ""}
    assert float(told(two)["e"]) == pytest.approx(7000 / 1.02, rel=1e-3)
    assert told(three) | {"f": ""} == {"a": "1000", "b": "2000", "e": told(two)["e"], "f": ""}
    assert float(told(three)["f"]) == pytest.approx(1030 / 1.02, rel=1e-3)
    assert (change.people, change.followed) == (3, 3)


def test_a_rule_goes_by_the_release_with_most_people_in_common() -> None:
    first = rows_of("abcd", ["10", "25", "31", "47"])
    second = rows_of("efgh", ["5", "6", "7", "8"])
    third = rows_of("abcd", ["110", "125", "131", "147"])
    found = undone([first, second, third], "wage")
    assert found is not None
    assert told(found[0][2]) == told(first)


def test_what_follows_no_rule_is_told_as_numbers_of_its_own() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "4000"])
    assert undone([first, rows_of("abcd", ["4711", "100", "9000", "6"])], "wage") is None
    assert undone([first, rows_of("wxyz", ["1020", "2040", "3060", "4080"])], "wage") is None
    assert undone([first, rows_of("ab", ["1020", "2040"])], "wage") is None  # two always follow some rule
    nothing = Rows(["a"], np.zeros(1, dtype=np.int64), {}, np.zeros((1, 0), np.int64), np.full((1, 2), -1))
    assert undone([nothing, first], "wage") is None
    # A promotion is no rule: who had one is somebody else from then on, and everybody else is followed.
    found = undone([first, rows_of("abcd", ["1020", "2040", "3060", "6000"])], "wage")
    assert found is not None
    assert told(found[0][1])["d"] not in first.texts["wage"]


def test_a_missing_number_is_told_as_it_is() -> None:
    first = rows_of("abcd", ["1000", "2000", "3000", "missing"])
    found = undone([first, rows_of("abcd", ["1020", "2040", "3060", "missing"])], "wage")
    assert found is not None
    assert told(found[0][1])["d"] == "missing"


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
    assert found.witness["moved"]["wage"]["people"] == found.witness["moved"]["wage"]["followed"] == 600
    assert "wage changed by one factor for 600 of 600 people" in found.detail


def test_raises_of_everybodys_own_tell_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    first, second, *_ = two_years(tmp_path, ALONE, lambda wage: float(round(wage * rng.uniform(1, 2))))
    found = second.asked("worlds", first)
    assert (found.verdict, found.witness) == (Verdict.PASS, {})
    assert "no numbers changed by one rule" in found.detail


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
    assert found.witness["moved"]["wage"]["pinned"] > found.witness["pinned"]
