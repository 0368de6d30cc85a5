"""How many buckets each signature makes: by hand, against every choice, and where newcomers run out."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tasks.history.vacancies import bucket_counts
from tasks.types import IntArray

A, B, C, D = range(4)
Held = dict[int, IntArray]
Signatures = dict[int, tuple[int, ...]]


def held_of(**people: list[int]) -> Held:
    return {int(name.removeprefix("s")): np.array(each) for name, each in people.items()}


def n_taken(signatures: Signatures, held: Held, counts: dict[int, int], n_tuples: int) -> IntArray:
    taken = np.zeros(n_tuples, dtype=np.int64)
    for one, n_buckets in counts.items():
        for each, n_people in zip(signatures[one], held[one].tolist(), strict=True):
            taken[each] += max(0, n_buckets - n_people)
    return taken


def n_waiting(held: Held, counts: dict[int, int]) -> int:
    return sum(int(np.maximum(0, held[one] - n_buckets).sum()) for one, n_buckets in counts.items())


def fewest(signatures: Signatures, held: Held, newcomers: IntArray) -> int:
    """Try every number of buckets of every signature."""
    choices = [
        dict(zip(held, each, strict=True))
        for each in product(*(range(int(n.max()) + 1) for n in held.values()))
    ]
    fit = (each for each in choices if (n_taken(signatures, held, each, len(newcomers)) <= newcomers).all())
    return min(n_waiting(held, each) for each in fit)


def test_a_newcomer_takes_the_seat_for_which_most_people_wait() -> None:
    # One lacks a in the larger signature, two in the other; there is one newcomer with a.
    signatures = {0: (A, B), 1: (A, C, D)}
    counts = bucket_counts(signatures, held_of(s0=[5, 6], s1=[1, 2, 2]), np.array([1, 0, 0, 0]))
    assert counts == {0: 5, 1: 2}


def test_the_bucket_that_lacks_two_is_given_up_first() -> None:
    # Nobody waits in the bucket of the first signature whose people have both left.
    signatures = {0: (A, B), 1: (A, C)}
    counts = bucket_counts(signatures, held_of(s0=[3, 3], s1=[2, 3]), np.array([1, 0, 0]))
    assert counts == {0: 3, 1: 3}


def test_no_seat_is_taken_without_need() -> None:
    assert bucket_counts({7: (A, B)}, held_of(s7=[4, 4]), np.array([9, 9])) == {7: 4}


def test_two_positions_of_one_tuple_take_two_newcomers() -> None:
    signatures = {0: (A, A, B)}
    assert bucket_counts(signatures, held_of(s0=[1, 1, 2]), np.array([1, 0])) == {0: 1}
    assert bucket_counts(signatures, held_of(s0=[1, 1, 2]), np.array([2, 0])) == {0: 2}


def test_nobody_and_nothing() -> None:
    assert bucket_counts({}, {}, np.zeros(3, dtype=np.int64)) == {}
    assert bucket_counts({0: (A, B)}, held_of(s0=[0, 2]), np.zeros(2, dtype=np.int64)) == {0: 0}


@st.composite
def cases(draw: st.DrawFn) -> tuple[Signatures, Held, IntArray]:
    n_tuples = draw(st.integers(2, 4))
    signatures = {
        one: tuple(draw(st.lists(st.integers(0, n_tuples - 1), min_size=2, max_size=3)))
        for one in range(draw(st.integers(1, 4)))
    }
    held = {
        one: np.array(draw(st.lists(st.integers(0, 3), min_size=len(each), max_size=len(each))))
        for one, each in signatures.items()
    }
    newcomers = draw(st.lists(st.integers(0, 4), min_size=n_tuples, max_size=n_tuples))
    return signatures, held, np.array(newcomers)


@given(cases())
def test_newcomers_suffice_and_no_bucket_more_would_do(
    case: tuple[Signatures, Held, IntArray],
) -> None:
    signatures, held, newcomers = case
    counts = bucket_counts(signatures, held, newcomers)
    left = newcomers - n_taken(signatures, held, counts, len(newcomers))
    assert (left >= 0).all()
    for one, n_buckets in counts.items():
        assert int(held[one].min()) <= n_buckets <= int(held[one].max())
        if n_buckets < held[one].max():
            more = n_taken(signatures, held, {**counts, one: n_buckets + 1}, len(newcomers))
            assert (more > newcomers).any(), "a bucket more would have been possible"


def test_hardly_more_people_wait_than_have_to() -> None:
    rng = np.random.default_rng(20261125)
    ours = least = 0
    for _ in range(100):
        signatures = {one: tuple(rng.integers(0, 4, rng.integers(2, 4)).tolist()) for one in range(4)}
        held = {one: rng.integers(0, 4, len(each)) for one, each in signatures.items()}
        newcomers = rng.integers(0, 4, 4)
        ours += n_waiting(held, bucket_counts(signatures, held, newcomers))
        least += fewest(signatures, held, newcomers)
    assert least <= ours <= 1.02 * least
