"""What knowing the method gives away: cases by hand, and a slow attacker that tries every tuple."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release_store.records import GateResult, Verdict
from tasks.risk.attacks.inversion import Column, predictions, recovered, tie_order
from tasks.risk.attacks.inversion_columns import columns_of
from tasks.risk.gates.inversion import NO_RECORDS, class_of_records, inverted
from tasks.risk.registry import GATES, assess
from tasks.staging.people import people_of
from tests.support.small import Published, anonymized, prepared, published, small_policy, source_of

AGE = {"age": {"type": "integer", "bounds": [0, 100]}}
AGE_AND_SEX = {**AGE, "sex": {"type": "categorical", "values": ["f", "m"]}}
CITIES = {
    "north": {"coast": ["Riga", "Oslo"], "inland": ["Lund"]},
    "south": {"sea": ["Bari", "Nice", "Cadiz"]},
}
ASKED = {"gates": {"inversion": {"max": 0.05}}}


def made(
    tmp_path: Path, columns: dict[str, Any], rows: list[Any], labels: list[int], **sections: Any
) -> Published:
    policy = small_policy(columns, **{**ASKED, **sections})
    return published(policy, prepared(policy, rows), labels, tmp_path / "c")


def asked(evidence: Any) -> GateResult:
    (result,) = assess(evidence, {"inversion": GATES["inversion"]}).results
    return result


def certain_of(result: GateResult) -> dict[str, int]:
    """How many values of each column are certain."""
    return {name: each["certain"] for name, each in result.witness["columns"].items()}


def ill(rows: list[Any]) -> list[Any]:
    """The rows with two illnesses by turns."""
    return [(*row, "ab"[i % 2]) for i, row in enumerate(rows)]


# By hand


def test_two_records_at_two_ends_are_recovered_and_the_control_must_guess(tmp_path: Path) -> None:
    # [30, 40] of two people: both are known. The control has eleven ages to choose two from.
    result = asked(made(tmp_path, AGE, ill([(30,), (40,)]), [0, 0]).evidence())
    assert (result.verdict, result.value, result.threshold) == (Verdict.FAIL, 1.0, 0.05)
    found = {"certain": 2, "recovered": 2, "control": 0}
    assert result.witness == {"records": 2, "classes": 1, **found, "columns": {"age": found}}
    said = "100.0%, 2 for certain, control 0.0%"
    assert result.detail == (
        f"exact quasi-identifiers of {said}; of age alone {said}. "
        "The control does not know which values are attained"
    )


def test_a_class_of_one_tuple_is_no_merit_of_the_method(tmp_path: Path) -> None:
    result = asked(made(tmp_path, AGE, ill([(30,), (30,), (50,), (50,)]), [0, 0, 1, 1]).evidence())
    assert (result.verdict, result.value) == (Verdict.PASS, 0.0)
    assert (result.witness["recovered"], result.witness["control"]) == (4, 4)
    assert certain_of(result) == {"age": 4}


def test_ends_that_are_rounded_are_nobodys(tmp_path: Path) -> None:
    rows = ill([(30,), (43,), (51,), (68,)])
    sharp = asked(made(tmp_path / "sharp", AGE, rows, [0, 0, 1, 1]).evidence())
    method = {"name": "mondrian", "ends": "rounded"}
    result = asked(made(tmp_path / "rounded", AGE, rows, [0, 0, 1, 1], method=method).evidence())
    assert (sharp.witness["recovered"], sharp.verdict) == (4, Verdict.FAIL)
    assert (result.value, result.verdict) == (0.0, Verdict.PASS)
    assert certain_of(result) == {"age": 0}


def test_a_set_has_somebody_of_each_value(tmp_path: Path) -> None:
    rows = ill([(30, "f"), (30, "m"), (30, "m")])
    result = asked(made(tmp_path, AGE_AND_SEX, rows, [0, 0, 0]).evidence())
    # One f and one m for certain; the third is guessed, by equal chances: f comes first.
    assert result.witness["certain"] == 2
    assert result.witness["recovered"] == 2
    assert certain_of(result) == {"age": 3, "sex": 2}


def test_with_two_columns_of_several_values_nothing_is_certain(tmp_path: Path) -> None:
    rows = ill([(30, "f"), (40, "m")])
    result = asked(made(tmp_path, AGE_AND_SEX, rows, [0, 0]).evidence())
    assert result.witness["certain"] == 0
    assert certain_of(result) == {"age": 2, "sex": 2}


def test_every_value_of_the_source_is_in_a_cell_that_is_the_whole(tmp_path: Path) -> None:
    # The m of the second class stands in `*` alone; the policy lists it.
    rows = ill([(30, "f"), (30, "f"), (31, "f"), (31, "m")])
    result = asked(made(tmp_path / "listed", AGE_AND_SEX, rows, [0, 0, 1, 1]).evidence())
    assert (result.witness["certain"], result.witness["recovered"]) == (4, 4)
    columns = {**AGE, "sex": {"type": "categorical"}}
    result = asked(made(tmp_path / "not", columns, rows, [0, 0, 1, 1]).evidence())
    assert (result.witness["certain"], result.witness["recovered"]) == (3, 3)


def test_a_node_of_two_leaves_has_both_and_one_of_three_need_not(tmp_path: Path) -> None:
    import yaml

    from tests.support.small import policy_of, policy_text

    columns = {"city": {"type": "categorical", "hierarchy": CITIES}}
    text = policy_text(columns, method={"name": "mondrian", "recoding": "hierarchy"}, **ASKED)
    policy = policy_of(yaml.safe_dump(yaml.safe_load(text), sort_keys=False))
    rows = ill([("Riga",), ("Oslo",), ("Bari",), ("Nice",)])
    found = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "c")
    result = asked(found.evidence())
    # coast is Riga and Oslo: two children, two people. Of sea's three, some two are taken.
    assert certain_of(result) == {"city": 2}
    assert result.witness["certain"] == 2
    rows = ill([("Riga",), ("Lund",)])
    found = published(policy, prepared(policy, rows), [0, 0], tmp_path / "north")
    # north is coast and inland, and inland is Lund alone.
    assert certain_of(asked(found.evidence())) == {"city": 1}


@pytest.mark.parametrize(
    ("ends", "rows", "known"),
    [
        ("attained", [(20,), (21,)], 2),  # 20 to 21 is a width: two numbers, both taken
        ("attained", [(21,), (22,)], 0),  # 20 to 25: some two of three parts
        ("rounded", [(20,), (21,)], 0),
        ("attained", [(20,), (20,)], 2),
        ("rounded", [(20,), (20,)], 0),
    ],
)
def test_an_interval_of_two_numbers_has_both(tmp_path: Path, ends: str, rows: list[Any], known: int) -> None:
    columns = {"age": {"type": "integer", "bounds": [0, 99], "widths": [2, 6]}}
    method = {"name": "mondrian", "recoding": "hierarchy", "ends": ends}
    result = asked(made(tmp_path, columns, ill(rows), [0, 0], method=method).evidence())
    assert certain_of(result) == {"age": known}


def test_the_last_step_of_a_grid_may_be_one_number(tmp_path: Path) -> None:
    method = {"name": "mondrian", "ends": "rounded"}
    # The step is 5 and the upper bound 100: who is in the step from 100 is 100.
    result = asked(made(tmp_path, AGE, ill([(93,), (100,)]), [0, 0], method=method).evidence())
    assert certain_of(result) == {"age": 1}
    assert result.witness["certain"] == 1


def test_a_missing_number_is_not_recovered(tmp_path: Path) -> None:
    result = asked(made(tmp_path, AGE, ill([(30,), (None,)]), [0, 0]).evidence())
    assert result.witness["recovered"] == 1


def test_the_bounds_of_a_class_without_a_number_are_nobodys(tmp_path: Path) -> None:
    missing = {"expectations": {"missing": 1}}
    rows = ill([(None,), (None,), (30,), (40,)])
    policy = small_policy(AGE, **missing, **ASKED)
    one = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "c")
    assert asked(one.evidence()).witness["certain"] == 2
    never = small_policy(AGE, expectations={"missing": 0}, **ASKED)
    all_known = ill([(0,), (AGE["age"]["bounds"][1],)])
    known = published(never, prepared(never, all_known), [0, 0], tmp_path / "d")
    assert asked(known.evidence()).witness["certain"] == 2


def test_what_was_replaced_is_not_inverted_and_blocks(tmp_path: Path) -> None:
    rows = ill([(30,), (40,)])
    method = {"name": "mondrian", "recoding": "median"}
    result = asked(made(tmp_path, AGE, rows, [0, 0], method=method).evidence())
    assert result.verdict is Verdict.UNKNOWN
    assert "recoding: median writes values" in result.detail


def test_it_is_asked_where_the_policy_asks_and_passes_at_its_limit(tmp_path: Path) -> None:
    rows = ill([(30,), (40,)])
    plain = made(tmp_path / "plain", AGE, rows, [0, 0], gates={})
    assert "inversion" not in {result.gate for result in assess(plain.evidence()).results}
    loose = made(tmp_path / "loose", AGE, rows, [0, 0], gates={"inversion": {"max": 1}})
    assert asked(loose.evidence()).verdict is Verdict.PASS
    without = replace(loose.evidence(), table=None, recorded_rows=2)
    assert asked(without).verdict is Verdict.NOT_RUN


def test_nobody_published_is_unknown(tmp_path: Path) -> None:
    assert asked(made(tmp_path, AGE, ill([(30,), (40,)]), [-1, -1]).evidence()).verdict is Verdict.UNKNOWN


def test_without_the_runs_records_classes_must_not_overlap(tmp_path: Path) -> None:
    apart = made(tmp_path / "apart", AGE, ill([(30,), (40,), (60,), (70,)]), [0, 0, 1, 1]).evidence()
    assert asked(replace(apart, row_records=None)).witness == asked(apart).witness
    over = made(tmp_path / "over", AGE, ill([(30,), (60,), (40,), (70,)]), [0, 0, 1, 1]).evidence()
    assert asked(over).verdict is Verdict.FAIL
    unknown = asked(replace(over, row_records=None))
    assert (unknown.verdict, unknown.detail) == (Verdict.NOT_RUN, NO_RECORDS)
    # A record that was left out but lies in a class's cells leaves open whose the rows are.
    out = made(tmp_path / "out", AGE, ill([(30,), (40,), (35,)]), [0, 0, -1]).evidence()
    assert asked(replace(out, row_records=None)).verdict is Verdict.NOT_RUN


def test_where_people_have_a_key_their_hashes_say_who_is_in_which_class(tmp_path: Path) -> None:
    key, rows = b"k" * 32, [(f"p{i}", age, "ab"[i % 2]) for i, age in enumerate((30, 60, 40, 70, 35))]
    policy = small_policy(AGE, roles={"key": "person"}, **ASKED)
    one = published(policy, prepared(policy, rows), [0, 0, 1, 1, -1], tmp_path / "c")
    of_run = one.evidence()
    people = people_of(source_of(policy, rows), class_of_records(of_run), policy, key)
    later = replace(of_run, row_records=None, people=people, key=key)
    assert asked(later).witness == asked(of_run).witness
    assert asked(replace(later, key=b"l" * 32)).verdict is Verdict.NOT_RUN
    assert people is not None
    other = replace(people, classes=(0,) * len(people.hashes))
    assert asked(replace(later, people=other)).verdict is Verdict.ERROR


def test_records_of_other_rows_break_the_gate(tmp_path: Path) -> None:
    evidence = made(tmp_path, AGE, ill([(30,), (40,), (60,), (70,)]), [0, 0, 1, 1]).evidence()
    assert evidence.row_records is not None
    swapped = replace(evidence, row_records=evidence.row_records[::-1].copy())
    assert asked(swapped).verdict is Verdict.ERROR


def test_the_witness_names_nobody_and_shows_no_value(tmp_path: Path) -> None:
    rows = ill([(31, "f"), (47, "m"), (59, "f"), (83, "m")])
    result = asked(made(tmp_path, AGE_AND_SEX, rows, [0, 0, 1, 1]).evidence())
    assert set(result.witness) == {"records", "classes", "recovered", "certain", "control", "columns"}
    assert set(result.witness["columns"]) == {"age", "sex"}
    told = json.dumps(result.witness) + result.detail
    assert not any(f'"{value}"' in told for value in ("f", "m", "a", "b"))
    assert not any(str(value) in told for value in (31, 47, 59, 83))


# Beside a slow attacker


def slow(columns: list[Any], size: int, weights: list[dict[Any, float]], *, knows: bool) -> Counter[Any]:
    """The predictions of one class: every tuple is looked at. `columns` are (values, sure values)."""
    several = [i for i, (values, _) in enumerate(columns) if len(values) > 1]
    shares, draws = [], []
    for (values, attained), weight in zip(columns, weights, strict=True):
        total = sum(weight[v] for v in values)
        drawn = {v: weight[v] / total if total else 1 / len(values) for v in values}
        sure = [v for v in attained if knows and len(values) > 1]
        rest = max(size - len(sure), 0)
        shares.append({v: ((v in sure) + rest * drawn[v]) / max(size, len(sure)) for v in values})
        draws.append(drawn)
    named: Counter[Any] = Counter()
    if len(several) == 1 and knows:
        for one in product(*(values for values, _ in columns)):
            if one[several[0]] in columns[several[0]][1]:
                named[one] += 1
        shares = draws
    n = size - sum(named.values())
    gains = []
    chances = {
        one: round(float(np.prod([share[v] for share, v in zip(shares, one, strict=True)])), 12)
        for one in product(*(values for values, _ in columns))
    }
    order = [{v: place for place, v in enumerate(tie_order(len(weight)).tolist())} for weight in weights]

    def first(each: tuple[Any, float]) -> Any:
        return -each[1], [place[v] for place, v in zip(order, each[0], strict=True)]

    for rank, (one, p) in enumerate(sorted(chances.items(), key=first)):
        for i in range(1, n + 1):
            at_least = sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(i, n + 1))
            gains.append((-round(at_least, 12), rank, i, one))
    named.update(one for gain, _, _, one in sorted(gains)[:n] if gain < 0)
    return named


@st.composite
def releases(draw: st.DrawFn) -> tuple[list[Column], np.ndarray]:
    n_classes = draw(st.integers(1, 3))
    sizes = np.array(draw(st.lists(st.integers(2, 5), min_size=n_classes, max_size=n_classes)))
    columns = []
    for number in range(draw(st.integers(1, 3))):
        n_values = draw(st.integers(1, 4))
        first = np.array([draw(st.integers(0, n_values - 1)) for _ in range(n_classes)])
        last = np.array([draw(st.integers(int(one), n_values - 1)) for one in first])
        pairs = [
            (c, v)
            for c in range(n_classes)
            for v in range(int(first[c]), int(last[c]) + 1)
            if draw(st.booleans()) and v - first[c] < sizes[c]
        ]
        sure = tuple(np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
        ends = {"first": first, "last": last}
        if draw(st.booleans()):
            values = np.arange(n_values)
            ends = {"member": (values >= first[:, None]) & (values <= last[:, None])}
        columns.append(Column(f"c{number}", n_values, sure, **ends))
    return columns, sizes


@given(releases(), st.booleans())
def test_predictions_are_those_of_an_attacker_who_looks_at_every_tuple(
    release: tuple[list[Column], np.ndarray], knows: bool
) -> None:
    columns, sizes = release
    found = predictions(columns, sizes, knows_ends=knows)
    cells, weights = [], []
    for column in columns:
        inside = column.member
        if inside is None:
            values = np.arange(column.n_values)
            inside = (values >= column.first[:, None]) & (values <= column.last[:, None])
        sure = [[v for k, v in zip(*column.sure, strict=True) if k == c] for c in range(len(sizes))]
        weight = dict.fromkeys(range(column.n_values), 0.0)
        cells.append([(np.flatnonzero(row).tolist(), sure[c]) for c, row in enumerate(inside)])
        for (values, attained), size in zip(cells[-1], sizes.tolist(), strict=True):
            named = attained if knows and len(values) > 1 else []
            for v in values:
                weight[v] += (v in named) + max(size - len(named), 0) / len(values)
        weights.append({v: round(w, 9) for v, w in weight.items()})
    for c, size in enumerate(sizes.tolist()):
        mine: Counter[Any] = Counter()
        for row in np.flatnonzero(found.owner == c):
            mine[tuple(found.codes[row].tolist())] += int(found.copies[row])
        assert mine == slow([each[c] for each in cells], size, weights, knows=knows)
        assert sum(mine.values()) <= size


PEOPLE = st.lists(
    st.tuples(
        st.integers(0, 9) | st.none(),
        st.sampled_from("fm"),
        st.sampled_from(["Riga", "Oslo", "Lund", "Bari", "Nice"]),
    ),
    min_size=2,
    max_size=12,
).filter(lambda rows: any(age is not None for age, *_ in rows))
METHODS = [
    {"name": "mondrian", "recoding": recoding, "ends": ends}
    for recoding in ("sets", "hierarchy")
    for ends in ("attained", "rounded")
]


@given(PEOPLE, st.sampled_from(METHODS), st.sampled_from([[], [2, 4], [3]]))
def test_what_is_certain_is_right_and_shares_are_shares(
    rows: list[Any], method: dict[str, Any], widths: list[int]
) -> None:
    import tempfile

    columns = {
        "age": {"type": "integer", "bounds": [0, 9], "widths": widths},
        "sex": {"type": "categorical"},
        "city": {"type": "categorical", "hierarchy": CITIES},
    }
    policy = small_policy(columns, method=method, **ASKED)
    table = prepared(policy, ill(rows))
    with tempfile.TemporaryDirectory() as name:
        one = published(policy, table, anonymized(table, policy), Path(name) / "c")
        evidence = one.evidence()
        class_of = class_of_records(evidence)
        truths = columns_of(one.classes, table, policy)
    if not one.classes.n_classes:
        return
    found = inverted(one.classes, truths, class_of)
    n_missing = sum(age is None for age, *_ in rows)  # has no exact quasi-identifiers to be recovered
    for count in (found.whole, *found.columns.values()):
        assert 0 <= count.certain <= count.recovered + n_missing
        assert count.recovered <= found.records
        assert 0 <= count.control <= found.records


def test_predictions_are_counted_as_often_as_there_are_records() -> None:
    found = predictions(
        [Column("c", 2, (np.array([0, 0]), np.array([0, 1])), first=np.array([0]), last=np.array([1]))],
        np.array([3]),
        knows_ends=True,
    )
    assert sorted(zip(found.codes[:, 0].tolist(), found.copies.tolist(), strict=True)) == [(0, 2), (1, 1)]
    for truth, expected in (([0, 0, 1], 3), ([0, 1, 1], 2), ([-1, 0, 0], 2)):
        assert recovered(found, np.zeros(3, dtype=np.int64), np.array(truth)[:, None]) == expected


def test_the_most_frequent_values_and_the_attained_ones_are_named_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = np.arange(20)
    pairs = (np.concatenate([np.arange(10)] * 2), np.concatenate([ends[::2], ends[1::2]]))
    column = Column("c", 20, pairs, first=ends[::2], last=ends[1::2])
    whole = predictions([column], np.full(10, 2), knows_ends=True)
    monkeypatch.setattr("tasks.risk.attacks.inversion.MOST_VALUES", 3)
    few = predictions([column], np.full(10, 2), knows_ends=True)
    truth = (np.repeat(np.arange(10), 2), ends[:, None])
    assert recovered(whole, *truth) == recovered(few, *truth) == 20
