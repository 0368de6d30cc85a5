"""Cells of an earlier release used again: by hand, and against one record after the other."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.gates import Limit
from policy.model import Privacy, ReleasePolicy, Reuse
from release_store.records import EquivalenceClasses, Release, ReleaseState
from release_store.summary import Summary
from services.pipeline import make_rows
from tasks.geometry.space import has_cells_of
from tasks.history.selection import by_leaves
from tasks.methods.registry import bound_method
from tasks.partitioning.constraints import constraints_of
from tasks.partitioning.placing import place_records
from tasks.recoding.equal_cells import joined_equal
from tasks.recoding.generalize import generalized
from tasks.repair.merge import repair
from tasks.reuse import EarlierCells, groups_in_cells, notes_of_reuse
from tasks.risk.attacks.inversion_columns import columns_of
from tasks.risk.attacks.occupied import occupied
from tasks.risk.registry import GATES, assess
from tasks.types import Partition, PreparedTable, no_progress
from tests.reference import reuse as reference
from tests.support.small import (
    MIXED,
    TWO_SENSITIVE,
    anonymized,
    mixed_rows,
    prepared,
    privacies,
    published,
    small_policy,
    source_of,
)

EARLIER = [
    (10, "Aix", "flu"),
    (19, "Aix", "hiv"),
    (30, "Brno", "flu"),
    (39, "Cork", "hiv"),
    (15, "Aix", "flu"),
    (45, "Aix", "hiv"),
    (60, "Brno", "flu"),
    (70, "Brno", "hiv"),
]
CELLS = [0, 0, 1, 1, 2, 2, 3, 3]
# Their cells, in the order of the published file: 10-19 Aix (0); 15-45 Aix (1); 30-39 Brno|Cork (2);
# 60-70 Brno (3).


def policy_of(others: str = "cut", **sections: Any) -> ReleasePolicy:
    method = {"name": "mondrian", "history": "blind", "reuse": {"release": "last", "others": others}}
    return small_policy(**{"method": method, **sections})


def cells_of_earlier(folder: Path, policy: ReleasePolicy) -> EquivalenceClasses:
    return published(policy, prepared(policy, EARLIER), CELLS, folder).classes


def release(name: str) -> Release:
    state = ReleaseState.PUBLISHED
    return Release(name, "small", "1", 1, "c1", state, datetime.now(UTC), {}, Summary())


def made(
    policy: ReleasePolicy, rows: list[Any], cells: EquivalenceClasses
) -> tuple[PreparedTable, Partition]:
    earlier = EarlierCells("small-1-r1", cells)
    return groups_in_cells(prepared(policy, rows), earlier, bound_method(policy), policy, no_progress)


def placed(policy: ReleasePolicy, rows: list[Any], cells: EquivalenceClasses) -> list[int]:
    table = prepared(policy, rows)
    return place_records(table, cells, policy, constraints_of(table, policy)).tolist()


def test_a_row_goes_to_the_cell_that_holds_it_and_costs_least(tmp_path: Path) -> None:
    """Age 16 in Aix lies in 10-19 and in 15-45: the narrower takes it, while it has k rows."""
    policy = policy_of()
    cells = cells_of_earlier(tmp_path / "c", policy)
    assert cells.intervals["age"].tolist() == [[10, 19], [15, 45], [30, 39], [60, 70]]
    rows = [
        *((age, "Aix", "flu") for age in (16, 12, 40, 20)),
        *((65, "Brno", "hiv"), (60, "Brno", "flu")),
        (80, "Cork", "flu"),
    ]
    assert placed(policy, rows, cells) == [0, 0, 1, 1, 3, 3, -1]


def test_a_cell_that_fails_is_given_up_and_its_rows_go_to_the_next(tmp_path: Path) -> None:
    """One row in 10-19 is no class of two: it goes to 15-45 if that holds it, else to no cell."""
    policy = policy_of()
    cells = cells_of_earlier(tmp_path / "c", policy)
    rest = [(40, "Aix", "flu"), (65, "Brno", "hiv"), (60, "Brno", "flu")]
    assert placed(policy, [(16, "Aix", "flu"), *rest], cells) == [1, 1, 3, 3]
    assert placed(policy, [(12, "Aix", "flu"), *rest], cells) == [-1, -1, 3, 3]


def test_of_equally_dear_cells_the_first_takes_a_row(tmp_path: Path) -> None:
    policy = policy_of()
    rows = [(10, "Aix", "flu"), (20, "Aix", "hiv"), (15, "Aix", "flu"), (25, "Aix", "hiv")]
    cells = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "c").classes
    assert placed(policy, [(17, "Aix", "flu"), (18, "Aix", "hiv"), (90, "Aix", "flu")], cells) == [0, 0, -1]


def test_a_class_in_one_cell_is_published_with_it_and_others_with_their_own(tmp_path: Path) -> None:
    """Rows in 10-19 are published as 10-19 even if none of them is 10 or 19."""
    policy = policy_of()
    cells = cells_of_earlier(tmp_path / "c", policy)
    rows = [(12, "Aix", "flu"), (13, "Aix", "hiv"), (80, "Aix", "flu"), (85, "Cork", "hiv")]
    table, groups = made(policy, rows, cells)
    assert groups.labels.tolist() == [0, 0, 1, 1]
    found = published(policy, table, groups, tmp_path / "d")
    assert found.classes.intervals["age"].tolist() == [[10, 19], [80, 85]]
    assert found.csv.read_text().splitlines()[1:] == [
        "10,19,Aix,flu", "10,19,Aix,hiv", "80,85,*,flu", "80,85,*,hiv",
    ]  # fmt: skip
    assert notes_of_reuse(table, groups.labels) == {"reused_classes": 1, "reused_cell_records": 2}
    told = {name: groups.notes[name] for name in ("reused_release", "reusable_cells", "records_of_no_cell")}
    assert told == {"reused_release": "small-1-r1", "reusable_cells": 4, "records_of_no_cell": 2}


def test_rows_that_are_no_class_together_join_the_nearest(tmp_path: Path) -> None:
    """One row outside all cells: its class and the nearest one are one, with the cells of their rows."""
    policy = policy_of()
    cells = cells_of_earlier(tmp_path / "c", policy)
    rows = [
        (12, "Aix", "flu"),
        (13, "Aix", "hiv"),
        (61, "Brno", "flu"),
        (66, "Brno", "hiv"),
        (71, "Brno", "flu"),
    ]
    table, groups = made(policy, rows, cells)
    found = published(policy, table, groups, tmp_path / "d").classes
    assert found.intervals["age"].tolist() == [[10, 19], [61, 71]]


def test_the_others_can_be_left_out(tmp_path: Path) -> None:
    policy = policy_of("left_out")
    cells = cells_of_earlier(tmp_path / "c", policy)
    rows = [(12, "Aix", "flu"), (13, "Aix", "hiv"), (80, "Aix", "flu"), (85, "Cork", "hiv")]
    assert made(policy, rows, cells)[1].labels.tolist() == [0, 0, -1, -1]
    assert made(policy, rows[2:], cells)[1].labels.tolist() == [-1, -1]


def test_without_an_earlier_release_the_method_makes_all_classes() -> None:
    policy = policy_of()
    table = prepared(policy, EARLIER)
    own = small_policy(method={"name": "mondrian", "history": "blind"})
    _, groups = groups_in_cells(table, None, bound_method(policy), policy, no_progress)
    assert groups.labels.tolist() == anonymized(table, own).labels.tolist()
    assert "reused_release" not in groups.notes


def test_values_that_are_new_or_gone_do_not_change_a_cell(tmp_path: Path) -> None:
    """`Brno|Cork` stays so in a table without Cork, and `*` holds a city that nobody had before."""
    policy = policy_of()
    earlier = [
        (30, "Brno", "flu"),
        (39, "Cork", "hiv"),
        (1, "Brno", "flu"),
        (2, "Cork", "flu"),
        (3, "Aix", "hiv"),
    ]
    cells = published(policy, prepared(policy, earlier), [0, 0, 1, 1, 1], tmp_path / "c").classes
    rows = [(33, "Brno", "flu"), (34, "Brno", "hiv"), (1, "Dole", "flu"), (2, "Brno", "hiv")]
    table, groups = made(policy, rows, cells)
    found = published(policy, table, groups, tmp_path / "d")
    assert found.csv.read_text().splitlines()[1:] == [
        "1,3,*,flu", "1,3,*,hiv", "30,39,Brno|Cork,flu", "30,39,Brno|Cork,hiv",
    ]  # fmt: skip


def test_an_attacker_takes_no_end_of_a_reused_cell_for_somebodys(tmp_path: Path) -> None:
    """The ends 10 and 19 were those of the earlier release; 80 and 85 are of rows of today.

    That somebody of a `*` is from Aix follows from no cell of today.
    """
    policy = policy_of()
    earlier = published(policy, prepared(policy, EARLIER), CELLS, tmp_path / "c")
    rows = [(12, "Aix", "flu"), (13, "Aix", "hiv"), (80, "Aix", "flu"), (85, "Cork", "hiv")]
    table, groups = made(policy, rows, earlier.classes)
    evidence = published(policy, table, groups, tmp_path / "d").evidence(earlier)
    assert evidence.reused.tolist() == [True, False]
    age, city = columns_of(evidence.classes, table, policy, evidence.reused)
    assert [each.column.sure[0].tolist() for each in (age, city)] == [[1, 1], []]
    told = occupied(evidence.classes, [table], policy, evidence.reused)
    assert {name for each in told for name in each.classes.tolist()} == {1}
    without = policy.model_copy(update={"method": policy.method.model_copy(update={"reuse": None})})
    assert not published(without, table, groups, tmp_path / "e").evidence(earlier).reused.any()


def test_the_inversion_gate_finds_nothing_by_the_ends_of_reused_cells(tmp_path: Path) -> None:
    """Who takes 10 and 19 for somebody's would be wrong; two of four rows of the fresh class are found."""
    limit = {"gates": {"inversion": Limit(max=1.0).model_dump()}}
    policy = policy_of(**limit)
    earlier = published(policy, prepared(policy, EARLIER), CELLS, tmp_path / "c")
    rows = [(12, "Aix", "flu"), (13, "Aix", "hiv")]
    table, groups = made(policy, rows, earlier.classes)
    evidence = published(policy, table, groups, tmp_path / "d").evidence(earlier)
    (result,) = assess(evidence, {"inversion": GATES["inversion"]}).results
    assert result.value == 0.0


def series_of(
    privacy: Privacy, recoding: str, others: str, earlier: list[Any], rows: list[Any]
) -> tuple[ReleasePolicy, EquivalenceClasses, PreparedTable]:
    """Return a policy, the cells of an earlier release by Mondrian, and the next table."""
    reuse = Reuse.model_validate({"others": others})
    policy = small_policy(MIXED, TWO_SENSITIVE, privacy=privacy.model_dump())
    method = policy.method.model_copy(update={"recoding": recoding, "history": "blind"})
    fresh = policy.model_copy(update={"method": method})
    before = prepared(fresh, earlier)
    cells = generalized(before, anonymized(before, fresh).labels, fresh)
    policy = fresh.model_copy(update={"method": method.model_copy(update={"reuse": reuse})})
    return policy, by_leaves(cells, policy), prepared(policy, rows)


RANDOM = {
    "privacy": privacies(),
    "recoding": st.sampled_from(["sets", "hierarchy"]),
    "others": st.sampled_from(["cut", "left_out"]),
    "earlier": mixed_rows(),
    "rows": mixed_rows(),
}


@given(**RANDOM)
def test_records_are_placed_as_one_after_the_other(
    privacy: Privacy, recoding: str, others: str, earlier: list[Any], rows: list[Any]
) -> None:
    policy, cells, table = series_of(privacy, recoding, others, earlier, rows)
    limits = constraints_of(table, policy)
    expected = reference.place_records(table, cells, policy, lambda i: limits.group_holds(np.array(i)))
    assert place_records(table, cells, policy, limits).tolist() == expected


@given(**RANDOM)
def test_every_class_holds_the_model_and_reused_cells_are_the_earlier_ones(
    privacy: Privacy, recoding: str, others: str, earlier: list[Any], rows: list[Any]
) -> None:
    policy, cells, table = series_of(privacy, recoding, others, earlier, rows)
    limits = constraints_of(table, policy)
    method = bound_method(policy)
    table, groups = groups_in_cells(table, EarlierCells("r1", cells), method, policy, no_progress)
    labels, everybody = groups.labels, limits.group_holds(np.arange(table.n_records))
    assert everybody == (not groups.notes["groups_that_break_the_model"]) or others == "left_out"
    for label in np.unique(labels[labels >= 0]) if everybody else ():
        assert limits.group_holds(np.flatnonzero(labels == label))
    assert table.reused is not None
    used = [table.reused.of_record[labels == label] for label in range(int(labels.max(initial=-1)) + 1)]
    alone = np.array([len({*each}) == 1 and each[0] >= 0 for each in used], dtype=bool)
    assert (others == "cut") <= (labels >= 0).all()
    if len(alone):
        classes = generalized(table, labels, policy)
        assert has_cells_of(classes, cells)[alone].all()
        for record in np.flatnonzero(labels >= 0).tolist():
            assert reference.contains(table, classes, int(labels[record]), record)


@settings(max_examples=10)
@given(privacy=privacies(), earlier=mixed_rows(8), rows=mixed_rows(8))
def test_after_the_repair_no_class_fails_beside_the_earlier_release(
    privacy: Privacy, earlier: list[Any], rows: list[Any]
) -> None:
    """Cells of merged classes are narrower than the repair took them for: it looks at them as they are."""
    policy, cells, _ = series_of(privacy, "sets", "cut", earlier, rows)
    policy = policy.model_copy(update={"method": policy.method.model_copy(update={"history": "repair"})})
    method, history = bound_method(policy), [(release("small-1-r1"), cells)]
    again = make_rows(
        source_of(policy, rows), policy, method, history, "2", None, None, lambda: EarlierCells("r1", cells)
    )
    before = [("small-1-r1", cells)]
    size = method.max_group_size
    groups = replace(again.groups, repair=None)
    found = repair(again.prepared.table, groups, policy, before, max_group_size=size)
    assert found.repair is None or (found.repair.failing_groups, found.repair.merged) == (0, 0)
    assert again.prepared.table.reused is not None


def test_known_values_are_asked_of_reused_cells_too(tmp_path: Path) -> None:
    """Brno matches the two rows of one class alone, where four are asked for."""
    models = {"km": {"k": 4, "m": 1}}
    policy = policy_of(gates={"models": models})
    cells = cells_of_earlier(tmp_path / "c", policy)
    rows = [
        *((12 + i, "Aix", "flu" if i % 2 else "hiv") for i in range(4)),
        *((61 + i, "Brno", "flu" if i % 2 else "hiv") for i in range(2)),
    ]
    table, groups = made(policy, rows, cells)
    evidence = published(policy, table, groups, tmp_path / "d").evidence()
    (result,) = assess(evidence, {"km": GATES["km"]}).results
    assert (result.verdict, evidence.classes.n_classes) == ("pass", 1)
    assert evidence.classes.intervals["age"].tolist() == [[12, 62]]


@pytest.mark.parametrize("others", ["cut", "left_out"])
def test_a_model_that_compares_with_the_table_holds_beside_what_is_published(
    others: str, tmp_path: Path
) -> None:
    models = {"t_closeness": {"max": 0.3}}
    policy = policy_of(others, gates={"models": models, "suppression": {"max": 1}})
    cells = cells_of_earlier(tmp_path / "c", policy)
    rows = [
        *((10 + i, "Aix", "flu" if i % 2 else "hiv") for i in range(8)),
        *((60 + i, "Brno", "flu") for i in range(4)),
        *((61 + i, "Brno", "hiv") for i in range(2)),
        *((90, "Cork", "hiv"), (91, "Cork", "hiv")),
    ]
    table, groups = made(policy, rows, cells)
    evidence = published(policy, table, groups, tmp_path / "d").evidence()
    (result,) = assess(evidence, {"t_closeness": GATES["t_closeness"]}).results
    assert result.verdict == "pass"
    assert evidence.n_published > 0


@pytest.mark.parametrize(("recoding", "seed"), [("hierarchy", 14), ("hierarchy", 9), ("rounded", 14)])
def test_a_first_release_joins_groups_of_equal_cells_where_households_count(
    tmp_path: Path, recoding: str, seed: int
) -> None:
    random = np.random.default_rng(seed)
    qis = {"age": {"type": "integer", "bounds": [0, 100], "widths": [50]}}
    method = {"name": "mondrian", "history": "blind", "reuse": {"release": "last"}}
    method |= {"ends": "rounded"} if recoding == "rounded" else {"recoding": "hierarchy"}
    policy = small_policy(
        qis,
        roles={"household": "home"},
        privacy={"k": 3, "p_max": 0.7},
        method=method,
        gates={"ncp": {"max": 1}},
    )
    rows = [
        (f"h{random.integers(40)}", int(random.integers(101)), "aabc"[random.integers(4)]) for _ in range(60)
    ]
    table, found = groups_in_cells(prepared(policy, rows), None, bound_method(policy), policy, no_progress)
    limits = constraints_of(table, policy)
    joined = joined_equal(table, found.labels, policy)
    assert joined is found.labels
    assert all(limits.group_holds(np.flatnonzero(joined == n)) for n in range(found.n_groups))


def test_the_order_of_the_rows_says_nothing_of_the_classes(tmp_path: Path) -> None:
    """Rows that no cell takes, and that break t-closeness together, join the same groups in any order."""
    random = np.random.default_rng(3)
    policy = policy_of(gates={"models": {"t_closeness": {"max": 0.3}}, "worlds": {"unfollowed": "accept"}})

    def row(low: int, high: int, ills: str) -> tuple[int, str, str]:
        return int(random.integers(low, high)), "ABCD"[random.integers(4)], ills[random.integers(len(ills))]

    first = [row(20, 81, "pqrs") for _ in range(60)]
    later = [*first[:57], *(row(0, 101, "pq") for _ in range(12))]
    earlier = prepared(policy, first)
    cells = published(policy, earlier, anonymized(earlier, policy), tmp_path / "first").classes
    seen = set()
    for n in range(6):
        order = random.permutation(len(later)) if n else np.arange(len(later))
        rows = [later[i] for i in order]
        table, found = made(policy, rows, cells)
        assert found.notes["records_of_no_cell"]
        one = published(policy, table, found, tmp_path / str(n))
        seen.add("\n".join(sorted(one.csv.read_text().splitlines())))
    assert len(seen) == 1


def test_cells_that_are_used_again_cannot_grow() -> None:
    with pytest.raises(PolicyError, match="history_in_growth makes all classes anew"):
        small_policy(method={"name": "lhd", "reuse": {}, "parameters": {"history_in_growth": True}})
