"""A CSV file as rows of DuckDB: explicit columns, strict parsing, every row counted, no cell in an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from policy.errors import InputError
from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.intake.cells import NO_CELL, column_names, loaded_cells
from tasks.intake.columns import NameCheck
from tasks.intake.database import Database
from tasks.intake.lines import LONGEST_LINE, LineCount, count_records, joined_lines, not_closed
from tasks.intake.sealed_file import SealedFile
from tasks.intake.text import check_width, line_at, read_header
from tasks.sql import literal

HINT_QUOTES = "Put cells with a delimiter or quote in double quotes, and double the quotes in them."


@dataclass(frozen=True)
class CsvText:
    """What is known of a CSV text before it is parsed."""

    header: list[str]
    count: LineCount


def checked_text(table: SealedFile, delimiter: str, policy: ReleasePolicy, check_names: NameCheck) -> CsvText:
    """Check the quotes, line ends and names of a CSV text. Raises InputError."""
    names = column_names(read_header(table, delimiter), policy.source)
    check_names(names, table.shown)
    banned = None if policy.source.quoted_delimiters else delimiter
    return CsvText(
        names, counted_lines(table, delimiter, len(names), policy.source.line_breaks, banned=banned)
    )


def counted_lines(
    table: SealedFile, delimiter: str, width: int, line_breaks: bool, *, banned: str | None = None
) -> LineCount:
    """Count a text's records, of `width` cells. Raises as `count_records` and `check_width`, and where quotes
    join several records.
    """
    counted = count_records(table, line_breaks=line_breaks, banned=banned)
    if counted.first_break and (line := joined_lines(table, delimiter, width)):
        raise not_closed(table, line)
    check_width(table, delimiter, width)
    return counted


def select_csv(table: SealedFile, delimiter: str, text: CsvText, policy: ReleasePolicy) -> str:
    """Return the SELECT of a CSV file's rows; a cell that is a missing token is NULL."""
    rows = csv_reader(table, delimiter, text.header, null=NO_CELL, parallel=not policy.source.line_breaks)
    return f"SELECT {loaded_cells(text.header, policy.source)} FROM {rows}"


def csv_reader(table: SealedFile, delimiter: str, names: Sequence[str], *, null: str, parallel: bool) -> str:
    """Return the SQL function that reads the rows as text under these names, strictly; `null` is NULL.

    What it rejects is told by `check_rows_read`.
    """
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({literal(str(table.path))}, "
        f"columns = {{{columns}}}, delim = {literal(delimiter)}, quote = '\"', escape = '\"', header = true, "
        f"auto_detect = false, strict_mode = true, store_rejects = true, nullstr = [{literal(null)}], "
        f"max_line_size = {2 * LONGEST_LINE}, encoding = 'utf-8', "
        f"hive_partitioning = false, compression = 'none', parallel = {parallel})"
    )


def check_rows_read(connection: Database, table: SealedFile, text: CsvText, n_rows: int) -> None:
    """Raise InputError where DuckDB rejected a row, or read others than the text's line ends tell."""
    rejected = _rejected_row(connection, table)
    forget_rejected(connection)
    if rejected is not None:
        raise rejected
    told = text.count.records - 1
    blank_too = n_rows == told and len(text.header) == 1
    if n_rows != told - text.count.blank and not blank_too:
        if text.count.first_break:
            raise not_closed(table, text.count.first_break)
        raise InputError(
            f"has {number_of(told - text.count.blank, 'row')} by its line ends, but "
            f"{number_of(n_rows, 'was', 'were')} read",
            where=table.shown,
            hint="Check its quotes and line ends.",
        )


def _rejected_row(connection: Database, table: SealedFile) -> InputError | None:
    """Return what is wrong with the first row that DuckDB rejected, if there is one."""
    if not connection.execute("FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchall():
        return None  # the query left the file unread
    first = connection.execute(
        "SELECT line_byte_position, error_type, error_message, csv_line FROM reject_errors "
        "ORDER BY line_byte_position, byte_position LIMIT 1"
    ).fetchone()
    if first is None:
        return None
    counted = connection.execute("SELECT count(DISTINCT line) FROM reject_errors").fetchone()
    rows = counted[0] if counted else 1
    byte, kind, message, record = first
    line = line_at(table, byte - 1)
    if "\n" in record.strip():
        return not_closed(table, line)
    counts = re.fullmatch(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if counts:
        finding = f"line {line} has {number_of(int(counts[2]), 'cell')} where line 1 has {counts[1]}"
    elif kind == "UNQUOTED VALUE":
        finding = f"line {line} has a quote that opens or closes in the wrong place"
    else:
        finding = f"line {line} cannot be read ({kind.lower()})"
    if rows > 1:
        finding += f" ({rows} such rows)"
    return InputError(finding, where=table.shown, hint=HINT_QUOTES)


def forget_rejected(connection: Database) -> None:
    """Drop the rows that DuckDB rejected of one file, before it reads the next."""
    connection.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
