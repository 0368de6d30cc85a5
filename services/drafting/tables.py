"""Load the tables that a policy is drafted from into one relation of text, whatever their columns' order.

A workbook, a database, an object and a table of Postgres are opened and bounded as in a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from policy.encoding import UTF_8, codec_of, is_unicode
from policy.errors import InputError, UsageError
from policy.location import Location
from policy.postgres_address import PostgresTable
from policy.text import BLANKS, number_of, one_spelling
from policy.trusted import Memory, ObjectStore
from tasks.intake.columns import check_distinct, display_column
from tasks.intake.copied_rows import COPIED, copied_rows
from tasks.intake.csv_file import CsvText, check_rows_read, counted_lines, csv_reader
from tasks.intake.database import allowed_memory, own_database
from tasks.intake.encoding import (
    common_encoding,
    guess_encoding,
    is_ascii,
    lines_beyond_ascii,
    readings,
    utf_8_text,
)
from tasks.intake.lengths import check_lengths
from tasks.intake.load import rows_in
from tasks.intake.parquet_file import check_parquet
from tasks.intake.sealed import sealed
from tasks.intake.sealed_file import SealedFile
from tasks.intake.source import FORMATS, POSTGRES, SUFFIXES, Format
from tasks.intake.sqlite_file import check_nothing_unfinished
from tasks.intake.text import DELIMITERS, LONGEST_HEADER, read_header
from tasks.intake.text_rows import names_of_rows, rows_reader
from tasks.intake.total_row import check_no_total, last_of_relation
from tasks.sql import identifier, literal

PLAIN_FILES: tuple[Format, ...] = ("csv", "parquet")
NO_STORE = Memory()  # a draft is made without a store, whose owner could limit its memory


@dataclass(frozen=True)
class InputOptions:
    """Which sheet of workbooks and which table of SQLite databases is read, and the store of objects."""

    sheet: str | None = None
    table: str | None = None
    objects: ObjectStore = field(default_factory=ObjectStore)

    def check(self, table: Location, kind: Format) -> None:
        """Raise UsageError where a file has no sheet or table that an option could name."""
        for option, of, given in (("sheet", "excel", self.sheet), ("table", "sqlite", self.table)):
            if given is not None and kind != of:
                raise UsageError(
                    f"names a {option}, but {table.name} is read as {kind}",
                    where=f"--{option}",
                    hint="Leave the option out.",
                )


@dataclass(frozen=True)
class Loaded:
    """What is known of tables that were loaded as `cells`: all text, with the table's number in `number`."""

    names: tuple[str, ...]
    number: str
    delimiter: str
    encoding: str
    readings: Mapping[str, str]  # the encodings that are as likely as this one, with what each reads
    padded_names: bool  # some name has blanks around it
    hidden_names: bool  # some name has characters that are not shown


@dataclass(frozen=True)
class _File:
    """How one file is written; `written` are its columns' names in the file."""

    kind: Format
    written: tuple[str, ...]
    delimiter: str | None = None
    text: CsvText | None = None
    encoding: str = ""  # empty if it is ASCII, or no CSV
    sample: bytes = b""  # of a CSV file that is neither ASCII nor Unicode, lines that tell its encoding


@dataclass(frozen=True)
class TableCells:
    """A table that no policy describes: its cells as text, in the table `cells` of `connection`."""

    names: tuple[str, ...]
    connection: duckdb.DuckDBPyConnection


@contextmanager
def table_cells(table: Path) -> Iterator[TableCells]:
    """Read a CSV (also .gz) or Parquet file; the cells are there inside the `with`.

    Raises UsageError where there is no such file or its kind is unknown, InputError where it cannot be
    read as a table of at least one row. No message holds a cell.
    """
    with own_database(NO_STORE) as con:
        loaded = load_tables(con, [table], formats=PLAIN_FILES)
        yield TableCells(loaded.names, con)


def load_tables(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[Location],
    options: InputOptions | None = None,
    formats: Sequence[Format] = FORMATS,
    encoding: str | None = None,
) -> Loaded:
    """Create `cells` from tables with the same columns, which are in one of `formats`.

    CSV files are in `encoding`; without one, it is guessed of each, and of all together where these differ.

    Raises UsageError where there is no such file or its kind is unknown, InputError where one cannot be read
    as a table of at least one row, ends in a total, or is written otherwise than the first. No message holds
    a cell.
    """
    options = options or InputOptions()
    kinds = [_kind(table, formats) for table in tables]
    for table, kind in zip(tables, kinds, strict=True):
        options.check(table, kind)
    _check_each_once(tables)
    files: list[_File] = []
    shown: list[str] = []
    names: tuple[str, ...] = ()
    number = "table"
    for place, (table, kind) in enumerate(zip(tables, kinds, strict=True)):
        with _sealed(table, kind, options, encoding) as (copy, read_as, sample):
            file = replace(_file(con, copy, kind), encoding=read_as, sample=sample)
            if kind in COPIED:
                _check_no_row(file.written, copy.shown)
            called = [_called(name) for name in file.written]
            check_distinct(called, copy.shown, tell=False)
            _check_no_rowid(called, copy.shown)
            if not place:
                names = tuple(called)
                while number.casefold() in {name.casefold() for name in names}:
                    number += "_"
            _check_same_columns(names, called, shown[0] if shown else "", copy.shown)
            _load(con, copy, file, names, number, place)
            _check_rows(con, names, number, place, copy.shown)
            files.append(file)
            shown.append(copy.shown)
    if encoding is None and (common := _common_encoding(files)) is not None:
        con.execute("DROP TABLE cells")
        return load_tables(con, tables, options, formats, common)
    con.execute("SET enable_external_access = false")
    read_as = _same_encoding(files, shown)
    return Loaded(
        names=names,
        number=number,
        delimiter=_same_delimiter(files, shown),
        encoding=read_as,
        readings=readings(b"".join(file.sample for file in files), read_as),
        padded_names=any(name != name.strip(BLANKS) for file in files for name in file.written),
        hidden_names=any(name != one_spelling(name) for file in files for name in file.written),
    )


def _called(name: str) -> str:
    return one_spelling(name).strip(BLANKS)


def _check_no_rowid(names: Sequence[str], where: str) -> None:
    """Refuse the name by which DuckDB counts the rows of `cells`."""
    if "rowid" in {name.casefold() for name in names}:
        raise InputError(
            "a column is called rowid, as DuckDB's count of rows", where=where, hint="Rename it."
        )


def _check_each_once(tables: Sequence[Location]) -> None:
    """Raise UsageError for a table that is given twice: its rows would count twice."""
    places = [table.resolve() if isinstance(table, Path) else table for table in tables]
    for number, place in enumerate(places):
        if place in places[:number]:
            raise UsageError("is given twice", where=str(tables[number]), hint="Give each table once.")


def _kind(table: Location, formats: Sequence[Format]) -> Format:
    if isinstance(table, PostgresTable):
        return POSTGRES
    suffixes = {suffix: kind for suffix, kind in SUFFIXES.items() if kind in formats}
    if isinstance(table, Path) and (not table.exists() or table.is_dir()):
        raise UsageError(
            "no such file",
            where=str(table),
            hint=f"Give the path of a file named {', '.join(suffixes)}.",
        )
    kind = next((suffixes[suffix] for suffix in suffixes if table.name.lower().endswith(suffix)), None)
    if kind is None:
        raise UsageError(
            f"the file type '{Path(table.name).suffix}' is not supported",
            where=str(table),
            hint=f"Give a file named {', '.join(suffixes)}.",
        )
    return kind


@contextmanager
def _sealed(
    table: Location, kind: Format, options: InputOptions, encoding: str | None
) -> Iterator[tuple[SealedFile, str, bytes]]:
    """Seal a table; a sheet or a table of a database is copied as text, and a CSV file as UTF-8.

    Also yields the encoding of a CSV file that is not ASCII, and lines that tell it if no mark does.
    """
    with sealed(table, objects=options.objects) as whole:
        if kind == "csv":
            if is_ascii(whole):
                encoding = UTF_8
            encoding = encoding or guess_encoding(whole)
            sample = b"" if is_unicode(codec_of(encoding)) else lines_beyond_ascii(whole)
            with utf_8_text(whole, encoding) as text:
                yield text, "" if is_ascii(whole) else encoding, sample
        elif kind in COPIED:
            check_nothing_unfinished(table)
            named = options.sheet if kind == "excel" else options.table
            with copied_rows(whole, kind, named, "", prefix="--", memory=NO_STORE) as rows:
                yield rows, "", b""
        else:
            yield whole, "", b""


def _file(con: duckdb.DuckDBPyConnection, table: SealedFile, kind: Format) -> _File:
    if kind not in PLAIN_FILES:
        return _File(kind, tuple(names_of_rows(table)))
    if kind == "parquet":
        check_parquet(table)
        reader = f"read_parquet({literal(str(table.path))}, hive_partitioning = false)"
        names: list[str] = []
        problem = ""
        try:
            names = [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()]
        except duckdb.Error as error:
            problem = type(error).__name__
        if problem:
            raise _unreadable(table, problem)
        return _File(kind, tuple(names))
    delimiter, text = _checked_text(table)
    return _File(kind, tuple(text.header), delimiter, text)


def _reader(table: SealedFile, file: _File) -> str:
    place = literal(str(table.path))
    if file.kind not in PLAIN_FILES:
        return rows_reader(table, file.written)
    if file.kind == "parquet":
        return f"read_parquet({place}, hive_partitioning = false)"
    assert file.text is not None and file.delimiter is not None  # noqa: S101, PT018 -- it is CSV
    parallel = not file.text.count.first_break
    return csv_reader(table, file.delimiter, file.written, null="", parallel=parallel)


def _load(
    con: duckdb.DuckDBPyConnection,
    table: SealedFile,
    file: _File,
    names: Sequence[str],
    number: str,
    place: int,
) -> None:
    """Add a table's rows to `cells`, all text; how long they are is checked where no line of a file says."""
    problem = ""
    written = {_called(name): name for name in file.written}
    selected = [f"CAST({identifier(written[name])} AS VARCHAR) AS {identifier(name)}" for name in names]
    try:
        cells = f"(SELECT {', '.join(selected)} FROM {_reader(table, file)})"
        if file.kind != "csv":
            check_lengths(con, cells, names, table.shown)
        rows = f"SELECT *, {place} AS {identifier(number)} FROM {cells}"
        con.execute(f"INSERT INTO cells {rows}" if place else f"CREATE TABLE cells AS {rows}")
        if file.text is not None:
            n_rows = rows_in(con, f"cells WHERE {identifier(number)} = {place}")
            check_rows_read(con, table, file.text, n_rows)
    except duckdb.OutOfMemoryException:
        problem = f"needs more than {allowed_memory(NO_STORE)}"
    except duckdb.Error as error:
        # DuckDB's own message may quote a line of the file.
        problem = type(error).__name__
    if problem:
        raise _unreadable(table, problem)


def _unreadable(table: SealedFile, problem: str) -> InputError:
    return InputError(
        f"cannot be read as a table ({problem})",
        where=table.shown,
        hint="The file may be damaged: export it again.",
    )


def _check_same_columns(names: Sequence[str], called: Sequence[str], first: str, where: str) -> None:
    lacks = [name for name in names if name not in set(called)]
    more = [name for name in called if name not in set(names)]
    # A file without a line of names has a person's row there: only if it has all names are others told.
    for differing, without, other in ((lacks, where, first), (more, first, where)):
        if differing:
            others = f" ({len(differing) - 1} more differ)" if len(differing) > 1 else ""
            raise InputError(
                f"lacks the column {display_column(differing[0])}, which {other} has{others}",
                where=without,
                hint="Give tables with the same columns, or draft from one of them.",
            )


def _check_rows(
    con: duckdb.DuckDBPyConnection, names: Sequence[str], number: str, place: int, where: str
) -> None:
    """Refuse a table without rows, and one whose last row is a total of the others."""
    own = f"(FROM cells WHERE {identifier(number)} = {place})"
    n_rows = rows_in(con, own)
    if not n_rows:
        raise InputError("the table has no rows", where=where, hint="Draft from a table with rows.")
    check_no_total(con, own, last_of_relation(con, names, own, n_rows), n_rows, where)


def _same_delimiter(files: Sequence[_File], shown: Sequence[str]) -> str:
    found = [(file.delimiter, where) for file, where in zip(files, shown, strict=True) if file.delimiter]
    for delimiter, where in found[1:]:
        first, other = found[0]
        if delimiter != first:
            raise InputError(
                f"is delimited by {DELIMITERS[delimiter]}, and {other} by {DELIMITERS[first]}",
                where=where,
                hint="Save all tables with one delimiter.",
            )
    return found[0][0] if found else ","


def _common_encoding(files: Sequence[_File]) -> str | None:
    """Return the encoding that all files can be in where other ones are likelier for some of them."""
    guessed = {file.encoding for file in files if file.encoding}
    if len(guessed) < 2 or not all(file.sample for file in files if file.encoding):
        return None
    return common_encoding(file.sample for file in files)


def _same_encoding(files: Sequence[_File], shown: Sequence[str]) -> str:
    """Return the encoding of all files. Those of ASCII are in each."""
    found = {file.encoding: where for file, where in zip(files, shown, strict=True) if file.encoding}
    (first, where), *others = [*found.items()] or [(UTF_8, "")]
    for encoding, other in others:
        raise InputError(
            f"is {encoding}, and {where} is {first}",
            where=other,
            hint="Save all tables in one encoding.",
        )
    return first


def _checked_text(table: SealedFile) -> tuple[str, CsvText]:
    """Return the delimiter that cuts the first line into most columns, and what is known of the text."""
    with table.text(UTF_8) as text:
        line = re.sub('"[^"]*"', "", text.readline(LONGEST_HEADER))
    delimiter = max(DELIMITERS, key=line.count)
    names = read_header(table, delimiter)
    _check_no_row(names, table.shown)
    if len(names) > 1 and not names[-1].strip() and all(name.strip() for name in names[:-1]):
        raise InputError(
            f"line 1 ends in a delimiter, as if it had {number_of(len(names), 'column')}",
            where=table.shown,
            hint="Remove the delimiter at the end of each line.",
        )
    check_distinct(names, table.shown, tell=False)
    # The drafted policy refuses line breaks inside of values until somebody allows them.
    return delimiter, CsvText(names, counted_lines(table, delimiter, len(names), line_breaks=True))


def _check_no_row(names: Sequence[str], where: str) -> None:
    """Refuse a first line that is a person's row, which must not be told."""
    if any(re.fullmatch(r"[-+]?[0-9][0-9.]*", name.strip()) for name in names):
        raise InputError(
            "line 1 has numbers: it seems to be a row, not the names of the columns",
            where=where,
            hint="Put the columns' names in line 1.",
        )
