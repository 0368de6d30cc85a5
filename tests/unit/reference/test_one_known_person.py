"""Whom one known value unlocks, held against every assignment of values that there is."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.history.known import Unlocked, unlocked_by_one
from tasks.history.worlds import possible_values
from tasks.types import IntArray
from tests.reference.worlds import group
from tests.reference.worlds import possible_values as by_brute_force
from tests.unit.reference.test_possible_values import Series, drawn, n_apart, seated


def by_trying_all(series: Series, person: IntArray) -> list[int]:
    """Return of how many others each person's values leave too few: a class of its own tells a value."""
    releases = [
        tuple(group(np.flatnonzero(column == one).tolist()) for one in sorted(set(column.tolist()) - {-1}))
        for column in series.classes.T
    ]
    values = [str(one) for one in series.value]
    found = []
    for known in range(int(person.max()) + 1):
        told = tuple(group([subject]) for subject in np.flatnonzero(person == known).tolist())
        left = [{int(one) for one in each} for each in by_brute_force([*releases, told], values)]
        short = {
            int(person[subject])
            for subject, tuples in enumerate(left)
            if any(n_apart(one, tuples) < series.enough + one.more for one in series.attributes)
        }
        found.append(len(short - {known}))
    return found


def asked(series: Series, person: IntArray, **more: IntArray) -> Unlocked:
    found = possible_values(series.classes, series.value, series.attributes, series.enough)
    return unlocked_by_one(
        series.classes, series.value, series.attributes, series.enough, person, kept=found.kept, **more
    )


@pytest.mark.parametrize(
    "n_series", [300, pytest.param(10_000, marks=pytest.mark.nightly)], ids=["300", "10,000"]
)
def test_nobody_unlocks_more_than_is_told(n_series: int) -> None:
    told = true = exact = n_twice = 0
    for seed in range(n_series):
        series = drawn(seed)
        rng = np.random.default_rng(seed)
        person = np.arange(len(series.value))
        one, other = rng.integers(0, len(person), 2).tolist()
        if not ((series.classes[one] >= 0) & (series.classes[other] >= 0)).any():
            # Somebody is two subjects, in different releases.
            person = np.unique(np.where(person == one, other, person), return_inverse=True)[1]
            n_twice += 1
        found = asked(series, person, unit=rng.integers(-1, 3, len(series.value)))
        truth = by_trying_all(series, person)
        assert (found.people >= truth).all(), seed
        told, true, exact = (
            told + int(found.people.sum()),
            true + sum(truth),
            exact + (found.people == truth).all(),
        )
    assert n_twice > 0.02 * n_series
    assert exact > 0.95 * n_series
    assert told < 1.05 * true


def test_signatures_protect_in_the_positions_that_are_not_known() -> None:
    for seed in range(150):
        series, seat = seated(seed)
        if len(seat):
            person = np.arange(len(seat))
            found, truth = asked(series, person, seat=seat), by_trying_all(series, person)
            assert (found.people >= truth).all(), seed
