from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import StoreError, VerificationFailed
from release_store.db import connection
from release_store.db.classes import classes_digest, delete_classes, read_classes, write_classes
from release_store.records import EquivalenceClasses, SetCells
from release_store.store import ReleaseStore
from tests.support.store.hand_made import approved, classes_of_two, publish_one


@pytest.fixture(scope="module")
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute(connection.migrations()[1][1])
        yield opened


def assert_same(one: EquivalenceClasses, other: EquivalenceClasses) -> None:
    assert one.size.dtype == other.size.dtype
    np.testing.assert_array_equal(one.size, other.size)
    assert list(one.intervals) == list(other.intervals)
    for name, bounds in one.intervals.items():
        np.testing.assert_array_equal(bounds, other.intervals[name])
    assert list(one.sets) == list(other.sets)
    for name, cells in one.sets.items():
        assert cells.values == other.sets[name].values
        np.testing.assert_array_equal(cells.member, other.sets[name].member)
        np.testing.assert_array_equal(cells.whole, other.sets[name].whole)
    assert one.sensitive_values == other.sensitive_values
    assert list(one.counts) == list(other.counts)
    for name, counts in one.counts.items():
        np.testing.assert_array_equal(counts, other.counts[name])


names = st.lists(st.text(max_size=5), unique=True, max_size=3)


@st.composite
def equivalence_classes(draw: st.DrawFn) -> EquivalenceClasses:
    n = draw(st.integers(1, 5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    bounds = st.floats(width=64)
    intervals = {
        name: np.array(draw(st.lists(st.tuples(bounds, bounds), min_size=n, max_size=n)))
        for name in draw(names)
    }
    sets = {}
    for name in draw(names):
        values = tuple(draw(names))
        sets[name] = SetCells(values, random.random((n, len(values))) < 0.5, random.random(n) < 0.5)
    sensitive = {name: tuple(draw(names)) for name in draw(names)}
    counts = {name: random.integers(0, 3, (n, len(values))) for name, values in sensitive.items()}
    return EquivalenceClasses(random.integers(1, 2**40, n), intervals, sets, sensitive, counts)


@given(equivalence_classes(), equivalence_classes())
def test_classes_come_back_as_they_were_written(
    con: duckdb.DuckDBPyConnection, classes: EquivalenceClasses, others: EquivalenceClasses
) -> None:
    write_classes(con, "mine", classes)
    write_classes(con, "others", others)
    assert_same(read_classes(con, "mine"), classes)
    assert classes_digest(read_classes(con, "mine")) == classes_digest(classes)
    write_classes(con, "mine", others)
    assert_same(read_classes(con, "mine"), others)


def test_every_number_and_name_of_the_classes_is_in_their_digest() -> None:
    classes = classes_of_two()
    sex = classes.sets["sex"]
    changed = [
        dataclasses.replace(classes, size=np.array([3, 5])),
        dataclasses.replace(classes, intervals={"age": np.array([[20.0, 29.0], [30.0, 44.0]])}),
        dataclasses.replace(classes, intervals={"years": classes.intervals["age"]}),
        dataclasses.replace(classes, sets={"sex": SetCells(("f", "x"), sex.member, sex.whole)}),
        dataclasses.replace(classes, sets={"sex": SetCells(sex.values, ~sex.member, sex.whole)}),
        dataclasses.replace(classes, sets={"sex": SetCells(sex.values, sex.member, ~sex.whole)}),
        dataclasses.replace(classes, counts={"disease": np.array([[2, 1], [0, 4]])}),
        dataclasses.replace(classes, sensitive_values={"disease": ("flu", "cold")}),
    ]
    assert len({classes_digest(one) for one in [classes, *changed]}) == len(changed) + 1


@pytest.mark.parametrize(
    "changed",
    [
        {"size": np.array([], dtype=np.int64)},
        {"intervals": {"age": np.zeros((2, 3))}},
        {"sets": {"sex": SetCells(("f",), np.zeros((1, 1), dtype=bool), np.zeros(1, dtype=bool))}},
        {"counts": {}},
        {"counts": {"disease": np.array([[-1, 2], [0, 4]])}},
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(con: duckdb.DuckDBPyConnection, changed: dict) -> None:
    with pytest.raises(StoreError, match="are inconsistent"):
        write_classes(con, "mine", dataclasses.replace(classes_of_two(), **changed))


def test_classes_that_are_not_kept_are_not_taken_for_none(con: duckdb.DuckDBPyConnection) -> None:
    write_classes(con, "mine", classes_of_two())
    delete_classes(con, "mine")
    with pytest.raises(StoreError, match="not kept"):
        read_classes(con, "mine")
    write_classes(con, "mine", classes_of_two())
    con.execute("DELETE FROM class_size WHERE class = 1")
    with pytest.raises(StoreError, match="are inconsistent"):
        read_classes(con, "mine")


def test_the_classes_of_earlier_releases_are_read_oldest_first(store: ReleaseStore) -> None:
    for period in ("2025", "2024"):
        publish_one(store, approved(store, period=period))
    earlier = store.earlier_classes("clinic")
    assert [release.period for release, _ in earlier] == ["2025", "2024"]
    for release, classes in earlier:
        assert_same(classes, classes_of_two())
        assert_same(store.classes(release.release_id), classes)
    assert store.earlier_classes("other") == []


@pytest.mark.parametrize("n", [500, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_many_classes_are_written_and_read(tmp_path: Path, n: int) -> None:
    """Ten thousand in a moment."""
    random = np.random.default_rng(1)
    cells = SetCells(
        tuple(f"value {v}" for v in range(40)), random.random((n, 40)) < 0.3, random.random(n) < 0.1
    )
    classes = EquivalenceClasses(
        random.integers(2, 9, n),
        {f"number {i}": np.sort(random.random((n, 2)), axis=1) for i in range(3)},
        {f"category {i}": cells for i in range(4)},
        {"disease": ("a", "b", "c")},
        {"disease": random.integers(0, 3, (n, 3))},
    )
    with duckdb.connect(str(tmp_path / "file.duckdb")) as con:
        con.execute(connection.migrations()[1][1])
        began = time.process_time()
        write_classes(con, "mine", classes)
        written = time.process_time()
        found = read_classes(con, "mine")
        read = time.process_time()
    assert_same(found, classes)
    if n == 10_000:
        assert written - began < 2
        assert read - written < 1


def test_earlier_classes_that_are_not_those_that_were_judged_are_refused(store: ReleaseStore) -> None:
    release = publish_one(store, approved(store, period="2025"))
    with duckdb.connect(str(store.root / "history.duckdb")) as con:
        con.execute("UPDATE class_size SET size = size + 1 WHERE candidate_id = ?", [release.candidate_id])
    with pytest.raises(VerificationFailed, match="its equivalence classes in the history") as caught:
        store.earlier_classes("clinic")
    assert caught.value.exit_code == 6


def test_an_earlier_release_whose_file_changed_is_refused(store: ReleaseStore) -> None:
    release = publish_one(store, approved(store, period="2025"))
    file = store.root / "releases" / "clinic" / release.release_id / "manifest.json"
    file.chmod(0o644)
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(VerificationFailed, match=r"manifest\.json"):
        store.earlier_classes("clinic")


def test_a_release_that_was_taken_out_of_the_history_is_missed(store: ReleaseStore) -> None:
    release = publish_one(store, approved(store, period="2025"))
    with duckdb.connect(str(store.root / "history.duckdb")) as con:
        con.execute("DROP TRIGGER release_file_keeps_deletes ON release_file")
        con.execute("DELETE FROM release_file")
        con.execute("DELETE FROM release")
    with pytest.raises(VerificationFailed, match=f"the log has {release.release_id}"):
        store.earlier_classes("clinic")
    assert store.earlier_classes("other") == []


def test_cells_in_place_of_values_are_kept_as_such(con: duckdb.DuckDBPyConnection) -> None:
    classes = classes_of_two()
    name, *_ = classes.intervals
    category, *_ = classes.sets
    replaced = dataclasses.replace(classes, replaced=frozenset({name, category}))
    write_classes(con, "replaced", replaced)
    found = read_classes(con, "replaced")
    assert_same(found, replaced)
    assert found.replaced == {name, category}
    assert classes_digest(found) == classes_digest(replaced) != classes_digest(classes)
    delete_classes(con, "replaced")
