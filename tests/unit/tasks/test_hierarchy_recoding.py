"""Cells closed up to a hierarchy: by hand, and held against the definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError
from policy.hierarchy import ROOT, Hierarchy, checked, read_csv_hierarchy
from policy.load import parse_policy
from policy.roles import NumericQuasiIdentifier
from release_store.records import Verdict
from tasks.geometry.space import boxes_of, space_of
from tasks.recoding.closure import covers_of
from tasks.recoding.generalize import generalized, generalized_rows
from tasks.recoding.intervals import covering_intervals, interval_levels
from tasks.repair.closing import closing_of
from tasks.repair.groups import groups_of
from tasks.repair.merge import repair
from tasks.risk.registry import assess
from tests.support.small import ILLNESS, anonymized, prepared, published, small_policy

CITIES = {"north": {"east": ["Riga", "Oslo"], "west": ["Cork"]}, "south": {"sea": ["Bari", "Nice"]}}
COLUMNS = {
    "age": {"type": "integer", "bounds": [0, 99], "widths": [5, 10, 50]},
    "city": {"type": "categorical", "hierarchy": CITIES},
}


def policy_with(tmp: Path, **sections: Any) -> Any:
    import yaml

    from tests.support.small import policy_text

    text = yaml.safe_load(policy_text(COLUMNS, ILLNESS, **sections))
    return parse_policy(yaml.safe_dump(text, sort_keys=False), tmp / "policy.yaml")


@pytest.mark.parametrize(
    ("interval", "level", "cell"),
    [
        ((23, 23), 0, (23, 23)),
        ((20, 24), 1, (20, 24)),
        ((23, 25), 2, (20, 29)),
        ((29, 30), 3, (0, 49)),
        ((49, 50), 4, (0, 99)),
        ((95, 99), 1, (95, 99)),
    ],
)
def test_integers_go_up_to_the_narrowest_width_that_holds_them(
    interval: tuple[float, float], level: int, cell: tuple[float, float]
) -> None:
    age = NumericQuasiIdentifier(type="integer", bounds=(0, 99), widths=(5, 10, 50))
    assert interval_levels(np.array([interval], dtype=float), age).tolist() == [level]
    assert covering_intervals(np.array([interval], dtype=float), age).tolist() == [list(cell)]


def test_numbers_are_cut_at_their_widths_and_the_last_interval_at_the_upper_bound() -> None:
    wage = NumericQuasiIdentifier(type="numeric", bounds=(1, 8), widths=(2.5,))
    cells = covering_intervals(np.array([[1.0, 3.4], [3.4, 3.6], [6.1, 8.0], [8.0, 8.0]]), wage)
    assert cells.tolist() == [[1, 3.5], [1, 8], [6, 8], [8, 8]]


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1, max_size=20),
    st.sampled_from([(1.0,), (3.0, 6.0), (0.5, 1.5, 4.5), ()]),
    st.booleans(),
)
def test_an_interval_holds_what_it_covers_and_none_narrower_does(
    ends: list[tuple[int, int]], widths: tuple[float, ...], whole: bool
) -> None:
    if whole and any(width != int(width) for width in widths):
        return
    scale = 1 if whole else 8
    qi = NumericQuasiIdentifier(
        type="integer" if whole else "numeric", bounds=(0, 400 / scale), widths=widths
    )
    intervals = np.array([sorted(pair) for pair in ends], dtype=float) / scale
    found = covering_intervals(intervals, qi)
    assert (found[:, 0] <= intervals[:, 0]).all()
    assert (intervals[:, 1] <= found[:, 1]).all()
    for (low, high), level in zip(intervals, interval_levels(intervals, qi), strict=True):
        fits = [low == high, *(low // width == high // width for width in widths), True]
        assert level == fits.index(True)


TREES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=2, max_size=6).map(
    lambda made: checked([(f"leaf{i}", f"{top}{mid}", top, ROOT) for i, (top, mid) in enumerate(made)])
)


@given(TREES, st.data())
def test_a_set_goes_up_to_the_lowest_node_that_covers_it(tree: Hierarchy, data: st.DataObject) -> None:
    given_values = data.draw(st.permutations(tree.leaves)).copy()[
        : data.draw(st.integers(1, len(tree.leaves)))
    ]
    covers = covers_of(tree, tuple(given_values))
    assert set(covers.values) == set(tree.leaves)
    chosen = data.draw(st.sets(st.sampled_from(given_values), min_size=1))
    member = np.array([[value in chosen for value in given_values]])
    (marks,), (whole,) = covers.closed(covers.among_all(member))
    paths = {path[0]: path for path in tree.paths}
    for level in range(4):
        nodes = {paths[value][level] for value in chosen}
        if len(nodes) == 1:
            (node,) = nodes
            expected = {leaf for leaf, path in paths.items() if path[level] == node}
            assert {v for v, m in zip(covers.values, marks, strict=True) if m} == expected
            assert whole == (level == 3 and len(tree.leaves) > 1)
            return
    raise AssertionError("the root covers everything")


def test_branches_of_different_length_and_values_that_the_hierarchy_lacks() -> None:
    tree = checked([("a", "A", "top", "*"), ("b", "A", "top", "*"), ("c", "top", "*"), ("d", "*")])
    covers = covers_of(tree, ("a", "b", "c", "d", "missing"))
    sets = {
        ("a", "b"): ("a", "b"),
        ("c",): ("c",),
        ("d",): ("d",),
        ("missing",): ("missing",),
        ("a", "c"): ("a", "b", "c"),
        ("d", "missing"): None,
        ("a", "d"): None,
    }
    for chosen, expected in sets.items():
        marks, whole = covers.closed(np.array([[value in chosen for value in covers.values]]))
        told = None if whole[0] else tuple(v for v, m in zip(covers.values, marks[0], strict=True) if m)
        assert told == expected


def test_a_node_of_one_name_on_two_levels_is_two_nodes() -> None:
    tree = checked([("x", "x", "up", "*"), ("y", "z", "up", "*"), ("z", "x", "up", "*")])
    covers = covers_of(tree, ("x", "y", "z"))
    marks, _ = covers.closed(np.array([[True, False, True]]))
    assert marks.tolist() == [[True, False, True]]


def test_published_cells_are_leaves_of_a_node_those_that_nobody_has_too(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, method={"name": "mondrian", "recoding": "hierarchy"})
    table = prepared(policy, [(23, "Oslo", "a"), (25, "Cork", "b"), (60, "Bari", "a"), (61, "Bari", "b")])
    frame = generalized_rows(table, np.array([0, 0, 1, 1]), policy).frame
    assert frame[["age_min", "age_max", "city"]].drop_duplicates().to_numpy().tolist() == [
        [20, 29, "north"],
        [60, 64, "Bari"],
    ]
    frame = generalized_rows(table, np.array([0, 1, 1, 0]), policy).frame
    assert set(frame["city"]) == {"*"}
    sets = policy.model_copy(update={"method": policy.method.model_copy(update={"recoding": "sets"})})
    frame = generalized_rows(table, np.array([0, 0, 1, 1]), sets).frame
    assert set(frame["city"]) == {"Cork|Oslo", "Bari"}


@pytest.mark.integration
@given(
    st.lists(
        st.tuples(
            st.integers(0, 99), st.sampled_from(["Riga", "Oslo", "Cork", "Bari", None]), st.sampled_from("ab")
        ),
        min_size=2,
        max_size=24,
    )
)
def test_a_closed_release_is_true_and_its_classes_hold(rows: list[Any]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        policy = policy_with(Path(name), method={"name": "mondrian", "recoding": "hierarchy"})
        table = prepared(policy, rows)
        made = published(policy, table, anonymized(table, policy), Path(name) / "c")
        verdicts = {r.gate: r.verdict for r in assess(made.evidence()).results}
    assert verdicts["truth"] is Verdict.PASS
    assert verdicts["k"] is Verdict.PASS
    assert verdicts["files"] is Verdict.PASS


def test_merged_groups_have_the_cells_that_they_are_published_with(tmp_path: Path) -> None:
    rows = [(23, "Oslo", "a"), (25, "Cork", "b"), (60, "Bari", "a"), (61, "Nice", "b"), (24, "Riga", "a")]
    for recoding in ("hierarchy", "sets"):
        policy = policy_with(tmp_path, method={"name": "mondrian", "recoding": recoding})
        table = prepared(policy, rows)
        labels = np.arange(5)
        classes = generalized(table, labels, policy)
        space = space_of([classes], table)
        groups = groups_of(labels, classes, space, closing_of(policy, table, space))
        for one, other in ((0, 4), (0, 1), (2, 3), (0, 2)):
            merged = groups.merged(one, np.array([other]))
            together = np.full(5, -1)
            together[[one, other]] = 0
            expected = boxes_of(generalized(table, together, policy), space)
            assert merged.low.tolist() == expected.low.tolist()
            assert merged.high.tolist() == expected.high.tolist()
            for mine, theirs in zip(merged.member, expected.member, strict=True):
                assert mine.tolist() == theirs.tolist()
            assert merged.whole.tolist() == expected.whole.tolist()


def test_a_repair_of_closed_cells_passes_the_gate(tmp_path: Path) -> None:
    policy = policy_with(
        tmp_path,
        method={"name": "mondrian", "recoding": "hierarchy"},
        privacy={"k": 2, "l": 2},
    )
    draw = np.random.default_rng(4)
    cities = ["Riga", "Oslo", "Cork", "Bari", "Nice"]
    rows = [
        (int(draw.integers(0, 99)), cities[draw.integers(5)], "abcd"[draw.integers(4)]) for _ in range(80)
    ]
    first_table = prepared(policy, rows)
    first = published(policy, first_table, anonymized(first_table, policy), tmp_path / "first")
    table = prepared(policy, [*rows[10:], *[(age, city, "d") for age, city, _ in rows[:6]]])
    blind = anonymized(table, policy)
    earlier = [("release-1", first.classes)]
    found = repair(table, blind, policy, earlier, max_group_size=6)
    before = published(policy, table, blind, tmp_path / "blind")
    after = published(policy, table, found, tmp_path / "after")
    verdicts = {
        name: {r.gate: r.verdict for r in assess(made.evidence(first)).results}
        for name, made in (("before", before), ("after", after))
    }
    assert verdicts["before"]["pairwise"] is Verdict.FAIL
    assert verdicts["after"]["pairwise"] is Verdict.PASS
    assert verdicts["after"]["whole_history"] is Verdict.PASS


def test_a_hierarchy_of_any_number_of_columns_is_read(tmp_path: Path) -> None:
    for columns in range(1, 7):
        levels = [[f"v{i}", *(f"n{level}" for level in range(columns - 1))] for i in range(3)]
        (tmp_path / "h.csv").write_text("\n".join(";".join(row) for row in levels) + "\n")
        found = read_csv_hierarchy(tmp_path / "h.csv")
        assert found.leaves == ("v0", "v1", "v2")
        assert all(len(path) == columns + 1 for path in found.paths)


@pytest.mark.parametrize(
    ("widths", "words"),
    [
        ([10, 5], "ascend"),
        ([5, 12], "each a multiple"),
        ([2.5], "whole numbers"),
        ([0], "greater than 0"),
    ],
)
def test_widths_that_make_no_hierarchy_are_refused(widths: list[float], words: str) -> None:
    columns = {"age": {"type": "integer", "bounds": [0, 99], "widths": widths}}
    with pytest.raises(PolicyError, match=words):
        small_policy(columns, ILLNESS)
