"""The privacy models: worked examples, the reference that follows the definitions, and attackers who try."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations as subsets_of
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import Verdict
from tasks.privacy import atoms, combinations
from tasks.recoding.generalize import generalized
from tasks.risk.gates.models.closeness import distances
from tasks.risk.registry import assess
from tests.support.made_classes import (
    QUASI_IDENTIFIERS,
    asked,
    classes_of,
    evidence_of,
    policy_with,
    reference,
)
from tests.support.small import anonymized, prepared

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN


def of_cities(**illnesses: str) -> list[Any]:
    """Rows of one class a city; each letter of the word is the illness of one row."""
    return [((frozenset({city}),), (one,)) for city, word in illnesses.items() for one in word]


def verdict(gate: str, rows: list[Any], model: dict[str, Any], *sensitive: str, **sections: Any) -> Verdict:
    policy = policy_with({gate: model}, *sensitive, names=["city"], **sections)
    return asked(gate, classes_of(rows, policy), policy).verdict


# Worked examples. Two classes: Hull has a 3, b 2, c 2, d 1 of 8; York a 2, b 1, c 1 of 4.

TWO = of_cities(Hull="aaabbccd", York="aabc")
# Hull: H = 3/8 ln 8/3 + 2 (1/4 ln 4) + 1/8 ln 8, exp of it 3.745; York: 1/2 ln 2 + 2 (1/4 ln 4) = 1.5 ln 2,
# exp of it 2^1.5.
YORK_ENTROPY = 2**1.5


@pytest.mark.parametrize(
    ("gate", "value", "passing", "failing", "threshold"),
    [
        ("distinct_l", 3, {"min": 3}, {"min": 4}, 4),
        ("entropy_l", YORK_ENTROPY, {"min": YORK_ENTROPY}, {"min": 2.83}, 2.83),
        # l = 2. Hull: (2 + 2 + 1) / 3 = 5/3, York: (1 + 1) / 2 = 1. So 2 < c 2 from c over 1 on.
        ("recursive_cl", 1, {"c": 1.01, "l": 2}, {"c": 1, "l": 2}, 1),
        # l = 3. Hull: (2 + 1) / 3 = 1, York: 1 / 2. So 2 < c 1 from c over 2 on.
        ("recursive_cl", 0.5, {"c": 2.01, "l": 3}, {"c": 2, "l": 3}, 0.5),
        # l = 4: York has three values, whatever c is.
        ("recursive_cl", 0, {"c": 1000, "l": 3}, {"c": 1000, "l": 4}, 0.001),
        # All: a 5, b 3, c 3, d 1 of 12. York beside it: |1/2 - 5/12| + 0 + 0 + 1/12 = 2/12, half of it 1/12;
        # Hull: |3/8 - 5/12| + 0 + 0 + |1/8 - 1/12| = 2/24, half of it 1/24.
        ("t_closeness", 1 / 12, {"max": 1 / 12}, {"max": 0.083}, 0.083),
        ("alpha_k", 0.5, {"alpha": 0.5, "k": 4}, {"alpha": 0.49, "k": 4}, 0.49),
        ("alpha_k", 4, {"alpha": 0.5, "k": 4}, {"alpha": 0.5, "k": 5}, 5),
        # Hull's d: (1/8 - 1/12) / (1/12) = 1/2; York's a: (1/2 - 5/12) / (5/12) = 1/5.
        ("beta_likeness", 0.5, {"max": 0.5}, {"max": 0.19}, 0.19),
        ("km", 4, {"k": 4, "m": 1}, {"k": 5, "m": 1}, 5),
        ("lkc", 0.5, {"l": 1, "k": 4, "c": 0.5}, {"l": 1, "k": 4, "c": 0.49}, 0.49),
        ("lkc", 4, {"l": 1, "k": 4, "c": 0.5}, {"l": 1, "k": 5, "c": 0.5}, 5),
    ],
)
def test_a_model_passes_at_its_threshold_and_fails_beyond(
    gate: str, value: float, passing: dict[str, Any], failing: dict[str, Any], threshold: float
) -> None:
    results = []
    for model in (passing, failing):
        policy = policy_with({gate: model}, names=["city"])
        results.append(asked(gate, classes_of(TWO, policy), policy))
    at, beyond = results
    assert (at.verdict, beyond.verdict) == (PASS, FAIL)
    assert beyond.value == pytest.approx(value, abs=1e-12)
    assert beyond.threshold == pytest.approx(threshold)
    assert at.witness == {}
    assert 1 in beyond.witness["first"]


OF_TWO = [
    # Hull: flu, flu, hiv and 10, 40, 40; York: flu, hiv and 20, 21.
    *(
        (_cells, (ill, wage))
        for _cells, ill, wage in (("H", "flu", "10"), ("H", "flu", "40"), ("H", "hiv", "40"))
    ),
    *((_cells, (ill, wage)) for _cells, ill, wage in (("Y", "flu", "20"), ("Y", "hiv", "21"))),
]


@pytest.mark.parametrize(
    ("gate", "privacy", "models", "verdict", "value", "threshold", "measured"),
    [
        # Distinct illnesses 2, wages over 30 and 1.
        ("e", {"e": 2}, {}, FAIL, 1, 2, None),
        ("e", {"e": 2, "attributes": {"wage": {"e": 1}}}, {}, PASS, 2, 2, {"illness": 2, "wage": 1}),
        ("e", {"e": 1, "attributes": {"wage": {"e": 1.5}}}, {}, FAIL, 1, 1.5, {"illness": 2, "wage": 1}),
        # Largest shares: illness 2/3, wage 2/3.
        ("p_max", {"p_max": 0.7, "attributes": {"wage": {"p_max": 0.6}}}, {}, FAIL, 2 / 3, 0.6, 2 / 3),
        ("distinct_l", {}, {"distinct_l": {"min": 3}}, FAIL, 2, 3, None),
        (
            "distinct_l",
            {},
            {"distinct_l": {"min": 3}, "attributes": {"illness": {"distinct_l": {"min": 2}}}},
            FAIL,
            2,
            3,
            {"illness": 2, "wage": 2},
        ),
        (
            "distinct_l",
            {},
            {"distinct_l": {"min": 3}, "attributes": {"illness": {"without": ["distinct_l"]}}},
            FAIL,
            2,
            3,
            {"wage": 2},
        ),
        (
            "distinct_l",
            {},
            {"attributes": {"illness": {"distinct_l": {"min": 2}}}},
            PASS,
            2,
            2,
            {"illness": 2},
        ),
        # Of York: exp of the entropy is 2 for both; of Hull 1.89 for both.
        (
            "entropy_l",
            {},
            {"entropy_l": {"min": 1.9}, "attributes": {"wage": {"entropy_l": {"min": 1.5}}}},
            FAIL,
            3 / 4 ** (1 / 3),
            1.9,
            3 / 4 ** (1 / 3),
        ),
        (
            "recursive_cl",
            {},
            {"recursive_cl": {"c": 2.5, "l": 2}, "attributes": {"wage": {"recursive_cl": {"c": 2, "l": 2}}}},
            FAIL,
            0.5,
            0.5,
            0.5,
        ),
        # Flu: 3/5 of all, 2/3 of Hull, 1/2 of York: 1/15 and 1/10. Wages: York has nothing that Hull has.
        (
            "t_closeness",
            {},
            {"t_closeness": {"max": 0.1}, "attributes": {"wage": {"without": ["t_closeness"]}}},
            PASS,
            0.1,
            0.1,
            {"illness": 0.1},
        ),
        (
            "alpha_k",
            {},
            {"alpha_k": {"alpha": 0.5, "k": 2}, "attributes": {"illness": {"alpha_k": {"alpha": 0.7}}}},
            FAIL,
            2 / 3,
            0.5,
            2 / 3,
        ),
        # Hiv: (1/2 - 2/5) / (2/5) = 1/4.
        (
            "beta_likeness",
            {},
            {"attributes": {"illness": {"beta_likeness": {"max": 0.2}}}},
            FAIL,
            0.25,
            0.2,
            {"illness": 0.25},
        ),
        # Hiv: 1/3 over 2/5 = 5/6, 2/5 over 1/2 = 4/5; flu: 1/2 over 3/5 = 5/6.
        (
            "delta_disclosure",
            {},
            {"attributes": {"illness": {"delta_disclosure": {"max": 0.2}}}},
            FAIL,
            0.8,
            math.exp(-0.2),
            {"illness": 0.8},
        ),
    ],
)
def test_an_attribute_is_held_to_its_own_limits(
    gate: str,
    privacy: dict[str, Any],
    models: dict[str, Any],
    verdict: Verdict,
    value: float,
    threshold: float,
    measured: Any,
) -> None:
    privacy = {"k": 2, "e": 1, "p_max": 1.0, **privacy}
    policy = policy_with(models, "illness", "wage", names=["city"], privacy=privacy)
    rows = [((frozenset({city}),), values) for city, values in OF_TWO]
    found = asked(gate, classes_of(rows, policy), policy)
    assert found.verdict is verdict
    assert found.value == pytest.approx(value)
    assert found.threshold == pytest.approx(threshold)
    if isinstance(measured, float):  # of both attributes
        measured = {"illness": measured, "wage": measured}
    assert found.witness.get("measured") == (None if measured is None else pytest.approx(measured))


def test_the_salaries_of_li_et_al() -> None:
    """Li et al. (2007): of 3k to 11k, {3k, 4k, 5k} is 0.375 from all, {6k, 8k, 11k} 0.167.

    By hand, in ninths: {3,4,5} has cumulated surpluses 2, 4, 6, 5, 4, 3, 2, 1, 0, their sum 27, and over 8
    steps 27 / 72; {6,8,11} has -1, -2, -3, -1, -2, 0, -1, -2, 0 of 9, their sum 12, and 12 / 72.
    """
    numbers = np.arange(3, 12) * 1000.0
    counts = np.zeros((3, 9), dtype=np.int64)
    for group, salaries in enumerate(((3, 4, 5), (6, 8, 11), (7, 9, 10))):
        counts[group, [salary - 3 for salary in salaries]] = 1
    assert distances(counts, counts.sum(axis=0), numbers)[:2].tolist() == pytest.approx([0.375, 1 / 6])
    assert distances(counts, counts.sum(axis=0)).tolist() == pytest.approx([2 / 3] * 3)
    shuffled = [4, 0, 8, 1, 3, 2, 7, 6, 5]
    assert distances(counts[:, shuffled], counts.sum(axis=0)[shuffled], numbers[shuffled])[
        0
    ] == pytest.approx(0.375)


def test_a_missing_number_is_one_value_far_from_every_number() -> None:
    # All: one row of 1, one of 2, two missing.
    counts, numbers = np.array([[1, 1, 0], [0, 0, 2]]), np.array([1.0, 2.0, np.nan])
    # First class: half of it moves to missing, at 1; what stays is a half each, as in all.
    # Second class: half of it moves to the numbers, at 1.
    assert distances(counts, counts.sum(axis=0), numbers).tolist() == pytest.approx([0.5, 0.5])
    assert distances(np.array([[2], [3]]), np.array([5]), np.array([np.nan])).tolist() == [0, 0]


def test_a_list_of_values_protects_these_and_no_other() -> None:
    """flu 3 of 4, hiv 1 of 4; cough is in another attribute's place and stands nowhere."""
    rows = [((frozenset({"Hull"}),), (one,)) for one in ("flu", "flu", "flu", "hiv")]
    for gate, model in (("alpha_k", {"alpha": 0.3, "k": 2}), ("lkc", {"l": 1, "k": 2, "c": 0.3})):
        assert verdict(gate, rows, model) is FAIL
        assert verdict(gate, rows, {**model, "values": {"illness": ["hiv", "cough"]}}) is PASS
        assert verdict(gate, rows, {**model, "values": {"illness": ["flu"]}}) is FAIL


def test_an_attribute_without_a_list_is_protected_whole() -> None:
    rows = [((frozenset({"Hull"}),), ("flu" if i else "hiv", "1")) for i in range(4)]
    for gate, model in (("alpha_k", {"alpha": 0.8, "k": 2}), ("lkc", {"l": 1, "k": 2, "c": 0.8})):
        listed = {**model, "values": {"illness": ["hiv"]}}
        assert verdict(gate, rows, listed, "illness", "wage") is FAIL
        assert verdict(gate, [(cells, values[:1]) for cells, values in rows], listed) is PASS


# Ages 20 to 30 in Hull, 25 to 35 in York, 40 in Hull; two rows each.
OVERLAPPING = [
    (((20, 30), frozenset({"Hull"})), ("a",)),
    (((20, 30), frozenset({"Hull"})), ("b",)),
    (((25, 35), frozenset({"York"})), ("a",)),
    (((25, 35), frozenset({"York"})), ("a",)),
    (((40, 40), frozenset({"Hull"})), ("c",)),
    (((40, 40), frozenset({"Hull"})), ("d",)),
]


def test_what_is_known_matches_every_class_that_covers_it() -> None:
    """Ages 20 to 24 match 2 rows, 25 to 30 4, 31 to 35 2, 40 2; Hull matches 4, York 2.

    Known as York, or as 31 to 35, the value a has a share of 2 of 2.
    """
    policy = policy_with({"km": {"k": 3, "m": 1}, "lkc": {"l": 1, "k": 2, "c": 0.9}}, names=["age", "city"])
    classes = classes_of(OVERLAPPING, policy)
    covers = atoms.atoms_of(classes, policy)
    assert sorted(map(tuple, covers["age"].T.tolist())) == [
        (False, False, True),
        (False, True, False),
        (True, False, False),
        (True, True, False),
    ]
    result = asked("km", classes, policy)
    assert (result.verdict, result.value, result.threshold) == (FAIL, 2, 3)
    # Three atoms of age and York.
    assert result.witness["failing_combinations"] == 4
    assert result.witness["worst_subsets"] == [
        {"quasi_identifiers": ["age"], "rows": 2},
        {"quasi_identifiers": ["city"], "rows": 2},
    ]
    assert result.detail.endswith("by quasi-identifiers: age 2; city 2")
    result = asked("lkc", classes, policy)
    assert (result.verdict, result.value) == (FAIL, 1)
    assert result.witness == {
        "failing_combinations": 2,
        "quasi_identifiers": result.witness["quasi_identifiers"],
        "matching_classes": 1,
        "first": [1],
    }


def test_the_subsets_that_the_fewest_rows_match_come_first() -> None:
    """Hull m, Hull f, York m of 4, 3, 2 rows: of two, city and sex leave 2; ages are all alike."""
    rows = [
        (((20.0, 30.0), frozenset({city}), frozenset({sex})), ("flu",))
        for city, sex, n in (("Hull", "m", 4), ("Hull", "f", 3), ("York", "m", 2))
        for _ in range(n)
    ]
    policy = policy_with({"km": {"k": 3, "m": 2}}, names=["age", "city", "sex"])
    result = asked("km", classes_of(rows, policy), policy)
    assert [(tuple(w["quasi_identifiers"]), w["rows"]) for w in result.witness["worst_subsets"]] == [
        (("age", "city"), 2),
        (("city", "sex"), 2),
        (("age", "sex"), 3),
    ]
    loose = policy_with({"km": {"k": 2, "m": 1}}, names=["age", "city", "sex"])
    result = asked("km", classes_of(rows, loose), loose)
    assert (result.verdict, result.witness) == (PASS, {})
    assert result.detail.endswith("by quasi-identifiers: city 2; sex 3; age 9")


def test_who_knows_less_may_be_surer() -> None:
    """Ages 1 and 2 have two rows of a each, [1, 2] two of b. Of an age, a is 2 of 4; of all Hull, 4 of 6."""
    hull = frozenset({"Hull"})
    rows = [
        (((low, high), hull), (one,))
        for low, high, one in ((1.0, 1.0, "a"), (2.0, 2.0, "a"), (1.0, 2.0, "b"))
        for _ in range(2)
    ]
    for n_known in (1, 2):
        policy = policy_with({"lkc": {"l": n_known, "k": 2, "c": 0.6}}, names=["age", "city"])
        result = asked("lkc", classes_of(rows, policy), policy)
        assert (result.verdict, result.value) == (FAIL, pytest.approx(2 / 3))
        assert result.witness["quasi_identifiers"] == ["city"]
        assert result.witness["failing_combinations"] == 1


def test_nobody_is_between_two_whole_numbers_but_between_two_others() -> None:
    """[20, 24] and [25, 29]: no age lies between; incomes of 24.5 do, and match only the wide class."""
    for name, least in (("age", 4), ("income", 2)):
        rows = [(((low, high),), ("a",)) for low, high in ((20, 24), (25, 29), (20, 29)) for _ in range(2)]
        policy = policy_with({"km": {"k": 2, "m": 1}}, names=[name])
        assert asked("km", classes_of(rows, policy), policy).value == least


def test_a_star_covers_values_that_no_cell_names_unless_the_policy_declares_them() -> None:
    for name, least in (("city", 2), ("sex", 5)):
        rows = [((cell,), ("a",)) for cell in (frozenset("f"), frozenset("m"), "*") for _ in range(3)]
        policy = policy_with({"km": {"k": 2, "m": 1}}, names=[name])
        assert asked("km", classes_of(rows[:-1], policy), policy).value == least


# The reference

CELLS = {
    "age": st.tuples(st.integers(0, 4), st.integers(0, 2)).map(lambda t: (float(t[0]), float(t[0] + t[1]))),
    "income": st.tuples(st.integers(0, 3), st.integers(0, 2)).map(lambda t: (float(t[0]), float(sum(t)))),
    "city": st.one_of(st.just("*"), st.frozensets(st.sampled_from("xyz"), min_size=1, max_size=2)),
    "sex": st.sampled_from(["*", frozenset("f"), frozenset("m")]),
}


@st.composite
def rows_of(draw: st.DrawFn, max_classes: int = 5) -> list[Any]:
    """One to five classes of one to five rows with an illness and a wage."""
    values = st.tuples(
        st.sampled_from(["flu", "hiv", "cough"]), st.sampled_from(["1", "2.5", "10", "missing"])
    )
    cells = draw(st.lists(st.tuples(*CELLS.values()), min_size=1, max_size=max_classes))
    return [(each, draw(values)) for each in cells for _ in range(draw(st.integers(1, 5)))]


@given(rows_of(), st.integers(2, 4), st.sampled_from(["0.5", "1", "1.5", "3"]), st.integers(2, 3))
def test_diversity_is_the_references(rows: list[Any], least: int, c: str, l_least: int) -> None:
    models = {
        "distinct_l": {"min": least},
        "entropy_l": {"min": 1.7},
        "recursive_cl": {"c": float(c), "l": l_least},
    }
    policy = policy_with(models, "illness", "wage")
    classes = classes_of(rows, policy)
    both = range(2)
    found = {gate: asked(gate, classes, policy) for gate in models}
    distinct = all(reference.is_distinct_l(rows, a, least) for a in both)
    assert (found["distinct_l"].verdict is PASS) == distinct
    entropy = min(reference.least_entropy(rows, a) for a in both)
    assert found["entropy_l"].value == pytest.approx(math.exp(entropy))
    assert (found["entropy_l"].verdict is PASS) == (entropy >= math.log(1.7))
    recursive = all(reference.is_recursive_cl(rows, a, Fraction(c), l_least) for a in both)
    assert (found["recursive_cl"].verdict is PASS) == recursive


@given(rows_of(), st.sampled_from(["0.25", "0.5", "0.6"]), st.integers(2, 3), st.booleans())
def test_alpha_k_is_the_references(rows: list[Any], alpha: str, k: int, listed: bool) -> None:
    values = {"illness": ["hiv", "cough"], "wage": None} if listed else {"illness": None, "wage": None}
    model: dict[str, Any] = {"alpha": float(alpha), "k": k}
    if listed:
        model["values"] = {"illness": values["illness"]}
    policy = policy_with({"alpha_k": model}, "illness", "wage")
    expected = all(
        reference.is_alpha_k(rows, a, Fraction(alpha), k, values[name])
        for a, name in enumerate(("illness", "wage"))
    )
    assert (asked("alpha_k", classes_of(rows, policy), policy).verdict is PASS) == expected


@given(rows_of())
def test_closeness_is_the_references_and_with_missing_numbers_never_less(rows: list[Any]) -> None:
    policy = policy_with({"t_closeness": {"max": 0.3}}, "illness", "wage")
    classes = classes_of(rows, policy)
    wages = [row[1][1] for row in rows]
    illness = reference.closeness(rows, 0, reference.equal_distance)
    wage = reference.closeness(rows, 1, reference.ordered_distance(wages))
    assert distances(classes.counts["illness"], classes.counts["illness"].sum(axis=0)).max() == pytest.approx(
        float(illness), abs=1e-12
    )
    numbers = np.array([np.nan if v == "missing" else float(v) for v in classes.sensitive_values["wage"]])
    found = float(distances(classes.counts["wage"], classes.counts["wage"].sum(axis=0), numbers).max())
    if "missing" in wages:
        assert found >= float(wage) - 1e-12
        assert found <= 1 + 1e-12
    else:
        assert found == pytest.approx(float(wage), abs=1e-12)
    result = asked("t_closeness", classes, policy)
    assert result.value == pytest.approx(max(found, float(illness)), abs=1e-12)
    if max(illness, wage) > Fraction("0.3"):
        assert result.verdict is FAIL


@given(
    rows_of(4), st.sets(st.sampled_from(list(QUASI_IDENTIFIERS)), min_size=1, max_size=3), st.integers(1, 3)
)
def test_km_and_lkc_are_the_references(rows: list[Any], names: set[str], n_known: int) -> None:
    kept = [name for name in QUASI_IDENTIFIERS if name in names]
    places = [list(QUASI_IDENTIFIERS).index(name) for name in kept]
    rows = [(tuple(cells[q] for q in places), values) for cells, values in rows]
    n_known = min(n_known, len(kept))
    named = {v for cells, _ in rows for cell in cells if isinstance(cell, frozenset) for v in cell}
    domains = {"city": [*sorted(named - {"f", "m"}), reference.OUTSIDE], "sex": ["f", "m"]}
    steps = [1.0 if name == "age" else 0.5 for name in kept]
    groups = list(reference.matching(rows, [domains.get(name) for name in kept], steps, n_known))
    fewest = min(len(group) for group in groups)
    surest = max(reference.greatest_confidence(group, a, None) for group in groups for a in (0, 1))
    policy = policy_with(
        {"km": {"k": 4, "m": n_known}, "lkc": {"l": n_known, "k": 3, "c": 0.6}},
        "illness",
        "wage",
        names=kept,
    )
    classes = classes_of(rows, policy)
    km = asked("km", classes, policy)
    assert (km.value, km.verdict is PASS) == (fewest, fewest >= 4)
    lkc = asked("lkc", classes, policy)
    assert (lkc.verdict is PASS) == (fewest >= 3 and surest <= Fraction(6, 10))
    if surest > Fraction(6, 10):
        assert lkc.value == pytest.approx(float(surest))
    elif fewest < 3:
        assert (lkc.value, lkc.threshold) == (fewest, 3)
    else:
        assert lkc.value >= float(surest) - 1e-9


# Attackers who know true values of people in the release

PERSON = st.tuples(
    st.integers(0, 30),
    st.integers(0, 20).map(lambda i: i / 2),
    st.sampled_from(["x", "y", "z"]),
    st.sampled_from(["f", "m"]),
    st.sampled_from(["flu", "hiv", "cough"]),
)


@given(st.lists(PERSON, min_size=4, max_size=20), st.integers(1, 4))
def test_nobody_in_the_release_is_found_among_fewer_or_more_surely(people: list[Any], n_known: int) -> None:
    models = {"km": {"k": 3, "m": n_known}, "lkc": {"l": n_known, "k": 3, "c": 0.7}}
    policy = policy_with(models)
    table = prepared(policy, people)
    classes = generalized(table, anonymized(table, policy).labels, policy)
    fewest, surest = len(people), 0.0
    for person in people:
        holds = []
        for q, name in enumerate(("age", "income")):
            low, high = classes.intervals[name].T
            holds.append((low <= person[q]) & (person[q] <= high))
        for q, name in ((2, "city"), (3, "sex")):
            cells = classes.sets[name]
            holds.append(cells.whole | cells.member[:, cells.values.index(person[q])])
        for size in range(1, n_known + 1):
            for chosen in subsets_of(range(4), size):
                match = np.all([holds[q] for q in chosen], axis=0)
                n_rows = int(classes.size[match].sum())
                fewest = min(fewest, n_rows)
                surest = max(surest, float(classes.counts["illness"][match].sum(axis=0).max()) / n_rows)
    km, lkc = asked("km", classes, policy), asked("lkc", classes, policy)
    assert km.value is not None
    assert km.value <= fewest
    if fewest < 3:
        assert km.verdict is lkc.verdict is FAIL
    if surest > 0.7:
        assert lkc.verdict is FAIL


# Too much to look at


def test_what_cannot_be_finished_is_unknown_unless_it_fails_already(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_with({"km": {"k": 2, "m": 1}, "lkc": {"l": 2, "k": 2, "c": 0.9}}, names=["age", "city"])
    fine = classes_of([*OVERLAPPING[:2], *OVERLAPPING[-2:]], policy)
    bad = classes_of([*OVERLAPPING[:2], OVERLAPPING[-1]], policy)
    assert {asked(gate, fine, policy).verdict for gate in ("km", "lkc")} == {PASS}
    # Enough for one product of matrices: one of the quasi-identifiers.
    monkeypatch.setattr(combinations, "MOST_WORK", 1.5 * combinations.START)
    found = [asked(gate, fine, policy) for gate in ("km", "lkc")]
    assert [one.verdict for one in found] == [UNKNOWN, PASS]
    assert "; there are too many combinations: the figures are of those examined" in found[0].detail
    assert found[0].value is None
    assert asked("km", bad, policy).verdict is FAIL
    monkeypatch.setattr(combinations, "MOST_WORK", 0)
    assert {asked(gate, bad, policy).verdict for gate in ("km", "lkc")} == {UNKNOWN}


def test_too_many_different_cells_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_with({"km": {"k": 2, "m": 1}}, names=["age", "city"])
    classes = classes_of(OVERLAPPING, policy)
    # Three classes, five ends.
    monkeypatch.setattr(atoms, "LARGEST", 3 * 2 * 5 - 1)
    result = asked("km", classes, policy)
    assert (result.verdict, result.value) == (UNKNOWN, None)
    assert result.detail == "'age' has 5 ends of intervals in 3 classes: too many"
    monkeypatch.setattr(atoms, "LARGEST", 3 * 2 * 5)
    assert asked("km", classes, policy).verdict is PASS


def test_blocks_and_walks_of_any_size_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(30):
        age, income = int(rng.integers(0, 20)), int(rng.integers(0, 20))
        cells = (
            (float(age), float(age + rng.integers(0, 9))),
            (float(income), float(income + rng.integers(0, 9))),
            frozenset(rng.choice(["x", "y", "z"], size=2).tolist()),
            frozenset(rng.choice(["f", "m"], size=1).tolist()),
        )
        rows += [(cells, (str(rng.choice(["flu", "hiv"])),)) for _ in range(3)]
    policy = policy_with({"km": {"k": 5, "m": 3}, "lkc": {"l": 4, "k": 5, "c": 0.6}})
    evidence = evidence_of(classes_of(rows, policy), policy)

    def found() -> list[Any]:
        return [
            (r.gate, r.value, r.verdict, r.detail, r.witness)
            for r in assess(evidence).results
            if r.gate in ("km", "lkc")
        ]

    whole = found()
    monkeypatch.setattr(combinations, "CELLS", 7)
    assert found() == whole
