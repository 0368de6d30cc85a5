"""What is measured of one table: by hand, beside slow programs, and beside the gates' own measures."""

from __future__ import annotations

import importlib
from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.privacy.closeness import ordered_distances
from tasks.privacy.combinations import matches
from tasks.risk.population import ClassSizes, estimate
from tasks.table_measures import ordered
from tasks.table_measures.combinations import ColumnRisk, PartialKnowledge, SmallSet
from tasks.table_measures.counts import count_values
from tasks.table_measures.measure import TableMeasures, measure_table
from tasks.table_measures.rows import CodedTable
from tests.reference import privacy_models as slow

suda_reference = importlib.import_module("tests.reference.suda")

FLU, CANCER = 0, 1


def _table(columns: list[list[int]], values: list[int], **more: object) -> CodedTable:
    codes = {chr(ord("a") + i): np.array(column) for i, column in enumerate(columns)}
    kinds: dict[str, object] = {"numbers": {}, **more}
    return CodedTable(codes, {"disease": np.array(values)}, **kinds)  # type: ignore[arg-type]


# Classes of 3, 2 and 1: the last row is alone, by b alone.
SIX = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 1, 2]]
DISEASES = [FLU, FLU, CANCER, FLU, CANCER, FLU]


def test_identity_by_hand() -> None:
    found = measure_table(_table(SIX, DISEASES)).identity
    assert (found.rows, found.people, found.households, found.k) == (6, 6, None, 1)
    assert [found.classes[name] for name in ("n", "people", "least", "median", "greatest")] == [3, 6, 1, 2, 3]
    assert found.people_in_classes_under == {"2": 1, "3": 3, "5": 6, "10": 6}
    assert (found.highest_risk, found.average_risk) == (1.0, pytest.approx(3 / 6))


def test_a_sensitive_attribute_by_hand() -> None:
    """Flu 2/3 and cancer 1/3 of the table; of the classes 2/3 and 1/3, 1/2 and 1/2, 1 and 0."""
    found = measure_table(_table(SIX, DISEASES)).sensitive["disease"]
    assert (found.values, found.numeric, found.distinct_l, found.p_max) == (2, False, 1, 1.0)
    assert (found.entropy_l, found.h_min) == (1.0, 0.0)
    assert found.recursive_c == {"2": None, "3": None}
    assert found.t_equal == pytest.approx(1 / 3)
    assert found.beta == pytest.approx(1 / 2)
    assert (found.delta, found.t_ordered, found.relative_range) == (None, None, None)
    assert (found.certain_classes, found.certain_people) == (1, 1)


def test_numbers_by_hand() -> None:
    """Two classes of four, with 1, 1, 2, 3 and 1, 2, 3, 3: of the table 3/8, 2/8 and 3/8."""
    numbers = {"disease": np.array([1.0, 2.0, 3.0])}
    table = _table([[0] * 4 + [1] * 4], [0, 0, 1, 2, 0, 1, 2, 2], numbers=numbers)
    found = measure_table(table).sensitive["disease"]
    assert (found.distinct_l, found.p_max, found.certain_classes, found.certain_people) == (3, 0.5, 0, 0)
    assert found.entropy_l == pytest.approx(2**1.5)
    assert found.h_min == pytest.approx(1.5 * log(2))
    assert found.recursive_c == {"2": pytest.approx(1.0), "3": pytest.approx(2.0)}
    assert found.t_equal == pytest.approx(1 / 8)
    assert found.t_ordered == pytest.approx((1 / 8 + 1 / 8) / 2)
    assert found.beta == pytest.approx((1 / 2 - 3 / 8) / (3 / 8))
    assert found.delta == pytest.approx(log(3 / 2))
    assert found.relative_range == pytest.approx((3 - 1) / 3)


def test_columns_and_sets_by_hand() -> None:
    found = measure_table(_table(SIX, DISEASES))
    assert found.singling_out.columns == {"a": ColumnRisk(2, 1, 0.0), "b": ColumnRisk(2, 0, 1.0)}
    assert found.singling_out.sets == (SmallSet(("b",), 1),)
    assert (found.singling_out.n_sets, found.singling_out.largest, found.singling_out.dis) == (1, 2, None)
    assert found.partial_knowledge == (
        PartialKnowledge(1, 1, {"disease": 1.0}),
        PartialKnowledge(2, 1, {"disease": 1.0}),
    )


def test_a_population_by_hand() -> None:
    """Each row stands for two people: the classes for 6, 4 and 2 of 12."""
    found = measure_table(_table(SIX, DISEASES, weights=np.full(6, 2.0))).population
    assert found is not None
    assert (found.population, found.sampling_fraction, found.k_map, found.highest_risk) == (12, 0.5, 2, 0.5)
    assert found.average_risk == pytest.approx((3 / 6 + 2 / 4 + 1 / 2) / 6)
    name, uniques = estimate(ClassSizes.of(np.array([3, 2, 1]), 12), "dankar")
    assert found.estimator == name
    assert found.uniques == pytest.approx(min(uniques / 2, 1) / 6)


def test_a_class_stands_for_the_people_that_it_has_at_least() -> None:
    found = measure_table(_table(SIX, DISEASES, weights=np.full(6, 0.5))).population
    assert found is not None
    assert (found.k_map, found.highest_risk, found.average_risk) == (0, 1.0, pytest.approx(1 / 2))
    assert (found.uniques, found.not_estimated) == (
        None,
        "the weights add up to fewer people than the table has",
    )


def test_a_person_with_several_rows_counts_once_in_a_class() -> None:
    """Class 0 has persons 0 and 1, who both have flu; person 0 has cancer too. Class 1 has 0 and 2."""
    values = [FLU, CANCER, FLU, FLU, CANCER]
    table = _table([[0, 0, 0, 1, 1]], values, person=np.array([0, 0, 1, 0, 2]))
    found = measure_table(table)
    assert (found.identity.rows, found.identity.people, found.identity.k) == (5, 3, 2)
    assert found.identity.average_risk == pytest.approx(1 / 2)
    risk = found.sensitive["disease"]
    assert (risk.p_max, risk.certain_classes, risk.certain_people) == (1.0, 1, 2)
    assert found.partial_knowledge == ()
    assert found.singling_out.largest is None
    assert found.singling_out.columns["a"] == ColumnRisk(2, 0, None)


def test_households_count_for_the_models_and_people_for_identity() -> None:
    table = _table([[0, 0, 0, 1, 1]], [0, 0, 1, 0, 1], household=np.array([0, 0, 0, 1, 2]))
    found = measure_table(table).identity
    assert (found.people, found.households, found.k) == (5, 3, 1)
    assert found.classes["least"] == 2
    assert found.people_in_classes_under["2"] == 0


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=14)


def _coded(rows: list[tuple[int, int, int]]) -> tuple[CodedTable, list[slow.Row]]:
    values, codes = np.unique([row[2] for row in rows], return_inverse=True)
    table = _table([[row[0] for row in rows], [row[1] for row in rows]], codes.tolist())
    table = CodedTable(table.quasi_identifiers, table.sensitive, {"disease": values.astype(float)})
    return table, [((str(a), str(b)), (str(value),)) for a, b, value in rows]


@given(ROWS)
def test_models_are_those_of_slow_programs(rows: list[tuple[int, int, int]]) -> None:
    table, same = _coded(rows)
    found = measure_table(table).sensitive["disease"]
    classes = slow.classes(same)
    overall = Counter(row[1][0] for row in same)
    counted = [Counter(row[1][0] for row in group) for group in classes]
    assert found.distinct_l == min(map(len, counted))
    assert found.h_min == pytest.approx(slow.least_entropy(same, 0), abs=1e-12)
    assert found.entropy_l == pytest.approx(exp(slow.least_entropy(same, 0)))
    assert found.p_max == max(max(one.values()) / one.total() for one in counted)
    assert found.t_equal == pytest.approx(float(slow.closeness(same, 0, slow.equal_distance)))
    distance = slow.ordered_distance([row[1][0] for row in same])
    assert found.t_ordered == pytest.approx(float(slow.closeness(same, 0, distance)))
    ratios = [(one[v] / one.total()) / (overall[v] / len(rows)) for one in counted for v in overall]
    assert found.beta == pytest.approx(max(max(ratios) - 1, 0), abs=1e-12)
    if min(ratios) > 0:
        assert found.delta == pytest.approx(max(abs(log(ratio)) for ratio in ratios), abs=1e-12)
    else:
        assert found.delta is None
    for name, c in found.recursive_c.items():
        if c is None:
            assert not slow.is_recursive_cl(same, 0, Fraction(10**6), int(name))
        else:
            assert slow.is_recursive_cl(same, 0, Fraction(c) * Fraction(1001, 1000), int(name))
            assert not slow.is_recursive_cl(same, 0, Fraction(c) * Fraction(999, 1000), int(name))
    certain = [group for group, one in zip(classes, counted, strict=True) if len(one) == 1]
    assert (found.certain_classes, found.certain_people) == (len(certain), sum(map(len, certain)))


@given(ROWS)
def test_who_is_alone_and_by_what_is_what_each_row_says(rows: list[tuple[int, int, int]]) -> None:
    table, same = _coded(rows)
    found = measure_table(table)
    sizes = [sum(other[0] == row[0] for other in same) for row in same]
    for least, n in found.identity.people_in_classes_under.items():
        assert n == sum(size < int(least) for size in sizes)
    assert found.identity.k == min(sizes)
    assert found.identity.average_risk == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    cells = [row[0] for row in same]
    for column, name in enumerate("ab"):
        others = [cell[1 - column] for cell in cells]
        without = sum(others.count(cell) == 1 for cell in others)
        assert found.singling_out.columns[name].alone_without == without
    if len(rows) > 1:
        sets = Counter(
            tuple("ab"[q] for q in sorted(chosen))
            for record in range(len(rows))
            for chosen in suda_reference.minimal_sample_uniques(cells, record, 2)
        )
        assert {one.columns: one.rows for one in found.singling_out.sets} == dict(sets)


@given(ROWS)
def test_partial_knowledge_is_what_the_gates_count_on_cells_that_are_single_values(
    rows: list[tuple[int, int, int]],
) -> None:
    table, _ = _coded(rows)
    covers = [codes[:, None] == np.unique(codes) for codes in table.quasi_identifiers.values()]
    values = table.sensitive["disease"]
    weights = np.vstack([np.ones(len(rows)), (values == np.unique(values)[:, None])]).astype(float)
    for one in measure_table(table).partial_knowledge:
        blocks = list(matches(covers, weights, [one.columns]))
        assert one.fewest_rows == min(block.rows[0][block.rows[0] > 0].min() for block in blocks)
        blocks = list(matches(covers, weights, range(1, one.columns + 1)))
        assert one.greatest_share["disease"] == pytest.approx(max(b.shares.max() for b in blocks), rel=1e-6)


@given(ROWS, st.booleans())
def test_the_greatest_ordered_distance_is_that_of_all_classes(
    rows: list[tuple[int, int, int]], missing: bool
) -> None:
    table, _ = _coded(rows)
    own = np.unique([row[0] for row in rows], return_inverse=True)[1]
    numbers = table.numbers["disease"].copy()
    if missing:
        numbers[-1] = np.nan
    counts = count_values(own, table.sensitive["disease"], None, len(numbers))
    whole = np.zeros((own.max() + 1, len(numbers)), dtype=np.int64)
    np.add.at(whole, (own, table.sensitive["disease"]), 1)
    greatest = ordered_distances(whole, whole.sum(axis=0), numbers).max()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "CELLS", 1)  # one class at a time, from the greatest bound on
        assert ordered.greatest_ordered_distance(counts, numbers) == pytest.approx(greatest, abs=1e-12)
        patch.setattr(ordered, "MOST_CELLS", 0)
        assert ordered.greatest_ordered_distance(counts, numbers) is None


def test_many_columns_are_looked_at_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from tasks.table_measures import combinations as module

    table = _table([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0]], DISEASES[:4])

    def measured(most: int) -> TableMeasures:
        monkeypatch.setattr(module, "MOST_WORK", most)
        return measure_table(table)

    room = {most: measured(most).singling_out.largest for most in (4 * 3 - 1, 4 * 3, 4 * 6, 4 * 7)}
    assert room == {11: None, 12: 1, 24: 2, 28: 3}
    assert measured(11).singling_out.not_measured == module.TOO_MUCH
    pairs = list(combinations("abc", 2))
    assert [one.columns for one in measured(24).singling_out.sets] == pairs
