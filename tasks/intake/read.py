"""Read one period's table through DuckDB into a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pandas as pd

from policy.errors import InputError, TransientFailure
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from tasks.intake import lengths
from tasks.intake.columns import check_columns
from tasks.intake.csv_file import CsvText
from tasks.intake.database import own_database
from tasks.intake.database_process import DatabaseProcess
from tasks.intake.duplicates import without_duplicates
from tasks.intake.frame import FrameBuilder, frame_digest
from tasks.intake.load import INPUT, Opened, from_file, handles, load_files, opened_files, rows_in
from tasks.intake.load_object import load_object, sent_object
from tasks.intake.query import in_sandbox, query_problem
from tasks.intake.repeated_people import hashed, people_in_doubt
from tasks.intake.sealed import digest_of_parts
from tasks.intake.source import Given, TableSource, find_source
from tasks.intake.table_object import WHERE as OBJECT
from tasks.intake.total_row import check_no_total, last_of_relation, listed_values
from tasks.memory import spill_failure
from tasks.sql import identifier
from tasks.types import SourceTable

RESULT = "releasegate_result"
DISTINCT = "releasegate_distinct"
WHOLE_INPUT = "SELECT * FROM input"


def read_table(
    policy: ReleasePolicy,
    *,
    input_path: Given | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
    distinct: bool = False,
) -> SourceTable:
    """Read the period's table from `input_path`, else `source.path`, else `source.query`.

    A query reads the table's files under the name `input`, and the files of `source.inputs` under theirs; it
    runs where nothing else can be opened. `input_path` may be a table in memory in place of a file. File
    names in the policy are relative to `base`, the policy's folder, and lead to files below it, or to files
    or objects that are `trusted`. The rows of several files follow one another. The frame holds key,
    quasi-identifiers, sensitive and kept columns in that order and the input's row order; identifiers stand
    beside it. Dropped columns are checked for, and looked at for people with several rows. The missing tokens
    of the policy are missing in every column of text, whatever the format. The steps of the policy for untidy
    cells are taken after the query. Rows that repeat the row before them are left out if the policy says so.
    Takes O(bytes) of time and memory.

    With `distinct` the frame of a large table of few different rows has each of them once, and DuckDB counts
    them: memory is O(bytes) of these. Of a query without a file all rows are read, as its digest is theirs.

    Raises UsageError where no table is named or a path leads elsewhere, and InputError where it cannot be
    read as a table. An error names lines, columns and counts; it holds no cell and no cause.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    with opened_files(source, policy.roles.dropped) as files:
        of_rows = not source.parts and source.given is None  # its digest is that of all rows
        read = _read if source.query is None else _read_query
        built, object_digest = read(source, files, policy, distinct=distinct and not of_rows)
        rows, frame, identifiers = built.rows(), built.frame(), built.identifying()
        if object_digest is not None:
            digest = object_digest
        elif source.parts:
            digest = digest_of_parts([table.digest for _, table in files[INPUT]])
        else:
            digest = frame_digest(frame)
        table = SourceTable(frame, digest, source.name, identifiers, rows=rows, doubts=tuple(built.doubts))
    return without_duplicates(table) if policy.source.duplicates == "removed" else table


def _read(
    source: TableSource, files: dict[str, list[Opened]], policy: ReleasePolicy, *, distinct: bool
) -> tuple[FrameBuilder, str | None]:
    """Read the whole table; return the digest of one in memory too. Errors of DuckDB become ours."""
    if source.given is not None:
        with own_database() as connection:
            digest = load_object(connection, INPUT, source.given, policy.roles.dropped)
            return _with_rows(_read_object(connection, policy, distinct=distinct), OBJECT), digest
    with DatabaseProcess(handles(files)) as database:
        builder, where = _read_parts(database, files[INPUT], policy, distinct=distinct)
    return _with_rows(builder, where), None


def _read_query(
    source: TableSource, files: dict[str, list[Opened]], policy: ReleasePolicy, *, distinct: bool
) -> tuple[FrameBuilder, str | None]:
    """Run the query in a process of its own, as `_read`."""
    assert source.query is not None  # noqa: S101 -- the caller looked
    with ExitStack() as opened:
        given = None if source.given is None else opened.enter_context(sent_object(source.given))
        database = opened.enter_context(
            DatabaseProcess([*handles(files), *([given.handle] if given else [])])
        )
        if given is not None:
            given.load(database, INPUT)
        load_files(database, files, policy)
        names, where = [*files] if given is None else [INPUT, *files], "source.query"
        builder = in_sandbox(
            database,
            source.query,
            names,
            lambda query: _fetch(database, query, policy, where, distinct=distinct, inputs=names),
        )
    return _with_rows(builder, where), None if given is None else given.digest


def _with_rows(builder: FrameBuilder, where: str) -> FrameBuilder:
    if builder.n_rows == 0:
        raise InputError("gives no rows", where=where, hint="Check the period and the table's rows.")
    return builder


def _read_parts(
    connection: DatabaseProcess, parts: list[Opened], policy: ReleasePolicy, *, distinct: bool
) -> tuple[FrameBuilder, str]:
    """Read the files of a table one after the other; return the first one's name too."""
    builder: FrameBuilder | None = None
    for opened in parts:
        builder = _read_whole(connection, opened, policy, builder, len(parts), distinct=distinct)
    assert builder is not None  # noqa: S101 -- a table has at least one file
    return builder, parts[0][1].shown


def _read_object(
    connection: duckdb.DuckDBPyConnection, policy: ReleasePolicy, *, distinct: bool
) -> FrameBuilder:
    """Read the table `input`, into which a table in memory was copied."""
    failure: TransientFailure | None = None
    try:
        return _fetch(connection, WHOLE_INPUT, policy, OBJECT, distinct=distinct)
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding = query_problem(error, "")
    raise failure or InputError(finding, where=OBJECT, hint="Free memory, or write the table into a file.")


def _read_whole(
    connection: DatabaseProcess,
    opened: Opened,
    policy: ReleasePolicy,
    before: FrameBuilder | None,
    n_parts: int,
    *,
    distinct: bool,
) -> FrameBuilder:
    """Read a file without a query, straight into the frame's columns, after the rows of the file `before`."""
    rows_before = before.n_rows if before else 0

    def fetched(select: str, text: CsvText | None) -> tuple[FrameBuilder, int]:
        connection.execute(f"CREATE OR REPLACE VIEW {INPUT} AS {select}")
        longest = text.count.longest if text and not policy.source.line_breaks else None
        where = opened[1].shown
        builder = _fetch(
            connection, WHOLE_INPUT, policy, where, longest, before, n_parts=n_parts, distinct=distinct
        )
        return builder, builder.n_rows - rows_before

    def check_names(names: Sequence[str], where: str) -> None:
        check_columns(names, policy, where)

    return from_file(connection, opened, policy, fetched, check_names=check_names)


def _fetch(
    connection: duckdb.DuckDBPyConnection | DatabaseProcess,
    query: str,
    policy: ReleasePolicy,
    where: str,
    longest: int | None = None,
    before: FrameBuilder | None = None,
    *,
    n_parts: int = 1,
    distinct: bool,
    inputs: Sequence[str] = (),
) -> FrameBuilder:
    """Read the rows of a query or of the whole input, whose `longest` row is known or measured.

    The tables `inputs` go once the query has run. The rows follow those that the builder `before` holds.
    Where few of them differ and that is all that is asked for, they are `distinct`.
    """
    relation = connection.sql(query)
    check_columns(relation.columns, policy, where)
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    builder = before or FrameBuilder(policy, types, where)
    builder.begin_file(types, where)
    if query == WHOLE_INPUT:
        source = INPUT
    else:  # run once: its rows are looked at twice
        source = RESULT
        wanted = ", ".join(
            [
                *map(identifier, builder.names),
                *(f"{hashed(name)} AS {identifier(name)}" for name in policy.roles.dropped),
            ]
        )
        limited = f"SELECT {wanted} FROM (\n{query}\n) LIMIT {lengths.MOST_ROWS + 1}"
        connection.execute(f"CREATE TEMP TABLE {RESULT} AS {limited}")
        for name in inputs:
            connection.execute(f"DROP TABLE {identifier(name)}")
    if where in ("source.query", OBJECT):  # of a file, it is looked at once the file is read
        n_rows = rows_in(connection, source)
        last = last_of_relation(connection, builder.names, source, n_rows)
        check_no_total(connection, source, last, n_rows, where, listed_values(policy.roles))
    read = ", ".join([builder.selection, *map(identifier, policy.roles.dropped)])
    builder.doubts = people_in_doubt(
        connection, f"(SELECT {read} FROM {source})", relation.columns, policy, where, n_parts
    )
    builder.keep_digits(connection, source)
    if before is None:
        builder.distinct = distinct and builder.repeats(connection, source)
    selection = builder.selection
    if builder.distinct:
        # More rows of a query than these were cut off above.
        most = lengths.MOST_REPEATED_ROWS if source == INPUT else lengths.MOST_ROWS
        longest = builder.count_distinct(connection, source, DISTINCT, most)
        source, selection = f"(FROM {DISTINCT} ORDER BY ALL)", "*"
    else:
        longest = builder.longest_row(connection, source) if longest is None else longest
    try:
        for chunk in _chunks(connection, source, selection, builder.kinds, lengths.vectors_of(longest)):
            builder.add(chunk)
    except SystemError:  # DuckDB says nothing where memory ends in the midst of a chunk, and Python says that
        raise MemoryError from None
    return builder


def _chunks(
    connection: duckdb.DuckDBPyConnection | DatabaseProcess,
    source: str,
    selection: str,
    kinds: Mapping[str, str],
    vectors: int,
) -> Iterator[pd.DataFrame]:
    """Give the rows of a relation, so many of DuckDB's vectors at once."""
    if isinstance(connection, DatabaseProcess):
        yield from connection.chunks(source, selection, kinds, vectors)
        return
    connection.execute(f"SELECT {selection} FROM {source}")
    while len(chunk := connection.fetch_df_chunk(vectors)):
        yield chunk
