"""What the five attackers get of each person, worked by hand and held against slow loops."""

from __future__ import annotations

import importlib
import tempfile
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expectations.numbers import number_text
from tasks.risk.attacks.attackers import (
    HALF,
    HALF_AND_SENSITIVE,
    Knowledge,
    People,
    halves,
    knowledge_of,
    with_errors,
)
from tasks.risk.attacks.disclosure import check_disclosure, fits_unknown, fitting
from tasks.risk.attacks.target import Target
from tasks.risk.evidence import Evidence
from tasks.types import PreparedTable
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    Published,
    anonymized,
    mixed_rows,
    prepared,
    published,
    small_policy,
)

loops = importlib.import_module("tests.reference.attacks")

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
AGE_AND_CITY = {**AGE, "city": {"type": "categorical"}}
TWO = {"illness": {"stability": "stable"}, "mood": {"stability": "stable"}}
EVERYBODY = {"ext_frac": [1.0], "seeds": 1}
# Classes [10, 30] of four, [20, 40] of two, [50, 60] of three. 20 and 30 lie in the first two.
ROWS = [
    *[(age, illness) for age, illness in ((10, "flu"), (15, "flu"), (20, "flu"), (30, "hiv"))],
    *[(age, illness) for age, illness in ((20, "hiv"), (40, "hiv"))],
    *[(age, illness) for age, illness in ((50, "flu"), (55, "hiv"), (60, "cough"))],
]
LABELS = [0, 0, 0, 0, 1, 1, 2, 2, 2]
ALL_OF_AGE = Knowledge((0,), ())


def evidence_of(tmp_path: Path, rows: Any, labels: Any, *roles: Any) -> Evidence:
    policy = small_policy(*(roles or (AGE,)), linkage=EVERYBODY)
    return published(policy, prepared(policy, rows), labels, tmp_path / "c").evidence()


def test_all_quasi_identifiers_known_by_hand(tmp_path: Path) -> None:
    target = evidence_of(tmp_path, ROWS, LABELS).target
    found = fitting(target, target.source, target.source, ALL_OF_AGE)
    assert found.rows.tolist() == [4, 4, 6, 6, 6, 2, 3, 3, 3]
    guess = found.guesses["illness"]
    # Ages 20 and 30 fit six rows: three flu, three hiv.
    assert guess.share == pytest.approx([3 / 4, 3 / 4, 3 / 6, 3 / 6, 3 / 6, 1, 1 / 3, 1 / 3, 1 / 3])
    assert guess.right == pytest.approx([1, 1, 1 / 2, 1 / 2, 1 / 2, 1, 1 / 3, 1 / 3, 1 / 3])
    # Of nine people four have flu, four hiv, one a cough.
    assert guess.by_chance == pytest.approx([4 / 9] * 6 + [(4 / 9 + 4 / 9 + 1 / 9) / 3] * 3)
    assert check_disclosure(target, target.source).all()


def test_whoever_fits_no_class_is_guessed_nothing_and_held_nowhere(tmp_path: Path) -> None:
    target = evidence_of(tmp_path, ROWS, [*LABELS[:6], -1, -1, -1]).target
    found = fitting(target, target.source, target.source, ALL_OF_AGE)
    assert found.rows[6:].tolist() == [0, 0, 0]
    assert found.one[6:].tolist() == [-1, -1, -1]
    assert np.isnan(found.guesses["illness"].share[6:]).all()
    assert np.isnan(found.guesses["illness"].right[6:]).all()
    assert check_disclosure(target, target.source).tolist() == [True] * 6 + [False] * 3


def test_a_person_in_the_cells_of_a_class_without_their_value_is_not_in_it(tmp_path: Path) -> None:
    # 12 is left out, and lies in [10, 20] where nobody has a cough.
    rows = [(10, "flu"), (20, "hiv"), (12, "cough"), (13, "flu")]
    target = evidence_of(tmp_path, rows, [0, 0, -1, -1]).target
    assert check_disclosure(target, target.source).tolist() == [True, True, False, True]


# (age, city, illness, mood): classes 10-20 in {a, b} of three and 20-30 in {b} of two.
FOUR = [
    (10, "a", "flu", "good"),
    (15, "b", "flu", "good"),
    (20, "b", "hiv", "bad"),
    (20, "b", "hiv", "good"),
    (30, "b", "flu", "good"),
]


def test_half_of_the_quasi_identifiers_by_hand(tmp_path: Path) -> None:
    target = evidence_of(tmp_path, FOUR, [0, 0, 0, 1, 1], AGE_AND_CITY, TWO).target
    people = target.source
    age, city = knowledge_of(HALF, 1, 1, target.sensitive)
    assert (age, city) == (Knowledge((0,), ()), Knowledge((), (0,)))
    by_age = fitting(target, people, people, age)
    assert by_age.rows.tolist() == [3, 3, 5, 5, 2]
    assert by_age.guesses["illness"].share == pytest.approx([2 / 3, 2 / 3, 3 / 5, 3 / 5, 1 / 2])
    by_city = fitting(target, people, people, city)
    assert by_city.rows.tolist() == [3, 5, 5, 5, 5]
    unknown = fits_unknown(target, people, None, [age, city])
    # The city, of three rows of {a, b} and two of {b}: the second class does not hold a, nor ages under 20.
    assert unknown[0] == pytest.approx([3 / 2, 3 / 2, 3 / 2 + 2, 3 / 2 + 2, 2])
    # The age, of 10-20 and of 20-30: in the source 10, 15, 20 and 20, 30.
    assert unknown[1] == pytest.approx([3 / 3, 3 / 3, 3 / 3 + 2 / 2, 3 / 3 + 2 / 2, 2 / 2])


def test_a_known_illness_leaves_the_mood_to_guess(tmp_path: Path) -> None:
    target = evidence_of(tmp_path, FOUR, [0, 0, 0, 1, 1], AGE_AND_CITY, TWO).target
    people = target.source
    found = fitting(target, people, people, Knowledge((), (), "illness"))
    assert found.rows.tolist() == [3, 3, 2, 2, 3]  # flu three times, hiv twice
    assert list(found.guesses) == ["mood"]
    assert found.guesses["mood"].share == pytest.approx([1, 1, 1 / 2, 1 / 2, 1])
    with_age = fitting(target, people, people, Knowledge((0,), (), "illness"))
    assert with_age.rows.tolist() == [2, 2, 2, 2, 1]
    # 10-20 has two rows of flu and leaves three ages and two cities; 20-30 one, two ages and one city.
    everything = fits_unknown(target, people, "illness", [Knowledge((), (), "illness")])[0]
    assert everything == pytest.approx([2 / 6, 2 / 6, 1 / 6 + 1 / 2, 1 / 6 + 1 / 2, 1 / 2])


def test_every_half_is_tried_or_thirty_two_of_them_always_the_same() -> None:
    assert halves(3) == [(0, 1), (0, 2), (1, 2)]
    assert (len(halves(5)), len(halves(6))) == (10, 20)
    assert halves(1) == [(0,)]
    many = halves(8)
    assert (len(many), len(set(many))) == (32, 32)
    assert {len(half) for half in many} == {4}
    assert many == halves(8)
    ways = knowledge_of(HALF_AND_SENSITIVE, 2, 1, ["illness", "mood"])
    assert len(ways) == 3 * 2
    assert ways[-1] == Knowledge((1,), (0,), "mood")


def test_errors_stand_in_the_share_of_cells_that_was_asked_and_come_from_their_own_column() -> None:
    n = 4000
    numbers = np.column_stack([np.arange(n), np.full(n, 7.0)]).astype(float)
    source = People(numbers, np.arange(n, dtype=np.int32)[:, None], {"illness": np.arange(n)})
    wrong = with_errors(source, source, 0.25, 3)
    assert np.mean(wrong.numbers[:, 0] != source.numbers[:, 0]) == pytest.approx(0.25, abs=0.03)
    assert np.mean(wrong.codes != source.codes) == pytest.approx(0.25, abs=0.03)
    assert (wrong.numbers[:, 1] == 7).all()
    assert wrong.values is source.values
    changed = [wrong.numbers[:, 0] != source.numbers[:, 0], (wrong.codes != source.codes)[:, 0]]
    assert np.mean(changed[0] & changed[1]) == pytest.approx(0.25**2, abs=0.02), "cells are drawn one by one"
    assert np.array_equal(with_errors(source, source, 0.25, 3).codes, wrong.codes)
    assert not np.array_equal(with_errors(source, source, 0.25, 4).codes, wrong.codes)
    none = with_errors(source, source, 0.0, 3)
    assert np.array_equal(none.numbers, source.numbers)
    assert np.array_equal(none.codes, source.codes)


# Against the loops.


def persons(table: PreparedTable) -> list[Any]:
    """People as the loops have them: numbers first, then categories."""
    found = []
    for i in range(table.n_records):
        numbers = [None if isnan(x) else x for x in table.numeric[i].tolist()]
        words = [
            table.domains[name][code]
            for name, code in zip(table.categorical_names, table.codes[i], strict=True)
        ]
        values = [
            table.sensitive_values[name][code]
            for name, code in zip(table.sensitive_names, table.sensitive[i], strict=True)
        ]
        found.append(((*numbers, *words), tuple(values)))
    return found


def rows_of(made: Published) -> list[Any]:
    """The published rows as the loops have them, read from the CSV file by the slow judge."""
    from tests.support import small

    (made.candidate.folder.parent / "policy.yaml").write_text(TEXT, encoding="utf-8")
    rules = small.judge.read_policy(made.candidate.folder.parent / "policy.yaml")
    names = [*made.table.numeric_names, *made.table.categorical_names]
    rows = []
    for row in small.judge.read_published(made.csv, rules):
        values = [number_text(v) if isinstance(v, float) else v for v in row.sensitive.values()]
        rows.append((tuple(row.cells[name] for name in names), tuple(values)))
    return rows


TEXT = importlib.import_module("tests.support.small").policy_text(MIXED, TWO_SENSITIVE, linkage=EVERYBODY)
SENSITIVE = ["illness", "wage"]


@pytest.mark.integration
@given(
    rows=mixed_rows(1, 14),
    others=mixed_rows(1, 6),
    suppressed=st.sets(st.integers(0, 20), max_size=3),
    seed=st.integers(0, 5),
)
def test_what_an_attacker_gets_is_what_the_loops_say(
    rows: list[Any], others: list[Any], suppressed: set[int], seed: int
) -> None:
    """Of people in the source and outside it, by tables with errors, for every attacker's knowledge."""
    policy = small_policy(MIXED, TWO_SENSITIVE, linkage=EVERYBODY)
    table, control = prepared(policy, rows), prepared(policy, others)
    labels = anonymized(table, policy).labels.copy()
    kept = [i for i in range(len(rows)) if i not in suppressed] or [0]
    labels[[i for i in range(len(rows)) if i not in kept]] = -1
    labels[labels >= 0] = np.unique(labels[labels >= 0], return_inverse=True)[1]
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, labels, Path(folder) / "c")
        evidence = Evidence(
            policy, table, made.classes, made.candidate.folder, made.candidate.files, [], control=control
        )
        group = evidence.control_group
        assert group is not None
        target = evidence.target
        target.units("illness"), target.units("wage")
        released = rows_of(made)
    source = persons(table)
    n_values = [0] * len(table.numeric_names) + [len(values) for values in target.space.domains.values()]
    for people, true in ((target.source, source), (group, persons(control))):
        known = with_errors(people, target.source, 0.3, seed)
        told = [(errors_of(target, known, i), person[1]) for i, person in enumerate(true)]
        for attacker in ("half", "all", "sensitive", "half_and_sensitive"):
            for what in knowledge_of(attacker, 2, 2, target.sensitive):
                same_as_the_loops(target, people, known, what, true, told, released, source, n_values)


def errors_of(target: Target, known: People, i: int) -> tuple[Any, ...]:
    numbers = [None if isnan(x) else x for x in known.numbers[i].tolist()]
    domains = list(target.space.domains.values())
    return (*numbers, *(domain[code] for domain, code in zip(domains, known.codes[i], strict=True)))


def same_as_the_loops(
    target: Target,
    people: People,
    known: People,
    what: Knowledge,
    true: list[Any],
    told: list[Any],
    released: list[Any],
    source: list[Any],
    n_values: list[int],
) -> None:
    columns = (*what.numeric, *(2 + c for c in what.categorical))
    sensitive = None if what.sensitive is None else SENSITIVE.index(what.sensitive)
    knows = loops.Knows(columns, sensitive)
    found = fitting(target, known, people, what)
    may_hold = check_disclosure(target, people, known)
    unknown = fits_unknown(target, people, what.sensitive, [what])[0]
    for i, person in enumerate(true):
        fit = loops.fitting(released, told[i], knows)
        assert found.rows[i] == len(fit)
        assert bool(may_hold[i]) == loops.may_hold(released, person, told[i])
        exact = loops.fitting(released, person, knows)
        chance = loops.unknown_cells(exact, person, knows, source, n_values)
        assert unknown[i] == pytest.approx(float(chance * len(exact)), abs=1e-9)
        for attribute, name in enumerate(SENSITIVE):
            if name == what.sensitive:
                assert name not in found.guesses
                continue
            guess, expected = found.guesses[name], loops.guess(fit, attribute)
            if expected is None:
                assert isnan(guess.share[i])
                assert isnan(guess.right[i])
                continue
            share, likeliest = expected
            frequency = [sum(p[1][attribute] == value for p in source) / len(source) for value in likeliest]
            assert guess.share[i] == pytest.approx(float(share))
            assert guess.right[i] == pytest.approx((person[1][attribute] in likeliest) / len(likeliest))
            assert guess.by_chance[i] == pytest.approx(sum(frequency) / len(likeliest))
