"""Which file or query a period's table comes from, and in what format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from policy.errors import InputError, UsageError
from policy.model import ReleasePolicy

PERIOD = re.compile(r"[A-Za-z0-9_.:-]+")
SUFFIXES: dict[str, Literal["csv", "parquet"]] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "csv",
    ".tsv.gz": "csv",
    ".parquet": "parquet",
}


@dataclass(frozen=True)
class TableSource:
    """A file, a query, or a query over a file (there called `input`)."""

    path: Path | None
    query: str | None
    format: Literal["csv", "parquet"] | None  # of the file; None where there is none
    delimiter: str
    base: Path  # the policy's folder, where a query finds its files

    @property
    def where(self) -> str:
        """What an error about the table's contents names: the query where there is one, else the file."""
        return "source.query" if self.query is not None else str(self.path)


def find_source(policy: ReleasePolicy, *, input_path: Path | None, period: str, base: Path) -> TableSource:
    """Choose the file (`input_path`, else `source.path` beside the policy) and the query of a period.

    Raises UsageError where the policy and the command name no table or a period has other characters
    than letters, digits, `_ . : -`; InputError where the file is not there or its format is not told.
    """
    source = policy.source
    query = None if source.query is None else with_period(source.query, period, "source.query")
    path = source_path(policy, input_path=input_path, period=period, base=base)
    if path is None and query is None:
        raise UsageError(
            "names no table",
            where="source",
            mend="Give --input FILE, or source.path or source.query in the policy.",
        )
    if source.format == "sql" and query is None:
        raise UsageError("is 'sql' without a query", where="source.format", mend="Write source.query.")
    delimiter = source.delimiter
    if path is None:
        return TableSource(None, query, None, delimiter, base)
    _check_file(path)
    suffix = _suffix(path)
    if suffix in (".tsv", ".tsv.gz") and "delimiter" not in source.model_fields_set:
        delimiter = "\t"
    return TableSource(path, query, _format(source.format, path, suffix), delimiter, base)


def source_path(policy: ReleasePolicy, *, input_path: Path | None, period: str, base: Path) -> Path | None:
    """Return where the file of a period should be, or None where a query reads the table without one."""
    if input_path is None and policy.source.path is not None:
        return base / with_period(policy.source.path, period, "source.path")
    return input_path


def input_file(policy: ReleasePolicy, *, input_path: Path | None, period: str, base: Path) -> Path | None:
    """Return the file that `find_source` chooses, or None where a query reads the table without one."""
    return find_source(policy, input_path=input_path, period=period, base=base).path


def with_period(text: str, period: str, where: str) -> str:
    """Fill `{period}` into a path or a query; only a period of harmless characters is let in."""
    if "{period}" not in text:
        return text
    if not PERIOD.fullmatch(period):
        raise UsageError(
            "{period} cannot be filled in: a period is made of letters, digits and _ . : - only",
            where=where,
            mend="Give a period such as 2024Q1.",
        )
    return text.replace("{period}", period)


def _check_file(path: Path) -> None:
    if path.is_dir():
        raise InputError("is a folder", where=str(path), mend="Give the path of one CSV or Parquet file.")
    if not path.exists():
        raise InputError("no such file", where=str(path), mend="Give --input FILE, or mend source.path.")


def _suffix(path: Path) -> str:
    name = path.name.lower()
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _format(written: str, path: Path, suffix: str) -> Literal["csv", "parquet"]:
    if written == "csv":
        return "csv"
    if written == "parquet":
        return "parquet"
    if not suffix:
        raise InputError(
            "the file's name does not tell its format",
            where=str(path),
            mend=f"Name it {', '.join(SUFFIXES)}, or write source.format: csv or parquet.",
        )
    return SUFFIXES[suffix]
