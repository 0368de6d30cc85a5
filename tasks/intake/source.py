"""Which file or query a period's table comes from, and in what format."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policy.errors import InputError, UsageError
from policy.location import Location, ObjectAddress
from policy.model import ReleasePolicy, Source
from policy.trusted import ObjectStore, Trusted

PERIOD = re.compile(r"[A-Za-z0-9_.:-]+")
SUFFIXES: dict[str, Literal["csv", "parquet"]] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
}


@dataclass(frozen=True)
class InputFile:
    """One file or object of a table, and how it is written."""

    path: Location
    format: Literal["csv", "parquet"]
    delimiter: str
    check: Callable[[Path], None]  # raises where the file that was opened lies elsewhere than it may
    objects: ObjectStore  # which has the object


@dataclass(frozen=True)
class TableSource:
    """A file, a query, or a query over a file (there called `input`) and further ones by their names."""

    file: InputFile | None
    query: str | None
    inputs: dict[str, InputFile]

    @property
    def path(self) -> Location | None:
        """The table's own file, or None where a query makes it without one."""
        return None if self.file is None else self.file.path

    @property
    def where(self) -> str:
        """What an error about the table's contents names: the query where there is one, else the file."""
        return "source.query" if self.query is not None else str(self.path)


def find_source(
    policy: ReleasePolicy,
    *,
    input_path: Location | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> TableSource:
    """Choose the file (`input_path`, else `source.path`), the further inputs and the query of a period.

    Raises UsageError where the policy and the command name no table, a period has other characters than
    letters, digits, `_ . : -`, or a path of the policy leads out of its folder `base` and of those that are
    `trusted`; InputError where a file is not there or its format is not told.
    """
    source = policy.source
    trusted = trusted or Trusted()
    query = None if source.query is None else with_period(source.query, period, "source.query")
    path = source_path(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    if path is None and query is None:
        raise UsageError(
            "names no table",
            where="source",
            hint="Give --input FILE, or set source.path or source.query.",
        )
    if source.format == "sql" and query is None:
        raise UsageError("is 'sql', but there is no query", where="source.format", hint="Set source.query.")
    file = None
    if path is not None:
        where = "source.path" if input_path is None else "--input"
        if isinstance(path, ObjectAddress):
            trusted.check_no_secret_name(path.name, where)
        file = _file(path, source, trusted, _checker(trusted, base, where, given=input_path is not None))
    inputs = {}
    for name, written in source.inputs.items():
        where = f"source.inputs.{name}"
        found = trusted.located(with_period(written, period, where), base, where)
        inputs[name] = _file(found, source, trusted, _checker(trusted, base, where, given=False))
    return TableSource(file, query, inputs)


def _checker(trusted: Trusted, base: Path, where: str, *, given: bool) -> Callable[[Path], None]:
    """Return what looks at an opened file: one that a command gives may lie anywhere but in a store."""
    if given:
        return lambda lies: trusted.check_no_secret(lies, where)
    return lambda lies: trusted.check(lies, base, where)


def source_path(
    policy: ReleasePolicy,
    *,
    input_path: Location | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> Location | None:
    """Return where the file of a period should be, or None where a query reads the table without one."""
    if input_path is None and policy.source.path is not None:
        written = with_period(policy.source.path, period, "source.path")
        found = (trusted or Trusted()).located(written, base, "source.path")
        return base / written if isinstance(found, Path) else found
    return input_path


def input_file(
    policy: ReleasePolicy,
    *,
    input_path: Location | None,
    period: str,
    base: Path,
    trusted: Trusted | None = None,
) -> Location | None:
    """Return the file that `find_source` chooses, or None where a query reads the table without one."""
    return find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted).path


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
    suffix = _suffix(path)
    delimiter = source.delimiter
    if suffix in (".tsv", ".tsv.gz") and "delimiter" not in source.model_fields_set:
        delimiter = "\t"
    return InputFile(path, _format(source.format, path, suffix), delimiter, check, trusted.objects)


def _suffix(path: Location) -> str:
    name = path.name.lower()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _format(written: str, path: Location, suffix: str) -> Literal["csv", "parquet"]:
    if written == "csv":
        return "csv"
    if written == "parquet":
        return "parquet"
    if not suffix:
        raise InputError(
            "the format of the file is unknown",
            where=str(path),
            hint=f"Name it {', '.join(SUFFIXES)}, or set source.format to csv or parquet.",
        )
    return SUFFIXES[suffix]
