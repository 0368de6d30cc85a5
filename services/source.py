"""The table of a period as a release needs it: its different rows where that is enough, else all."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from policy.errors import PolicyError, UsageError
from policy.model import ReleasePolicy
from policy.text import one_spelling
from policy.trusted import Trusted
from services.checking.findings import hidden_finding
from tasks.intake.read import read_table
from tasks.intake.source import Given
from tasks.methods.registry import bound_method
from tasks.repair.known_values import asks_for_known_values
from tasks.types import IntArray, SourceTable


def read_source(
    policy: ReleasePolicy, *, input_path: Given | None, period: str, base: Path, trusted: Trusted
) -> SourceTable:
    """Read a period's table, with its different rows alone if nothing of the policy tells equal rows apart.

    Prints warnings of characters that are not shown, and of rows that may be of one person. Raises as
    `read_table`.
    """
    table = read_table(
        policy,
        input_path=input_path,
        period=period,
        base=base,
        trusted=trusted,
        distinct=needs_no_rows(policy),
    )
    hidden = ((str(name), _hidden_rows(column, table.rows)) for name, column in table.frame.items())
    lines = [hidden_finding(table.origin, name, n_rows).line for name, n_rows in hidden if n_rows]
    for line in (*lines, *(f"warning: {doubt.said}" for doubt in table.doubts)):
        print(f"releasegate: {line}", file=sys.stderr, flush=True)
    return table


def _hidden_rows(column: pd.Series, rows: IntArray | None) -> int:
    """Count the rows whose text has characters that are not shown, in a column of few different texts."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return 0
    hidden = np.array([one_spelling(text) != text for text in column.cat.categories], dtype=bool)
    if not hidden.any():
        return 0
    found = column.cat.codes.isin(np.flatnonzero(hidden)).to_numpy()
    return int(found.sum() if rows is None else rows[found].sum())


def needs_no_rows(policy: ReleasePolicy) -> bool:
    """Tell whether a release of a policy depends on how many equal rows there are, and not on which."""
    roles, method = policy.roles, policy.method
    by_row = (
        roles.key is not None
        or roles.household is not None
        or roles.unpublished_weight is not None
        or roles.weight is not None
        or bool(roles.identifiers)
        or bool(roles.kept)
        or policy.rows != "one_per_person"
        or policy.source.duplicates == "removed"
        or method.reuse is not None
        or asks_for_known_values(policy)
    )
    if by_row:
        return False
    try:
        return not bound_method(policy).needs_rows
    except (PolicyError, UsageError):  # a method that this program does not have: the caller says so
        return False
