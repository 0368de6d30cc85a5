"""Read one period's table through DuckDB: explicit columns, strict parsing, no cell in an error."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import duckdb

from policy.errors import InputError, TransientFailure
from policy.location import Location
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from tasks.intake import frame, lengths
from tasks.intake.columns import check_columns
from tasks.intake.database import own_database
from tasks.intake.duplicates import without_duplicates
from tasks.intake.frame import FrameBuilder, frame_digest
from tasks.intake.load import (
    HINT_QUOTES,
    INPUT,
    Files,
    check_count,
    checked_text,
    file_problem,
    files_of,
    load_file,
    rejected_row,
    select_file,
)
from tasks.intake.query import in_sandbox
from tasks.intake.sealed import SealedFile, sealed
from tasks.intake.source import InputFile, TableSource, find_source
from tasks.memory import spill_failure
from tasks.sql import identifier
from tasks.types import SourceTable

RESULT = "releasegate_result"
WHOLE_INPUT = "SELECT * FROM input"


def read_table(
    policy: ReleasePolicy,
    *,
    input_path: Location | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> SourceTable:
    """Read the period's table from `input_path`, else `source.path`, else `source.query`.

    A query reads the table's file under the name `input`, and the files of `source.inputs` under theirs; it
    runs where nothing else can be opened. File names in the policy are relative to `base`, the policy's
    folder, and lead to files below it, or to files or objects that are `trusted`. The frame holds key,
    quasi-identifiers, sensitive and kept columns in that order and the input's row order; identifiers stand
    beside it, and dropped columns are checked for and not read. The missing tokens of the policy are missing
    in every column of text, whatever the format. Rows that repeat the row before them are left out if the
    policy says so. Takes O(bytes) of time and memory.

    Raises UsageError where no table is named or a path leads elsewhere, and InputError where it cannot be
    read as a table. An error names lines, columns and counts; it holds no cell and no cause.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    with ExitStack() as opened:
        files = {
            name: (file, opened.enter_context(sealed(file.path, file.check, file.objects)))
            for name, file in files_of(source).items()
        }
        built = _read(source, files, policy)
        frame, identifiers = built.frame(), built.identifying()
        if source.file is None:
            table = SourceTable(frame, frame_digest(frame), "query", identifiers)
        else:
            table = SourceTable(frame, files[INPUT][1].digest, source.file.path.name, identifiers)
    return without_duplicates(table) if policy.source.duplicates == "removed" else table


def _read(source: TableSource, files: Files, policy: ReleasePolicy) -> FrameBuilder:
    """Run the query, or read the whole file, and turn every error of DuckDB into one of ours."""
    connection = own_database()
    try:
        if source.query is None:
            builder, where = _read_whole(connection, *files[INPUT], policy), files[INPUT][1].shown
        else:
            for name, (file, table) in files.items():
                load_file(connection, name, file, table, policy)
            where = "source.query"
            builder = in_sandbox(
                connection, source.query, [*files], lambda query: _fetch(connection, query, policy, where)
            )
    finally:
        connection.close()
    if builder.n_rows == 0:
        raise InputError("gives no rows", where=where, hint="Check the period and the table's rows.")
    return builder


def _read_whole(
    connection: duckdb.DuckDBPyConnection, file: InputFile, table: SealedFile, policy: ReleasePolicy
) -> FrameBuilder:
    """Read the table's file without a query, straight into the frame's columns."""
    text = checked_text(file, table, policy, own=True)
    finding, hint = "", ""
    failure: TransientFailure | None = None
    try:
        connection.execute(f"CREATE VIEW input AS {select_file(file, table, text, policy)}")
        longest = text.count.longest if text and not policy.source.line_breaks else None
        builder = _fetch(connection, WHOLE_INPUT, policy, table.shown, longest)
        finding = rejected_row(connection, table, policy) if text else ""
        hint = HINT_QUOTES
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    check_count(table, text, builder.n_rows)
    return builder


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    policy: ReleasePolicy,
    where: str,
    longest: int | None = None,
) -> FrameBuilder:
    """Read the rows of a query or of the whole input, whose `longest` row is known or measured."""
    relation = connection.sql(query)
    check_columns(relation.columns, policy, where)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    builder = FrameBuilder(policy, types, where)
    if query == WHOLE_INPUT:
        source = INPUT
    else:  # run once: its rows are looked at twice
        source = RESULT
        wanted = ", ".join(map(identifier, builder.names))
        limited = f"SELECT {wanted} FROM (\n{query}\n) LIMIT {lengths.MOST_ROWS + 1}"
        connection.execute(f"CREATE TEMP TABLE {RESULT} AS {limited}")
    at_once = frame.vectors_of(builder.longest_row(connection, source) if longest is None else longest)
    connection.execute(f"SELECT {builder.selection} FROM {source}")
    try:
        while len(chunk := connection.fetch_df_chunk(at_once)):
            builder.add(chunk)
    except SystemError:  # DuckDB says nothing where memory ends in the midst of a chunk, and Python says that
        raise MemoryError from None
    return builder
