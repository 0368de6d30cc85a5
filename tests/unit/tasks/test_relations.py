"""Columns that tell what other columns told before: each links the rows of two releases, and is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_persons
from test_persons import ILLNESS, Told
from test_world_gate import judged

from release_store.records import GateResult, Verdict
from tests.support.small import small_policy

GROUPS = 4
N = GROUPS**2
AGE = {"age": {"type": "integer", "bounds": [0, 10_000]}}
ILL = ["flu", "hiv"] * 100
FIRST = [[GROUPS * g + j for j in range(GROUPS)] for g in range(GROUPS)]
SECOND = [[GROUPS * ((g + j) % GROUPS) + j for j in range(GROUPS)] for g in range(GROUPS)]
TRANSIENT = {"stability": "transient"}
NUMBER = {"stability": "transient", "type": "numeric"}
Columns = Mapping[str, Sequence[Any]]


def wards(seed: int) -> list[str]:
    return [f"w{i % GROUPS}" for i in np.random.default_rng(seed).permutation(N)]


def amounts(seed: int, most: int = 999) -> list[float]:
    return [float(one) for one in np.random.default_rng(seed).permutation(np.arange(100, most))[:N]]


def release(
    folder: Path,
    cut: Sequence[Sequence[int]],
    sensitive: Mapping[str, Any],
    kept: Sequence[str],
    cells: Columns,
    columns: Columns,
    worlds: Mapping[str, Any],
) -> Told:
    categories = {name: {"type": "categorical"} for name in cells}
    own = {name: each for name, each in sensitive.items() if name in columns}
    policy = small_policy(
        {**AGE, **categories},
        {**ILLNESS, **own},
        roles={"key": "person", "kept": list(kept)},
        gates={"worlds": dict(worlds)},
    )
    names = [*own, *kept]
    rows, labels = [], []
    for at, members in enumerate(cut):
        for i in members:
            quasi = [each[i] for each in cells.values()]
            rows.append((f"p{i}", 10.0 * at, *quasi, ILL[i], *(columns[name][i] for name in names)))
            labels.append(at)
    return Told(folder / f"release-{len(list(folder.iterdir()))}", rows, labels, policy)


def compared(
    folder: Path,
    before: Columns,
    after: Columns,
    *,
    sensitive: Mapping[str, Any] | None = None,
    cells: tuple[Columns, Columns] = ({}, {}),
    **worlds: Any,
) -> GateResult:
    """Sixteen people in classes of four, cut anew; a column that is not sensitive is kept."""
    told = []
    for cut, columns, quasi in zip((FIRST, SECOND), (before, after), cells, strict=True):
        kept = [name for name in columns if name not in (sensitive or {})]
        told.append(release(folder, cut, sensitive or {}, kept, quasi, columns, worlds))
    return judged(told[1], told[0])


def test_last_periods_value_of_another_column_is_seen(tmp_path: Path) -> None:
    both = {"ward": TRANSIENT, "previous": TRANSIENT}
    before = {"ward": wards(1), "previous": wards(0)}
    found = compared(tmp_path, before, {"ward": wards(2), "previous": wards(1)}, sensitive=both)
    assert found.verdict is Verdict.UNKNOWN
    assert "previous tells what ward was in an earlier release" in found.detail
    assert (
        compared(tmp_path, before, {"ward": wards(2), "previous": wards(3)}, sensitive=both).verdict
        is Verdict.PASS
    )


def test_a_total_and_its_newest_part_give_the_total_before(tmp_path: Path) -> None:
    both = {"total": NUMBER, "month": NUMBER}
    before = {"total": amounts(1), "month": amounts(2)}
    month = amounts(3)
    total = [one + more for one, more in zip(before["total"], month, strict=True)]
    found = compared(tmp_path, before, {"total": total, "month": month}, sensitive=both)
    assert found.verdict is Verdict.UNKNOWN
    assert (
        compared(tmp_path, before, {"total": amounts(5), "month": month}, sensitive=both).verdict
        is Verdict.PASS
    )
    # Seen by nothing but the sum, where the part before is large.
    total = [one + 1_000 * more for one, more in zip(before["total"], month, strict=True)]
    after = {"total": total, "month": [1_000 * more for more in month]}
    found = compared(tmp_path, before, after, sensitive=both)
    assert "total with month tells what total was" in found.detail


@pytest.mark.parametrize(
    ("cells", "before", "after", "words"),
    [
        (({}, {"ward": 1}), {"ward": 1}, {}, "ward tells what ward was"),
        (({}, {"site": 1}), {"ward": 1}, {}, "site tells what ward was"),
        (({"ward": 0}, {"ward": 1}), {}, {"previous": 0}, "previous tells what ward was"),
        (({"ward": 0}, {"ward": 1}), {}, {"previous": None}, None),
        (({"ward": 0}, {"ward": 1}), {}, {"here": 1}, None),
    ],
    ids=[
        "kept, then a quasi-identifier",
        "under another name",
        "the class before",
        "chance",
        "the class now",
    ],
)
def test_a_column_that_lies_in_the_cells_of_the_other_release_is_seen(
    tmp_path: Path, cells: tuple[Any, Any], before: Any, after: Any, words: str | None
) -> None:
    """0 stands for the place in the first cut, 1 for that in the second, None for neither."""
    places: dict[int | None, list[str]] = {None: wards(4)}
    for number, cut in enumerate((FIRST, SECOND)):
        places[number] = [f"w{at}" for i in range(N) for at, members in enumerate(cut) if i in members]
    columns = [{name: places[one] for name, one in each.items()} for each in (*cells, before, after)]
    found = compared(tmp_path, columns[2], columns[3], cells=(columns[0], columns[1]))
    assert found.verdict is (Verdict.UNKNOWN if words else Verdict.PASS)
    assert (words or "") in found.detail


def test_a_policy_may_accept_that_kept_columns_tell_of_each_other(tmp_path: Path) -> None:
    before, after = {"ward": wards(1)}, {"previous": wards(1)}
    assert compared(tmp_path, before, after).verdict is Verdict.UNKNOWN
    assert compared(tmp_path, before, after, kept="accept").verdict is Verdict.PASS


def test_what_a_question_asks_about_already_is_no_relation(tmp_path: Path) -> None:
    """Everybody stays in one ward and has a raise: the ward tells the site, as before."""
    pay = amounts(1, 9_999)
    before = {"ward": wards(1), "site": [ward[1:] for ward in wards(1)], "pay": pay}
    after = {**before, "pay": [round(1.02 * one, 2) for one in pay]}
    found = compared(tmp_path, before, after, sensitive={"pay": NUMBER})
    assert "stayed the same" in found.detail
    assert "tells what" not in found.detail


def test_rare_values_that_few_people_keep_link_their_rows(tmp_path: Path) -> None:
    """Eight of forty people keep a ward that nobody else has; the others are in one of four, at random."""
    for kept in (True, False):
        sensitive = {} if kept else {"ward": TRANSIENT}
        told = []
        for number in range(2):
            own = [f"r{i}" if i % 5 == 0 else f"w{(i, 7 * i + i // 5)[number] % 4}" for i in range(40)]
            classes = [[8 * ((g + number * j) % 5) + j for j in range(8)] for g in range(5)]
            columns = {"ward": own}
            names = [] if sensitive else ["ward"]
            told.append(release(tmp_path, classes, sensitive, names, {}, columns, {}))
        found = judged(told[1], told[0])
        assert found.verdict is Verdict.FAIL
        assert "ward stayed the same for 8 of 40 people" in found.detail


def test_a_column_that_is_finer_than_its_own_cells_and_lies_in_the_others_is_seen(tmp_path: Path) -> None:
    """Four sites of eight people, one class each; then two sites a class, with the desk of everybody."""
    site = [f"s{i // 8}" for i in range(32)]
    halves = [
        [i for i in range(32) if i // 16 == g and (i % 2 == i // 8 % 2) == h]
        for g in range(2)
        for h in (0, 1)
    ]
    told = []
    for cut, columns in (([list(range(8 * g, 8 * g + 8)) for g in range(4)], {}), (halves, {"desk": site})):
        told.append(release(tmp_path, cut, {}, list(columns), {"site": site}, columns, {}))
    found = judged(told[1], told[0])
    assert found.verdict is Verdict.UNKNOWN
    assert "desk tells what site was" in found.detail


def test_few_people_who_move_are_seen_by_what_everybody_was(tmp_path: Path) -> None:
    """Four of twenty move, and the ward of before stands beside everybody's ward: 20 of 20 have it."""
    ward = ["e", "w", "w", "e", *(("e", "e", "w", "w") * 4)]
    now = ["w", "e", "e", "w", *ward[4:]]
    before = [[0, 1], [2, 3], *([i, i + 1, i + 2, i + 3] for i in range(4, 20, 4))]
    after = [[0, 3], [1, 2], *before[2:]]
    told = []
    for cut, columns in ((before, {"ward": ward}), (after, {"ward": now, "previous": ward})):
        told.append(release(tmp_path, cut, {}, list(columns), {}, columns, {}))
    found = judged(told[1], told[0])
    assert found.verdict is not Verdict.PASS


def test_one_huge_number_hides_no_sum(tmp_path: Path) -> None:
    before = {"total": amounts(1), "month": amounts(2)}
    before["total"][0] = 1e13
    month = [1_000 * one for one in amounts(3)]
    total = [one + more for one, more in zip(before["total"], month, strict=True)]
    found = compared(tmp_path, before, {"total": total, "month": month})
    assert found.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("rooms", [3, 6])
def test_columns_that_follow_a_stable_attribute_are_no_relation(tmp_path: Path, rooms: int) -> None:
    """Each illness has rooms of its own, drawn anew each period: what links them is the illness."""
    n = 200
    told = []
    for number in range(2):
        random = np.random.default_rng(number)
        room = [f"{ILL[i % 2]}{random.integers(rooms)}" for i in range(n)]
        cut = [list(range(first, first + 20)) for first in range(0, n, 20)]
        policy = {"room": TRANSIENT}
        told.append(release(tmp_path, cut, policy, [], {}, {"room": room}, {}))
    assert judged(told[1], told[0]).verdict is Verdict.PASS


@pytest.mark.parametrize("huge", [1e308, -1e308])
def test_numbers_that_nothing_can_hold_are_no_error(tmp_path: Path, huge: float) -> None:
    before, after = ({"total": amounts(seed), "month": amounts(seed + 1)} for seed in (1, 3))
    for column in before.values():
        column[0] = huge
    before["total"][1] = after["month"][2] = -huge
    for sensitive in ({}, {"total": NUMBER, "month": NUMBER}):
        assert compared(tmp_path, before, after, sensitive=sensitive).verdict is not Verdict.ERROR


def test_a_name_with_a_unit_is_not_one_that_spells_make(tmp_path: Path) -> None:
    both = {"cost": TRANSIENT, "cost (EUR)": TRANSIENT}
    before, after = ({"cost": wards(seed), "cost (EUR)": wards(seed + 1)} for seed in (1, 3))
    assert compared(tmp_path, before, after, sensitive=both).verdict is Verdict.PASS


def test_rare_values_are_asked_about_though_other_releases_are_a_spell(tmp_path: Path) -> None:
    """Two releases of forty others agree on their wards, and two more of forty people by rare ones alone."""
    told = []
    stay = [f"w{i % 4}" for i in range(40)]
    for number in range(4):
        own = [f"r{i}" if i % 5 == 0 else f"w{(i, 7 * i + i // 5)[number % 2] % 4}" for i in range(40)]
        columns = {"ward": [*own, *stay, *stay[:8]]}
        whose = range(40) if number > 1 else range(40, 80)
        cut = [[8 * ((g + number * j) % 5) + j + whose[0] for j in range(8)] for g in range(5)]
        told.append(release(tmp_path, [*cut, list(range(80, 88))], {}, ["ward"], {}, columns, {}))
    found = judged(told[3], *told[:3])
    assert found.verdict is Verdict.FAIL


def test_the_key_of_people_decides_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several ways to name the wards of one release by those of the other are as good as each other."""
    first = ["w0", "w4", "w1", "w3", "w2", "w4", "w2", "w4", "w1", "w4", "w2", "w0", "w2", "w3", "w2", "w2"]
    second = ["g", "a", "d", "e", "g", "h", "g", "h", "a", "h", "g", "e", "g", "h", "d", "e"]
    cut = [4, 5, 2, 0], [15, 13, 10, 14], [6, 3, 1, 11], [9, 8, 12, 7]
    values = set()
    for number in range(6):
        monkeypatch.setattr(test_persons, "KEY", bytes([65 + number]) * 32)
        told = [
            release(tmp_path, of, {}, ["ward"], {}, {"ward": wards}, {})
            for of, wards in ((FIRST, first), (cut, second))
        ]
        found = judged(told[1], told[0])
        values.add((found.verdict, found.value))
    assert values == {(Verdict.FAIL, 9)}
