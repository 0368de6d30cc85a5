"""Load CSV and Parquet files into DuckDB: explicit columns, strict parsing, no cell in an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

import duckdb

from policy.errors import InputError, TransientFailure
from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.intake.columns import check_columns, check_distinct
from tasks.intake.database import allowed_memory
from tasks.intake.lines import LONGEST_LINE, LineCount, count_records
from tasks.intake.sealed import SealedFile
from tasks.intake.source import InputFile, TableSource
from tasks.intake.text import check_text, line_at, line_ends, overlong_rows, read_header
from tasks.memory import spill_failure
from tasks.sql import identifier, literal, text_or_missing

NO_CELL = "\0"  # stands in no file that passed `check_text`
INPUT = "input"
HINT_QUOTES = "Put cells with a delimiter or quote in double quotes, and double the quotes in them."
Files = dict[str, tuple[InputFile, SealedFile]]


def files_of(source: TableSource) -> dict[str, InputFile]:
    """Return the files that a source reads, by the names that a query calls them."""
    own = {} if source.file is None else {INPUT: source.file}
    return {**own, **source.inputs}


def load_file(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    file: InputFile,
    table: SealedFile,
    policy: ReleasePolicy,
) -> None:
    """Copy a file into a table of the database in memory, so that a query needs no file."""
    text = checked_text(file, table, policy, own=False)
    finding, hint, rows = "", "", 0
    failure: TransientFailure | None = None
    try:
        connection.execute(f"CREATE TABLE {identifier(name)} AS {select_file(file, table, text, policy)}")
        finding = rejected_row(connection, table, policy) if text else ""
        hint = HINT_QUOTES
        if text:
            connection.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
        counted = connection.execute(f"SELECT count(*) FROM {identifier(name)}").fetchone()
        rows = counted[0] if counted else 0
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    check_count(table, text, rows)


@dataclass(frozen=True)
class CsvText:
    """What is known of a CSV text before it is parsed."""

    header: list[str]
    count: LineCount


def checked_text(file: InputFile, table: SealedFile, policy: ReleasePolicy, *, own: bool) -> CsvText | None:
    """Check a CSV file's bytes, quotes and names; None for Parquet, whose columns DuckDB names.

    `own`: it is the whole table, and its columns must be those of the roles.
    """
    if file.format == "parquet":
        check_parquet(table)
        return None
    encoding = policy.source.encoding
    check_text(table, encoding)
    names = read_header(table, encoding, file.delimiter)
    if own:
        check_columns(names, policy, table.shown)
    else:
        check_distinct(names, table.shown, tell=False)
    banned = None if policy.source.quoted_delimiters else file.delimiter
    counted = count_records(table, line_breaks=policy.source.line_breaks, banned=banned)
    count, line = overlong_rows(table, encoding, file.delimiter, len(names))
    if count:
        raise InputError(
            f"line {line} has more than {len(names)} cells, the number in line 1{_rows(count)}",
            where=table.shown,
            hint="Put cells that contain the delimiter in double quotes.",
        )
    return CsvText(names, counted)


def check_parquet(table: SealedFile) -> None:
    """Raise InputError where a file does not begin and end as one of Parquet."""
    with table.open() as file:
        start = file.read(4)
        file.seek(max(table.size - 4, 0))
        end = file.read(4)
    if table.size == 0:
        raise InputError("the file is empty", where=table.shown, hint="Give a Parquet file with rows.")
    if start != b"PAR1" or end != b"PAR1":
        cut = " (it is cut off)" if start == b"PAR1" else ""
        raise InputError(
            f"is not a Parquet file{cut}",
            where=table.shown,
            hint="Copy it again, or set source.format: csv.",
        )


def check_count(table: SealedFile, text: CsvText | None, n_rows: int) -> None:
    """Hold the rows that were read against those that the text's line ends tell."""
    if text is None:
        return
    told = text.count.records - 1
    blank_too = n_rows == told and len(text.header) == 1
    if n_rows != told - text.count.blank and not blank_too:
        raise InputError(
            f"has {number_of(told - text.count.blank, 'row')} by its line ends, but "
            f"{number_of(n_rows, 'was', 'were')} read",
            where=table.shown,
            hint="Check its quotes and line ends.",
        )


def select_file(file: InputFile, table: SealedFile, text: CsvText | None, policy: ReleasePolicy) -> str:
    """Return the SELECT of a file's rows; a cell of text that is a missing token is NULL."""
    place = literal(str(table.path))
    if text is None:
        return f"SELECT * FROM read_parquet({place}, hive_partitioning = false)"
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in text.header)
    cells = ", ".join(text_or_missing(name, policy.source.missing or (NO_CELL,)) for name in text.header)
    return (
        f"SELECT {cells} FROM read_csv({place}, columns = {{{columns}}}, "
        f"delim = {literal(file.delimiter)}, quote = '\"', escape = '\"', header = true, "
        f"auto_detect = false, strict_mode = true, store_rejects = true, nullstr = [{literal(NO_CELL)}], "
        f"max_line_size = {2 * LONGEST_LINE}, encoding = '{policy.source.encoding}', "
        "hive_partitioning = false, compression = 'none')"
    )


def rejected_row(connection: duckdb.DuckDBPyConnection, table: SealedFile, policy: ReleasePolicy) -> str:
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
    line = line_at(table, policy.source.encoding, byte - 1)
    counts = re.fullmatch(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if counts:
        finding = f"line {line} has {number_of(int(counts[2]), 'cell')} where line 1 has {counts[1]}"
    elif kind == "UNQUOTED VALUE":
        finding = f"line {line} has a quote that opens or closes in the wrong place"
    else:
        finding = f"line {line} cannot be read ({kind.lower()})"
    return finding + _rows(rows)


def _rows(count: int) -> str:
    return "" if count == 1 else f" ({count} such rows)"


def file_problem(error: duckdb.Error, table: SealedFile, text: CsvText | None) -> tuple[str, str]:
    """Return what an error of DuckDB says of a file, and how to correct it."""
    if text is not None and len(ends := line_ends(table)) > 1:
        return (
            f"its lines end in different ways ({', '.join(ends)})",
            "Save the file with one kind of line end.",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"needs more than {allowed_memory()}", "Split the table, or free memory."
    return f"cannot be read ({type(error).__name__})", "The file may be damaged: export it again."
