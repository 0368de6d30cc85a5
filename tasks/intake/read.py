"""Read one period's table through DuckDB: explicit columns, strict parsing, no cell in an error."""

from __future__ import annotations

import os
import re
from pathlib import Path

import duckdb
import pandas as pd

from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake.columns import check_columns, check_distinct, shown
from tasks.intake.frame import FrameBuilder, frame_digest
from tasks.intake.source import TableSource, find_source
from tasks.intake.text import (
    check_text,
    file_digest,
    is_compressed,
    line_at,
    line_ends,
    overlong_rows,
    read_header,
)
from tasks.sql import literal, text_or_missing
from tasks.types import SourceTable

VECTORS_PER_CHUNK = 50  # of 2,048 rows each
NO_CELL = "\0"  # stands in no file that passed `check_text`
WHOLE_INPUT = "SELECT * FROM input"

# Parts of DuckDB's messages that repeat the query's own words. They are told only if they do stand in
# the query, since the same messages can quote cells.
OWN_WORDS = (
    re.compile(r'Referenced column "([^"]+)" not found'),
    re.compile(r'Referenced table "([^"]+)" not found'),
    re.compile(r"(?:Table|Function|Scalar Function|Table Function) with name (\S+) does not exist"),
    re.compile(r'syntax error at or near "([^"]+)"'),
    re.compile(r'No files found that match the pattern "([^"]+)"'),
    re.compile(r"when casting from source column (\w+)"),
)


def read_table(policy: ReleasePolicy, *, input_path: Path | None, period: str, base: Path) -> SourceTable:
    """Read the period's table from `input_path`, else `source.path`, else `source.query`.

    A query given beside a file runs over the file under the name `input`. File names in the policy are
    relative to `base`, the policy's folder (in a query by DuckDB's `file_search_path`: for a folder
    without a comma in its name). The frame holds key, quasi-identifiers, sensitive and kept columns in
    that order and the input's row order; identifiers and dropped columns are checked for and not read.
    The missing tokens of the policy are missing in every column of text, whatever the format.

    Raises UsageError where no table is named, and InputError where it cannot be read as a table. An error
    names lines, columns and counts; it holds no cell and no cause.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base)
    if source.path is None:
        frame = _read(source, policy, [])
        return SourceTable(frame, frame_digest(frame), "query")
    before = _stamp(source.path)
    digest = file_digest(source.path)
    frame = _read(source, policy, _checked_header(source, source.path, policy))
    if _stamp(source.path) != before:
        raise InputError(
            "changed while it was read", where=str(source.path), mend="Run again when the file is complete."
        )
    return SourceTable(frame, digest, source.path.name)


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size


def _checked_header(source: TableSource, path: Path, policy: ReleasePolicy) -> list[str]:
    """Return a CSV file's column names, or none for Parquet, whose columns DuckDB names."""
    if source.format == "parquet":
        _check_parquet(path)
        return []
    encoding = policy.source.encoding
    check_text(path, encoding)
    names = read_header(path, encoding, source.delimiter)
    if source.query is None:
        check_columns(names, policy, str(path))
    else:
        check_distinct(names, str(path), tell=False)
    count, line = overlong_rows(path, encoding, source.delimiter, len(names))
    if count:
        raise InputError(
            f"line {line} has more than {len(names)} cells, which line 1 names{_rows(count)}",
            where=str(path),
            mend="Cells that hold the delimiter are written in double quotes.",
        )
    return names


def _check_parquet(path: Path) -> None:
    with path.open("rb") as file:
        start = file.read(4)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 4, 0))
        end = file.read(4)
    if size == 0:
        raise InputError("the file is empty", where=str(path), mend="Give a Parquet file with rows.")
    if start != b"PAR1" or end != b"PAR1":
        cut = " (it is cut off)" if start == b"PAR1" else ""
        raise InputError(
            f"is not a Parquet file{cut}", where=str(path), mend="Copy it again, or write source.format: csv."
        )


def _read(source: TableSource, policy: ReleasePolicy, header: list[str]) -> pd.DataFrame:
    """Run the query, or read the whole file, and turn every error of DuckDB into one of ours."""
    finding, mend, where = "", "", source.where
    builder: FrameBuilder | None = None
    connection = _connect(source.base)
    try:
        if source.path is not None:
            connection.execute(_input_view(source, source.path, policy, header))
        query = _one_select(connection, source.query)
        if query is None:
            finding, mend = "is not one SELECT", "Write one SELECT statement of DuckDB's SQL."
        else:
            builder = _fetch(connection, query, policy, where)
            if header and source.path is not None:
                finding = _rejected(connection, source.path, policy)
                where = str(source.path) if finding else where
            mend = "Cells that hold the delimiter or a quote are written in double quotes, quotes doubled."
    except duckdb.Error as error:
        finding, mend = _problem(error, source, header)
    finally:
        connection.close()
    if finding or builder is None:
        raise InputError(finding, where=where, mend=mend)
    if builder.n_rows == 0:
        raise InputError("gives no rows", where=where, mend="Check the period and the table's rows.")
    return builder.frame()


def _connect(base: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,  # a query sees files, not this process's variables
            "temp_directory": "",  # rows are never spilled to a disk
        }
    )
    connection.execute("SET enable_progress_bar = false")
    connection.execute(f"SET file_search_path = {literal(str(base.resolve()))}")
    return connection


def _input_view(source: TableSource, path: Path, policy: ReleasePolicy, header: list[str]) -> str:
    file = literal(re.sub(r"([*?\[])", r"[\1]", str(path.resolve())))  # a name, not a pattern of names
    if source.format == "parquet":
        return f"CREATE VIEW input AS SELECT * FROM read_parquet({file}, hive_partitioning = false)"
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in header)
    # DuckDB hands a query's TRY_CAST down to its reader of CSV, which would reject the row; it cannot
    # hand it through these expressions.
    cells = ", ".join(text_or_missing(name, policy.source.missing or (NO_CELL,)) for name in header)
    return (
        f"CREATE VIEW input AS SELECT {cells} FROM read_csv({file}, columns = {{{columns}}}, "
        f"delim = {literal(source.delimiter)}, quote = '\"', escape = '\"', header = true, "
        f"auto_detect = false, strict_mode = true, store_rejects = true, nullstr = [{literal(NO_CELL)}], "
        f"encoding = '{policy.source.encoding}', hive_partitioning = false, "
        f"compression = '{'gzip' if is_compressed(path) else 'none'}')"
    )


def _one_select(connection: duckdb.DuckDBPyConnection, query: str | None) -> str | None:
    if query is None:
        return WHOLE_INPUT
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return None
    return query.strip().rstrip(";")


def _fetch(
    connection: duckdb.DuckDBPyConnection, query: str, policy: ReleasePolicy, where: str
) -> FrameBuilder:
    relation = connection.sql(query)
    check_columns(relation.columns, policy, where)
    builder = FrameBuilder(policy, dict(zip(relation.columns, map(str, relation.types), strict=True)))
    connection.execute(f"SELECT {builder.selection} FROM (\n{query}\n)")
    while len(chunk := connection.fetch_df_chunk(VECTORS_PER_CHUNK)):
        builder.add(chunk)
    return builder


def _rejected(connection: duckdb.DuckDBPyConnection, path: Path, policy: ReleasePolicy) -> str:
    """Return what is wrong with the first row that DuckDB rejected, or nothing."""
    if not connection.execute("FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchall():
        return ""  # the query left the file unread
    first = connection.execute(
        "SELECT line_byte_position, error_type, error_message FROM reject_errors "
        "ORDER BY line_byte_position, byte_position LIMIT 1"
    ).fetchone()
    if first is None:
        return ""
    counted = connection.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchone()
    rows = counted[0] if counted else 1
    byte, kind, message = first
    line = line_at(path, policy.source.encoding, byte - 1)
    counts = re.fullmatch(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if counts:
        finding = f"line {line} has {counts[2]} cells where line 1 has {counts[1]}"
    elif kind == "UNQUOTED VALUE":
        finding = f"line {line} has a quote that opens or closes in the wrong place"
    else:
        finding = f"line {line} cannot be read ({kind.lower()})"
    return finding + _rows(rows)


def _rows(count: int) -> str:
    return "" if count == 1 else f" ({count} such rows)"


def _problem(error: duckdb.Error, source: TableSource, header: list[str]) -> tuple[str, str]:
    """Tell DuckDB's error by its type and the query's own words; its message may quote cells."""
    kind = type(error).__name__
    if source.query is not None:
        words = (found[1] for pattern in OWN_WORDS if (found := pattern.search(str(error))))
        own = next((word for word in words if word in source.query), None)
        at = f" at {shown(own)}" if own else ""
        return f"fails ({kind}){at}", "Try the query in DuckDB; a given file is called input in it."
    if header and source.path is not None and len(ends := line_ends(source.path)) > 1:
        return (
            f"its lines end in different ways ({', '.join(ends)})",
            "Save the file with one kind of line end.",
        )
    return f"cannot be read ({kind})", "The file may be damaged: write it again."
