"""A Parquet file as rows of DuckDB, which knows its columns and their types."""

from __future__ import annotations

from policy.errors import InputError
from policy.model import Source
from tasks.intake.cells import column_names, renamed
from tasks.intake.columns import check_names_differ
from tasks.intake.database import Database
from tasks.intake.sealed_file import SealedFile
from tasks.sql import literal


def check_parquet(table: SealedFile) -> None:
    """Raise InputError where a file does not begin and end as one of Parquet."""
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


def select_parquet(connection: Database, table: SealedFile, source: Source) -> str:
    """Return the SELECT of a Parquet file's rows, under the names by which the policy calls its columns."""
    whole = f"read_parquet({literal(str(table.path))}, hive_partitioning = false)"
    if not source.strip:
        return f"SELECT * FROM {whole}"
    names = [row[0] for row in connection.execute(f"DESCRIBE SELECT * FROM {whole}").fetchall()]
    check_names_differ(column_names(names, source), table.shown)
    return f"SELECT {renamed(names, source)} FROM {whole}"
