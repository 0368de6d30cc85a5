"""Which counts of the source may be told: by hand, and against attackers who try everything."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.reporting.suppression import Public, components, describe_suppression, nothing_certain
from tasks.types import FloatArray

Cells = list[tuple[list[int], int]]  # the bins that a cell lies in, and its rows


def public_of(cells: Cells, n_bins: int) -> Public:
    certain = np.zeros(n_bins, dtype=np.int64)
    linked = np.zeros((n_bins, n_bins), dtype=bool)
    after: FloatArray = np.zeros(n_bins)
    for bins, rows in cells:
        after[bins] += rows / len(bins)
        if len(bins) == 1:
            certain[bins[0]] += rows
        else:
            linked[np.ix_(bins, bins)] = True
    return Public(certain, components(linked), after)


def shown(counts: list[int], public: Public, least: int) -> list[int | None]:
    marks = describe_suppression(np.array(counts), [public], least)
    return [count if mark else None for count, mark in zip(counts, marks.tolist(), strict=True)]


def untold(after: list[float]) -> Public:
    return nothing_certain(np.array(after))


def test_a_count_under_k_takes_others_with_it_the_least_published_first() -> None:
    assert shown([9, 20, 3, 40], untold([10, 20, 2, 38]), 5) == [None, 20, None, 40]
    # 3 and 6 are 9, under 10: one more goes.
    assert shown([6, 20, 3, 40], untold([10, 20, 2, 38]), 5) == [None, None, None, 40]
    # What is published decides, not the source's counts.
    assert shown([9, 20, 3, 40], untold([30, 20, 2, 10]), 5) == [9, 20, None, None]


def test_nothing_is_untold_where_every_count_is_k() -> None:
    assert shown([5, 6, 7], untold([6, 6, 6]), 5) == [5, 6, 7]
    assert shown([18], untold([18]), 5) == [18]
    assert shown([4], untold([4]), 5) == [None]


def test_an_empty_bin_is_as_untold_as_a_small_one() -> None:
    assert shown([0, 20, 30], untold([1, 20, 29]), 5) == [None, None, 30]


def test_what_cells_tell_is_taken_off_first() -> None:
    # 95 rows are women, 5 women or men: of these two are men, though 98 and 102 are large enough.
    cells = [([0], 95), ([1], 100), ([0, 1], 5)]
    assert shown([98, 102], public_of(cells, 2), 5) == [None, None]
    # With 50 rows of either, 20 of them are men.
    cells = [([0], 95), ([1], 100), ([0, 1], 50)]
    assert shown([125, 120], public_of(cells, 2), 5) == [125, 120]


def test_bins_that_no_cell_joins_are_counted_apart() -> None:
    # Of the first two, one is small; the third would hide its sum, but who reads the cells takes it off.
    cells = [([0, 1], 12), ([2, 3], 40)]
    assert shown([3, 9, 20, 20], public_of(cells, 4), 5) == [None, None, 20, 20]
    assert public_of(cells, 4).component.tolist() == [0, 0, 2, 2]


def test_bins_are_joined_over_others() -> None:
    linked = public_of([([0, 2], 5), ([2, 4], 5), ([1, 3], 5)], 6)
    assert linked.component.tolist() == [0, 1, 0, 1, 0, -1]


def test_a_bin_that_no_published_cell_reaches_is_seen_to_be_empty() -> None:
    assert shown([8, 0, 9], public_of([([0], 8), ([2], 9)], 3), 5) == [8, None, 9]


def test_what_cells_seem_to_tell_is_held_to_where_they_do_not_hold_their_people() -> None:
    # A reader expects 20 in the first: two fewer are a small number too, and so are two more beside them.
    cells = [([0], 20), ([1, 2], 20)]
    assert shown([18, 12, 10], public_of(cells, 3), 5) == [None, None, None]
    assert shown([18, 12, 10, 30], public_of([*cells, ([3], 30)], 4), 5) == [None, None, None, 30]
    # Where five and more are not where they seem to be, that is told; so is what is as it seems.
    assert shown([14, 14, 12], public_of(cells, 3), 5) == [14, 14, 12]
    assert shown([20, 12, 8], public_of(cells, 3), 5) == [20, 12, 8]
    assert shown([18, 19, 3], public_of(cells, 3), 5) == [None, None, None]


@pytest.mark.parametrize(("least", "n_bins"), [(2, 2), (2, 3), (3, 3), (4, 3), (3, 4)])
def test_whoever_knows_the_rule_and_the_total_finds_no_count_that_is_not_told(
    least: int, n_bins: int
) -> None:
    public = nothing_certain(np.arange(n_bins, dtype=np.float64))
    for total in range(2 * least, 12):
        worlds = defaultdict(list)
        for counts in product(range(total + 1), repeat=n_bins):
            if sum(counts) == total:
                worlds[tuple(shown(list(counts), public, least))].append(counts)
        for said, possible in worlds.items():
            for place in (i for i, count in enumerate(said) if count is None):
                assert len({counts[place] for counts in possible}) > 1


def worlds_of(cells: Cells, n_bins: int) -> set[tuple[int, ...]]:
    """All counts that bins can have, whoever of each cell is in whichever of its bins."""
    found = {(0,) * n_bins}
    for bins, rows in cells:
        ways = [split for split in product(range(rows + 1), repeat=len(bins)) if sum(split) == rows]
        found = {
            tuple(n + dict(zip(bins, way, strict=True)).get(i, 0) for i, n in enumerate(counts))
            for counts in found
            for way in ways
        }
    return found


@st.composite
def published(draw: st.DrawFn) -> tuple[Cells, list[int], int]:
    """Cells of k rows or more over two to four bins, and counts of people that they can have."""
    least, n_bins = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    bins = st.sets(st.integers(0, n_bins - 1), min_size=1).map(sorted)
    cells = draw(st.lists(st.tuples(bins, st.integers(least, least + 3)), min_size=1, max_size=3))
    counts = [0] * n_bins
    for held, rows in cells:
        for _ in range(rows):
            counts[draw(st.sampled_from(held))] += 1
    return cells, counts, least


@given(published())
def test_no_small_count_is_told_or_found_by_subtraction(drawn: tuple[Cells, list[int], int]) -> None:
    cells, counts, least = drawn
    n_bins = len(counts)
    public = public_of(cells, n_bins)
    said = shown(counts, public, least)
    assert all(count is None or count >= least for count in said)
    # Whoever has the counts told, the total, what is certain, and how many are free in each component:
    # of what sums of bins do they know that these are under k, and not from the cells alone?
    free = [count - sure for count, sure in zip(counts, public.certain.tolist(), strict=True)]
    for number in {*public.component.tolist()} - {-1}:
        inside = [i for i in range(n_bins) if public.component[i] == number]
        hidden = [i for i in inside if said[i] is None]
        total = sum(free[i] for i in inside) - sum(free[i] for i in inside if said[i] is not None)
        possible = [way for way in product(range(total + 1), repeat=len(hidden)) if sum(way) == total]
        for chosen in chain.from_iterable(combinations(range(len(hidden)), n) for n in range(1, 5)):
            sums = {sum(way[i] for i in chosen) for way in possible}
            known_anyway = len(hidden) == len(inside) and len(chosen) == len(inside)
            assert known_anyway or max(sums) >= min(2 * least, total) >= least
            assert known_anyway or len(chosen) == len(hidden) or len(sums) > least
    # And from the total alone, of all that is not seen to be empty.
    hidden = [i for i in range(n_bins) if said[i] is None and (public.component[i] >= 0 or counts[i])]
    nothing_told = all(count is None for count in said)
    assert not hidden or nothing_told or sum(counts[i] for i in hidden) >= 2 * least


@given(published())
def test_whoever_tries_every_world_finds_no_small_count_but_at_a_cell_s_own_limit(
    drawn: tuple[Cells, list[int], int],
) -> None:
    cells, counts, least = drawn
    said = shown(counts, public_of(cells, len(counts)), least)
    worlds = worlds_of(cells, len(counts))
    possible = [
        world for world in worlds if all(n is None or n == w for n, w in zip(said, world, strict=True))
    ]
    told_at_limit = any(
        n is not None and n in (min(w[i] for w in worlds), max(w[i] for w in worlds))
        for i, n in enumerate(said)
    )
    for place in (i for i, count in enumerate(said) if count is None):
        public_anyway = len({world[place] for world in worlds}) == 1
        assert public_anyway or told_at_limit or len({world[place] for world in possible}) > 1


@given(published(), st.randoms())
def test_the_order_of_the_cells_does_not_matter(
    drawn: tuple[Cells, list[int], int], source: random.Random
) -> None:
    cells, counts, least = drawn
    again = list(cells)
    source.shuffle(again)
    n = len(counts)
    assert shown(counts, public_of(cells, n), least) == shown(counts, public_of(again, n), least)
