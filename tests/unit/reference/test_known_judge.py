"""The judge of one known person, held against every assignment of values that there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tasks.history.attribute import Attribute
from tests.reference.known import Judge
from tests.reference.published_series import Published, history_of
from tests.unit.reference.test_one_known_person import by_trying_all
from tests.unit.reference.test_possible_values import Series, drawn


def judge_of(series: Series) -> Judge:
    releases = []
    for number, column in enumerate(series.classes.T):
        people = {str(i): int(one) for i, one in enumerate(column) if one >= 0}
        values = {person: (str(series.value[int(person)]),) for person in people}
        rows: dict[int, list[tuple[str, ...]]] = {}
        for person, one in people.items():
            rows.setdefault(one, []).append(values[person])
        releases.append(Published(str(number), rows, people, values))
    return Judge(history_of(releases), [0.0], 60)


@pytest.mark.parametrize("n_series", [40, pytest.param(2_000, marks=pytest.mark.nightly)])
def test_swaps_of_two_values_tell_no_more_than_all_worlds(n_series: int) -> None:
    equal = n_people = 0
    for seed in range(n_series):
        series = drawn(seed)
        n_values = int(series.value.max()) + 1
        series = replace(series, attributes=(Attribute(np.arange(n_values)),), enough=2)
        judge, person = judge_of(series), np.arange(len(series.value))
        truth = by_trying_all(series, person)
        for one, true in enumerate(truth):
            place = judge.history.cohorts.index(tuple(series.classes[one].tolist()))
            found = judge.unlocked_by((place, (str(series.value[one]),)))
            assert found >= true, (seed, one)
            equal, n_people = equal + (found == true), n_people + 1
    assert equal > 0.9 * n_people
