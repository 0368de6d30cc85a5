"""Load the files of a table into DuckDB, whatever their format; no error tells a cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TypeVar

import duckdb

from policy.encoding import UTF_8, codec_of
from policy.errors import InputError, TransientFailure
from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.intake.child_process import STATEMENT_SECONDS
from tasks.intake.columns import NameCheck, check_names_differ, check_same_columns
from tasks.intake.copied_rows import COPIED, copied_rows
from tasks.intake.csv_file import (
    CsvText,
    check_rows_read,
    checked_text,
    forget_rejected,
    select_csv,
)
from tasks.intake.database import Database, allowed_memory, memory_hint
from tasks.intake.encoding import utf_8_text
from tasks.intake.parquet_file import check_parquet, select_parquet
from tasks.intake.sealed import sealed
from tasks.intake.sealed_file import SealedFile
from tasks.intake.source import InputFile, TableSource
from tasks.intake.sqlite_file import check_nothing_unfinished
from tasks.intake.text_rows import select_rows
from tasks.intake.total_row import check_no_total, last_of_relation, last_of_text, listed_values
from tasks.memory import spill_failure
from tasks.sql import identifier

R = TypeVar("R")
INPUT = "input"
Opened = tuple[InputFile, SealedFile]


@contextmanager
def opened_files(source: TableSource, unread: Collection[str] = ()) -> Iterator[dict[str, list[Opened]]]:
    """Seal the files that a source reads, by the names that a query calls them, each with its parts.

    A sheet or a table of a database is copied as text; where no query runs, of the columns `unread` the
    beginnings of cells alone.
    """
    unread = unread if source.query is None else ()
    with ExitStack() as opened:
        yield {
            name: [(file, _sealed(file, unread, opened)) for file in parts]
            for name, parts in files_of(source).items()
        }


def _sealed(file: InputFile, unread: Collection[str], opened: ExitStack) -> SealedFile:
    as_it_is = sealed(file.path, file.check, file.objects)
    if file.format in COPIED:
        check_nothing_unfinished(file.path)
        with as_it_is as whole:
            rows = copied_rows(whole, file.format, file.part, file.alias, unread=unread)
            return opened.enter_context(rows)
    if file.format == "csv" and codec_of(file.encoding) != UTF_8:
        with as_it_is as whole:
            return opened.enter_context(utf_8_text(whole, file.encoding))
    table = opened.enter_context(as_it_is)
    return opened.enter_context(utf_8_text(table, UTF_8)) if file.format == "csv" else table


def handles(files: dict[str, list[Opened]]) -> list[int]:
    """Return the descriptors of sealed files."""
    return [table.handle for parts in files.values() for _, table in parts]


def files_of(source: TableSource) -> dict[str, tuple[InputFile, ...]]:
    """Return the files that a source reads, by the names that a query calls them."""
    own = {INPUT: source.parts} if source.parts else {}
    return {**own, **{name: (file,) for name, file in source.inputs.items()}}


def load_files(connection: Database, files: dict[str, list[Opened]], policy: ReleasePolicy) -> None:
    """Copy files into tables of the database in memory, so that a query needs no file."""
    for name, parts in files.items():
        for number, opened in enumerate(parts):
            _load_file(connection, name, opened, policy, parts[0][1].shown if number else None)


def _load_file(
    connection: Database, name: str, opened: Opened, policy: ReleasePolicy, after: str | None
) -> None:
    """Copy one file. `after` is the first file of its table, whose columns it has."""
    into = identifier(name)

    def copied(select: str, _: CsvText | None) -> tuple[None, int]:
        if after is None:
            connection.execute(f"CREATE TABLE {into} AS {select}")
            return None, rows_in(connection, into)
        types = column_types(connection, select)
        check_same_columns(types, column_types(connection, f"FROM {into}"), opened[1].shown, after)
        before = rows_in(connection, into)
        connection.execute(f"INSERT INTO {into} BY NAME {select}")
        return None, rows_in(connection, into) - before

    from_file(connection, opened, policy, copied, check_names=check_names_differ)


def from_file(
    connection: Database,
    opened: Opened,
    policy: ReleasePolicy,
    work: Callable[[str, CsvText | None], tuple[R, int]],
    *,
    check_names: NameCheck,
) -> R:
    """Return what `work` makes of a file's rows; it is given their SELECT, and also tells how many it read.

    Raises InputError where the file cannot be read, where `check_names` refuses the names of its columns,
    where a row was left out, and where the last one is a total.
    """
    file, table = opened
    text: CsvText | None = None
    done: tuple[R, int] | None = None
    failure: TransientFailure | None = None
    finding = hint = ""
    try:
        if file.format == "csv":
            text = checked_text(table, file.delimiter, policy, check_names)
            select = select_csv(table, file.delimiter, text, policy)
        elif file.format == "parquet":
            check_parquet(table)
            select = select_parquet(connection, table, policy.source)
        else:
            select = select_rows(table, policy, check_names)
        done = work(select, text)
        if text is not None:
            check_rows_read(connection, table, text, done[1])
        forget_rejected(connection)
        if policy.source.query is None:  # a query may leave the row out
            _check_no_total(connection, opened, select, done[1], policy)
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = file_problem(error)
    if failure is not None:
        raise failure
    if finding or done is None:
        raise InputError(finding, where=table.shown, hint=hint)
    result, n_rows = done
    if table.rows not in (None, n_rows):
        finding = f"has {number_of(table.rows or 0, 'row')}, but {number_of(n_rows, 'was', 'were')} read"
        raise InputError(finding, where=table.shown, hint="Save it as CSV or Parquet.")
    return result


def _check_no_total(
    connection: Database, opened: Opened, select: str, n_rows: int, policy: ReleasePolicy
) -> None:
    file, table = opened
    names = [*column_types(connection, select)]
    last = (
        last_of_relation(connection, names, f"({select})", n_rows)
        if file.format == "parquet"
        else last_of_text(table, names, file.delimiter if file.format == "csv" else ",")
    )
    check_no_total(connection, f"({select})", last, n_rows, table.shown, listed_values(policy.roles))


def column_types(connection: Database, select: str) -> dict[str, str]:
    """Return DuckDB's type of each column of a statement."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {select}").fetchall()}


def rows_in(connection: Database, relation: str) -> int:
    """Return how many rows a relation has."""
    counted = connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
    return int(counted[0]) if counted else 0


def file_problem(error: duckdb.Error) -> tuple[str, str]:
    """Return what an error of DuckDB says of a file, and how to correct it."""
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"needs more than {allowed_memory()}", memory_hint()
    if isinstance(error, duckdb.InterruptException):
        return f"took longer than {STATEMENT_SECONDS:,.0f} seconds", "Split the table."
    return f"cannot be read ({type(error).__name__})", "The file may be damaged: export it again."
