"""The names of a file's columns, read from its head alone: cheap, and before the table is read."""

from __future__ import annotations

import duckdb

from policy.errors import InputError
from policy.location import ObjectAddress
from policy.model import ReleasePolicy
from tasks.intake.database import own_database
from tasks.intake.load import check_parquet, file_problem, select_file
from tasks.intake.sealed import head_of, opened_in_place
from tasks.intake.source import InputFile
from tasks.intake.text import LONGEST_HEADER, check_text, read_header


def column_names(file: InputFile, policy: ReleasePolicy) -> list[str] | None:
    """Return the names of the columns; None for an object of an S3 store, which is read once and whole.

    Raises InputError where the file or its line of names cannot be read. O(1), whatever the file's size.
    """
    if isinstance(file.path, ObjectAddress):
        return None
    if file.format == "parquet":
        return _names_in_parquet(file, policy)
    with head_of(file.path, file.check, 2 * LONGEST_HEADER) as head:
        check_text(head, policy.source.encoding)
        return read_header(head, policy.source.encoding, file.delimiter)


def _names_in_parquet(file: InputFile, policy: ReleasePolicy) -> list[str]:
    assert not isinstance(file.path, ObjectAddress)  # noqa: S101 -- looked at before
    finding, hint = "", ""
    with opened_in_place(file.path, file.check) as table:
        check_parquet(table)
        try:
            with own_database() as connection:
                return list(connection.sql(select_file(file, table, None, policy)).columns)
        except duckdb.Error as error:
            finding, hint = file_problem(error, table, None)
    raise InputError(finding, where=str(file.path), hint=hint)
