"""The measures of utility against a slow reference that follows their definitions, on random tables."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from tasks.methods.registry import bound_method
from tasks.recoding.labels import labels_of, read_cell
from tasks.types import PreparedTable, no_progress
from tasks.utility.discernibility import discernibility
from tasks.utility.information_loss import information_loss
from tasks.utility.lookups import lookups
from tasks.utility.precision import precision
from tasks.utility.queries import KINDS, Queries, answers, draw_queries, expected
from tasks.utility.query_accuracy import answer_queries
from tasks.utility.query_error import errors_of
from tasks.utility.released import Released, released
from tasks.utility.sse import squared_errors
from tests.support.small import MIXED, TWO_SENSITIVE, WORDS, mixed_rows, prepared, small_policy

reference: Any = importlib.import_module("tests.reference.utility")

TREE = {"first": {"a few": list(WORDS[:3]), "some": list(WORDS[3:6])}, "second": {"more": list(WORDS[6:])}}
QUASI_IDENTIFIERS = {
    **MIXED,
    "age": {**MIXED["age"], "widths": [2, 6]},
    "income": {**MIXED["income"], "widths": [0.5, 3]},
    "city": {**MIXED["city"], "hierarchy": TREE},
}
RECODINGS = ("sets", "hierarchy", "centroid", "median", "adaptive")


def policy_with(recoding: str) -> ReleasePolicy:
    return small_policy(QUASI_IDENTIFIERS, TWO_SENSITIVE, method={"name": "mondrian", "recoding": recoding})


@st.composite
def releases(draw: st.DrawFn, *recodings: str) -> Released:
    """A random table in random groups, recoded; with `adaptive`, sets and numbers with noise."""
    recoding = draw(st.sampled_from(recodings or RECODINGS))
    policy = policy_with(recoding)
    rows = draw(mixed_rows(n_max=14))
    table = prepared(policy, rows)
    labels = np.array(draw(st.lists(st.integers(-1, 3), min_size=len(rows), max_size=len(rows))))
    labels[0] = max(labels[0], 0)  # an empty release is worked by hand
    labels = compact(labels)
    if recoding != "adaptive":
        made = recoded(policy, table, labels)
        return released(made.frame, made.records, labels, table, policy)
    made = recoded(policy_with("sets"), table, labels)
    frame = made.frame.drop(columns=["age_min", "age_max", "income_min", "income_max"])
    m = len(frame)
    for name, most in (("age", 10), ("income", 6)):
        frame[name] = np.array(draw(st.lists(st.integers(0, most), min_size=m, max_size=m)), dtype=float)
    return released(frame, made.records, labels, table, policy)


def compact(labels: np.ndarray) -> np.ndarray:
    """Number the groups from 0 on, without a gap."""
    found = np.full(len(labels), -1)
    kept = labels >= 0
    found[kept] = np.unique(labels[kept], return_inverse=True)[1]
    return found


def recoded(policy: ReleasePolicy, table: PreparedTable, labels: np.ndarray):  # type: ignore[no-untyped-def]
    method = bound_method(policy)
    representation = method.represent(table, no_progress)
    return method.recode(table, representation, labels, policy, method.seed)


def rows_of(each: Released) -> list[Any]:
    """The published rows as the reference has them."""
    found = []
    names = [*each.table.numeric_names, *each.table.categorical_names]
    for row, (number, of, group) in enumerate(
        zip(each.records.tolist(), each.class_of.tolist(), each.groups.tolist(), strict=True)
    ):
        cells: dict[str, Any] = {}
        for name in names:
            if name in each.noised:
                cells[name] = (each.noised[name][row],) * 2
            elif name in each.classes.intervals:
                cells[name] = tuple(each.classes.intervals[name][of].tolist())
            else:
                sets = each.classes.sets[name]
                covered = frozenset(
                    v for v, inside in zip(sets.values, sets.member[of], strict=True) if inside
                )
                cells[name] = reference.WHOLE if sets.whole[of] else covered
        key = tuple(cells[name] for name in names if name not in each.noised)
        wage = float(each.numbers["wage"][row])
        record = record_of(each.table, number)
        found.append(reference.Row(cells, group, record, None if math.isnan(wage) else wage, key))
    return found


def record_of(table: PreparedTable, number: int) -> dict[str, Any]:
    numbers = {
        name: None if math.isnan(value) else value
        for name, value in zip(table.numeric_names, table.numeric[number].tolist(), strict=True)
    }
    codes = zip(table.categorical_names, table.codes[number].tolist(), strict=True)
    wage = float(table.sensitive_numbers["wage"][number])
    return {
        **numbers,
        **{name: table.domains[name][code] for name, code in codes},
        "wage": None if math.isnan(wage) else wage,
    }


def shares_of(each: Released, rows: list[Any], *, met: bool) -> list[dict[str, float]]:
    """Level over height of every cell, or of what holds the true value too."""
    found = []
    for row in rows:
        mine = {}
        for name, cell in row.cells.items():
            hierarchy = (
                None if name in each.table.numeric_names else each.policy.roles.categorical[name].hierarchy
            )
            paths = None if hierarchy is None else {path[0]: path for path in hierarchy.paths}
            widths = each.policy.roles.numeric[name].widths if name in each.table.numeric_names else ()
            level, height = reference.level(
                reference.meeting(cell, row.record[name]) if met else cell, paths, widths
            )
            mine[name] = level / height
        found.append(mine)
    return found


@given(releases())
def test_levels_and_sizes(each: Released) -> None:
    rows = rows_of(each)
    n = each.table.n_records
    assert (
        discernibility(each)["dm"] == sum(len(c) ** 2 for c in reference.classes(rows)) + (n - len(rows)) * n
    )
    written = shares_of(each, rows, met=False)
    raised = math.fsum(value for row in written for value in row.values())
    if each.all_true:
        assert precision(each)["prec"] == pytest.approx(raised + (n - len(rows)) * n)
        assert precision(each)["prec_generalized"] == pytest.approx(raised)
    else:
        assert precision(each)["prec"] is None
    assert lookups(each)["lookups"] == sum(value > 0 for row in written for value in row.values())
    met = shares_of(each, rows, met=True)
    weight = {name: qi.weight for name, qi in each.policy.roles.quasi_identifiers.items()}
    loss = math.fsum(weight[name] * value for row in met for name, value in row.items())
    assert information_loss(each)["iloss"] == pytest.approx(loss)


@given(releases())
def test_squared_errors(each: Released) -> None:
    vectors = []
    table = each.table
    low, high = np.nanmin(table.numeric, axis=0), np.nanmax(table.numeric, axis=0)
    middle = np.nanmedian(table.numeric, axis=0)
    for row in rows_of(each):
        vector = {}
        for c, name in enumerate(table.numeric_names):
            value = middle[c] if row.record[name] is None else row.record[name]
            vector[name] = (value - low[c]) / ((high[c] - low[c]) or 1.0)
        for name in table.categorical_names:
            for value in table.domains[name]:
                vector[f"{name} {value}"] = (row.record[name] == value) / math.sqrt(2)
        vectors.append(vector)
    if vectors:
        found = squared_errors(each)["sse"]
        assert found == pytest.approx(reference.squared_errors(vectors, each.groups.tolist()), abs=1e-9)


def conditions(each: Released, queries: Queries, number: int) -> dict[str, Any]:
    """What one query asks, by name: a range of numbers, or a value."""
    names = [*each.table.numeric_names, *each.table.categorical_names]
    asked: dict[str, Any] = {}
    for c in np.flatnonzero(queries.asked[number]).tolist():
        if c < len(each.table.numeric_names):
            asked[names[c]] = (float(queries.low[number, c]), float(queries.high[number, c]))
        else:
            code = int(queries.codes[number, c - len(each.table.numeric_names)])
            asked[names[c]] = each.table.domains[names[c]][code]
    return asked


@given(releases(), st.sampled_from(KINDS), st.integers(0, 3))
def test_queries(each: Released, kind: str, seed: int) -> None:
    queries = draw_queries(each, kind, 6, seed)
    assert queries is not None
    rows, everybody = rows_of(each), [record_of(each.table, i) for i in range(each.table.n_records)]
    counts, averages, right = [], [], 0
    of_classes = reference.classes(rows)
    for number in range(6):
        asked = conditions(each, queries, number)

        def met(record: dict[str, Any], asked: dict[str, Any] = asked) -> bool:
            each_met = [reference.meets(record[name], condition) for name, condition in asked.items()]
            return any(each_met) if queries.either else all(each_met)

        def likely(row: Any, asked: dict[str, Any] = asked) -> float:
            chances = [
                reference.chance(row.cells[n], condition, each.table.domains.get(n, ()), n == "age")
                for n, condition in asked.items()
            ]
            return float(reference.joined(chances, queries.either))

        answering = [record for record in everybody if met(record)]
        weights = [likely(row) for row in rows]
        if answering:
            counts.append(abs(len(answering) - math.fsum(weights)) / len(answering))
        known = [record["wage"] for record in answering if record["wage"] is not None]
        if known and sum(known):
            truth = math.fsum(known) / len(known)
            told = [(w, row.number) for w, row in zip(weights, rows, strict=True) if row.number is not None]
            total = math.fsum(w for w, _ in told)
            averages.append(
                abs(truth - math.fsum(w * v for w, v in told) / total) / truth if total > 1e-12 else 1.0
            )
        for mine in of_classes:
            guess = math.fsum(likely(row) for row in mine)
            right += abs(guess - sum(met(row.record) for row in mine)) <= 0.5 + 1e-9
    found = errors_of(queries, each)
    assert found[0] == (pytest.approx(np.mean(counts)) if counts else None)
    assert found[1] == (pytest.approx(np.mean(averages)) if averages else None)
    if rows:
        assert sum(int(part.sum()) for part in answer_queries(queries, each)[0]) == right


@given(releases("sets", "adaptive"))
def test_a_few_queries_at_a_time_are_the_same_as_all(each: Released) -> None:
    queries = draw_queries(each, "and", 9)
    assert queries is not None
    with pytest.MonkeyPatch.context() as patch:
        whole = [np.concatenate([part for _, part in f(queries, x)]) for f, x in both(each)]
        patch.setattr("tasks.utility.queries.PAIRS", 1)
        parts = [np.concatenate([part for _, part in f(queries, x)]) for f, x in both(each)]
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def both(each: Released) -> list[Any]:
    return [(answers, each.table), (expected, each)]


@given(releases("sets", "hierarchy"))
def test_the_cells_are_read_as_they_are_written(each: Released) -> None:
    made = recoded(each.policy, each.table, scattered(each))
    again = released(made.frame, made.records, scattered(each), each.table, each.policy)
    for row, of in enumerate(again.class_of.tolist()):
        for name in each.table.categorical_names:
            cells = again.classes.sets[name]
            wanted = read_cell(made.frame[name].iloc[row], labels_of(each.policy, name))
            covered = {v for v, inside in zip(cells.values, cells.member[of], strict=True) if inside}
            assert cells.whole[of] if wanted is None else covered == set(wanted)
        for name in each.table.numeric_names:
            ends = made.frame[[f"{name}_min", f"{name}_max"]].iloc[row].tolist()
            assert again.classes.intervals[name][of].tolist() == ends
    assert again.classes.size.sum() == len(made.frame)


def scattered(each: Released) -> np.ndarray:
    labels = np.full(each.table.n_records, -1)
    labels[each.records] = each.groups
    return labels
