"""Distinct records in place of rows: the same groups, cells, rows and figures as from the rows themselves."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from services.pipeline import Prepared, prepare, publishable_rows
from services.runtime import Runtime
from tasks.aggregation.enforce import enforced
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.fragments import fragments
from tasks.preprocessing.reduction import reduction_of
from tasks.recoding.generalize import generalized
from tasks.reporting.table import table_figures
from tasks.representation.autoencoder import encode
from tasks.representation.features import Encoding, unit_ranges, z_scored
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import IntArray, PreparedTable, Recoded, code_type
from tests.support.small import Rows, prepared, small_policy, source_of

QIS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 120]},
    "city": {"type": "categorical", "hierarchy": {"North": ["Hull", "York"], "South": ["Bath", "Ely"]}},
}
CITIES, ILLNESSES = ("Hull", "York", "Bath", "Ely", None), ("flu", "gout", "hiv")
METHODS = ("mondrian", "ae-lrhma")


def some_rows(seed: int = 0, n: int = 300, ages: int = 12) -> Rows:
    """Rows of which most repeat, in no order; some have no city or no age."""
    draw = np.random.default_rng(seed)
    return [
        (None if age == 3 else int(age) * 5, CITIES[city], ILLNESSES[illness])
        for age, city, illness in zip(
            draw.integers(0, ages, n), draw.integers(0, 5, n), draw.integers(0, 3, n), strict=True
        )
    ]


def policy_of(**sections: Any) -> ReleasePolicy:
    given = {"privacy": {"k": 3, "e": 2}, "method": {"name": "mondrian"}, **sections}
    return small_policy(QIS, source={"missing": [""]}, **given)


@st.composite
def tables(draw: st.DrawFn) -> tuple[PreparedTable, IntArray]:
    """A table of repeated rows, and a group for each of its rows."""
    rows = some_rows(draw(st.integers(0, 10_000)), draw(st.integers(40, 120)), 2)
    labels = np.array(draw(st.lists(st.integers(-1, 4), min_size=len(rows), max_size=len(rows))))
    return prepared(policy_of(), rows), np.unique(labels, return_inverse=True)[1] - 1


def by_value(table: PreparedTable) -> Counter[tuple[object, ...]]:
    """How many rows each distinct record stands for."""
    times = np.ones(table.n_records, dtype=int) if table.rows is None else table.rows
    found: Counter[tuple[object, ...]] = Counter()
    for age, city, illness, n in zip(table.numeric, table.codes, table.sensitive, times, strict=True):
        found[str(age[0]), *city.tolist(), *illness.tolist()] += int(n)
    return found


def test_by_hand() -> None:
    rows: Rows = [(30, "York", "flu"), (20, "Hull", "flu"), (30, "York", "flu"), (20, "Hull", "flu")]
    reduction = prepared(policy_of(), rows).reduction
    assert reduction is not None
    assert reduction.table.numeric.tolist() == [[20.0], [30.0]]  # in the order of their values
    assert reduction.of_row.tolist() == [1, 0, 1, 0]
    assert reduction.table.rows is not None
    assert reduction.table.rows.tolist() == [2, 2]
    assert reduction.table.n_rows == 4


@given(st.integers(0, 10_000))
def test_it_has_the_rows_of_the_table(seed: int) -> None:
    table = prepared(policy_of(), some_rows(seed))
    assert table.reduction is not None
    found = table.reduction.table
    assert by_value(found) == by_value(table)
    assert found.n_records < table.n_records
    back = found.take(table.reduction.of_row.astype(np.int64))
    assert np.array_equal(back.numeric, table.numeric, equal_nan=True)
    assert np.array_equal(back.codes, table.codes)
    assert np.array_equal(back.sensitive, table.sensitive)


def test_it_does_not_depend_on_the_order_of_the_rows() -> None:
    rows = some_rows()
    one, other = (prepared(policy_of(), each).reduction for each in (rows, rows[::-1]))
    assert one is not None
    assert other is not None
    assert np.array_equal(one.table.numeric, other.table.numeric, equal_nan=True)
    assert np.array_equal(one.of_row, other.of_row[::-1])


def test_rows_that_differ_and_rows_that_are_somebodys_are_not_reduced() -> None:
    assert prepared(policy_of(), [(age, "Hull", "flu") for age in range(20)]).reduction is None
    several = small_policy(QIS, rows="several", roles={"key": "who"})
    table = prepared(several, [(f"p{i % 3}", 20, "Hull", "flu") for i in range(12)])
    assert table.unit is not None
    assert reduction_of(table) is None


@given(tables())
def test_records_in_groups_are_those_of_the_rows(given: tuple[PreparedTable, IntArray]) -> None:
    table, labels = given
    assume(table.reduction is not None)
    assert table.reduction is not None
    found, own = table.reduction.in_groups(labels)
    assert np.array_equal(own[found.of_row], labels)
    assert np.array_equal(found.table.codes[found.of_row], table.codes)
    assert np.array_equal(found.table.sensitive[found.of_row], table.sensitive)
    assert np.array_equal(np.bincount(found.of_row, minlength=found.table.n_records), found.table.rows)


@given(tables(), st.integers(2, 8))
def test_classes_constraints_and_merges_are_those_of_the_rows(
    given: tuple[PreparedTable, IntArray], k: int
) -> None:
    table, labels = given
    assume(table.reduction is not None)
    assert table.reduction is not None
    policy = policy_of(privacy={"k": k, "e": 2})
    plain = replace(table, reduction=None)
    one, other = (generalized(each, labels, policy) for each in (table, plain))
    assert one.size.tolist() == other.size.tolist()
    assert one.intervals["age"].tolist() == other.intervals["age"].tolist()
    assert one.sets["city"].member.tolist() == other.sets["city"].member.tolist()
    assert one.counts["illness"].tolist() == other.counts["illness"].tolist()
    few = table.reduction.table
    own = np.arange(few.n_records) % 5
    of_few, of_rows = constraints_of(few, policy), constraints_of(plain, policy)
    for group in range(5):
        inside = np.flatnonzero(own[table.reduction.of_row] == group)
        assert of_few.group_holds(np.flatnonzero(own == group)) == of_rows.group_holds(inside)
        assert of_few.size(np.flatnonzero(own == group)) == len(inside)
    points = unit_ranges(few)
    assert np.allclose(points[table.reduction.of_row], unit_ranges(plain))
    merged, notes = enforced(points, own, of_few, 3 * k)
    of_row, same = enforced(points[table.reduction.of_row], own[table.reduction.of_row], of_rows, 3 * k)
    assert notes == same
    assert np.array_equal(merged[table.reduction.of_row], of_row)


def made_of(table: PreparedTable, rows: Rows, policy: ReleasePolicy) -> tuple[Prepared, Recoded, IntArray]:
    runtime = Runtime()
    ready = prepare(source_of(policy, rows), table, policy, bound_method(policy), runtime)
    made = publishable_rows(ready, "2026", runtime)
    return ready, made.rows, made.groups.labels


@pytest.mark.parametrize(
    ("method", "recoding"),
    [("mondrian", "sets"), ("mondrian", "hierarchy"), ("full-domain", "full-domain")],
)
def test_the_same_rows_and_figures_are_published(method: str, recoding: str, tmp_path: Path) -> None:
    suppression = {"suppression": {"max": 0.1}}
    policy = policy_of(method={"name": method, "recoding": recoding}, gates=suppression)
    rows = some_rows(n=600)
    table = prepared(policy, rows)
    assert table.reduction is not None
    one = made_of(table, rows, policy)
    other = made_of(replace(table, reduction=None), rows, policy)
    assert one[1].times is not None
    assert other[1].times is None
    assert one[1].frame.astype(str).equals(other[1].frame.astype(str))
    figures = [
        table_figures(table, made, ready.representation, labels, policy)
        for ready, made, labels in (one, other)
    ]
    assert json.dumps(figures[0]) == json.dumps(figures[1])
    files = {}
    for name, (_, made, _) in (("few", one), ("rows", other)):
        staged = stage(made, policy, candidate_id="c", period="1", folder=tmp_path / name, n_source=600)
        files[name] = (tmp_path / name / "data.csv").read_bytes()
        assert staged.n_published == 600
    assert files["few"] == files["rows"]
    # Each published row is of a record that its cells contain.
    ages = table.numeric[one[1].records, 0]
    frame = one[1].frame
    inside = (frame["age_min"] <= ages) & (ages <= frame["age_max"])
    assert (inside | np.isnan(ages)).all()
    assert sorted(one[1].records.tolist()) == list(range(600))


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_rows_changes_no_class_of_distinct_records(method: str, tmp_path: Path) -> None:
    policy = policy_of(method={"name": method, "parameters": {"leaf_size": 30}})
    found = []
    rows = some_rows(n=500)
    order = np.random.default_rng(5).permutation(len(rows)).tolist()
    for number, each in enumerate((rows, [rows[i] for i in order])):
        table = prepared(policy, each)
        ready, made, _ = made_of(table, each, policy)
        found.append(
            ready.representation.latent[np.argsort(order)] if number else ready.representation.latent
        )
        stage(made, policy, candidate_id="c", period="1", folder=tmp_path / str(number), n_source=500)
    assert np.array_equal(*found)
    if method == "mondrian":
        classes = [read_classes(tmp_path / str(i) / "data.parquet", policy) for i in (0, 1)]
        assert classes[0].size.tolist() == classes[1].size.tolist()


def test_features_are_scaled_as_those_of_the_rows() -> None:
    table = prepared(policy_of(), some_rows())
    assert table.reduction is not None
    encodings: tuple[Encoding, ...] = ("one-hot", "integer")
    for encoding in encodings:
        few = z_scored(table.reduction.table, encoding=encoding, clip=0.05)
        every = z_scored(replace(table, reduction=None), encoding=encoding, clip=0.05)
        assert np.allclose(few[table.reduction.of_row], every)


@pytest.mark.parametrize("train_sample", [100, 1_000])
def test_the_autoencoder_trains_on_the_rows_that_records_stand_for(train_sample: int) -> None:
    draw = np.random.default_rng(1)
    features, rows = draw.normal(size=(40, 4)), draw.integers(1, 9, 40)
    few, _ = encode(features, epochs=3, train_sample=train_sample, rows=rows)
    every, _ = encode(np.repeat(features, rows, axis=0), epochs=3, train_sample=train_sample)
    assert np.array_equal(np.repeat(few, rows, axis=0), every)


def test_fragments_are_cut_at_the_medians_of_the_rows() -> None:
    policy = policy_of(privacy={"k": 2, "e": 1})
    rows: Rows = [(1, "Hull", "flu")] * 12 + [(age, "Hull", "gout") for age in range(2, 10)]
    table = prepared(policy, rows)
    assert table.reduction is not None
    few = table.reduction.table
    found = fragments(few, constraints_of(few, policy), 4)
    assert few.numeric[found[0], 0].tolist() == [1.0]  # half of the rows and more
    every = np.sort(np.concatenate(found))
    assert every.tolist() == list(range(few.n_records))


def test_full_domain_numbers_its_classes_by_their_values() -> None:
    policy = policy_of(method={"name": "full-domain", "recoding": "full-domain"})
    rows = some_rows(n=400)
    order = np.random.default_rng(2).permutation(len(rows))
    made = []
    for each in (rows, [rows[i] for i in order.tolist()]):
        table = prepared(policy, each)
        made.append([made_of(one, each, policy)[2] for one in (table, replace(table, reduction=None))])
    (few, every), (few_mixed, every_mixed) = made
    assert np.array_equal(few, every)
    assert np.array_equal(few[order], few_mixed)
    assert np.array_equal(few_mixed, every_mixed)


def test_minus_zero_is_zero(tmp_path: Path) -> None:
    numbers = {"age": {"type": "numeric", "bounds": [-5, 5]}}
    score = {"score": {"type": "numeric", "stability": "stable"}}
    policy = small_policy(numbers, score)
    rows: Rows = [(0.0, 0.0)] * 5 + [(-0.0, -0.0)] + [(1.0, 1.0)] * 4
    files = []
    for number, each in enumerate((rows, rows[::-1])):
        table = prepared(policy, each)
        assert table.reduction is not None
        folder = tmp_path / str(number)
        stage(
            made_of(table, each, policy)[1], policy, candidate_id="c", period="1", folder=folder, n_source=10
        )
        files.append((folder / "data.csv").read_text())
    assert files[0] == files[1]
    assert "-0" not in files[0]


@pytest.mark.parametrize(
    ("n", "expected"), [(1, 8), (128, 8), (129, 16), (32_768, 16), (32_769, 32), (1_000_000, 32)]
)
def test_codes_have_the_smallest_type_that_holds_them(n: int, expected: int) -> None:
    kind = np.dtype(code_type(n))
    assert (kind.itemsize * 8, np.arange(-1, n).astype(kind)[-1]) == (expected, n - 1)


@pytest.mark.parametrize("n", [127, 128, 300])
def test_many_categories_and_a_missing_one_keep_their_values(n: int) -> None:
    policy = small_policy({"city": {"type": "categorical"}}, source={"missing": [""]})
    cities = [*(f"c{i:03}" for i in range(n)), None]
    table = prepared(policy, [(cities[i % (n + 1)], "flu") for i in range(3 * n)])
    assert table.codes.dtype == code_type(n + 1)
    assert [table.domains["city"][code] for code in table.codes[: n + 1, 0]] == [*cities[:n], "missing"]
    assert table.reduction is not None
    assert table.reduction.table.codes[:, 0].tolist() == [*range(n + 1)]
