"""Signatures: who may have whose value because they are interchanged everywhere at once.

A signature is a list of tuples of values, one for each of its positions. Every subject who is given one keeps
its signature and position for good, and in every class of every release each position of the signature is
held by as many subjects as any other. Then the values of all positions can be exchanged, everywhere at once,
and every class keeps its values: whoever has one of the tuples may have any other (after m-invariance, Xiao
and Tao, 2007, whose buckets publish equally many of each value). Who is beside whom may change from release
to release. A signature has one number or several: those between which somebody went over (`joined`).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.history.cohorts import ABSENT
from tasks.types import BoolArray, IntArray

NONE = -1
NO_SEAT = (NONE, NONE)
TOGETHER = 4  # the numbers of a unit's buckets: they lie in one group, and so do those of a larger one
LARGER = 16  # times as many; of each of the smaller ones it has the last number, which these leave free


def joined(one: IntArray, other: IntArray, n: int) -> IntArray:
    """Return for each of n numbers the least of those that pairs (p,) join it with, itself among them."""
    pairs = coo_array((np.ones(len(one), dtype=bool), (one, other)), shape=(n, n))
    part = connected_components(pairs, directed=False)[1]
    least: IntArray = np.full(n, n, dtype=np.int64)
    np.minimum.at(least, part, np.arange(n))
    return np.asarray(least[part])


def unit_of(number: IntArray) -> IntArray:
    """Return the unit of each number of a bucket, -1 for none."""
    first = TOGETHER * np.where(number % TOGETHER < TOGETHER - 1, 1, LARGER)
    return np.where(number >= 0, 2 * (number // first) + (first > TOGETHER), NONE)


def balanced(classes: IntArray, value: IntArray, seat: IntArray) -> BoolArray:
    """Tell for each of n subjects whether its signature is balanced in every class of every release.

    `classes` (n, r): the class in each release or `ABSENT`; `value` (n,): the tuple that each has; `seat`
    (n, 2): signature and position, or `NO_SEAT`. False without a seat, and where subjects in one position
    have different tuples. O(n r log n).
    """
    found = np.zeros(len(value), dtype=bool)
    seated = np.flatnonzero(seat[:, 0] >= 0)
    if not len(seated):
        return found
    seats, place = np.unique(seat[seated], axis=0, return_inverse=True)
    place = place.reshape(-1)
    signature = np.unique(seats[:, 0], return_inverse=True)[1].reshape(-1)
    n_positions = np.bincount(signature)
    good = np.ones(len(n_positions), dtype=bool)
    low, high = (np.full(len(seats), fill) for fill in (np.iinfo(np.int64).max, -1))
    np.minimum.at(low, place, value[seated])
    np.maximum.at(high, place, value[seated])
    good[signature[low != high]] = False
    for release in classes[seated].T:
        here = release != ABSENT
        key, count = np.unique(release[here] * len(seats) + place[here], return_counts=True)
        # Keys are in order of class, then of signature: those of one bucket are next to one another.
        own = signature[key % len(seats)]
        first = np.flatnonzero(
            np.diff(key // len(seats), prepend=-1).astype(bool) | (np.diff(own, prepend=-1) != 0)
        )
        if not len(first):
            continue
        n_held = np.diff(np.append(first, len(key)))
        even = np.minimum.reduceat(count, first) == np.maximum.reduceat(count, first)
        good[own[first][~even | (n_held != n_positions[own[first]])]] = False
    found[seated] = good[signature[place]]
    return found


def interchanged(value: IntArray, seat: IntArray, held: BoolArray) -> tuple[IntArray, IntArray]:
    """Return subjects and tuples: what those `held` (n,) in balanced seats may have, their own among them."""
    rows = np.flatnonzero(held)
    seats, first = np.unique(seat[rows], axis=0, return_index=True)
    tuples = value[rows][first]
    start = np.searchsorted(seats[:, 0], seat[rows, 0])
    n_positions = np.searchsorted(seats[:, 0], seat[rows, 0], side="right") - start
    subject = np.repeat(rows, n_positions)
    before = np.repeat(np.cumsum(n_positions) - n_positions, n_positions)
    return subject, tuples[np.repeat(start, n_positions) + np.arange(len(subject)) - before]
