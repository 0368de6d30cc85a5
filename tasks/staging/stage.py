"""Write a candidate's files: the rows that would be published, and the data package that describes them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from policy.recoding import Form
from release_store.canonical import file_digest, tree_digest
from tasks import duck
from tasks.recoding.cells import read_set
from tasks.recoding.labels import Labels, labels_of
from tasks.sql import identifier, number_text, quoted_formula
from tasks.types import Candidate, IntArray, Recoded

MOST_TIMES = 1_024
PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
RECODED = {
    Form.CONTAINS: "set of the equivalence class's values joined by '|'; '*' is the whole domain",
    Form.REPLACED: "one value instead of those of all people in the equivalence class: it may be nobody's",
    Form.NOISED: "changed by noise: it may be nobody's",
}
BESIDE = "a missing value stands beside it, joined by '|'; '*' is the whole domain"
NODES = f"a value, or the node ('nodes' has its values) that covers the equivalence class; {BESIDE}"
RANGES = f"a value, or the range first..last of 'order' that covers the equivalence class; {BESIDE}"
MEDIA = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def stage(
    rows: Recoded, policy: ReleasePolicy, *, candidate_id: str, period: str, folder: Path, n_source: int
) -> Candidate:
    """Write the rows that would be published into `folder`, flushed to disk; return the digests.

    Equal rows give equal bytes. Only published columns are written.
    """
    folder.mkdir(parents=True, exist_ok=False, mode=0o700)
    frame = rows.cells
    _write_data(rows, policy, folder)
    data = {path.name: file_digest(path) for path in sorted(folder.iterdir())}
    package = folder / "datapackage.json"
    described = data_package(frame, policy, period, data, folder)
    package.write_text(json.dumps(described, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    files = {**data, package.name: file_digest(package)}
    for name in files:
        _flush(folder / name)
    _flush(folder)
    return Candidate(
        candidate_id, policy.series, period, folder, files, tree_digest(files), n_source, rows.n_rows
    )


def _write_data(rows: Recoded, policy: ReleasePolicy, folder: Path) -> None:
    frame, times = rows.cells, rows.times
    if times is not None:
        frame, times = _in_pieces(frame, times)
    with duck.connection(threads=1) as con:  # one thread keeps the order of the rows and so the bytes
        con.register("published", frame)
        source = "published"
        if times is not None:
            con.register("repeated", pd.DataFrame({"times": times}))
            each = "unnest(range(releasegate_repeated.times))"
            both = "published releasegate_rows POSITIONAL JOIN repeated releasegate_repeated"
            source = f"(SELECT releasegate_rows.*, {each} FROM {both})"
        con.execute(f"CREATE TEMP VIEW rows AS SELECT {_as_texts(frame)} FROM {source}")
        for kind in policy.publication.formats:
            options = (
                "FORMAT csv, HEADER true, DELIMITER ','"
                if kind == "csv"
                else "FORMAT parquet, COMPRESSION zstd"
            )
            target = str(folder / f"data.{kind}").replace("'", "''")
            select = csv_rows("rows", frame, policy) if kind == "csv" else "FROM rows"
            con.execute(f"COPY ({select}) TO '{target}' ({options})")


def _in_pieces(cells: pd.DataFrame, times: IntArray) -> tuple[pd.DataFrame, IntArray]:
    """Return rows that stand for many as several that stand for 1,024 at most: DuckDB lists the copies of
    2,048 rows at a time.
    """
    pieces = -(-times // MOST_TIMES)
    if (pieces <= 1).all():
        return cells, times
    each = np.full(int(pieces.sum()), MOST_TIMES, dtype=np.int64)
    last = np.cumsum(pieces)[pieces > 0] - 1
    each[last] = (times - (pieces - 1) * MOST_TIMES)[pieces > 0]
    return cells.take(np.repeat(np.arange(len(times)), pieces)), each


def _as_texts(frame: pd.DataFrame) -> str:
    """Return the SQL of the frame's columns, of which DuckDB would read a categorical one as an ENUM."""
    return ", ".join(
        f"{column}::VARCHAR AS {column}" if isinstance(dtype, pd.CategoricalDtype) else column
        for column, dtype in zip(map(identifier, map(str, frame)), frame.dtypes, strict=True)
    )


def csv_rows(table: str, frame: pd.DataFrame, policy: ReleasePolicy) -> str:
    """Return the SELECT of the rows as the CSV has them: with `csv_formulas: quoted`, no text is a formula.

    A spreadsheet takes a cell that begins with =, +, -, @, a tab or a line end for a formula, and runs it; an
    apostrophe before it makes it a text. Sensitive numbers are written in shortest form.
    """
    kinds = {
        str(name): "DOUBLE"
        if pd.api.types.is_float_dtype(dtype)
        else "BIGINT"
        if pd.api.types.is_numeric_dtype(dtype)
        else "VARCHAR"
        for name, dtype in frame.dtypes.items()
    }
    return f"SELECT {csv_cells(kinds, policy)} FROM {table}"


def csv_cells(kinds: Mapping[str, str], policy: ReleasePolicy) -> str:
    """Return the SQL of columns of these types of DuckDB as the CSV has them."""
    numbers = {name for name, one in policy.roles.sensitive.items() if one.type == "numeric"}
    quoted = policy.publication.csv_formulas == "quoted"
    return ", ".join(
        number_text(name)
        if name in numbers and kind == "DOUBLE"
        else quoted_formula(name)
        if quoted and kind == "VARCHAR" and name not in numbers
        else identifier(name)
        for name, kind in kinds.items()
    )


def data_package(
    frame: pd.DataFrame, policy: ReleasePolicy, period: str, data: dict[str, str], folder: Path
) -> dict[str, Any]:
    """Describe the files as a Frictionless Data Package v2, with how each column was recoded."""
    fields = [_field(str(name), frame, str(dtype), policy) for name, dtype in frame.dtypes.items()]
    package: dict[str, Any] = {
        "$schema": PROFILE,
        "name": policy.series.lower(),
        "title": policy.publication.title or policy.series,
        "version": period,
    }
    if policy.publication.description:
        package["description"] = policy.publication.description
    if policy.publication.licence:
        package["licenses"] = [{"name": policy.publication.licence}]
    package["resources"] = [
        {
            "name": f"data-{name.removeprefix('data.')}",
            "path": name,
            "format": name.removeprefix("data."),
            "mediatype": MEDIA[name.removeprefix("data.")],
            "bytes": (folder / name).stat().st_size,
            "hash": f"sha256:{digest}",
            "schema": {"fields": fields, "missingValues": [""]},
        }
        for name, digest in data.items()
    ]
    return package


def _field(name: str, frame: pd.DataFrame, dtype: str, policy: ReleasePolicy) -> dict[str, Any]:
    kind = "integer" if dtype.startswith("int") else "number" if dtype.startswith("float") else "string"
    field: dict[str, Any] = {"name": name, "type": kind}
    for source, qi in policy.roles.quasi_identifiers.items():
        form, numeric = policy.form(source), source in policy.roles.numeric
        if numeric and form is Form.CONTAINS and name in (f"{source}_min", f"{source}_max"):
            end = "least" if name.endswith("_min") else "greatest"
            return field | _described(
                qi.description, f"interval of {source}: its {end} value in the equivalence class"
            )
        if name == source:
            labels = None if numeric else labels_of(policy, source)
            if labels is None or not (labels.nodes or labels.order):
                return field | _described(qi.description, RECODED[form])
            recoding = NODES if labels.order is None else RANGES
            return field | _described(qi.description, recoding) | _labels_in(frame[name], labels)
    if name in policy.roles.sensitive:
        return field | _described(policy.roles.sensitive[name].description, "sensitive attribute, unchanged")
    return field | _described("", "kept as it is")


def _labels_in(cells: pd.Series[str], labels: Labels) -> dict[str, Any]:
    """Return what the labels in a column's cells stand for; nothing of values and nodes in no cell."""
    parts = {part for text in cells.unique() for part in read_set(str(text)) or ()}
    if labels.order is None:
        return {"nodes": {part: list(labels.nodes[part]) for part in sorted(parts) if part in labels.nodes}}
    covered = {value for part in parts for value in labels.values(part)}
    return {"order": [value for value in labels.order if value in covered]}


def _described(description: str, recoding: str) -> dict[str, str]:
    return ({"description": description} if description else {}) | {"recoding": recoding}


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
