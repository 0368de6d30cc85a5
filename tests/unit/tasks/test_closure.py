"""Ranges of ordered values, prefixes of codes and labels: by hand, and as closures."""

from __future__ import annotations

import json
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import InputError
from policy.model import ReleasePolicy
from release_store.records import Verdict
from tasks.intake.read import read_table
from tasks.preprocessing.prepare import prepare
from tasks.recoding.closure import closure_of, covers_of, ranges_of
from tasks.recoding.generalize import generalized, generalized_rows
from tasks.recoding.labels import labels_of, read_cell
from tasks.risk.published import read_classes
from tasks.risk.registry import assess
from tasks.validation.check import raise_if_failed, validate
from tests.support.small import ILLNESS, anonymized, prepared, published, small_policy

SIZES = ("none", "small", "middle", "large", "huge")
COLUMNS: dict[str, Any] = {
    "size": {"type": "ordinal", "values": list(SIZES)},
    "code": {"type": "code", "values": ["E10", "E11", "E20", "J45"], "prefixes": [2, 1]},
    "born": {"type": "date", "bounds": [1990, 2005]},
    "city": {"type": "categorical", "hierarchy": {"north": ["Riga", "Oslo"], "south": ["Bari", "Nice"]}},
}
NAMES = tuple(COLUMNS)


def policy_with(recoding: str = "hierarchy", **sections: Any) -> ReleasePolicy:
    method = {"name": "mondrian", "recoding": recoding, "history": "repair"}
    return small_policy(COLUMNS, ILLNESS, **{"method": method, **sections})


ROWS = [
    ("small", "E10", "1991", "Riga", "flu"),
    ("large", "E11", "1994", "Oslo", "hiv"),
    ("none", "E10", "1990", "Bari", "flu"),
    ("none", "E20", "1990", "Riga", "hiv"),
    (None, "E11", None, None, "flu"),
    ("huge", "E10", "2005", "Nice", "hiv"),
]


def cells_of(policy: ReleasePolicy, rows: list[Any], labels: list[int]) -> list[list[str]]:
    frame = generalized_rows(prepared(policy, rows), np.array(labels), policy).frame
    return sorted(frame[list(NAMES)].astype(str).drop_duplicates().to_numpy().tolist())


def test_cells_are_ranges_prefixes_and_nodes_by_hand() -> None:
    assert cells_of(policy_with(), ROWS, [0, 0, 1, 1, 2, 2]) == [
        ["huge|missing", "E1*", "2005|missing", "Nice|missing"],
        ["none", "E*", "1990", "*"],
        ["small..large", "E1*", "1991..1994", "north"],
    ]


def test_without_a_hierarchy_asked_for_only_nominal_values_are_free_sets() -> None:
    assert cells_of(policy_with("sets"), ROWS, [0, 0, 1, 1, 2, 2]) == [
        ["huge|missing", "E1*", "2005|missing", "Nice|missing"],
        ["none", "E*", "1990", "Bari|Riga"],
        ["small..large", "E1*", "1991..1994", "Oslo|Riga"],
    ]


def test_all_values_are_the_whole_and_so_is_a_missing_one_beside_them() -> None:
    rows = [
        ("none", "E10", "1990", "Riga", "flu"),
        ("huge", "J45", "2005", "Bari", "hiv"),
        (None,) * 4 + ("x",),
    ]
    assert cells_of(policy_with(), rows, [0, 0, 0]) == [["*", "*", "*", "*"]]
    assert cells_of(policy_with(), rows, [0, 0, 1]) == [["*", "*", "*", "*"], ["missing"] * 4]


def test_a_node_is_written_as_its_values_if_its_name_is_taken() -> None:
    tree = {
        "Riga": ["Riga", "Oslo"],
        "south": {"sea": ["Bari"], "more": ["Nice", "Rome"]},
        "missing?": ["a", "b"],
    }
    columns = {"city": {"type": "categorical", "hierarchy": tree}}
    policy = small_policy(columns, ILLNESS, method={"name": "mondrian", "recoding": "hierarchy"})
    labels = labels_of(policy, "city")
    assert labels is not None
    assert labels.nodes == {
        "south": ("Bari", "Nice", "Rome"),
        "sea": ("Bari",),
        "more": ("Nice", "Rome"),
        "missing?": ("a", "b"),
    }
    assert labels.written(["Oslo", "Riga"]) == ["Oslo", "Riga"]
    assert labels.written(["Bari"]) == ["Bari"]  # a value, although `sea` has no other
    assert labels.written(["Nice", "Rome", "missing"]) == ["more", "missing"]
    assert labels.written(["Bari", "Nice"]) == ["Bari", "Nice"]  # no node: a cell of an earlier release


def test_a_set_that_is_no_range_is_written_as_its_runs() -> None:
    labels = labels_of(policy_with(), "size")
    assert labels is not None
    assert labels.written(["none", "small", "large", "missing"]) == ["none..small", "large", "missing"]
    assert read_cell("large|missing|none..small", labels) == ("large", "missing", "none", "small")
    assert read_cell("none..nothing", labels) == ("none..nothing",)
    assert read_cell("*", labels) is None


@pytest.mark.parametrize("name", NAMES)
def test_closing_is_a_closure(name: str) -> None:
    """It holds the set, closes a closed set no more and a larger set no less: all sets of five values."""
    policy = policy_with()
    allowed = policy.roles.categorical[name].allowed
    assert allowed is not None
    given_values = (*allowed[:4], "missing")
    closure = closure_of(policy, name, given_values)
    assert closure is not None
    member = np.array([[bool(i >> v & 1) for v in range(5)] for i in range(1, 32)])
    closed, whole = closure.closed(closure.among_all(member))
    assert (closed | ~closure.among_all(member)).all()
    again, whole_again = closure.closed(closed)
    assert (again == closed).all()
    assert (whole_again | ~whole).all()
    for i, j in combinations(range(31), 2):
        if not (member[i] & ~member[j]).any():
            assert not (closed[i] & ~closed[j]).any()
    assert closed[whole].all()


@given(st.sets(st.sampled_from((*SIZES, "missing")), min_size=1))
def test_a_range_is_the_shortest_that_holds_its_values(chosen: set[str]) -> None:
    given_values = ("missing", "large", "none", "huge", "middle")
    ranges = ranges_of(SIZES, given_values)
    member = np.array([[value in chosen for value in ranges.values]])
    closed, whole = ranges.closed(member)
    found = {value for value, inside in zip(ranges.values, closed[0], strict=True) if inside}
    places = [SIZES.index(value) for value in chosen - {"missing"}]
    expected = set(SIZES[min(places) : max(places) + 1]) if places else set()
    if expected == set(SIZES):
        assert whole[0]
        assert found == {*SIZES, "missing"}
    else:
        assert not whole[0]
        assert found == expected | (chosen & {"missing"})


def test_where_all_cells_have_one_level_a_missing_value_has_the_root_alone() -> None:
    tree = small_policy({"city": COLUMNS["city"]}, ILLNESS).roles.categorical["city"].tree
    member = np.array([[True, False, False, False, True]])
    values = ("Riga", "Oslo", "Bari", "Nice", "missing")
    assert covers_of(tree, values).closed(member)[1].tolist() == [True]
    assert covers_of(tree, values, missing="missing").closed(member)[1].tolist() == [False]


CELLS = st.tuples(
    st.sampled_from([*SIZES, None]),
    st.sampled_from(["E10", "E11", "E20", "J45", None]),
    st.sampled_from([*map(str, range(1990, 2006)), None]),
    st.sampled_from(["Riga", "Oslo", "Bari", "Nice", None]),
    st.sampled_from(["flu", "hiv"]),
)


@pytest.mark.integration
@given(st.lists(CELLS, min_size=4, max_size=24), st.sampled_from(["sets", "hierarchy"]), st.data())
def test_a_release_is_read_as_it_was_meant_and_passes(rows: list[Any], recoding: str, data: Any) -> None:
    """With method and repair: what is read back is what was made, every cell true, and the gates agree."""
    score = data.draw(st.sampled_from(["widest", "ncp"]))
    method = {"name": "mondrian", "recoding": recoding, "history": "repair", "parameters": {"score": score}}
    policy = policy_with(method=method)
    table = prepared(policy, rows)
    partition = anonymized(table, policy)
    with tempfile.TemporaryDirectory() as folder:
        made = published(policy, table, partition, Path(folder) / "c")
        meant = generalized(table, partition.labels, policy)
        read = made.classes
        assert read.size.sum() == meant.size.sum()

        def seen(classes: Any) -> set[Any]:
            return {
                tuple(
                    "*"
                    if cells.whole[i]
                    else frozenset(np.array(cells.values, dtype=object)[cells.member[i]])
                    for cells in (classes.sets[name] for name in NAMES)
                )
                for i in range(len(classes.size))
            }

        assert seen(read) == seen(meant)
        labels = np.full(len(rows), -1)
        labels[made.rows.records] = np.arange(len(made.rows.records))
        for record, row in enumerate(rows):
            if labels[record] < 0:
                continue
            for name, value in zip(NAMES, row, strict=False):
                cell = made.rows.frame[name].iloc[labels[record]]
                values = read_cell(str(cell), labels_of(policy, name))
                assert values is None or (value or "missing") in values
        verdicts = {r.gate: r.verdict for r in assess(made.evidence()).results}
        assert verdicts["k"] is Verdict.PASS
        assert verdicts["truth"] is Verdict.PASS if "truth" in verdicts else True


DAYS_FIRST = {"born": ["%d.%m.%Y", "%d-%m-%Y"]}


def test_dates_codes_and_others_are_read_from_a_file(tmp_path: Path) -> None:
    columns = {
        "born": {
            "type": "date",
            "bounds": ["1990-01", "1991-12"],
            "resolution": "quarter",
        },
        "zip": {"type": "code", "values": ["10", "20"], "length": 2, "prefixes": [1], "others": "other"},
        "city": {"type": "categorical", "values": ["Riga"], "others": "elsewhere"},
    }
    policy = small_policy(columns, ILLNESS, source={"missing": ["", "?"], "dates": DAYS_FIRST})
    file = tmp_path / "t.csv"
    file.write_text(
        "born,zip,city,illness\n1.5.1990,1012,Riga,flu\n12.12.1991,2099,Oslo,hiv\n?,3000,,flu\n"
        "01-02-1990,1,Riga,hiv\n",
        encoding="utf-8",
    )
    table = prepare(read_table(policy, input_path=file, period="1", base=tmp_path), policy)
    read = {
        name: [table.domains[name][code] for code in table.codes[:, column]]
        for column, name in enumerate(table.categorical_names)
    }
    assert read == {
        "born": ["1990Q2", "1991Q4", "missing", "1990Q1"],
        "zip": ["10", "20", "other", "other"],
        "city": ["Riga", "elsewhere", "missing", "Riga"],
    }


def test_a_date_out_of_bounds_and_a_text_that_is_none_refuse_the_table(tmp_path: Path) -> None:
    policy = small_policy({"born": COLUMNS["born"]}, ILLNESS)
    file = tmp_path / "t.csv"
    file.write_text("born,illness\n1991-01-01,flu\n1980-01-01,flu\nyesterday,hiv\n", encoding="utf-8")
    source = read_table(policy, input_path=file, period="1", base=tmp_path)
    with pytest.raises(InputError, match="born"):
        raise_if_failed(validate(source, policy, None), "t.csv")


def test_classes_of_staged_rows_are_read_by_their_labels(tmp_path: Path) -> None:
    policy = policy_with()
    made = published(policy, prepared(policy, ROWS), [0, 0, 1, 1, 2, 2], tmp_path / "c")
    classes = read_classes(tmp_path / "c" / "data.parquet", policy)
    city = classes.sets["city"]
    named = [
        frozenset(np.array(city.values, dtype=object)[member]) if not whole else "*"
        for member, whole in zip(city.member, city.whole, strict=True)
    ]
    assert set(named) == {frozenset({"Nice", "missing"}), "*", frozenset({"Riga", "Oslo"})}
    assert made.classes.n_classes == 3


def test_the_data_package_says_what_the_labels_in_cells_stand_for(tmp_path: Path) -> None:
    policy = policy_with()
    published(policy, prepared(policy, ROWS), [0, 0, 1, 1, 2, 2], tmp_path / "c")
    fields = fields_of(tmp_path / "c")
    assert fields["size"]["order"] == ["none", "small", "middle", "large", "huge"]
    assert fields["born"]["order"] == ["1990", "1991", "1992", "1993", "1994", "2005"]
    assert fields["code"]["nodes"] == {"E*": ["E10", "E11", "E20"], "E1*": ["E10", "E11"]}
    assert fields["city"]["nodes"] == {"north": ["Riga", "Oslo"]}  # nothing of nodes in no cell
    assert fields["city"]["recoding"].startswith("a value, or the node")
    sets = policy_with("sets")
    published(sets, prepared(sets, ROWS), [0, 0, 1, 1, 2, 2], tmp_path / "s")
    city = fields_of(tmp_path / "s")["city"]
    assert "nodes" not in city
    assert city["recoding"].startswith("set of the equivalence class's values")


def fields_of(folder: Path) -> dict[str, Any]:
    """Return the fields of a staged table's data package, by name."""
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    return {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
