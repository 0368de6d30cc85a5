"""The rows of a table of Postgres, which were copied as CSV, in DuckDB: as a CSV file's, and exactly."""

from __future__ import annotations

import csv

from policy.model import ReleasePolicy
from tasks.intake.cells import column_names, loaded_cells
from tasks.intake.columns import NameCheck
from tasks.intake.lines import LONGEST_LINE
from tasks.intake.postgres import MISSING
from tasks.intake.sealed import SealedFile
from tasks.sql import literal


def select_postgres(table: SealedFile, policy: ReleasePolicy, check_names: NameCheck) -> str:
    """Return the SELECT of the rows; NULL and the missing tokens of the policy are NULL.

    Raises InputError where `check_names` refuses the names of the columns.
    """
    with table.text("utf-8") as text:
        names = column_names(next(csv.reader(text)), policy.source)
    check_names(names, table.shown)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    return (
        f"SELECT {loaded_cells(names, policy.source)} FROM read_csv({literal(str(table.path))}, "
        f"columns = {{{columns}}}, delim = ',', quote = '\"', escape = '\"', new_line = '\\n', "
        "header = true, auto_detect = false, strict_mode = true, allow_quoted_nulls = false, "
        f"nullstr = {literal(MISSING)}, max_line_size = {2 * LONGEST_LINE}, hive_partitioning = false, "
        "compression = 'none')"
    )
