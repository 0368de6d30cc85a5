"""Whether one column puts together whom another does: codes under other names are seen, and chance is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tasks.history.grouping import is_grouping
from tasks.types import IntArray

N = 200
DRAWN: dict[str, Callable[[np.random.Generator, int], IntArray]] = {
    "few": lambda random, n: random.integers(0, random.choice([2, 3, 5, 8]), n),
    "some": lambda random, n: random.integers(0, max(2, n // 4), n),
    "many": lambda random, n: random.integers(0, 5 * n, n),
    "twos": lambda random, n: random.permutation(np.arange(n) // 2),
    "tens": lambda random, n: random.permutation(np.arange(n) // 10),
    "mixed": lambda random, n: random.permutation(mixed(n)),
    "zipf": lambda random, n: np.minimum(random.zipf(1.5, n), 10 * n),
    "mostly one": lambda random, n: np.where(random.random(n) < 0.9, 0, random.integers(1, n + 1, n)),
}


def mixed(n: int) -> IntArray:
    """One in five people alone in a code, and the others in pairs."""
    return np.concatenate([np.arange(n // 5), n + np.arange(n - n // 5) // 2])


def codes(values: IntArray) -> IntArray:
    return np.unique(values, return_inverse=True)[1]


def seen(before: IntArray, after: IntArray, *strata: IntArray) -> bool:
    some = [codes(each) for each in strata] or [np.zeros(len(before), dtype=np.int64)]
    return is_grouping(codes(before), codes(after), lambda: some)


def seen_of_changes(before: IntArray, after: IntArray) -> bool:
    """Ask of those whose value is another one; the two columns have one numbering."""
    there = np.flatnonzero(before != after)
    return is_grouping(
        before[there], after[there], lambda: [np.zeros(len(there), dtype=np.int64)], differ=True
    )


def other_names(values: IntArray, n: int, seed: int = 1) -> IntArray:
    """Return what a public table with n names makes of the values."""
    found = codes(values)
    return np.asarray((np.random.default_rng(seed).permutation(found.max() + 1) % n)[found])


@pytest.mark.parametrize(
    ("code", "names"),
    [
        (np.arange(N) // 2, N),
        (np.arange(N) // 10, N),
        (mixed(N), N),
        (np.arange(N) // 4, 12),
        (np.minimum(np.random.default_rng(2).zipf(1.5, N), N), N),
    ],
    ids=["twos", "tens", "mixed", "merged", "skewed"],
)
def test_codes_under_other_names_are_seen_with_one_in_five_exceptions(code: IntArray, names: int) -> None:
    random = np.random.default_rng(3)
    code = random.permutation(code)
    illness = random.integers(0, 4, N)
    after = other_names(code, names)
    moved = random.random(N) < 0.2
    exceptions = np.where(moved, random.permutation(after), after)
    for told in (after, exceptions):
        assert seen(code, told, illness)
        assert seen(told, code, illness)
        assert not seen(code, random.permutation(told), illness)


@pytest.mark.parametrize("share", [(0.6, 0.35, 0.03, 0.02), (0.5, 0.5), (0.3, 0.3, 0.2, 0.2)])
def test_who_changes_among_few_values_must_take_another_one(share: tuple[float, ...]) -> None:
    """Of two answers, a new one is told by the old one: that is what a change is, and no link."""
    random = np.random.default_rng(4)
    before, drawn = (random.choice(len(share), 20_000, p=share) for _ in range(2))
    assert not seen_of_changes(before, drawn)
    assert not seen_of_changes(before, np.where(random.random(20_000) < 0.8, before, drawn))


def test_values_under_other_names_are_seen_among_the_changes() -> None:
    random = np.random.default_rng(5)
    before = random.integers(0, 8, 2_000)
    renamed = np.where(before < 4, before + 8, before)  # half of the values have other names now
    assert seen_of_changes(before, renamed)
    assert seen_of_changes(
        before, np.where(random.random(2_000) < 0.9, renamed, random.integers(0, 12, 2_000))
    )


def test_twelve_people_in_pairs_are_enough_and_eight_are_too_few() -> None:
    """Six pairs agree by chance once in 10,395 times, and four once in 105 times."""
    for n, enough in ((12, True), (8, False)):
        code = np.arange(n) // 2
        assert seen(code, other_names(code, n)) is enough


@pytest.mark.parametrize(
    ("names", "pairs", "enough"),
    [(N, 3, False), (N, 4, True), (20, 3, False), (20, 5, True), (2, 12, False), (2, 16, True)],
)
def test_few_pairs_show_other_names_of_a_code_that_nobody_else_shares(
    names: int, pairs: int, *, enough: bool
) -> None:
    code = np.arange(N)
    code[: 2 * pairs] //= 2
    assert seen(code, other_names(code, names)) is enough


@pytest.mark.parametrize(
    ("per", "exceptions", "enough"),
    [
        (2, 0.25, True),
        (2, 0.35, False),
        (5, 1 / 3, True),
        (10, 0.4, True),
        (100, 0.45, True),
        (10, 0.55, False),
    ],
)
def test_larger_codes_show_other_names_with_more_exceptions(
    per: int, exceptions: float, *, enough: bool
) -> None:
    random = np.random.default_rng(7)
    code = np.arange(2_000) // per
    after = other_names(code, 2_000)
    moved = random.random(2_000) < exceptions
    assert seen(code, np.where(moved, random.choice(after, 2_000), after)) is enough


def test_nothing_tells_of_codes_that_nobody_shares() -> None:
    assert not seen(np.arange(N), other_names(np.arange(N), N))


def test_what_a_stratum_explains_is_no_relation() -> None:
    """Rooms of an illness go with departments of it, and a ward that stays with itself."""
    random = np.random.default_rng(4)
    illness = random.integers(0, 50, N)
    room, department = (3 * illness + random.integers(0, 3, N) for _ in range(2))
    assert not seen(room, department, illness)
    assert not seen(room, illness, illness)
    assert not seen(room, room, room)
    assert seen(room, other_names(illness, 50))


def test_one_of_several_ways_to_be_alike_is_enough() -> None:
    code = np.arange(N) // 4
    assert not seen(code, code, np.arange(N))
    assert seen(code, code, np.arange(N), np.arange(N) % 4)


def test_a_value_of_most_people_hides_nothing_of_the_others() -> None:
    random = np.random.default_rng(5)
    code = random.permutation(np.arange(N) // 4)
    unknown = random.random(N) < 0.6
    assert seen(code, np.where(unknown, 99, other_names(code, N)))
    assert not seen(code, np.where(unknown, 99, random.permutation(code)))


def test_the_order_of_people_decides_nothing() -> None:
    found = set()
    for seed in range(20):
        random = np.random.default_rng(6)
        before, after = DRAWN["twos"](random, 30), DRAWN["twos"](random, 30)
        after[:16] = before[:16]
        order = np.random.default_rng(seed).permutation(30)
        found.add(seen(before[order], after[order], (before % 2)[order]))
    assert len(found) == 1


def reported(sizes: Sequence[int], seeds: int) -> tuple[int, int]:
    """Return of how many pairs of unrelated columns a relation is reported, and how many there are."""
    found = compared = 0
    for n in sizes:
        for seed in range(seeds):
            random = np.random.default_rng((n, seed))
            illness = random.integers(0, random.choice([1, 2, 4, 20]), n)
            drawn = [each(random, n) for each in DRAWN.values()]
            drawn += [3 * illness + random.integers(0, 3, n)]
            for first in drawn:
                second = drawn[int(random.integers(len(drawn)))]
                after = np.empty_like(second)
                for one in np.unique(illness):
                    after[illness == one] = random.permutation(second[illness == one])
                found += seen(first, after, illness)
                compared += 1
    return found, compared


def test_columns_drawn_by_themselves_are_hardly_ever_related() -> None:
    found, compared = reported((10, 12, 24, 60, 200), 20)
    assert compared == 900
    assert found <= 1


@pytest.mark.integration
def test_of_ten_thousand_comparisons_at_most_one_is_reported() -> None:
    found, compared = reported((5, 8, 10, 12, 16, 24, 40, 60, 200, 2_000), 120)
    more, large = reported((20_000,), 10)
    assert compared + large > 10_000
    assert found + more <= 1
