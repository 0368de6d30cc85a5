"""A table that a program hands over from its memory: a pandas frame, or what gives a stream of Arrow."""

from __future__ import annotations

from policy.errors import UsageError

WHERE = "input"  # what messages call such a table
ORIGIN = "object"


class TableObject:
    """A pandas DataFrame, or an object with Arrow's C stream, such as a table of Arrow or Polars.

    A RecordBatchReader can be read once.
    """

    def __init__(self, table: object) -> None:
        """Take the table. Raises UsageError for anything else."""
        if not hasattr(table, "__arrow_c_stream__"):  # a DataFrame has it too
            raise UsageError(
                f"is no table, but {type(table).__name__}",
                where=WHERE,
                hint="Give a pandas DataFrame, a table or reader of Arrow, or a Polars DataFrame.",
            )
        self.table = table
