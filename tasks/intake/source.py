"""Which file or query a period's table comes from, and in what format."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from policy.encoding import UTF_8
from policy.errors import InputError, UsageError
from policy.location import Location, ObjectAddress
from policy.model import ReleasePolicy, Source
from policy.postgres_address import PostgresTable
from policy.text import number_of
from policy.trusted import ObjectStore, Trusted
from tasks.intake import table_object
from tasks.intake.sealed import digest_of_parts, input_digest
from tasks.intake.table_object import TableObject

PERIOD = re.compile(r"[A-Za-z0-9_.:-]+")
Format: TypeAlias = Literal["csv", "parquet", "excel", "sqlite", "postgres"]
SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
}


FORMATS: tuple[Format, ...] = get_args(Format)
POSTGRES: Format = "postgres"  # of what has an address there, whatever the policy says of files


@dataclass(frozen=True)
class InputFile:
    """One file or object of a table, or a table of Postgres, and how it is written.

    `part` is the sheet or table of it that the policy names; else the one called `alias` is read, or the only
    one.
    """

    path: Location
    format: Format
    delimiter: str
    check: Callable[[Path], None]  # raises where the file that was opened lies elsewhere than it may
    objects: ObjectStore  # which has the object
    part: str | None = None
    alias: str = ""
    encoding: str = UTF_8  # of CSV


Given: TypeAlias = Location | TableObject
"""The table that a command or a program gives in place of the policy's own source."""


@dataclass(frozen=True)
class TableSource:
    """The parts of a table, a table in memory, a query, or a query over either (there called `input`) and
    further files by their names.
    """

    parts: tuple[InputFile, ...]
    query: str | None
    inputs: dict[str, InputFile]
    given: TableObject | None = None

    @property
    def name(self) -> str:
        """What is recorded as the table's origin: the name of its file, "object" or "query"."""
        if self.given is not None:
            return table_object.ORIGIN
        return parts_name([part.path for part in self.parts]) if self.parts else "query"

    @property
    def where(self) -> str:
        """What a finding about the table's contents names: the query where there is one, else its files."""
        return "source.query" if self.query is not None else self.shown

    @property
    def shown(self) -> str:
        """The path or address of the table's only file, else what stands for it in few words."""
        if len(self.parts) == 1:
            return str(self.parts[0].path)
        if self.given is not None:
            return table_object.WHERE
        return self.name if self.parts else "source.query"


def find_source(
    policy: ReleasePolicy,
    *,
    input_path: Given | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> TableSource:
    """Choose the table (`input_path`, else `source.path`), the further inputs and the query of a period.

    Raises UsageError where the policy and the command name no table, a period has other characters than
    letters, digits, `_ . : -`, or a path of the policy leads out of its folder `base` and of those that are
    `trusted`; InputError where a file is not there or its format is not told.
    """
    source = policy.source
    trusted = trusted or Trusted()
    query = None if source.query is None else with_period(source.query, period, "source.query")
    given = input_path if isinstance(input_path, TableObject) else None
    location = None if isinstance(input_path, TableObject) else input_path
    paths = (
        source_paths(policy, input_path=location, period=period, base=base, trusted=trusted)
        if given is None
        else ()
    )
    if not paths and given is None and query is None:
        raise UsageError(
            "names no table",
            where="source",
            hint="Give --input FILE, or set source.path or source.query.",
        )
    if source.format == "sql" and query is None:
        raise UsageError("is 'sql', but there is no query", where="source.format", hint="Set source.query.")
    parts = []
    for path in paths:
        where = "source.path" if location is None else "--input"
        if isinstance(path, ObjectAddress):
            trusted.check_no_secret_name(path.name, where)
        checker = _checker(trusted, base, where, given=location is not None)
        parts.append(_own_part(_file(path, source, trusted, checker), source))
    inputs = {}
    for name, written in source.inputs.items():
        where = f"source.inputs.{name}"
        found = trusted.located(with_period(written, period, where), base, where)
        file = _file(found, source, trusted, _checker(trusted, base, where, given=False))
        inputs[name] = replace(file, alias=name)
    return TableSource(tuple(parts), query, inputs, given)


def _checker(trusted: Trusted, base: Path, where: str, *, given: bool) -> Callable[[Path], None]:
    """Return what looks at an opened file: one that a command gives may lie anywhere but in a store."""
    if given:
        return lambda lies: trusted.check_no_secret(lies, where)
    return lambda lies: trusted.check(lies, base, where)


def source_paths(
    policy: ReleasePolicy,
    *,
    input_path: Location | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> tuple[Location, ...]:
    """Return where the files of a period should be, its parts in order; none where a query reads the table
    without a file.

    Raises UsageError where two parts are one file: its people would count twice.
    """
    if input_path is not None or policy.source.path is None:
        return () if input_path is None else (input_path,)
    written = policy.source.path
    paths: list[Location] = []
    seen: dict[Location, str] = {}
    for one in (written,) if isinstance(written, str) else written:
        filled = with_period(one, period, "source.path")
        found = (trusted or Trusted()).located(filled, base, "source.path")
        if found in seen:
            raise UsageError(
                f"'{filled}' and '{seen[found]}' are one file",
                where="source.path",
                hint="Name each part of the table once.",
            )
        seen[found] = filled
        paths.append(base / filled if isinstance(found, Path) else found)
    return tuple(paths)


def recorded_name_and_digest(
    policy: ReleasePolicy,
    *,
    input_path: Given | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> tuple[str, str] | None:
    """Return the name and the digest of the table's files, before they are read as a table; None without one.

    Raises as `find_source` and `input_digest`.
    """
    source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    if not source.parts:
        return None
    return source.name, digest_of_parts([input_digest(part.path, part.objects) for part in source.parts])


def parts_name(paths: Sequence[Location]) -> str:
    """Return the name of a table's file, or of the first of its parts and how many more there are."""
    more = len(paths) - 1
    return f"{paths[0].name} and {number_of(more, 'more file')}" if more else paths[0].name


def with_period(text: str, period: str, where: str) -> str:
    """Fill `{period}` into a path or a query; only a period of harmless characters is let in."""
    if "{period}" not in text:
        return text
    if not PERIOD.fullmatch(period):
        raise UsageError(
            "{period} cannot be filled in: a period has letters, digits and _ . : - only",
            where=where,
            hint="Give a period such as 2024Q1.",
        )
    return text.replace("{period}", period)


def _file(path: Location, source: Source, trusted: Trusted, check: Callable[[Path], None]) -> InputFile:
    if isinstance(path, Path) and path.is_dir():
        raise InputError("is a folder", where=str(path), hint="Give the path of one CSV or Parquet file.")
    if isinstance(path, Path) and not path.exists():
        raise InputError("no such file", where=str(path), hint="Give --input FILE, or correct source.path.")
    if isinstance(path, PostgresTable):
        return InputFile(path, POSTGRES, ",", check, trusted.objects)
    suffix = _suffix(path)
    delimiter = source.delimiter
    if suffix in (".tsv", ".tsv.gz") and "delimiter" not in source.model_fields_set:
        delimiter = "\t"
    kind = _format(source.format, path, suffix)
    return InputFile(path, kind, delimiter, check, trusted.objects, encoding=source.encoding)


def _own_part(file: InputFile, source: Source) -> InputFile:
    """Return a table's own file with its sheet or table. Raises UsageError where it can have none."""
    for field, kind, written in (("sheet", "excel", source.sheet), ("table", "sqlite", source.table)):
        if written is not None and file.format != kind:
            raise UsageError(
                f"names a {field}, but {file.path.name} is read as {file.format}",
                where=f"source.{field}",
                hint=f"Remove it, or set source.format: {kind}.",
            )
    return replace(file, part=source.sheet if file.format == "excel" else source.table)


def _suffix(path: Location) -> str:
    name = path.name.lower()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _format(written: str, path: Location, suffix: str) -> Format:
    named = next((one for one in FORMATS if one == written), None)
    if named is not None:
        return named
    if path.name.lower().endswith(".xls"):
        raise InputError(
            "is an old Excel file (.xls)",
            where=str(path),
            hint="Open it in a spreadsheet program, and save it again as .xlsx.",
        )
    if not suffix:
        raise InputError(
            "the format of the file is unknown",
            where=str(path),
            hint=f"Name it {', '.join(SUFFIXES)}, or set source.format.",
        )
    return SUFFIXES[suffix]
