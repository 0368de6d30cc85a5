"""Gates on the files: they are what was staged, agree with each other, and are true of the source."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from policy.recoding import Form
from release_store.canonical import file_digest
from release_store.records import GateResult, Verdict
from release_store.sealed import sealed_file
from tasks import duck
from tasks.counting import counted
from tasks.risk.evidence import Evidence
from tasks.sql import identifier, literal
from tasks.staging.stage import csv_cells

NOBODY = "nobody: a check of the files"
FEW = 4  # rows for each different one, from which these are counted


def files_gate(evidence: Evidence) -> GateResult:
    """Every staged file has its digest, no file is there besides, and CSV and Parquet hold the same rows."""
    present = {path.name for path in evidence.folder.iterdir()}
    wrong = [
        n for n, d in evidence.files.items() if n not in present or file_digest(evidence.folder / n) != d
    ]
    wrong += sorted(present - set(evidence.files))
    if not wrong and "data.csv" in evidence.files:
        name = "data.csv"
        with (
            sealed_file(evidence.folder / name, evidence.files[name]) as text,
            evidence.sealed_data() as data,
        ):
            wrong = [] if _same_rows(text, data, evidence) else [name]
    verdict = Verdict.FAIL if wrong else Verdict.PASS
    detail = "altered files; checked the digests, and that every format has the same rows"
    witness = {"files": wrong} if wrong else {}
    return GateResult("files", verdict, float(len(wrong)), 0.0, "<=", NOBODY, 0.0, detail, witness)


def _same_rows(text: Path, data: Path, evidence: Evidence) -> bool:
    policy = evidence.policy
    columns = list(policy.published_columns())
    with text.open(encoding="utf-8", newline="") as file:
        if next(csv.reader(file), None) != columns:
            return False
    listed = ", ".join(f"'{c.replace(chr(39), chr(39) * 2)}': 'VARCHAR'" for c in columns)
    with duck.connection() as con:
        con.execute(
            f"CREATE TEMP VIEW as_csv AS "
            f"SELECT * FROM read_csv({literal(str(text))}, header=true, "
            f"auto_detect=false, delim=',', quote='\"', escape='\"', nullstr='', "
            f"allow_quoted_nulls=false, columns={{{listed}}})"
        )
        parquet = f"read_parquet({literal(str(data))})"
        described = con.execute(f"DESCRIBE SELECT * FROM {parquet}").fetchall()
        kinds = {row[0]: row[1] for row in described}
        cells = csv_cells({name: kinds[name] for name in columns}, policy)
        texts = ", ".join(f"CAST({name} AS VARCHAR) AS {name}" for name in map(identifier, columns))
        con.execute(f"CREATE TEMP VIEW as_parquet AS SELECT {texts} FROM (SELECT {cells} FROM {parquet})")
        if _most_different(evidence) * FEW <= evidence.n_published:
            return _same_counts(con, "as_csv", "as_parquet")
        return np.array_equal(_row_hashes(con, "as_csv", columns), _row_hashes(con, "as_parquet", columns))


def _most_different(evidence: Evidence) -> int:
    """Return how many different rows the Parquet file can have at most."""
    policy, classes = evidence.policy, evidence.classes
    if policy.roles.kept or list(policy.cell_columns(Form.NOISED)):
        return evidence.n_published
    values = [(counts > 0).sum(axis=1) for counts in classes.counts.values()]
    return int(np.prod(values, axis=0).sum()) if values else classes.n_classes


def _same_counts(con: duckdb.DuckDBPyConnection, one: str, other: str) -> bool:
    """Tell whether two views have each row as many times."""
    counted = [f"{view}_counted" for view in (one, other)]
    for view, table in zip((one, other), counted, strict=True):
        con.execute(f"CREATE TEMP TABLE {table} AS SELECT *, count(*) FROM {view} GROUP BY ALL")
    return not any(
        con.execute(f"SELECT 1 FROM (FROM {first} EXCEPT FROM {second}) LIMIT 1").fetchone()
        for first, second in (counted, counted[::-1])
    )


def _row_hashes(con: duckdb.DuckDBPyConnection, view: str, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return half the MD5 of each row of a view, (m,), sorted: 8 bytes a row, where its cells would take 500.

    Two rows that differ have the same one once in 2^64; nobody makes such a pair in fewer tries, since the
    other row is what a reader makes of the CSV. Cells are told apart by their lengths.
    """
    cells = ", ".join(f"coalesce(strlen({c})::VARCHAR || ':' || {c}, '-')" for c in map(identifier, columns))
    found = con.execute(f"SELECT md5_number_lower(concat({cells})) AS row_hash FROM {view}").fetchnumpy()[
        "row_hash"
    ]
    return np.sort(np.asarray(found, dtype=np.uint64))


def truth_gate(evidence: Evidence) -> GateResult:
    """Published cells are true of the source: no more people lie outside every class than are left out,
    and no sensitive value stands in the release more often than in the source.
    """
    distinct = evidence.distinct
    in_none = evidence.distinct_links.candidates == 0
    outside = int(in_none.sum() if distinct.rows is None else distinct.rows[in_none].sum())
    left_out = evidence.n_source - evidence.n_published
    untrue = max(0, outside - left_out)
    for i, name in enumerate(distinct.sensitive_names):
        values = distinct.sensitive_values[name]
        source = dict(zip(values, counted(distinct.sensitive[:, i], distinct.rows, len(values)), strict=True))
        released = evidence.classes.counts[name].sum(axis=0)
        for value, count in zip(evidence.classes.sensitive_values[name], released, strict=True):
            untrue += max(0, int(count) - int(source.get(value, 0)))
    verdict = Verdict.PASS if untrue == 0 and left_out >= 0 else Verdict.FAIL
    return GateResult(
        "truth",
        verdict,
        float(untrue),
        0.0,
        "<=",
        NOBODY,
        0.0,
        "records or sensitive values not in the source",
    )
