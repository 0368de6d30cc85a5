"""Read one period's table through DuckDB: explicit columns, strict parsing, no cell in an error."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Timer

import duckdb

from policy.errors import InputError, TransientFailure
from policy.location import Location
from policy.model import ReleasePolicy, Source
from policy.text import number_of
from policy.trusted import Trusted
from tasks.intake import frame
from tasks.intake.cells import column_names, known, renamed, stripped
from tasks.intake.columns import check_columns, check_distinct, display_column
from tasks.intake.database import allowed_memory, own_database
from tasks.intake.duplicates import without_duplicates
from tasks.intake.frame import FrameBuilder, frame_digest
from tasks.intake.lines import LONGEST_LINE, LineCount, count_records
from tasks.intake.sealed import SealedFile, sealed
from tasks.intake.source import InputFile, TableSource, find_source
from tasks.intake.statement import problem_of
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
Files = dict[str, tuple[InputFile, SealedFile]]

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
    in every column of text, whatever the format. The steps of the policy for untidy cells are taken after the
    query. Rows that repeat the row before them are left out if the policy says so. Takes O(bytes) of time and
    memory.

    Raises UsageError where no table is named or a path leads elsewhere, and InputError where it cannot be
    read as a table. An error names lines, columns and counts; it holds no cell and no cause.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    with ExitStack() as opened:
        files = {
            name: (file, opened.enter_context(sealed(file.path, file.check, file.objects)))
            for name, file in _files(source).items()
        }
        built = _read(source, files, policy)
        frame, identifiers = built.frame(), built.identifying()
        if source.file is None:
            table = SourceTable(frame, frame_digest(frame), "query", identifiers)
        else:
            table = SourceTable(frame, files[INPUT][1].digest, source.file.path.name, identifiers)
    return without_duplicates(table) if policy.source.duplicates == "removed" else table


def _files(source: TableSource) -> dict[str, InputFile]:
    own = {} if source.file is None else {INPUT: source.file}
    return {**own, **source.inputs}


def _read(source: TableSource, files: Files, policy: ReleasePolicy) -> FrameBuilder:
    """Run the query, or read the whole file, and turn every error of DuckDB into one of ours."""
    connection = own_database()
    try:
        if source.query is None:
            builder, where = _read_whole(connection, *files[INPUT], policy), files[INPUT][1].shown
        else:
            for name, (file, table) in files.items():
                _load(connection, name, file, table, policy)
            builder, where = _run(connection, source.query, [*files], policy), "source.query"
    finally:
        connection.close()
    if builder.n_rows == 0:
        raise InputError("gives no rows", where=where, hint="Check the period and the table's rows.")
    return builder


def _read_whole(
    connection: duckdb.DuckDBPyConnection, file: InputFile, table: SealedFile, policy: ReleasePolicy
) -> FrameBuilder:
    """Read the table's file without a query, straight into the frame's columns."""
    text = _checked_text(file, table, policy, own=True)
    finding, hint = "", ""
    failure: TransientFailure | None = None
    try:
        connection.execute(f"CREATE VIEW input AS {_select(connection, file, table, text, policy)}")
        longest = text.count.longest if text and not policy.source.line_breaks else None
        builder = _fetch(connection, WHOLE_INPUT, policy, table.shown, longest)
        finding = _rejected(connection, table, policy) if text else ""
        hint = HINT_QUOTES
    except duckdb.Error as error:
        failure = spill_failure(error, connection)
        finding, hint = _file_problem(error, table, text)
    if failure is not None:
        raise failure
    if finding:
        raise InputError(finding, where=table.shown, hint=hint)
    _check_count(table, text, builder.n_rows)
    return builder


def _load(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    file: InputFile,
    table: SealedFile,
    policy: ReleasePolicy,
) -> None:
    """Copy a file into a table of the database in memory, so that a query needs no file."""
    text = _checked_text(file, table, policy, own=False)
    finding, hint, rows = "", "", 0
    failure: TransientFailure | None = None
    try:
        connection.execute(
            f"CREATE TABLE {identifier(name)} AS {_select(connection, file, table, text, policy)}"
        )
        finding = _rejected(connection, table, policy) if text else ""
        hint = HINT_QUOTES
        if text:
            connection.execute("DROP TABLE IF EXISTS reject_errors; DROP TABLE IF EXISTS reject_scans")
        counted = connection.execute(f"SELECT count(*) FROM {identifier(name)}").fetchone()
        rows = counted[0] if counted else 0
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


@dataclass(frozen=True)
class _Text:
    """What is known of a CSV text before it is parsed."""

    header: list[str]
    count: LineCount


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
    cells = ", ".join(_cell(name, source) for name in text.header)
    return (
        f"SELECT {cells} FROM read_csv({place}, columns = {{{columns}}}, "
        f"delim = {literal(file.delimiter)}, quote = '\"', escape = '\"', header = true, "
        f"auto_detect = false, strict_mode = true, store_rejects = true, nullstr = [{literal(NO_CELL)}], "
        f"max_line_size = {2 * LONGEST_LINE}, encoding = '{policy.source.encoding}', "
        "hive_partitioning = false, compression = 'none')"
    )


def _cell(name: str, source: Source) -> str:
    """Return the SQL of a CSV file's cell as a query sees it: text, or NULL where it is missing."""
    column = identifier(name)
    text = stripped(column) if source.strip else column
    return f"{known(text, source.missing or (NO_CELL,))} AS {column}"


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
