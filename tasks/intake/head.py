"""The names of a file's columns, read from its head alone: cheap, and before the table is read."""

from __future__ import annotations

from pathlib import Path

import duckdb

from policy.errors import InputError
from policy.model import ReleasePolicy
from tasks.intake.cells import column_names
from tasks.intake.database_process import DatabaseProcess
from tasks.intake.encoding import utf_8_text
from tasks.intake.load import file_problem
from tasks.intake.parquet_file import check_parquet, select_parquet
from tasks.intake.sealed import head_of, opened_in_place
from tasks.intake.source import InputFile
from tasks.intake.text import LONGEST_HEADER, read_header


def names_in_head(file: InputFile, policy: ReleasePolicy) -> list[str] | None:
    """Return the names of the columns; None where the file has no head, and is read once and whole.

    That is an object of an S3 store, a workbook, a database and a table of Postgres. Raises InputError where
    the file or its line of names cannot be read. O(1), whatever the file's size.
    """
    if not isinstance(file.path, Path) or file.format not in ("csv", "parquet"):
        return None
    if file.format == "parquet":
        return _names_in_parquet(file.path, file, policy)
    with (
        head_of(file.path, file.check, 2 * LONGEST_HEADER) as head,
        utf_8_text(head, file.encoding, is_whole=False) as text,
    ):
        return column_names(read_header(text, file.delimiter), policy.source)


def _names_in_parquet(path: Path, file: InputFile, policy: ReleasePolicy) -> list[str]:
    finding, hint = "", ""
    with opened_in_place(path, file.check) as table:
        check_parquet(table)
        try:
            with DatabaseProcess([table.handle]) as database:
                return list(database.sql(select_parquet(database, table, policy.source)).columns)
        except duckdb.Error as error:
            finding, hint = file_problem(error)
    raise InputError(finding, where=str(path), hint=hint)
