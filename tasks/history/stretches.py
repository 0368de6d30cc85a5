"""Who is in a unit from when to when: people of near buckets, who lie in one class in every release.

What exchanges two of a unit's values is a walk on its time line: a person with one value leads from the first
release to the end of the last one, a person with the other value back. Around a circle every class keeps its
values, whoever the others are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tasks.history.cohorts import ABSENT
from tasks.types import IntArray


class Stretches(NamedTuple):
    """Of m subjects in order of their units: `unit`, and the unit's releases from `start` to before `end`."""

    subject: IntArray
    unit: IntArray
    start: IntArray
    end: IntArray


def stretches(classes: IntArray, unit: IntArray) -> Stretches:
    """Return who of n subjects is in each of the unit's releases from a first one to a last one.

    `classes` (n, r) as those of `possible_values`; `unit` (n,), -1 for none. A unit's class in a release is
    that of most of its people there. Whoever is in another one, or not there for a time, is in no stretch.
    O(n r log n).
    """
    subject = np.flatnonzero(unit >= 0)
    subject = subject[np.argsort(unit[subject], kind="stable")]
    number = np.unique(unit[subject], return_inverse=True)[1].reshape(-1)
    good, n_units = np.ones(len(subject), dtype=bool), int(number.max(initial=-1)) + 1
    for release in classes[subject].T:
        there = np.flatnonzero(release != ABSENT)
        width = int(release.max(initial=ABSENT)) + 1
        codes, n = np.unique(number[there] * width + release[there], return_counts=True)
        codes = codes[np.argsort(n, kind="stable")]
        most = np.full(n_units, ABSENT)
        most[codes // width] = codes % width  # of several the last one stays
        good[there] &= release[there] == most[number[there]]
    present = (classes[subject] != ABSENT) & good[:, None]
    released = np.zeros((n_units, classes.shape[1]), dtype=np.int64)
    np.maximum.at(released, number, present)
    place = np.cumsum(released, axis=1)
    first, last = present.argmax(axis=1), present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
    start, end = place[number, first] - 1, place[number, last]
    whole = good & (present.sum(axis=1) == end - start) & present.any(axis=1)
    return Stretches(subject[whole], number[whole], start[whole], end[whole])
