"""Load the tables that a policy is drafted from into one relation of text, whatever their columns' order.

A workbook, a database, an object and a table of Postgres are opened and bounded as in a run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import duckdb

from policy.errors import InputError, UsageError
from policy.location import Location
from policy.postgres_address import PostgresTable
from policy.text import BLANKS, number_of
from policy.trusted import Memory, ObjectStore
from tasks.intake.columns import check_distinct, display_column
from tasks.intake.copied_rows import COPIED, copied_rows
from tasks.intake.database import allowed_memory, own_database
from tasks.intake.lengths import check_lengths
from tasks.intake.lines import LONGEST_LINE, count_records
from tasks.intake.sealed import sealed
from tasks.intake.sealed_file import SealedFile
from tasks.intake.source import FORMATS, POSTGRES, SUFFIXES, Format
from tasks.intake.sqlite_file import check_nothing_unfinished
from tasks.intake.text import DELIMITERS, LONGEST_HEADER, check_text, check_width, read_header
from tasks.intake.text_rows import names_of_rows, rows_reader
from tasks.sql import identifier, literal

Encoding = Literal["utf-8", "latin-1"]
PLAIN_FILES: tuple[Format, ...] = ("csv", "parquet")
NO_STORE = Memory()  # a draft is made without a store, whose owner could limit its memory
TOTAL = "(?:grand |sub)?(?:total|totals|sum|summe|gesamt|insgesamt|somme|suma|totale):?"


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
    encoding: Encoding
    padded_names: bool  # some name has blanks around it


@dataclass(frozen=True)
class _File:
    """How one file is written; `written` are its columns' names in the file."""

    kind: Format
    written: tuple[str, ...]
    delimiter: str | None = None
    encoding: Encoding | None = None


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
) -> Loaded:
    """Create `cells` from tables with the same columns, which are in one of `formats`.

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
        with _sealed(table, kind, options) as copy:
            file = _file(con, copy, kind)
            if kind in COPIED:
                _check_no_row(file.written, copy.shown)
            called = [name.strip(BLANKS) for name in file.written]
            check_distinct(called, copy.shown, tell=False)
            if not place:
                names = tuple(called)
                while number.casefold() in {name.casefold() for name in names}:
                    number += "_"
            _check_same_columns(names, called, shown[0] if shown else "", copy.shown)
            _load(con, copy, file, names, number, place)
            _check_rows(con, names, number, place, copy.shown)
            files.append(file)
            shown.append(copy.shown)
    con.execute("SET enable_external_access = false")
    return Loaded(
        names=names,
        number=number,
        delimiter=_same_delimiter(files, shown),
        encoding=_same_encoding(tables, files, shown, options.objects),
        padded_names=any(name != name.strip(BLANKS) for file in files for name in file.written),
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
def _sealed(table: Location, kind: Format, options: InputOptions) -> Iterator[SealedFile]:
    """Seal a table; a sheet or a table of a database is copied as text."""
    with sealed(table, objects=options.objects) as whole:
        if kind not in COPIED:
            yield whole
            return
        check_nothing_unfinished(table)
        named = options.sheet if kind == "excel" else options.table
        with copied_rows(whole, kind, named, "", prefix="--", memory=NO_STORE) as rows:
            yield rows


def _file(con: duckdb.DuckDBPyConnection, table: SealedFile, kind: Format) -> _File:
    if kind not in PLAIN_FILES:
        return _File(kind, tuple(names_of_rows(table)))
    if kind == "parquet":
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
    encoding = _encoding(table)
    delimiter, header = _header(table, encoding)
    return _File(kind, tuple(header), delimiter, encoding)


def _reader(table: SealedFile, file: _File) -> str:
    place = literal(str(table.path))
    if file.kind not in PLAIN_FILES:
        return rows_reader(table, file.written)
    if file.kind == "parquet":
        return f"read_parquet({place}, hive_partitioning = false)"
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in file.written)
    return (
        f"read_csv({place}, columns = {{{columns}}}, auto_detect = false, header = true, "
        f"delim = {literal(file.delimiter or ',')}, quote = '\"', escape = '\"', strict_mode = true, "
        f"encoding = '{file.encoding}', max_line_size = {2 * LONGEST_LINE}, compression = 'none', "
        "hive_partitioning = false)"
    )


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
    written = {name.strip(BLANKS): name for name in file.written}
    selected = [f"CAST({identifier(written[name])} AS VARCHAR) AS {identifier(name)}" for name in names]
    try:
        cells = f"(SELECT {', '.join(selected)} FROM {_reader(table, file)})"
        if file.kind != "csv":
            check_lengths(con, cells, names, table.shown)
        rows = f"SELECT *, {place} AS {identifier(number)} FROM {cells}"
        con.execute(f"INSERT INTO cells {rows}" if place else f"CREATE TABLE cells AS {rows}")
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
        hint="Check that it is complete, and that every line of a CSV file has as many cells as line 1.",
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
    own = f"FROM cells WHERE {identifier(number)} = {place}"
    columns = ", ".join(map(identifier, names))
    last = con.execute(f"SELECT {columns} {own} ORDER BY rowid DESC LIMIT 1").fetchone()
    if last is None:
        raise InputError("the table has no rows", where=where, hint="Draft from a table with rows.")
    for name, cell in zip(names, last, strict=True):
        if cell is None or not cell.strip(BLANKS):
            continue
        if re.fullmatch(TOTAL, cell.strip(BLANKS), re.IGNORECASE):
            same = f"{own} AND {identifier(name)} = {literal(cell)}"
            if con.execute(f"SELECT count(*) {same}").fetchall() == [(1,)]:
                raise InputError(
                    "its last row is a total of the others, and no person's",
                    where=where,
                    hint="Remove the last line.",
                )
        return


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


def _same_encoding(
    tables: Sequence[Location], files: Sequence[_File], shown: Sequence[str], objects: ObjectStore
) -> Encoding:
    """Return the encoding of all files; those of ASCII alone are in each."""
    latin = next((place for place, file in enumerate(files) if file.encoding == "latin-1"), None)
    if latin is None:
        return "utf-8"
    for place, file in enumerate(files):
        if file.encoding == "utf-8":
            with sealed(tables[place], objects=objects) as copy:
                plain = _is_ascii(copy)
            if not plain:
                raise InputError(
                    f"is utf-8, and {shown[latin]} is not",
                    where=shown[place],
                    hint="Save all tables in one encoding.",
                )
    return "latin-1"


def _is_ascii(table: SealedFile) -> bool:
    with table.open() as file:
        return all(line.isascii() for line in file)


def _encoding(table: SealedFile) -> Encoding:
    """Return UTF-8 where the text is that, else Latin-1, which any text is."""
    try:
        check_text(table, "utf-8")
    except InputError:
        check_text(table, "latin-1")
        return "latin-1"
    return "utf-8"


def _header(table: SealedFile, encoding: Encoding) -> tuple[str, list[str]]:
    """Return the delimiter that cuts the first line into most columns, and their names."""
    with table.text(encoding) as text:
        line = re.sub('"[^"]*"', "", text.readline(LONGEST_HEADER))
    delimiter = max(DELIMITERS, key=line.count)
    names = read_header(table, encoding, delimiter)
    _check_no_row(names, table.shown)
    if len(names) > 1 and not names[-1].strip() and all(name.strip() for name in names[:-1]):
        raise InputError(
            f"line 1 ends in a delimiter, as if it had {number_of(len(names), 'column')}",
            where=table.shown,
            hint="Remove the delimiter at the end of each line.",
        )
    check_distinct(names, table.shown, tell=False)
    # The drafted policy refuses line breaks inside of values until somebody allows them.
    count_records(table, line_breaks=True)
    check_width(table, encoding, delimiter, len(names))
    return delimiter, names


def _check_no_row(names: Sequence[str], where: str) -> None:
    """Refuse a first line that is a person's row, which must not be told."""
    if any(re.fullmatch(r"[-+]?[0-9][0-9.]*", name.strip()) for name in names):
        raise InputError(
            "line 1 has numbers: it seems to be a row, not the names of the columns",
            where=where,
            hint="Put the columns' names in line 1.",
        )
