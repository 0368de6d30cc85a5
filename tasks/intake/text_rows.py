"""Rows that were copied as text out of a sheet or a database, in DuckDB: as a CSV file's, and exactly."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from policy.model import ReleasePolicy
from tasks.intake.cells import column_names, loaded_cells
from tasks.intake.columns import NameCheck
from tasks.intake.rows import LONGEST_LINE, MISSING
from tasks.intake.sealed_file import SealedFile
from tasks.sql import literal


def select_rows(table: SealedFile, policy: ReleasePolicy, check_names: NameCheck) -> str:
    """Return the SELECT of the rows; NULL and the missing tokens of the policy are NULL.

    Raises InputError where `check_names` refuses the names of the columns.
    """
    names = column_names(names_of_rows(table), policy.source)
    check_names(names, table.shown)
    return f"SELECT {loaded_cells(names, policy.source)} FROM {rows_reader(table, names)}"


def names_of_rows(table: SealedFile) -> list[str]:
    """Return the names of the columns, as they are written there."""
    with table.text("utf-8") as text:
        return next(csv.reader(text))


def rows_reader(table: SealedFile, names: Sequence[str]) -> str:
    """Return the SQL function that reads the rows as text under these names; NULL stays NULL."""
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    # Not in parallel: a part could begin in the midst of a cell of several lines.
    return (
        f"read_csv({literal(str(table.path))}, "
        f"columns = {{{columns}}}, delim = ',', quote = '\"', escape = '\"', new_line = '\\n', "
        "header = true, auto_detect = false, strict_mode = true, allow_quoted_nulls = false, "
        f"nullstr = {literal(MISSING)}, max_line_size = {LONGEST_LINE}, hive_partitioning = false, "
        "compression = 'none', parallel = false)"
    )
