"""A table that is read as its different rows: the same findings, records, release and gates."""

from __future__ import annotations

import csv
import io
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from expectations.suite import LastRelease
from policy.errors import InputError
from policy.model import ReleasePolicy
from release_store.records import Verdict
from services.pipeline import make_rows
from services.source import needs_no_rows
from tasks.intake import frame, lengths
from tasks.intake.read import read_table
from tasks.methods.registry import bound_method
from tasks.preprocessing.prepare import prepare
from tasks.preprocessing.reduction import all_rows, rows_of_records
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.record_classes import record_classes
from tasks.risk.registry import assess
from tasks.staging import stage as staging
from tasks.staging.stage import stage
from tasks.types import SourceTable
from tasks.validation.check import validate
from tasks.validation.feasible import feasible
from tasks.validation.hierarchies import lacking
from tests.support.small import small_policy

QIS: dict[str, Any] = {
    "age": {"type": "integer", "bounds": [0, 120]},
    "city": {"type": "categorical", "hierarchy": {"North": ["Hull", "York"], "South": ["Bath", "Ely"]}},
}
SENSITIVE: dict[str, Any] = {
    "illness": {"stability": "stable"},
    "score": {"type": "numeric", "stability": "stable"},
}
NAMES = ("age", "city", "illness", "score")
AGES, CITIES = ("30", "30.0", " 3e1", "40", "55", ""), ("Hull", "York", "Bath", "Ely", "")
ILLNESSES, SCORES = ("flu", "gout", "hiv", ""), ("1", "-0", "0", "2.50", "2.5", "")


@pytest.fixture(autouse=True)
def of_small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 20 rows tell whether a table has few different ones."""
    monkeypatch.setattr(frame, "FIRST_ROWS", 20)


def policy_of(**sections: Any) -> ReleasePolicy:
    chosen = {"privacy": {"k": 3, "e": 1}, "expectations": {"missing": 1}, **sections}
    return small_policy(QIS, SENSITIVE, **{"source": {"missing": [""]}, **chosen})


def text_of(rows: list[tuple[str, ...]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows([NAMES, *rows])
    return written.getvalue()


def read_both(folder: Path, text: str, policy: ReleasePolicy) -> tuple[SourceTable, SourceTable]:
    """The table as its different rows, and as all of them."""
    file = folder / "table.csv"
    file.write_text(text, encoding="utf-8")

    def read(*, distinct: bool) -> SourceTable:
        return read_table(policy, input_path=file, period="1", base=folder, distinct=distinct)

    return read(distinct=True), read(distinct=False)


def rows_in(table: SourceTable) -> Counter[tuple[str, ...]]:
    times = np.ones(len(table.frame), dtype=int) if table.rows is None else table.rows
    found: Counter[tuple[str, ...]] = Counter()
    for row, n in zip(table.frame.astype(object).itertuples(index=False), times, strict=True):
        found[tuple(str(cell + 0.0 if isinstance(cell, float) else cell) for cell in row)] += int(n)
    return found


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Rows of which at least half repeat; numbers are written in several ways."""
    seed = draw(st.integers(0, 100_000))
    random = np.random.default_rng(seed)
    kinds = [
        tuple(str(random.choice(values)) for values in (AGES, CITIES, ILLNESSES, SCORES))
        for _ in range(draw(st.integers(2, 10)))
    ]
    return text_of([kinds[i] for i in random.integers(0, len(kinds), draw(st.integers(20, 90)))])


several = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.integration
@several
@given(texts())
def test_the_same_rows_findings_and_records(tmp_path: Path, text: str) -> None:
    policy = policy_of(expectations={"missing": 0.1, "missing_in": {"age": 0.3}, "rows": {"min": 50}})
    few, every = read_both(tmp_path, text, policy)
    assert few.rows is not None
    assert every.rows is None
    assert (few.n_rows, rows_in(few)) == (every.n_rows, rows_in(every))
    assert few.digest == every.digest
    last = LastRelease(60, {"illness": {"flu": 40, "gout": 10, "missing": 10}})
    drifting = policy.model_copy(
        update={"expectations": policy.expectations.model_copy(update={"sensitive_drift": 0.2})}
    )
    assert validate(few, drifting, last) == validate(every, drifting, last)
    assert feasible(few, policy) == feasible(every, policy)
    outside = small_policy(
        {**QIS, "city": {"type": "categorical", "hierarchy": {"North": ["Hull"]}}}, SENSITIVE
    )
    assert lacking(few, outside) == lacking(every, outside)
    assume(not pd.isna(every.frame["age"]).all())
    table, plain = prepare(few, policy), prepare(every, policy)
    assert table.rows is not None
    assert table.n_rows == plain.n_records
    if plain.reduction is not None:
        records = plain.reduction.table
        assert np.array_equal(table.numeric, records.numeric, equal_nan=True)
        assert np.array_equal(table.codes, records.codes)
        assert np.array_equal(table.sensitive, records.sensitive)
        assert np.array_equal(table.rows, records.rows)
        assert table.sensitive_values == records.sensitive_values
        assert table.domains == records.domains


@pytest.mark.integration
@several
@given(texts())
def test_all_rows_are_those_of_the_records(tmp_path: Path, text: str) -> None:
    policy = policy_of()
    few, every = read_both(tmp_path, text.replace("\n,", "\n30,"), policy)
    table, plain = prepare(few, policy), prepare(every, policy)
    rows = all_rows(table)
    assert rows.rows is None
    assert all_rows(rows) is rows
    assert rows.reduction is not None
    assert table.rows is not None
    places = np.arange(rows.n_records)
    assert np.array_equal(rows_of_records(table.rows, np.arange(table.n_records)), places)
    some = np.arange(table.n_records)[::-2]
    assert np.array_equal(
        rows.reduction.of_row[rows_of_records(table.rows, some)], some.repeat(table.rows[some])
    )
    for one, other in ((rows.codes, plain.codes), (rows.sensitive, plain.sensitive)):
        assert sorted(map(tuple, one.tolist())) == sorted(map(tuple, other.tolist()))


GATES: dict[str, Any] = {
    "err": {"max": 1},
    "umr": {"max": 1},
    "forced": {"max": 1},
    "inversion": {"max": 1},
    "sadr": {"max": 1},
    "pr_dr": {"max": 1},
    "k_map": {"k": 4},
    "suppression": {"max": 1},
    "ncp": {"max": 1},
}


@pytest.mark.parametrize(
    ("method", "recoding"),
    [("mondrian", "sets"), ("mondrian", "hierarchy"), ("full-domain", "full-domain")],
)
def test_the_same_files_and_gates(method: str, recoding: str, tmp_path: Path) -> None:
    policy = policy_of(
        method={"name": method, "recoding": recoding},
        gates=GATES,
        linkage={"ext_frac": [1.0], "seeds": 2, "sampling_fraction": 0.5, "errors": 0},
    )
    random = np.random.default_rng(4)
    kinds = [(a, c, i, s) for a in AGES[:5] for c in CITIES for i in ILLNESSES for s in SCORES[:3]]
    text = text_of([kinds[i] for i in (len(kinds) * random.random(2_000) ** 4).astype(int)])
    files, results = [], []
    for number, source in enumerate(read_both(tmp_path, text, policy)):
        made = make_rows(source, policy, bound_method(policy), [], "1")
        folder = tmp_path / f"files {number}"
        candidate = stage(
            made.rows, policy, candidate_id="c", period="1", folder=folder, n_source=source.n_rows
        )
        assert candidate.n_published == made.rows.n_rows == len(made.rows.frame)
        assert len(made.rows.of_rows) == made.rows.n_rows
        files.append([(folder / name).read_bytes() for name in sorted(candidate.files)])
        classes = read_classes(folder / "data.parquet", policy)
        evidence = Evidence(
            policy, made.table, classes, folder, candidate.files, [], row_records=made.rows.records
        )
        own = record_classes(evidence)
        assert own is not None
        assert (own >= 0).sum() == candidate.n_published
        results.append([replace(one, seconds=0.0) for one in assess(evidence).results])
    assert made.table.rows is None
    assert files[0] == files[1]
    for one, other in zip(*results, strict=True):
        assert one.verdict is Verdict.PASS, one
        assert (one.gate, one.verdict, one.detail) == (other.gate, other.verdict, other.detail)
        assert one.value == pytest.approx(other.value)


def test_rows_that_stand_for_many_are_written_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_of()
    rows = (
        [("30", "Hull", "flu", "1")] * 40 + [("50", "Ely", "gout", "2")] * 7 + [("50", "Ely", "flu", "2")] * 8
    )
    source = read_both(tmp_path, text_of(rows), policy)[0]
    files = []
    for number, most in enumerate((1_024, 8, 7, 1)):
        monkeypatch.setattr(staging, "MOST_TIMES", most)
        made = make_rows(source, policy, bound_method(policy), [], "1")
        folder = tmp_path / str(number)
        stage(made.rows, policy, candidate_id="c", period="1", folder=folder, n_source=55)
        files.append(
            [(folder / name).read_bytes() for name in ("data.csv", "data.parquet", "datapackage.json")]
        )
    assert files[0] == files[1] == files[2] == files[3]
    assert files[0][0].count(b"\n") == 56  # data.csv


def test_the_tables_with_errors_are_those_of_the_rows(tmp_path: Path) -> None:
    """Rows are drawn by their numbers, of which each different row has as many as it stands for."""
    policy = policy_of(gates={"umr": {"max": 1}}, linkage={"ext_frac": [0.5], "seeds": 3, "errors": 0.3})
    rows = [("30", "Hull", "flu", "1")] * 30 + [("50", "Ely", "gout", "2")] * 10
    found = []
    for source in read_both(tmp_path, text_of(rows), policy):
        table = prepare(source, policy)
        whole = table if table.rows is None else all_rows(table)
        classes = _classes(policy, tmp_path, source)
        evidence = [Evidence(policy, each, classes, tmp_path, {}, []) for each in (table, whole)]
        for one, other in zip(*(each.external for each in evidence), strict=True):
            assert one.kind == other.kind
            for f, drawn in one.draws.items():
                for mine, theirs in zip(drawn, other.draws[f], strict=True):
                    assert np.array_equal(one.links.only[mine], other.links.only[theirs])
        found.append(evidence[0].external[1].right)
    assert found[0] is not None


def _classes(policy: ReleasePolicy, folder: Path, source: SourceTable) -> Any:
    made = make_rows(source, policy, bound_method(policy), [], "1")
    name = folder / f"classes {source.rows is None}"
    stage(made.rows, policy, candidate_id="c", period="1", folder=name, n_source=source.n_rows)
    return read_classes(name / "data.parquet", policy)


def test_rows_of_several_files_and_formats_are_counted_together(tmp_path: Path) -> None:
    policy = policy_of()
    rows = [("30", "Hull", "flu", "1")] * 15 + [("40", "Ely", "gout", "2")] * 15
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(text_of(rows), encoding="utf-8")
    both = policy.model_copy(update={"source": policy.source.model_copy(update={"path": ("a.csv", "b.csv")})})
    source = read_table(both, input_path=None, period="1", base=tmp_path, distinct=True)
    assert source.rows is not None
    assert (source.rows.tolist(), source.n_rows) == ([15, 15, 15, 15], 60)
    assert prepare(source, policy).rows.tolist() == [30, 30]
    file = tmp_path / "table.parquet"
    duckdb.sql(
        "SELECT 30 + 0 * i AS age, 'Hull' AS city, 'flu' AS illness, "
        "CASE WHEN i % 3 = 0 THEN 'nan'::DOUBLE WHEN i % 3 = 1 THEN NULL ELSE -0.0 END AS score "
        "FROM range(30) AS t(i)"
    ).write_parquet(str(file))
    source = read_table(policy, input_path=file, period="1", base=tmp_path, distinct=True)
    assert source.n_rows == 30
    table = prepare(source, policy)
    assert table.rows is not None
    assert table.rows.tolist() == [10, 20]  # a number that is none is missing
    assert table.sensitive_values["score"] == ("0", "missing")


def test_tables_whose_rows_differ_are_read_row_by_row(tmp_path: Path) -> None:
    rows = [(str(20 + i % 60), "Hull", "flu", "1") for i in range(40)]
    assert read_both(tmp_path, text_of(rows), policy_of())[0].rows is None
    assert read_both(tmp_path, text_of([("30", "Hull", "flu", "1")] * 19), policy_of())[0].rows is None


def test_the_order_of_the_rows_changes_nothing(tmp_path: Path) -> None:
    policy = policy_of()
    rows = [("30", "Hull", "flu", "1"), ("40", "Ely", "gout", "2"), ("", "Ely", "gout", "-0")] * 20
    one, other = (read_both(tmp_path, text_of(each), policy)[0] for each in (rows, rows[::-1]))
    assert one.frame.astype(str).equals(other.frame.astype(str))
    assert np.array_equal(one.rows, other.rows)


def test_limits_of_all_rows_and_of_different_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of([("30", "Hull", "flu", "1"), ("40", "Ely", "gout", "2"), ("50", "Ely", "flu", "3")] * 20)
    monkeypatch.setattr(lengths, "MOST_ROWS", 3)
    monkeypatch.setattr(lengths, "MOST_REPEATED_ROWS", 60)
    file = tmp_path / "table.csv"
    file.write_text(text, encoding="utf-8")
    read = {"input_path": file, "period": "1", "base": tmp_path, "distinct": True}
    assert read_table(policy_of(), **read).n_rows == 60
    monkeypatch.setattr(lengths, "MOST_REPEATED_ROWS", 59)
    with pytest.raises(InputError, match="more than 59 rows"):
        read_table(policy_of(), **read)
    monkeypatch.setattr(lengths, "MOST_REPEATED_ROWS", 60)
    monkeypatch.setattr(lengths, "MOST_ROWS", 2)
    with pytest.raises(InputError, match="more than 2 different rows"):
        read_table(policy_of(), **read)


@pytest.mark.parametrize("most", [40, 60])
def test_no_row_of_a_query_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    file = tmp_path / "table.csv"
    file.write_text(text_of([("30", "Hull", "flu", "1"), ("40", "Ely", "gout", "2")] * 30), encoding="utf-8")
    monkeypatch.setattr(lengths, "MOST_ROWS", most)
    query = "SELECT age, city, illness, score FROM input"
    policy = policy_of(source={"missing": [""], "query": query})

    def read() -> SourceTable:
        return read_table(policy, input_path=file, period="1", base=tmp_path, distinct=True)

    if most == 60:
        assert read().n_rows == 60
        return
    with pytest.raises(InputError, match="more than 40 rows"):
        read()


def test_what_a_row_is_of_decides_whether_rows_are_needed() -> None:
    assert needs_no_rows(policy_of())
    assert not needs_no_rows(policy_of(method={"name": "mdav"}))
    assert not needs_no_rows(policy_of(method={"name": "ae-lrhma"}))
    for roles in ({"key": "who"}, {"kept": ["note"]}, {"identifiers": ["name"]}, {"weight": "stands_for"}):
        assert not needs_no_rows(small_policy(QIS, SENSITIVE, roles=roles))
    assert not needs_no_rows(policy_of(source={"duplicates": "removed"}))
    assert not needs_no_rows(policy_of(gates={"models": {"km": {"k": 3, "m": 1}}}))
    assert not needs_no_rows(policy_of(method={"name": "no such method"}))
