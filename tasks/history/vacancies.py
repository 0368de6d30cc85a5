"""How many buckets each signature makes when some people have left, so that few of those who stay wait.

A bucket needs a person in each position. Where fewer people hold one position than another, newcomers of the
same tuple take the vacant seats, or those who hold the other positions wait.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, hstack, vstack

from tasks.types import IntArray

Tuples = tuple[int, ...]
"""The tuples of a signature's positions, by their numbers in order; one may stand there more than once."""

NEWCOMER = 0.01  # the cost of a newcomer who takes a vacant seat; a person who waits costs 1
ROUNDING = 1e-6


def bucket_counts(
    signatures: Mapping[int, Tuples], held: Mapping[int, IntArray], newcomers: IntArray
) -> dict[int, int]:
    """Return how many buckets each signature of `held` makes: at most as many as people hold a position.

    `held` (positions,) are the people in each position, `newcomers` (tuples,) those who can take seats. A
    linear program finds the numbers at which fewest people wait. They are rounded down; then each signature,
    the largest first, makes as many buckets more as the newcomers who are left allow.
    """
    order = sorted(held, key=lambda one: (-int(held[one].max()), one))
    relaxed = _relaxed([signatures[one] for one in order], [held[one] for one in order], newcomers)
    counts = dict(zip(order, relaxed, strict=True))
    left = newcomers.copy()
    for one in order:
        left -= _taken(signatures[one], held[one], counts[one], len(left))
    for one in order:
        left += _taken(signatures[one], held[one], counts[one], len(left))
        for n_buckets in range(int(held[one].max()), counts[one], -1):
            if (_taken(signatures[one], held[one], n_buckets, len(left)) <= left).all():
                counts[one] = n_buckets
                break
        left -= _taken(signatures[one], held[one], counts[one], len(left))
    return counts


def _taken(tuples: Tuples, held: IntArray, n_buckets: int, n_tuples: int) -> IntArray:
    """Return how many newcomers of each tuple a signature takes."""
    taken = np.zeros(n_tuples, dtype=np.int64)
    np.add.at(taken, list(tuples), np.maximum(0, n_buckets - held))
    return taken


def _relaxed(signatures: list[Tuples], held: list[IntArray], newcomers: IntArray) -> list[int]:
    """Return the buckets of each signature at the optimum of the linear program, rounded down.

    The variables are the n buckets of each signature and, for each of its positions, held by h people, the
    t >= n - h newcomers who take seats; h - n + t people wait.
    """
    least, most = (np.array([of(each) for each in held], dtype=np.int64) for of in (np.min, np.max))
    uneven = np.flatnonzero(least < most)
    if not len(uneven):
        return [int(n) for n in least]
    n_positions = [len(held[one]) for one in uneven]
    n, p = len(uneven), sum(n_positions)
    position = np.arange(p)
    buckets = csr_array((np.ones(p), (position, np.repeat(np.arange(n), n_positions))), shape=(p, n))
    tuples = np.concatenate([signatures[one] for one in uneven])
    of_tuple = csr_array((np.ones(p), (tuples, position)), shape=(len(newcomers), p))
    low = np.concatenate([least[uneven], np.zeros(p)])
    high = np.concatenate([most[uneven], np.full(p, np.inf)])
    solved = linprog(
        np.concatenate([-np.array(n_positions), np.full(p, 1 + NEWCOMER)]),
        A_ub=vstack([hstack([buckets, -eye_array(p)]), hstack([csr_array((len(newcomers), n)), of_tuple])]),
        b_ub=np.concatenate([*(held[one] for one in uneven), newcomers]),
        bounds=np.column_stack([low, high]),
        method="highs",
    )
    if solved.x is not None:
        least[uneven] = np.clip(np.floor(solved.x[:n] + ROUNDING), least[uneven], most[uneven])
    return [int(n) for n in least]
