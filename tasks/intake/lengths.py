"""How much text a table may hold, in a cell, a row and the whole, before any of it leaves DuckDB.

A Parquet file of some bytes, and a query of some words, can stand for any number of long texts.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence

from policy.errors import InputError
from policy.trusted import Memory
from tasks.intake.columns import display_column
from tasks.intake.database import Database
from tasks.sql import identifier

LONGEST_CELL = 65_536  # characters
LONGEST_ROW = 1 << 20  # bytes of text, as of a line of a CSV file
MEMORY_SHARE = 0.5
MOST_ROWS = 200_000_000
MOST_REPEATED_ROWS = 2_000_000_000  # of which MOST_ROWS differ
MOST_VALUES = 50_000  # of a categorical attribute
CHUNK_BYTES = 128 << 20  # of text, at most, so that a table of long cells is read in small parts
VECTOR = 2_048  # rows, as DuckDB hands them out
MOST_VECTORS = 50


def check_lengths(connection: Database, relation: str, texts: Sequence[str], where: str) -> int:
    """Return the bytes of text in the longest row of a relation, whose columns `texts` are text.

    Raises InputError where a cell or a row is too long, or where the whole is more than half of the memory.
    """
    if not texts:
        return 0
    lengths = [f"coalesce(strlen({identifier(name)}), 0)" for name in texts]
    together = " + ".join(lengths)
    asked = ", ".join([*(f"max({one})" for one in lengths), f"max({together})", f"sum({together})"])
    found = connection.execute(f"SELECT {asked} FROM {relation}").fetchone()
    *cells, row, whole = [int(one or 0) for one in found or [0] * (len(texts) + 2)]
    for name, cell in zip(texts, cells, strict=True):
        if cell > 4 * LONGEST_CELL:  # bytes: a character has four at most
            raise cell_too_long(name, where)
    hint = "Drop its long columns (roles.dropped)."
    if row > LONGEST_ROW:
        raise InputError(f"a row has more than {LONGEST_ROW:,} bytes", where=where, hint=hint)
    if whole > MEMORY_SHARE * memory_bytes():
        finding = f"holds {whole >> 20:,} MiB of text, more than half of the memory"
        raise InputError(finding, where=where, hint=f"Split the table. {hint}")
    return row


def cell_too_long(name: str, where: str) -> InputError:
    """Return the error for a cell of too many characters, in a column of this name."""
    return InputError(
        f"the column {display_column(name)} has a cell of more than {LONGEST_CELL:,} characters",
        where=where,
        hint="Check the quotes of the table, or drop the column (roles.dropped).",
    )


def check_rows(n_rows: int, where: str, most: int | None = None, called: str = "rows") -> None:
    """Raise InputError for a table of too many rows."""
    most = MOST_ROWS if most is None else most
    if n_rows > most:
        raise InputError(
            f"gives more than {most:,} {called}", where=where, hint="Split the table, or select less."
        )


def vectors_of(longest_row: int) -> int:
    """Return how many of DuckDB's vectors are read at a time, by the bytes of the longest row."""
    return min(MOST_VECTORS, max(1, CHUNK_BYTES // (VECTOR * max(longest_row, 1))))


def memory_share(memory: Memory) -> int:
    """Return how many bytes the reading of a table may take: the owner's limit, else half of the memory."""
    return int(MEMORY_SHARE * memory_bytes()) if memory.limit is None else memory.limit


def memory_bytes() -> int:
    """Return the bytes of memory that this process may have."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return machine if allowed == resource.RLIM_INFINITY else min(machine, allowed)
