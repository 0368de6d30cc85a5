"""Large tables cut into fragments: each record in one, each able to hold the model, whatever the order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.model import ReleasePolicy
from tasks.composition import Fragment, decide, fragments_of, in_this_process
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.fragments import fragments
from tasks.types import FloatArray, IntArray, Partition, PreparedTable, Progress, Representation, no_progress
from tests.support.small import Rows, prepared, small_policy

CITIES = ("Aachen", "Bonn", "Celle", "Dresden")
ILLNESSES = ("asthma", "flu", "gout")
LARGE = 2_500


def cut(table: PreparedTable, policy: ReleasePolicy, most: int) -> list[IntArray]:
    return fragments(table, constraints_of(table, policy), most)


def large_rows(seed: int = 0) -> list[tuple[float, str, str]]:
    """People of whom nearly all differ."""
    draw = np.random.default_rng(seed)
    ages, cities = draw.uniform(0, 120, LARGE).round(3), draw.choice(CITIES, LARGE)
    return list(zip(ages.tolist(), cities.tolist(), draw.choice(ILLNESSES, LARGE).tolist(), strict=True))


def large_policy(method: str = "mondrian", **parameters: object) -> ReleasePolicy:
    ages = {"age": {"type": "numeric", "bounds": [0, 120]}, "city": {"type": "categorical"}}
    return small_policy(ages, method={"name": method, "parameters": {"fragment_size": 1000, **parameters}})


def test_a_table_is_cut_at_the_median_of_what_narrows_it_most() -> None:
    policy = small_policy()
    rows: Rows = [(age, "Bonn", ILLNESSES[age % 2]) for age in (8, 1, 7, 2, 6, 3, 5, 4)]
    found = cut(prepared(policy, rows), policy, 4)
    assert [part.tolist() for part in found] == [[1, 3, 5, 7], [0, 2, 4, 6]]


def test_few_distinct_records_are_one_fragment_however_many_rows_they_are() -> None:
    policy = small_policy()
    rows: Rows = [(age % 2, "Bonn", "flu") for age in range(40)]
    assert [len(part) for part in cut(prepared(policy, rows), policy, 4)] == [40]


def test_few_distinct_records_of_very_many_rows_are_cut_by_their_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tasks.partitioning.fragments.MOST_RECORDS", 25)
    policy = small_policy()
    rows: Rows = [(age % 2, "Bonn", "flu") for age in range(40)]
    found = cut(prepared(policy, rows), policy, 4)
    assert [part.tolist() for part in found] == [[*range(0, 40, 2)], [*range(1, 40, 2)]]


def test_the_attributes_of_a_table_of_fragments_are_computed_when_they_are_asked_for() -> None:
    asked: list[int] = []

    def points() -> FloatArray:
        asked.append(1)
        return np.arange(8.0).reshape(4, 2)

    where = Representation(points, of_method=False)
    assert not asked
    assert where.take(np.array([2, 0])).latent.tolist() == [[4.0, 5.0], [0.0, 1.0]]


def test_a_side_that_cannot_hold_the_model_is_no_fragment() -> None:
    policy = small_policy(privacy={"e": 2})
    rows: Rows = [(age, "Bonn", "flu" if age < 5 else "gout") for age in range(10)]  # no cut by age
    assert [len(part) for part in cut(prepared(policy, rows), policy, 4)] == [10]


row = st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.sampled_from(CITIES), st.sampled_from(ILLNESSES))


@given(st.lists(row, min_size=4, max_size=60), st.integers(2, 10), st.integers(1, 3), st.randoms())
def test_fragments_are_a_partition_that_holds_the_model_in_any_order(
    rows: list[tuple[int | None, str, str]], most: int, e: int, random: object
) -> None:
    rows[0] = (3, *rows[0][1:])  # one number is known
    policy = small_policy(privacy={"e": e})
    table = prepared(policy, rows)
    constraints = constraints_of(table, policy)
    found = fragments(table, constraints, most)
    assert sorted(np.concatenate(found).tolist()) == list(range(len(rows)))
    if len(found) > 1:
        assert all(constraints.group_holds(part) for part in found)
        assert len(set(rows)) > most
    where = {rows[record]: number for number, part in enumerate(found) for record in part.tolist()}
    assert all(where[rows[record]] == number for number, part in enumerate(found) for record in part.tolist())
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    again = fragments(prepared(policy, mixed), constraints_of(prepared(policy, mixed), policy), most)
    assert [sorted(map(repr, (mixed[i] for i in part))) for part in again] == [
        sorted(map(repr, (rows[i] for i in part))) for part in found
    ]


def test_a_fragment_is_decided_as_a_table_of_its_own_and_tells_no_identifier() -> None:
    policy = large_policy()
    table = prepared(policy, large_rows())
    seen: list[Fragment] = []

    def engine(
        work: object, each: Iterator[Fragment], number: int, progress: Progress
    ) -> Iterator[Partition]:
        def watched(fragment: Fragment) -> Partition:
            seen.append(fragment)
            return decide(fragment)

        assert work is decide
        return in_this_process(watched, each, number, progress)

    found = fragments_of(table, bound_method(policy), policy, engine, no_progress)
    assert found is not None
    parts = cut(table, policy, 1000)
    assert len(parts) == len(seen) == found.notes["fragments"] > 1
    begun = 0
    for part, fragment in zip(parts, seen, strict=True):
        assert fragment.table.frame.shape == (len(part), 0)
        assert (fragment.table.identifying, fragment.table.draw_key) == (None, b"")
        alone = decide(Fragment(table.take(part), policy))
        assert (found.labels[part] - begun).tolist() == alone.labels.tolist()
        begun += alone.n_groups
    assert found.n_groups == begun == found.notes["groups"]
    constraints = constraints_of(table, policy)
    assert all(constraints.group_holds(np.flatnonzero(found.labels == group)) for group in range(begun))


def test_notes_on_the_size_of_groups_are_those_of_the_whole_table() -> None:
    policy = large_policy(max_group_size=10).model_copy(
        update={"gates": small_policy(gates={"models": {"t_closeness": {"max": 0.3}}}).gates}
    )
    table = prepared(policy, large_rows())
    found = fragments_of(table, bound_method(policy), policy, in_this_process, no_progress)
    assert found is not None
    sizes = np.bincount(found.labels[found.labels >= 0])
    assert found.notes["groups_over_max_group_size"] == (sizes > 10).sum() > 0


def test_a_table_of_few_distinct_records_is_decided_whole() -> None:
    policy = large_policy()
    rows: Rows = [(age % 7, "Bonn", ILLNESSES[age % 3]) for age in range(LARGE)]
    table = prepared(policy, rows)
    assert fragments_of(table, bound_method(policy), policy, in_this_process, no_progress) is None


def test_what_is_no_partition_of_the_fragment_is_refused() -> None:
    policy = large_policy()
    table = prepared(policy, large_rows())

    def engine(
        _work: object, each: Iterator[Fragment], _number: int, _progress: Progress
    ) -> Iterator[Partition]:
        return (Partition(np.zeros(fragment.table.n_records + 1, dtype=np.int64)) for fragment in each)

    with pytest.raises(ValueError, match="other records"):
        fragments_of(table, bound_method(policy), policy, engine, no_progress)
