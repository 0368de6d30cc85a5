"""How a cell of a column is read in SQL: a number as DOUBLE, all else as text, NULL where it is missing."""

from __future__ import annotations

from policy.model import ReleasePolicy
from policy.roles import Roles
from tasks.sql import identifier, text_or_missing

_NATIVE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


def numeric_columns(roles: Roles) -> set[str]:
    """Return the columns that hold numbers."""
    found = {*roles.numeric, *(name for name, one in roles.sensitive.items() if one.type == "numeric")}
    return found if roles.unpublished_weight is None else found | {roles.unpublished_weight}


def is_native(kind: str) -> bool:
    """Tell whether a type of DuckDB is one of numbers."""
    return kind.removeprefix("U").startswith(_NATIVE)


def column_expression(policy: ReleasePolicy, name: str, kind: str) -> str:
    """Return the expression, under the column's name, of a column whose type is `kind`."""
    column = identifier(name)
    if name in numeric_columns(policy.roles) and is_native(kind):
        return f"CAST({column} AS DOUBLE) AS {column}"
    if kind in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN NOT isnan({column}) THEN CAST({column} AS VARCHAR) END AS {column}"
    if policy.source.missing and (kind == "VARCHAR" or kind.startswith("ENUM")):
        return text_or_missing(name, policy.source.missing)
    return f"CAST({column} AS VARCHAR) AS {column}"
