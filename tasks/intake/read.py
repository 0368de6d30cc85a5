"""Read one period's table through DuckDB: explicit columns, strict parsing, no cell in an error."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Timer

import duckdb

from policy.errors import InputError, TransientFailure
from policy.model import ReleasePolicy, Source
from policy.text import number_of
from policy.trusted import Trusted
from tasks.intake import frame
from tasks.intake.cells import column_names, known, renamed, stripped
from tasks.intake.columns import check_columns, check_distinct, check_same_columns, display_column
from tasks.intake.database import allowed_memory, own_database
from tasks.intake.duplicates import without_duplicates
from tasks.intake.excel import excel_rows
from tasks.intake.frame import FrameBuilder, frame_digest
from tasks.intake.lines import LONGEST_LINE, LineCount, count_records
from tasks.intake.rows import ROWS_TABLE, load_rows
from tasks.intake.sealed import SealedFile, digest_of_parts, sealed
from tasks.intake.source import Given, InputFile, TableSource, find_source
from tasks.intake.sqlite_file import check_nothing_unfinished, sqlite_rows
from tasks.intake.statement import problem_of
from tasks.intake.table_object import WHERE as OBJECT
from tasks.intake.text import check_text, check_width, line_at, line_ends, read_header
from tasks.memory import spill_failure
from tasks.sql import identifier, literal
from tasks.types import SourceTable

NO_CELL = "\0"  # stands in no file that passed `check_text`
INPUT = "input"
RESULT = "releasegate_result"
WHOLE_INPUT = "SELECT * FROM input"
QUERY_SECONDS = 3600.0
HINT_QUOTES = "Put cells with a delimiter or quote in double quotes, and double the quotes in them."
HINT_QUERY = "Try the query in DuckDB; the input file is called `input` there."
Opened = tuple[InputFile, SealedFile]

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


def read_table(
    policy: ReleasePolicy,
    *,
    input_path: Given | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> SourceTable:
    """Read the period's table from `input_path`, else `source.path`, else `source.query`.

    A query reads the table's files under the name `input`, and the files of `source.inputs` under theirs; it
    runs where nothing else can be opened. `input_path` may be a table in memory in place of a file. File
    names in the policy are relative to `base`, the policy's folder, and lead to files below it, or to files
    or objects that are `trusted`. The rows of several files follow one another. The frame holds key,
    quasi-identifiers, sensitive and kept columns in that order and the input's row order; identifiers stand
    beside it, and dropped columns are checked for and not read. The missing tokens of the policy are missing
    in every column of text, whatever the format. The steps of the policy for untidy cells are taken after the
    query. Rows that repeat the row before them are left out if the policy says so. Takes O(bytes) of time and
    memory.

    Raises UsageError where no table is named or a path leads elsewhere, and InputError where it cannot be
    read as a table. An error names lines, columns and counts; it holds no cell and no cause.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    with ExitStack() as opened:
        files = {
            name: [
                (file, opened.enter_context(sealed(file.path, file.check, file.objects))) for file in parts
            ]
            for name, parts in _files(source).items()
        }
        connection = own_database()
        try:
            object_digest = None if source.given is None else source.given.load(connection, INPUT, policy)
            built = _read(connection, source, files, policy)
        finally:
            connection.close()
        frame, identifiers = built.frame(), built.identifying()
        if object_digest is not None:
            digest = object_digest
        elif source.parts:
            digest = digest_of_parts([table.digest for _, table in files[INPUT]])
        else:
            digest = frame_digest(frame)
        table = SourceTable(frame, digest, source.name, identifiers)
    return without_duplicates(table) if policy.source.duplicates == "removed" else table


def _files(source: TableSource) -> dict[str, tuple[InputFile, ...]]:
    own = {INPUT: source.parts} if source.parts else {}
    return {**own, **{name: (file,) for name, file in source.inputs.items()}}


def _read(
    connection: duckdb.DuckDBPyConnection,
    source: TableSource,
    files: dict[str, list[Opened]],
    policy: ReleasePolicy,
) -> FrameBuilder:
    """Run the query, or read the whole table, and turn every error of DuckDB into one of ours."""
    if source.query is not None:
        for name, parts in files.items():
            for number, (file, table) in enumerate(parts):
                _load(connection, name, file, table, policy, after=parts[0][1].shown if number else None)
        names = [*files] if source.given is None else [INPUT, *files]
        builder, where = _run(connection, source.query, names, policy), "source.query"
    elif source.given is not None:
        builder, where = _read_object(connection, policy), OBJECT
    else:
        builder, where = _read_parts(connection, files[INPUT], policy)
    if builder.n_rows == 0:
        raise InputError("gives no rows", where=where, hint="Check the period and the table's rows.")
    return builder


def _read_parts(
    connection: duckdb.DuckDBPyConnection, parts: list[Opened], policy: ReleasePolicy
) -> tuple[FrameBuilder, str]:
    """Read the files of a table one after the other; return the first one's name too."""
    builder: FrameBuilder | None = None
    for file, table in parts:
        builder = _read_whole(connection, file, table, policy, builder)
    assert builder is not None  # noqa: S101 -- a table has at least one file
    return builder, parts[0][1].shown


def _read_object(connection: duckdb.DuckDBPyConnection, policy: ReleasePolicy) -> FrameBuilder:
    """Read the table `input`, into which a table in memory was copied."""
    failure: TransientFailure | None = None
    try:
        return _fetch(connection, WHOLE_INPUT, policy, OBJECT)
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding = _query_problem(error, "")
    raise failure or InputError(finding, where=OBJECT, hint="Free memory, or write the table into a file.")


def _read_whole(
    connection: duckdb.DuckDBPyConnection,
    file: InputFile,
    table: SealedFile,
    policy: ReleasePolicy,
    before: FrameBuilder | None = None,
) -> FrameBuilder:
    """Read a file without a query, straight into the frame's columns, after the rows of the file `before`."""
    text: _Text | None = None
    finding, hint = "", ""
    failure: TransientFailure | None = None
    rows_before = before.n_rows if before else 0
    try:
        select, text = _prepared(connection, file, table, policy, own=True)
        connection.execute(f"CREATE OR REPLACE VIEW input AS {select}")
        longest = text.count.longest if text and not policy.source.line_breaks else None
        builder = _fetch(connection, WHOLE_INPUT, policy, table.shown, longest, before)
        finding = _rejected(connection, table, policy) if text else ""
        hint = HINT_QUOTES
        _forget_rejects(connection)
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = _file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    _check_count(table, text, builder.n_rows - rows_before)
    return builder


def _load(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    file: InputFile,
    table: SealedFile,
    policy: ReleasePolicy,
    after: str | None,
) -> None:
    """Copy a file into a table of the database in memory, so that a query needs no file.

    `after` is the first file of that table, whose columns this one has.
    """
    text: _Text | None = None
    finding, hint, rows = "", "", 0
    failure: TransientFailure | None = None
    try:
        select, text = _prepared(connection, file, table, policy, own=False)
        into = identifier(name)
        if after is None:
            connection.execute(f"CREATE TABLE {into} AS {select}")
            rows = _count(connection, into)
        else:
            check_same_columns(
                _types(connection, select), _types(connection, f"FROM {into}"), table.shown, after
            )
            rows = -_count(connection, into)
            connection.execute(f"INSERT INTO {into} BY NAME {select}")
            rows += _count(connection, into)
        finding = _rejected(connection, table, policy) if text else ""
        hint = HINT_QUOTES
        _forget_rejects(connection)
        connection.execute(f"DROP TABLE IF EXISTS {ROWS_TABLE}")
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = _file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    _check_count(table, text, rows)


def _run(
    connection: duckdb.DuckDBPyConnection, query: str, names: list[str], policy: ReleasePolicy
) -> FrameBuilder:
    """Run a policy's query where nothing can be opened and no setting changed, for as long as it may take."""
    finding, hint = "", HINT_QUERY
    failure: TransientFailure | None = None
    interrupted = Event()

    def interrupt() -> None:
        interrupted.set()
        connection.interrupt()

    timer = Timer(QUERY_SECONDS, interrupt)
    timer.daemon = True
    try:
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        wrong = problem_of(connection, query, names)
        if wrong is None:
            timer.start()
            return _fetch(connection, query.strip().rstrip(";"), policy, "source.query")
        finding, hint = wrong
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding = _query_problem(error, query)
        if interrupted.is_set():
            finding, hint = f"took longer than {QUERY_SECONDS:,.0f} seconds", "Ask for less."
        elif isinstance(error, duckdb.OutOfMemoryException):
            finding, hint = f"needs more than {allowed_memory()}", "Ask for less."
    finally:
        timer.cancel()
    if failure is not None:
        raise failure
    raise InputError(finding, where="source.query", hint=hint)


def _types(connection: duckdb.DuckDBPyConnection, select: str) -> dict[str, str]:
    """Return DuckDB's type of each column of a statement."""
    return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {select}").fetchall()}


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    counted = connection.execute(f"SELECT count(*) FROM {relation}").fetchone()
    return int(counted[0]) if counted else 0


def _forget_rejects(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the rows that DuckDB rejected of one file, before it reads the next."""
    connection.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")


@dataclass(frozen=True)
class _Text:
    """What is known of a CSV text before it is parsed."""

    header: list[str]
    count: LineCount


def _prepared(
    connection: duckdb.DuckDBPyConnection,
    file: InputFile,
    table: SealedFile,
    policy: ReleasePolicy,
    *,
    own: bool,
) -> tuple[str, _Text | None]:
    """Return the statement that gives a file's rows, and what is known of its text.

    A sheet or a table of a database is copied for that, as text. `own` as for `_checked_text`.
    """
    if file.format in ("csv", "parquet"):
        text = _checked_text(file, table, policy, own=own)
        return _select(connection, file, table, text, policy), text
    if file.format == "excel":
        opened = excel_rows(table, file.part, file.alias)
    else:
        check_nothing_unfinished(file.path)
        opened = sqlite_rows(table, file.part, file.alias)
    with opened as sheet:
        found = replace(sheet, names=column_names(sheet.names, policy.source))
        if own:
            check_columns(found.names, policy, table.shown)
        else:
            check_distinct(found.names, table.shown, tell=False)
        load_rows(connection, found, policy.roles.dropped if own else (), table.shown)
    return f"SELECT {_cells(found.names, policy.source)} FROM {ROWS_TABLE}", None


def _checked_text(file: InputFile, table: SealedFile, policy: ReleasePolicy, *, own: bool) -> _Text | None:
    """Check a CSV file's bytes, quotes and names; None for Parquet, whose columns DuckDB names.

    `own`: it is the whole table, and its columns must be those of the roles.
    """
    if file.format == "parquet":
        _check_parquet(table)
        return None
    encoding = policy.source.encoding
    check_text(table, encoding)
    names = column_names(read_header(table, encoding, file.delimiter), policy.source)
    if own:
        check_columns(names, policy, table.shown)
    else:
        check_distinct(names, table.shown, tell=False)
    banned = None if policy.source.quoted_delimiters else file.delimiter
    counted = count_records(table, line_breaks=policy.source.line_breaks, banned=banned)
    check_width(table, encoding, file.delimiter, len(names))
    return _Text(names, counted)


def _check_parquet(table: SealedFile) -> None:
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


def _check_count(table: SealedFile, text: _Text | None, n_rows: int) -> None:
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


def _select(
    connection: duckdb.DuckDBPyConnection,
    file: InputFile,
    table: SealedFile,
    text: _Text | None,
    policy: ReleasePolicy,
) -> str:
    place, source = literal(str(table.path)), policy.source
    if text is None:
        whole = f"read_parquet({place}, hive_partitioning = false)"
        if not source.strip:
            return f"SELECT * FROM {whole}"
        names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {whole}").fetchall()]
        check_distinct(column_names(names, source), table.shown, tell=False)
        return f"SELECT {renamed(names, source)} FROM {whole}"
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in text.header)
    return (
        f"SELECT {_cells(text.header, source)} FROM read_csv({place}, columns = {{{columns}}}, "
        f"delim = {literal(file.delimiter)}, quote = '\"', escape = '\"', header = true, "
        f"auto_detect = false, strict_mode = true, store_rejects = true, nullstr = [{literal(NO_CELL)}], "
        f"max_line_size = {2 * LONGEST_LINE}, encoding = '{policy.source.encoding}', "
        "hive_partitioning = false, compression = 'none')"
    )


def _cells(names: list[str], source: Source) -> str:
    """Return the SQL of cells of text as a query sees them: text, or NULL where one is missing."""
    return ", ".join(_cell(name, source) for name in names)


def _cell(name: str, source: Source) -> str:
    column = identifier(name)
    text = stripped(column) if source.strip else column
    return f"{known(text, source.missing or (NO_CELL,))} AS {column}"


def _fetch(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    policy: ReleasePolicy,
    where: str,
    longest: int | None = None,
    before: FrameBuilder | None = None,
) -> FrameBuilder:
    """Read the rows of a query or of the whole input, whose `longest` row is known or measured.

    They follow the rows that the builder `before` holds.
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
        wanted = ", ".join(map(identifier, builder.names))
        limited = f"SELECT {wanted} FROM (\n{query}\n) LIMIT {frame.MOST_ROWS + 1}"
        connection.execute(f"CREATE TEMP TABLE {RESULT} AS {limited}")
    at_once = frame.vectors_of(builder.longest_row(connection, source) if longest is None else longest)
    connection.execute(f"SELECT {builder.selection} FROM {source}")
    try:
        while len(chunk := connection.fetch_df_chunk(at_once)):
            builder.add(chunk)
    except SystemError:  # DuckDB says nothing where memory ends in the midst of a chunk, and Python says that
        raise MemoryError from None
    return builder


def _rejected(connection: duckdb.DuckDBPyConnection, table: SealedFile, policy: ReleasePolicy) -> str:
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


def _query_problem(error: duckdb.Error, query: str) -> str:
    """Tell DuckDB's error by its type and the query's own words; its message may quote cells."""
    words = (found[1] for pattern in OWN_WORDS if (found := pattern.search(str(error))))
    own = next((word for word in words if word in query), None)
    return f"fails ({type(error).__name__}){f' at {display_column(own)}' if own else ''}"


def _file_problem(error: duckdb.Error, table: SealedFile, text: _Text | None) -> tuple[str, str]:
    if text is not None and len(ends := line_ends(table)) > 1:
        return (
            f"its lines end in different ways ({', '.join(ends)})",
            "Save the file with one kind of line end.",
        )
    if isinstance(error, duckdb.OutOfMemoryException):
        return f"needs more than {allowed_memory()}", "Split the table, or free memory."
    return f"cannot be read ({type(error).__name__})", "The file may be damaged: export it again."
