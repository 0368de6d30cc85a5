"""Sampled worlds, held against all worlds that there are: what the chain draws is uniform over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import product

import numpy as np
import pytest
from test_possible_values import drawn, seated

from tasks.history.attribute import Attribute
from tasks.history.cohorts import ABSENT
from tasks.history.sampling import Chain, far_from, likely_values
from tasks.history.worlds import possible_values
from tasks.types import FloatArray, IntArray
from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "gates.md"
Move = Callable[[Chain], object]
World = tuple[int, ...]


def exchanges(chain: Chain) -> None:
    for side in chain.sides:
        chain.exchange(side)


MOVES: dict[str, Move] = {
    "shuffle": lambda chain: chain.shuffle(),
    "exchange": exchanges,
    "interchange": lambda chain: chain.interchange(),
    "redraw": lambda chain: chain.redraw(),
}
# Classes in each release, a release a row, and values.
TABLES: dict[str, tuple[list[list[int]], list[int]]] = {
    "two values": ([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]], [0, 1, 0, 1, 0, 1, 1, 0]),
    "people come and go": ([[0, -1, 1, 1, 0, 1, 0], [-1, 0, -1, 1, 0, 1, -1]], [1, 1, 0, 1, 0, 0, 0]),
    "three values": ([[1, 1, 0, 0, 1, 0, 1], [0, 1, 1, 0, 1, 1, 0]], [1, 0, 2, 1, 2, 0, 2]),
    "three releases": (
        [[1, 0, 1, 0, 1, 1, 1], [0, 1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 1, 1, 1]],
        [1, 1, 0, 0, 0, 0, 1],
    ),
}


def table(name: str) -> tuple[IntArray, IntArray]:
    classes, value = TABLES[name]
    return np.array(classes).T, np.array(value)


def worlds_of(classes: IntArray, value: IntArray) -> list[World]:
    """Return every assignment of tuples that leaves each class its tuples."""
    found = np.array(list(product(sorted(set(value.tolist())), repeat=len(value))))
    for column in classes.T:
        for one in set(column.tolist()) - {ABSENT}:
            here = np.flatnonzero(column == one)
            found = found[(np.sort(found[:, here], axis=1) == np.sort(value[here])).all(axis=1)]
    return [tuple(world) for world in found.tolist()]


def likeliest(worlds: list[World], attributes: tuple[Attribute, ...]) -> FloatArray:
    """Return the share of worlds that give each subject the value that most of them do, (n, s).

    Numbers from one to one that is a width larger count as one value.
    """
    shares = [[most_alike(each, had) for each in attributes] for had in np.array(worlds).T]
    return np.array(shares) / len(worlds)


def most_alike(attribute: Attribute, tuples: IntArray) -> int:
    """Return how many of the tuples have one value, that which most have."""
    values = attribute.value[tuples]
    if attribute.number is None:
        return int(np.bincount(values).max())
    numbers = attribute.number[values]
    return max(int(((least <= numbers) & (numbers <= least + attribute.width)).sum()) for least in numbers)


def apart(counted: Counter[World], worlds: list[World]) -> float:
    """Return the total variation distance of what was counted from the uniform distribution."""
    total = sum(counted.values())
    return sum(abs(counted[world] / total - 1 / len(worlds)) for world in worlds) / 2


def of_chance(n_worlds: int, n_draws: int) -> float:
    """Return the distance that as many independent uniform draws have on average."""
    return float(np.sqrt(n_worlds / (2 * np.pi * n_draws)))


def after_one_move(chain: Chain, worlds: list[World], move: Move, n: int) -> tuple[float, int]:
    """Begin at every world `n` times and make one move: how far from uniform are they, and how many moved?"""
    counted: Counter[World] = Counter()
    n_moved = 0
    for world in worlds:
        for _ in range(n):
            chain.value = np.array(world)
            move(chain)
            now = tuple(chain.value.tolist())
            counted[now] += 1
            n_moved += now != world
    assert set(counted) <= set(worlds)
    return apart(counted, worlds), n_moved


def steps(chain: Chain, moves: tuple[str, ...], n: int) -> Counter[World]:
    """Make each of the moves n times, and count the worlds."""
    counted: Counter[World] = Counter()
    for _ in range(n):
        for name in moves:
            MOVES[name](chain)
        counted[tuple(chain.value.tolist())] += 1
    return counted


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.by_day(5)
def test_worlds_that_are_uniform_before_a_move_are_uniform_after_it(name: str, move: str) -> None:
    classes, value = table(name)
    worlds = worlds_of(classes, value)
    assert len(worlds) > 5
    distance, n_moved = after_one_move(Chain(classes, value, 5), worlds, MOVES[move], n := 900 // len(worlds))
    assert distance < 2 * of_chance(len(worlds), n * len(worlds))
    assert n_moved > 0


def test_signatures_leave_worlds_uniform_too() -> None:
    n_moved = 0
    for seed in range(8):
        series, seat = seated(seed)
        worlds = worlds_of(series.classes, series.value) if 1 < len(seat) < 8 else []
        if len(worlds) > 1:
            chain = Chain(series.classes, series.value, seed, seat)
            n = 300 // len(worlds)
            distance, moved = after_one_move(chain, worlds, Chain.interchange_seats, n)
            assert distance < 2 * of_chance(len(worlds), n * len(worlds)), seed
            n_moved += moved
    assert n_moved > 200


class Biased(Chain):
    """A chain that makes a move back if it leads to a world that is earlier in order."""

    def exchange(self, side: tuple[IntArray, IntArray]) -> None:
        before = self.value.copy()
        super().exchange(side)
        self._take_back(before)

    def interchange(self) -> tuple[IntArray, IntArray]:
        before = self.value.copy()
        found = super().interchange()
        self._take_back(before)
        return found

    def _take_back(self, before: IntArray) -> None:
        if self.value.tolist() < before.tolist():
            self.value = before


@pytest.mark.parametrize("move", ["exchange", "interchange"])
def test_a_move_that_prefers_some_worlds_is_found(move: str) -> None:
    classes, value = table("two values")
    worlds = worlds_of(classes, value)
    n = 900 // len(worlds)
    distance, _ = after_one_move(Biased(classes, value, 5), worlds, MOVES[move], n)
    assert distance > 2 * of_chance(len(worlds), n * len(worlds))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.by_day(4)
def test_a_chain_from_the_known_world_mixes(name: str, seed: int) -> None:
    """The bound is three times the distance of independent draws: a chain's are not quite."""
    classes, value = table(name)
    worlds = worlds_of(classes, value)
    counted = steps(Chain(classes, value, seed), tuple(MOVES), 500)
    assert set(counted) <= set(worlds)
    assert apart(counted, worlds) < 3 * of_chance(len(worlds), 500)


def test_a_biased_chain_does_not_mix() -> None:
    classes, value = table("two values")
    worlds = worlds_of(classes, value)
    moves = ("exchange", "interchange")
    counted = steps(Biased(classes, value, 1), moves, 1000)
    assert apart(counted, worlds) > 3 * of_chance(len(worlds), 1000)
    counted = steps(Chain(classes, value, 1), moves, 1000)
    assert apart(counted, worlds) < 3 * of_chance(len(worlds), 1000)


def test_exchanges_reach_every_world_of_two_values_in_two_releases() -> None:
    classes, value = table("two values")
    counted = steps(Chain(classes, value, 1), ("exchange",), 400)
    assert set(counted) == set(worlds_of(classes, value))


def test_the_likeliest_value_is_as_likely_as_it_is_among_all_worlds() -> None:
    of_tables = [(*table(name), (Attribute(np.arange(3)),)) for name in TABLES]
    of_draws = [(one.classes, one.value, one.attributes) for one in map(drawn, [*range(8), 25, 38, 53])]
    n_uneven = 0
    for classes, value, attributes in of_tables + of_draws:
        exact = likeliest(worlds_of(classes, value), attributes)
        found = likely_values(classes, value, attributes, 25, 1)
        assert np.abs(found.most - exact).max() < 0.15
        n_uneven += int(((exact > 0.5) & (exact < 1)).sum())
    assert n_uneven > 8


def test_three_of_four_with_one_value_are_sure_by_three_quarters() -> None:
    """Nobody is in two releases: the classes tell it alone, and nothing is sampled."""
    one = (Attribute(np.arange(2)),)
    found = likely_values(np.zeros((4, 1), dtype=np.int64), np.array([0, 0, 0, 1]), one, 50, 1)
    assert found.most.tolist() == [[0.75]] * 4
    assert (found.sweeps, found.moved) == (0, 0)
    assert found.over(0.74).all()
    assert not found.over(0.75).any()
    twice = likely_values(np.zeros((4, 2), dtype=np.int64), np.array([0, 0, 0, 1]), one, 10, 1)
    assert twice.most.tolist() == [[0.75]] * 4
    assert twice.sweeps == 8


def test_the_one_world_of_five_people_leaves_no_doubt() -> None:
    """The example of docs/gates.md."""
    classes = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
    found = likely_values(classes, np.array([1, 0, 0, 0, 1]), (Attribute(np.arange(2)),), 10, 1)
    assert found.most.tolist() == [[1.0]] * 5


def test_numbers_within_a_width_are_as_likely_as_all_of_them_together() -> None:
    classes = np.zeros((5, 1), dtype=np.int64)
    salary = np.array([1000.0, 2000.0, 1001.0, 1002.0, np.inf])
    for width, likely in ((0.0, 0.2), (1.0, 0.4), (2.0, 0.6), (999.0, 0.6), (5000.0, 0.8)):
        attribute = Attribute(np.arange(5), salary, width)
        assert likely_values(classes, np.arange(5), (attribute,), 5, 1).most.tolist() == [[likely]] * 5


def test_several_attributes_are_each_asked_for_their_own_values() -> None:
    classes = np.zeros((4, 1), dtype=np.int64)
    both = (Attribute(np.array([0, 0, 1, 1])), Attribute(np.array([0, 1, 0, 1])))
    found = likely_values(classes, np.array([0, 0, 1, 2]), both, 5, 1)
    assert found.most.tolist() == [[0.75, 0.75]] * 4


def test_the_seed_decides_what_is_sampled() -> None:
    classes, value = table("two values")
    one = (Attribute(np.arange(2)),)
    first, again, other = (likely_values(classes, value, one, 12, seed).most.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("seed", range(3))
def test_what_hangs_on_where_a_chain_begins_is_not_measured(seed: int) -> None:
    """Each class of three releases has one person of each of three groups, of which one has its own value.

    It may be any of the three, but all at once. A chain hardly ever makes such a move.
    """
    rng = np.random.default_rng(seed)
    value = np.repeat([0, 0, 1], 12)
    classes = np.column_stack([np.concatenate([rng.permutation(12) for _ in range(3)]) for _ in range(3)])
    one = (Attribute(np.arange(2)),)
    begun_at_the_truth = Chain(classes, value, 1)
    for _ in range(13):
        begun_at_the_truth.sweep()
    assert begun_at_the_truth.value.tolist() == value.tolist()
    found = possible_values(classes, value, one, 2)
    far = far_from(classes, value, None, found.kept)
    assert (far != value).mean() == 2 / 3
    assert [np.bincount(release, far).tolist() for release in classes.T] == [[1.0] * 12] * 3
    likely = likely_values(classes, value, one, 25, 1, None, found)
    assert not likely.over(0.95).any()
    assert likely.unmeasured(0.95).all()


def test_signatures_are_exchanged_in_a_world_far_away() -> None:
    seat = np.array([(0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (-1, -1)])
    value = np.array([0, 1, 0, 1, 0, 1, 2, 2])
    classes = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 1]])
    assert far_from(classes, value, seat).tolist() == [1, 0, 1, 0, 1, 2, 0, 2]
    uneven = np.where(np.arange(8)[:, None] == 0, 1, classes)  # of the first signature, which stays
    assert far_from(uneven, value, seat).tolist() == [0, 1, 0, 1, 1, 2, 0, 2]


# How many moved, and digests of the world and of the likeliest values after three sweeps.
FIXED = {
    False: (314, 454, "8cbd40f17ce420f4", "bbf3d16b4a561adf"),
    True: (305, 404, "37e9a32551487082", "0e4fd4d275c3f3ea"),
}


@pytest.mark.parametrize("seated", FIXED)
def test_a_seed_gives_the_same_worlds_as_ever(seated: bool) -> None:
    """300 subjects in three releases, in some of which they are absent, with or without signatures."""
    rng = np.random.default_rng(1)
    classes, value = rng.integers(0, 40, (300, 3)), rng.integers(0, 5, 300)
    classes[:100] = classes[:100] // 10 * 10  # some share all their classes
    classes[rng.random((300, 3)) < 0.2] = ABSENT
    seat = np.column_stack([np.where(np.arange(300) < 150, 0, -1), np.where(np.arange(300) < 150, value, -1)])
    chain = Chain(classes, value, 1, seat if seated else None)
    for _ in range(3):
        chain.sweep()
    found = likely_values(classes, value, (Attribute(np.arange(5)),), 3, 1, seat if seated else None)
    most = np.round(found.most * 1e6).astype(np.int64)
    assert (chain.moved, found.moved, digest(chain.value), digest(most)) == FIXED[seated]


def digest(numbers: IntArray) -> str:
    return sha256(numbers.astype("<i8").tobytes()).hexdigest()[:16]


@pytest.mark.nightly
def test_the_documented_shares_after_few_and_many_sweeps_are_measured() -> None:
    rows = {name: cells for name, *cells in docs_pages.table(docs_pages.section(PAGE, "How sure"))}
    assert list(rows) == ["2", "4", "10"]
    for name, (few, many) in rows.items():
        for sweeps, said in ((25, few), (400, many)):
            assert said == f"{share_over(int(name), sweeps):.1%}", (name, sweeps)


def share_over(n_values: int, sweeps: int) -> float:
    """Return the share of 2,000 people over 0.95, in two releases of classes of ten cut at random."""
    rng = np.random.default_rng(1)
    value = rng.integers(0, n_values, 2000)
    classes = np.column_stack([rng.permutation(2000) // 10 for _ in range(2)])
    found = likely_values(classes, value, (Attribute(np.arange(n_values)),), sweeps, 1)
    return float(found.over(0.95).mean())


def test_people_in_balanced_signatures_are_half_sure_where_two_tuples_exchange() -> None:
    """Six releases in which nobody is beside the same people twice, and no other exchange is possible."""
    rng = np.random.default_rng(1)
    n = 12
    value = np.repeat([0, 1], n)
    seat = np.column_stack([np.zeros(2 * n, dtype=np.int64), value])
    classes = np.column_stack(
        [np.concatenate([rng.permutation(n) // 2, rng.permutation(n) // 2]) for _ in range(6)]
    )
    found = likely_values(classes, value, (Attribute(np.arange(2)),), 10, 1, seat)
    assert found.most.max() < 0.7
