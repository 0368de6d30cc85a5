"""Possible worlds at scale, held against every assignment of values that there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.history import batch, neighbourhood, solving, worlds
from tasks.history.attribute import Attribute
from tasks.history.cohorts import (
    ABSENT,
    Cohorts,
    cohorts_of,
    published_of,
    values_shared,
    world_of,
)
from tasks.history.exchange import divisions, exchanged
from tasks.history.outer import possible_by_two
from tasks.history.search import Limits
from tasks.history.signatures import NONE, balanced, interchanged
from tasks.history.worlds import possible_values, values_shown
from tasks.types import BoolArray, IntArray
from tests.reference.exact import judged
from tests.reference.published_series import Published, Verdict
from tests.reference.worlds import Group, group
from tests.reference.worlds import possible_values as by_brute_force


@dataclass(frozen=True)
class Series:
    """Up to seven people, their classes in up to four releases, their values, and how many they must keep."""

    classes: IntArray
    value: IntArray
    attributes: tuple[Attribute, ...]
    enough: int

    def truth(self) -> list[set[int]]:
        """Return what every assignment of values to people leaves to each."""
        releases = []
        for column in self.classes.T:
            numbers = sorted(set(column.tolist()) - {ABSENT})
            found: list[Group] = [group(np.flatnonzero(column == one).tolist()) for one in numbers]
            releases.append(tuple(found))
        left = by_brute_force(releases, [str(one) for one in self.value])
        return [{int(one) for one in values} for values in left]


def drawn(seed: int) -> Series:
    """Draw a series: people who come and go, or who stay; values of one attribute, or tuples of two."""
    rng = np.random.default_rng(seed)
    n, r, m = int(rng.integers(2, 8)), int(rng.integers(1, 5)), int(rng.integers(2, 5))
    least = ABSENT if rng.random() < 0.6 else 0
    classes = rng.integers(least, max(1, n // 2), size=(n, r))
    classes[(classes == ABSENT).all(axis=1)] = 0  # everybody is in some release
    tuples = (Attribute(np.array([0, 0, 1, 1])), Attribute(np.array([0, 1, 0, 1])))
    one = (Attribute(np.arange(m)),)
    attributes = tuples if m == 4 and rng.random() < 0.5 else one
    series = Series(classes, rng.integers(0, m, n), attributes, int(rng.integers(2, 4)))
    if rng.random() < 0.3:  # numbers, of which some are so near that they count as one
        near = replace(attributes[0], number=rng.integers(0, 6, m).astype(float), width=1.0)
        return replace(series, attributes=(near, *attributes[1:]))
    return series


def n_apart(attribute: Attribute, tuples: set[int]) -> int:
    """Return how many of the tuples' values there are; of numbers, how many further apart than the width."""
    values = {int(attribute.value[one]) for one in tuples}
    if attribute.number is None:
        return len(values)
    return max(
        n
        for n in range(1, len(values) + 1)
        for some in combinations(values, n)
        if all(
            abs(attribute.number[one] - attribute.number[other]) > attribute.width
            for one, other in combinations(some, 2)
        )
    )


def held_against_brute_force(
    seeds: Iterator[int] | range, *, decided: bool = True, limits: Limits | None = None, more: int = 0
) -> tuple[int, int]:
    """Hold bounds and verdicts against the truth; return how many people there were, and how many pinned.

    Nobody is undecided, if all are `decided`. The first attribute has to keep `more` values than others.
    """
    n_people = n_pinned = 0
    for seed in seeds:
        series = drawn(seed)
        first, *others = series.attributes
        enough = {1: 1, -1: 3}.get(more, series.enough)  # small series leave two values, hardly three
        series = replace(series, attributes=(replace(first, more=more), *others), enough=enough)
        truth = series.truth()
        found = possible_values(series.classes, series.value, series.attributes, series.enough, limits)
        number = found.cohorts.number
        pinned = np.zeros(len(series.value), dtype=bool)
        for place, attribute in enumerate(series.attributes):
            n_true = np.array([n_apart(attribute, values) for values in truth])
            assert (found.least[number, place] <= n_true).all(), seed
            assert (n_true <= found.most[number, place]).all(), seed
            assert (n_true <= found.by_sets[number, place]).all(), seed
            pinned |= n_true < series.enough + attribute.more
            seat = np.full((len(series.value), 2), NONE)
            shown = values_shown(
                series.classes, series.value, series.attributes, series.enough + 2, Limits(), seat, found
            )[:, place]
            assert (shown <= n_true).all(), seed
            assert (shown >= found.least[number, place]).all(), seed
        open_ = found.undecided(series.enough)
        assert (found.pinned(series.enough) | open_).tolist() == (pinned | open_).tolist(), seed
        assert not (decided and open_.any()), seed
        n_people, n_pinned = n_people + len(pinned), n_pinned + int(pinned.sum())
    return n_people, n_pinned


N_SERIES = [150, pytest.param(1000, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("more", [-1, 1])
def test_bounds_and_verdicts_are_true_where_an_attribute_keeps_more_or_fewer_values(more: int) -> None:
    n_people, n_pinned = held_against_brute_force(range(50), more=more)
    assert 0 < n_pinned < n_people


def test_more_values_are_shown_where_more_are_looked_for() -> None:
    rng = np.random.default_rng(3)
    classes = np.stack([rng.permutation(400) // 20 for _ in range(2)], axis=1)
    value, attributes = rng.integers(0, 8, 400), (Attribute(np.arange(8)),)
    found = possible_values(classes, value, attributes, 2)
    number, seat = found.cohorts.number, np.full((400, 2), NONE)
    two, five = (
        values_shown(classes, value, attributes, enough, Limits(), seat, found)[:, 0] for enough in (2, 5)
    )
    assert two.tolist() == found.least[number, 0].tolist()
    assert (two <= five).all()
    assert (five <= found.most[number, 0]).all()
    assert (five > two).mean() > 0.5


def test_two_releases_and_one_value_rule_out_what_no_world_has_and_nothing_else() -> None:
    n_ruled_out = 0
    for seed in range(150):
        series = drawn(seed)
        truth, cohorts = series.truth(), cohorts_of(series.classes)
        world = world_of(cohorts, series.value, int(series.value.max()) + 1)
        shared = values_shared(cohorts, published_of(cohorts, world))
        left = possible_by_two(cohorts, world, shared, np.arange(world.shape[1]))
        assert (left > shared).nnz == 0
        n_ruled_out += shared.nnz - left.nnz
        for subject, values in enumerate(truth):
            kept = set(left[[cohorts.number[subject]]].indices.tolist())
            assert values <= kept, seed
            # Of two values and two releases nothing is left open.
            if world.shape[1] == 2 and series.classes.shape[1] == 2:
                assert values == kept, seed
    assert n_ruled_out > 20


def seated(seed: int) -> tuple[Series, IntArray]:
    """Draw a series of up to three buckets of people with signatures, some of them out of balance."""
    rng = np.random.default_rng(seed)
    signatures = [sorted(rng.integers(0, 4, int(rng.integers(2, 4))).tolist()) for _ in range(2)]
    seat: list[tuple[int, int]] = []
    while len(seat) < 5:
        signature = int(rng.integers(2))
        seat += [(signature, position) for position in range(len(signatures[signature]))]
    seats = np.array(seat)
    value = np.array([signatures[signature][position] for signature, position in seat])
    columns = []
    for _ in range(int(rng.integers(1, 4))):
        column = np.full(len(seat), ABSENT)
        for signature in range(2):
            n = int((seats == (signature, 0)).all(axis=1).sum())
            here = rng.permutation(n)[: int(rng.integers(n + 1))]
            group = rng.integers(0, 2, n)
            for position in range(len(signatures[signature])):
                rows = np.flatnonzero((seats == (signature, position)).all(axis=1))
                column[rng.permutation(rows)[: len(here)]] = group[here]
        columns.append(column)
    classes = np.column_stack(columns)
    if rng.random() < 0.3:  # somebody is beside others after all
        classes[int(rng.integers(len(seat))), 0] = int(rng.integers(0, 2))
    there = (classes != ABSENT).any(axis=1)
    return Series(classes[there], value[there], (Attribute(np.arange(4)),), 2), seats[there]


def test_whoever_is_in_a_balanced_signature_may_have_the_values_of_all_its_positions() -> None:
    n_balanced = n_short = 0
    for seed in range(150):
        series, seat = seated(seed)
        held = balanced(series.classes, series.value, seat)
        truth = series.truth() if len(seat) else []
        for subject, value in zip(*interchanged(series.value, seat, held), strict=True):
            assert int(value) in truth[subject], seed
        n_balanced, n_short = n_balanced + int(held.sum()), n_short + int((~held).sum())
        if len(seat):
            found = possible_values(series.classes, series.value, series.attributes, 2, seat=seat)
            pinned = [len(values) < 2 for values in truth]
            assert found.pinned(2).tolist() == pinned, seed
    assert min(n_balanced, n_short) > 50


@pytest.mark.parametrize("part", range(10))
def test_bounds_and_verdicts_are_true_of_three_hundred_small_series(part: int) -> None:
    n_people, n_pinned = held_against_brute_force(range(30 * part, 30 * part + 30))
    assert 0 < n_pinned < n_people


@pytest.mark.parametrize("n_series", N_SERIES)
@pytest.mark.parametrize("most_whole", [neighbourhood.MOST_WHOLE, 0])
def test_bounds_are_true_where_the_linear_program_is_solved_first(
    monkeypatch: pytest.MonkeyPatch, most_whole: int, n_series: int
) -> None:
    """Without a search of all whole numbers somebody may stay undecided, and nobody is told wrongly.

    With no variable near the solution either, worlds are those that the linear program itself gives.
    """
    solved: list[IntArray | None] = []
    near = neighbourhood.whole_near
    monkeypatch.setattr(neighbourhood, "FEW", 0)

    def counted(*args: Any) -> IntArray | None:
        solved.append(near(*args))
        return solved[-1]

    monkeypatch.setattr(neighbourhood, "whole_near", counted)
    monkeypatch.setattr(neighbourhood, "MOST_WHOLE", most_whole)

    def of_nobody(problem: neighbourhood.Near, wished: BoolArray, known: IntArray) -> Any:
        return known, np.zeros(len(problem.whole), dtype=bool), np.ones(len(problem.whole), dtype=bool)

    monkeypatch.setattr(solving, "worlds_of_wishes", of_nobody)
    held_against_brute_force(range(n_series), decided=False, limits=Limits(pairs=0, visits=0))
    assert any(one is not None for one in solved)


@pytest.mark.parametrize("n_series", N_SERIES)
@pytest.mark.parametrize(
    "limits", [Limits(), Limits(questions=3), Limits(variables=30)], ids=["many", "three", "few variables"]
)
@pytest.mark.by_day(1)
def test_bounds_and_verdicts_are_true_however_many_questions_are_asked_at_once(
    monkeypatch: pytest.MonkeyPatch, limits: Limits, n_series: int
) -> None:
    n_answered: list[int] = []
    n_ruled_out: list[int] = []

    def answers(*args: Any) -> Any:
        world, answered, open_ = batch.worlds_of_wishes(*args)
        n_answered.append(int(answered.sum()))
        return world, answered, open_

    def none(*args: Any) -> BoolArray:
        out = batch.hopeless(*args)
        n_ruled_out.append(int(out.sum()))
        return out

    monkeypatch.setattr(worlds, "possible_by_two", lambda *told: told[2])
    monkeypatch.setattr(solving, "worlds_of_wishes", answers)
    monkeypatch.setattr(solving, "hopeless", none)
    held_against_brute_force(range(n_series), limits=replace(limits, pairs=0, visits=0))
    assert sum(n_answered) > 1
    assert sum(n_ruled_out) > 20


@pytest.mark.parametrize("n_series", N_SERIES)
def test_bounds_and_verdicts_are_true_where_many_are_ruled_out_together(
    monkeypatch: pytest.MonkeyPatch, n_series: int
) -> None:
    n_ruled_out: list[int] = []

    def none(*args: Any) -> BoolArray:
        out = batch.hopeless_together(*args)
        n_ruled_out.append(int(out.sum()))
        return out

    monkeypatch.setattr(worlds, "possible_by_two", lambda *told: told[2])
    monkeypatch.setattr(solving, "OVERLAP", 0)
    monkeypatch.setattr(solving, "hopeless_together", none)
    held_against_brute_force(range(n_series), limits=Limits(pairs=0, visits=0))
    assert sum(n_ruled_out) > 20


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_bounds_and_verdicts_are_true_of_ten_thousand_small_series(part: int) -> None:
    held_against_brute_force(range(1000 * (part + 1), 1000 * (part + 2)))


@pytest.mark.parametrize("known", [False, True])
def test_the_exact_attacker_finds_just_who_is_pinned(known: bool) -> None:
    """The judge of whole stores, which shares no code with the bounds, held against every assignment too."""
    for seed in range(40):
        series = drawn(seed)
        truth = series.truth()
        n_pinned = sum(
            any(len(set(one.value[list(values)].tolist())) < series.enough for one in series.attributes)
            for values in truth
        )
        found = judged(_published(series, known=known), series.enough, 60.0)
        assert (found.people, found.pinned, found.undecided) == (len(series.value), n_pinned, 0), seed


def test_the_exact_attacker_says_the_same_from_a_world_and_beside_rows_of_nobody_known() -> None:
    n_pinned = 0
    for seed in range(30):
        series = drawn(seed)
        unknown = np.random.default_rng(seed).random(len(series.value)) < 0.3
        if unknown.all():
            continue
        whole, near = (
            judged(_published(series, unknown, known=known), series.enough, 60.0) for known in (False, True)
        )
        assert whole == near, seed
        assert not near.undecided, seed
        n_pinned += near.pinned
    assert n_pinned > 0


def test_who_is_known_to_have_changed_is_somebody_else_to_the_exact_attacker() -> None:
    first = Published("r1", {0: [("a",), ("b",)]}, {"x": 0, "y": 0}, {"x": ("a",), "y": ("b",)})
    second = Published("r2", {0: [("a",), ("b",)]}, {"x": 0, "z": 0}, {"x": ("b",), "z": ("a",)})
    assert judged([first, second], 2, 60.0) == Verdict("r2", 4, 0, 0)
    assert judged([first, replace(second, values={"x": ("a",), "z": ("b",)})], 2, 60.0).pinned == 0
    alone = Published("r2", {0: [("a",)]}, {"x": 0}, {"x": ("a",)})
    assert judged([first, alone], 2, 60.0) == Verdict("r2", 2, 2, 0)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("width", "n_pinned"), [(0.0, 0), (50.0, 3), (1.5, 0)])
def test_numbers_within_the_width_are_one_value_to_the_exact_attacker(
    width: float, n_pinned: int, *, known: bool
) -> None:
    rows = {who: (number,) for who, number in zip("xyz", ("1000", "1001", "1002"), strict=True)}
    one = Published("r1", {0: [*rows.values()]}, dict.fromkeys(rows, 0), rows if known else None, (width,))
    assert judged([one], 2, 60.0) == Verdict("r1", 3, n_pinned, 0)


@pytest.mark.parametrize("known", [True, False])
def test_kept_columns_link_rows_to_the_exact_attacker(*, known: bool) -> None:
    """The four people of docs/gates.md."""
    rows = {"a": ("flu", "east"), "b": ("hiv", "west"), "c": ("hiv", "east"), "d": ("flu", "west")}
    for n_kept, n_pinned in ((0, 0), (1, 4)):
        values = {who: row[: 1 + n_kept] for who, row in rows.items()}
        releases = [
            Published(
                name,
                {number: [values[who] for who in group] for number, group in enumerate(groups)},
                {who: number for number, group in enumerate(groups) for who in group},
                values if known else None,
                n_kept=n_kept,
            )
            for name, groups in (("r1", ("ab", "cd")), ("r2", ("ac", "bd")))
        ]
        assert judged(releases, 2, 60.0) == Verdict("r2", 4, n_pinned, 0)


def _published(series: Series, unknown: BoolArray | None = None, *, known: bool) -> list[Published]:
    """Return the releases of a series as they are read from a store, with the values of people or without."""
    row = [_tuple(series, value) for value in series.value.tolist()]
    releases = []
    for number, column in enumerate(series.classes.T):
        here = column != ABSENT
        rows = {
            one: [row[i] for i in np.flatnonzero(column == one)] for one in np.unique(column[here]).tolist()
        }
        followed = np.flatnonzero(here if unknown is None else here & ~unknown)
        people = {str(person): int(column[person]) for person in followed}
        values = {str(person): row[person] for person in followed} if known else None
        releases.append(Published(f"r{number}", rows, people, values))
    return releases


def _tuple(series: Series, value: int) -> tuple[str, ...]:
    return tuple(str(one.value[value]) for one in series.attributes)


def test_five_people_whom_no_local_check_pins_are_pinned() -> None:
    """The example of docs/gates.md: a single assignment fits the six classes of three releases."""
    classes = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
    value = np.array([1, 0, 0, 0, 1])
    found = possible_values(classes, value, (Attribute(np.arange(2)),), 2)
    assert found.pinned(2).all()
    assert found.by_sets.min() == 2
    two = possible_values(classes[:, :2], value, (Attribute(np.arange(2)),), 2)
    assert not two.pinned(2).any()


def test_two_people_who_share_all_classes_can_have_each_others_value() -> None:
    found = possible_values(np.zeros((2, 3), dtype=np.int64), np.array([0, 1]), (Attribute(np.arange(2)),), 2)
    assert found.least.tolist() == [[2]]
    assert found.calls == 0


def by_exchange(cohorts: Cohorts, world: csr_array) -> tuple[IntArray, IntArray]:
    (side,) = divisions(cohorts)
    return exchanged(world.tocsc(), np.array([[0, 1]]), side)


def test_a_cycle_of_two_releases_is_an_exchange() -> None:
    """Classes {0, 1} {2, 3}, then {0, 2} {1, 3}: a, b, b, a may as well be b, a, a, b."""
    classes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    cohorts = cohorts_of(classes)
    world = world_of(cohorts, np.array([0, 1, 1, 0]), 2)
    gained = sorted(zip(*(one.tolist() for one in by_exchange(cohorts, world)), strict=True))
    assert gained == [(0, 1), (1, 0), (2, 0), (3, 1)]
    broken = world_of(cohorts, np.array([0, 0, 1, 1]), 2)
    assert by_exchange(cohorts, broken)[0].tolist() == []


def test_who_leaves_and_who_joins_are_an_open_end() -> None:
    """A leaver and a stayer of one class may be exchanged if a joiner and the stayer may be too."""
    classes = np.array([[0, ABSENT], [0, 0], [ABSENT, 0]])
    found = possible_values(classes, np.array([0, 1, 0]), (Attribute(np.arange(2)),), 2)
    assert found.least[found.cohorts.number].tolist() == [[2], [2], [2]]
    alone = possible_values(classes[:2], np.array([0, 1]), (Attribute(np.arange(2)),), 2)
    assert alone.pinned(2).all()


def test_numbers_within_a_width_are_one_value() -> None:
    classes = np.zeros((4, 1), dtype=np.int64)
    salary = np.array([1000.0, 1001.0, 1002.0, 2000.0])
    for width, n in ((0.0, 4), (1.0, 3), (2.0, 2), (5000.0, 1)):
        attribute = Attribute(np.arange(4), salary, width)
        assert possible_values(classes, np.arange(4), (attribute,), 2).least.tolist() == [[n]]


def test_tuples_are_exchanged_whole() -> None:
    """Each attribute alone leaves two values; together they leave one world."""
    classes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    both = (Attribute(np.array([0, 0, 1, 1])), Attribute(np.array([0, 1, 0, 1])))
    for attribute in both:
        alone = possible_values(classes, attribute.value[[0, 2, 3, 1]], (Attribute(np.arange(2)),), 2)
        assert alone.least.shape == (4, 1)
    found = possible_values(classes, np.array([0, 2, 3, 1]), both, 2)
    truth = Series(classes, np.array([0, 2, 3, 1]), both, 2).truth()
    n_true = [[len({int(one.value[v]) for v in values}) for one in both] for values in truth]
    assert (found.most[found.cohorts.number] >= np.array(n_true)).all()
    assert found.pinned(2).tolist() == [min(counts) < 2 for counts in n_true]


def test_a_limit_leaves_people_undecided_and_says_so() -> None:
    series = next(one for one in map(drawn, range(1000)) if _needs_the_solver(one))
    found = possible_values(series.classes, series.value, series.attributes, series.enough, Limits(calls=0))
    assert found.spent
    assert found.undecided(series.enough).any()
    few = possible_values(series.classes, series.value, series.attributes, series.enough, Limits(variables=1))
    assert few.spent
    assert few.undecided(series.enough).any()


def test_searches_for_whole_numbers_that_end_leave_people_undecided_and_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the solver had no node left for any search, and its linear programs told nothing."""
    series = next(one for one in map(drawn, range(1000)) if _needs_the_solver(one))
    asked = series.classes, series.value, series.attributes, series.enough
    whole = possible_values(*asked)
    assert not whole.stopped
    assert whole.why_undecided(2_000) == ""
    monkeypatch.setattr(solving, "impossible", lambda *_, **__: False)
    monkeypatch.setattr(solving, "hopeless", lambda problem, _: np.zeros(len(problem.whole), dtype=bool))
    monkeypatch.setattr(
        solving, "worlds_of_wishes", lambda problem, _, known: (known, *_nothing(len(problem.whole)))
    )
    found = possible_values(*asked)
    assert (found.stopped, found.spent) == (True, False)
    assert found.undecided(series.enough).any()
    assert found.why_undecided(2_000) == " (the solver ran out of nodes in some searches for whole numbers)"


def _nothing(n: int) -> tuple[BoolArray, BoolArray]:
    return np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)


def _needs_the_solver(series: Series) -> bool:
    return possible_values(series.classes, series.value, series.attributes, series.enough).calls > 0


def test_figures_that_no_world_has_are_found() -> None:
    cohorts = cohorts_of(np.array([[0], [0], [1]]))
    world = world_of(cohorts, np.array([0, 1, 1]), 2)
    published = cohorts.incidence @ world
    other = world_of(cohorts, np.array([0, 0, 1]), 2)
    assert abs(cohorts.incidence @ other - published).sum(axis=1).tolist() == [2, 0]
    assert values_shared(cohorts, published_of(cohorts, world)).toarray()[:2].tolist() == [[1, 1], [0, 1]]
