"""What links the rows of releases besides one rule and one name: found by the gate, and read without it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from test_persons import ILLNESS, Told
from test_world_gate import FOUR_PEOPLE, judged

from policy.model import ReleasePolicy
from release_store.records import GateResult, Verdict
from tests.support.small import small_policy

PLACE = {"age": {"type": "integer", "bounds": [0, 10_000]}}
Person = tuple[str, str, Any]  # name, illness, and what links rows


def policy_of(sensitive: dict[str, Any] | None = None, kept: Sequence[str] = ("ward",)) -> ReleasePolicy:
    return small_policy(PLACE, {**ILLNESS, **(sensitive or {})}, roles={"key": "person", "kept": list(kept)})


def released(folder: Path, classes: Sequence[Sequence[Sequence[Any]]], policy: ReleasePolicy) -> Told:
    """Classes of people: a name and the cells of the policy's columns after the age."""
    rows = [(who, float(10 * at), *cells) for at, members in enumerate(classes) for who, *cells in members]
    labels = [at for at, members in enumerate(classes) for _ in members]
    return Told(folder / f"release-{len(list(folder.iterdir()))}", rows, labels, policy)


def crossed(of: Sequence[Person]) -> tuple[list[list[Person]], list[list[Person]]]:
    """Four people in two classes of two, cut anew: by illness alone everybody may have both."""
    a, b, c, d = of
    return [[a, b], [c, d]], [[a, d], [b, c]]


def test_a_stated_rule_is_taken_back_beside_one_that_more_people_follow(tmp_path: Path) -> None:
    """Eight of twenty have 2% more, as the policy says that attackers know; the others have what they had."""
    wage = {"stability": "transient", "type": "numeric", "change": {"factor": 1.02}}
    policy = small_policy(PLACE, {**ILLNESS, "wage": wage}, roles={"key": "person"})
    paid = (1013.0, 2027.0, 2027.0, 1013.0, 3041.0, 4057.0, 4057.0, 3041.0)
    eight = [(f"p{i}", ("flu", "hiv")[i % 2], each) for i, each in enumerate(paid)]
    cuts = ((0, 1, 4, 5), (2, 3, 6, 7)), ((0, 3, 4, 7), (1, 2, 5, 6))
    first, second = ([[eight[i] for i in members] for members in cut] for cut in cuts)
    others = [
        [(f"s{g}{i}", ("flu", "hiv")[i % 2], (1013.0, 2027.0, 3041.0, 4057.0)[i]) for i in range(4)]
        for g in range(3)
    ]
    raised = [[(who, ill, round(each * 1.02, 2)) for who, ill, each in members] for members in second]
    found = judged(released(tmp_path, raised + others, policy), released(tmp_path, first + others, policy))
    assert (found.verdict, found.value) == (Verdict.FAIL, 8)
    assert found.witness["pinned"] == 0  # by illness alone


def test_kept_numbers_that_few_people_keep_link_rows_though_most_follow_a_rule(tmp_path: Path) -> None:
    first, second = crossed([("a", "flu", 11), ("b", "hiv", 47), ("c", "flu", 85), ("d", "hiv", 129)])
    others = [[(f"s{i}{j}", ("flu", "hiv")[j % 2], 1001 + 200 * i) for j in range(4)] for i in range(4)]
    later = [[(who, ill, points + 13) for who, ill, points in each] for each in others]
    policy = policy_of()
    found = judged(released(tmp_path, second + later, policy), released(tmp_path, first + others, policy))
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)


def series_of_three(n: int) -> tuple[dict[str, tuple[str, str]], list[list[list[list[str]]]]]:
    """Illness and ward of everybody, and the classes of three releases of n groups of 24 people.

    With the wards of the first and the third, and the classes alone of the second, four of a group have one
    illness; of the first and third, or by illness alone, nobody has.
    """
    tells: dict[str, tuple[str, str]] = {}
    releases: list[list[list[list[str]]]] = [[], [], []]
    for g in range(n):

        def names(*short: str, g: int = g) -> list[str]:
            return [f"{one}-{g}" for one in short]

        for copy, same in ((1, True), (2, False), (3, True)):
            one, other = (("flu", "11"), ("hiv", "23"))[:: 1 if same else -1]
            kinds = {"AC": one, "BD": other, "XZ": ("flu", "37"), "YU": ("hiv", "58")}
            tells |= {f"{letter}{copy}-{g}": kind for letters, kind in kinds.items() for letter in letters}
            releases[0] += [names(*(letter + str(copy) for letter in each)) for each in ("ABXY", "CDZU")]
            releases[2] += [
                names(*(letter + str(copy) for letter in each)) for each in ("AD", "BC", "XU", "ZY")
            ]
        releases[1] += [
            names("A1", "C1", "A2", "C2", "A3"),
            names("B1", "D1", "B2", "D2", "B3"),
            names("C3", "D3", "X1", "Y1", "Z1", "U1"),
            names("X2", "Y2", "Z2", "U2", "X3", "Y3", "Z3", "U3"),
        ]
    return tells, releases


@pytest.mark.parametrize("between", ["missing", "0", None])
def test_a_release_without_a_kept_number_hides_nobody(tmp_path: Path, between: str | None) -> None:
    """It says of nobody which ward they were in, or does not have the column: the classes still count."""
    tells, releases = series_of_three(1)
    told = []
    for at, classes in enumerate(releases):
        without = at == 1 and between is None
        policy = policy_of(kept=() if without else ("ward",))
        cells = {who: (ill, between if at == 1 else ward) for who, (ill, ward) in tells.items()}
        rows = [[(who, *cells[who][: 1 if without else 2]) for who in each] for each in classes]
        told.append(released(tmp_path, rows, policy))
    assert judged(*told[1::-1]).verdict is Verdict.PASS
    assert judged(told[2], told[0]).verdict is Verdict.PASS
    found = judged(told[2], *told[:2])
    assert (found.verdict, found.value) == (Verdict.FAIL, 4)


def test_the_rule_of_a_number_is_known_after_the_policy_dropped_it(tmp_path: Path) -> None:
    """Everybody's wage rose by 2%, and the third release has no wage: too many for names that changed."""
    tells, releases = series_of_three(8)
    wage = {"wage": {"stability": "transient", "type": "numeric"}}
    policies = [small_policy(PLACE, {**ILLNESS, **wage}, roles={"key": "person"}) for _ in range(2)]
    policies.append(small_policy(PLACE, ILLNESS, roles={"key": "person"}))
    told = []
    for at, (policy, classes) in enumerate(
        zip(policies, (releases[0], releases[2], releases[1]), strict=True)
    ):
        rows = []
        for each in classes:
            paid = {
                who: 1013 + 1117 * int(tells[who][1]) + 41 * (3 * int(who[3:]) + int(who[1])) for who in each
            }
            rows.append(
                [
                    (who, tells[who][0], *([round(paid[who] * (1, 1.02)[at], 2)] if at < 2 else []))
                    for who in each
                ]
            )
        told.append(released(tmp_path, rows, policy))
    found = judged(told[2], *told[:2])
    assert found.verdict is Verdict.FAIL
    assert found.witness["pinned"] == 0


def asked_of_wards(
    folder: Path, wards: dict[str, tuple[str, str]], policy: ReleasePolicy, *, again: bool = False
) -> GateResult:
    """The four people of docs/gates.md eight times, with other names of their wards in either release."""
    told = []
    for at, text in enumerate(FOUR_PEOPLE):
        classes = [
            [
                (f"{who}{i}", ill, *wards[f"{ward}{i % 4}"][at].split())
                for who, _, ill, ward in map(str.split, each)
            ]
            for i in range(8)
            for each in (one.split(",") for one in text.split("/"))
        ]
        told.append(released(folder, classes, policy))
    # Between them a release like the first, with all of its names.
    return judged(told[1], told[0], *([told[0]] if again else []))


@pytest.mark.parametrize("finer_first", [True, False])
def test_wards_of_which_several_became_one_link_rows(tmp_path: Path, finer_first: bool) -> None:
    wards = {
        f"{ward}{i}": (f"{ward}{i}", ward)[:: 1 if finer_first else -1]
        for ward in ("east", "west")
        for i in range(4)
    }
    for again in (False, True):
        found = asked_of_wards(tmp_path, wards, policy_of(), again=again)
        assert (found.verdict, found.value) == (Verdict.FAIL, 32)


def test_a_kept_column_under_another_name_is_not_passed_over(tmp_path: Path) -> None:
    wards = {f"{ward}{i}": (f"{ward} none", f"none {ward}") for ward in ("east", "west") for i in range(4)}
    found = asked_of_wards(tmp_path, wards, policy_of(kept=("ward", "station")))
    assert found.verdict is Verdict.UNKNOWN
    assert "station tells what ward was in an earlier release" in found.detail


def test_two_columns_that_stay_what_they_are_are_not_taken_for_one(tmp_path: Path) -> None:
    same = {f"{ward}{i}": (f"{ward} {ward}",) * 2 for ward in ("east", "west") for i in range(4)}
    found = asked_of_wards(tmp_path, same, policy_of(kept=("ward", "station")))
    assert found.verdict is Verdict.FAIL
    assert re.search("ward stayed the same for 32 of 32", found.detail)
