"""How a cell of a column is read in SQL: a number as DOUBLE, all else as text, NULL where it is missing."""

from __future__ import annotations

from policy.model import ReleasePolicy
from policy.roles import Roles
from tasks.intake.cells import native_number, number_text, text_cell
from tasks.sql import identifier

_NATIVE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")


def numeric_columns(roles: Roles) -> set[str]:
    """Return the columns that hold numbers."""
    found = {*roles.numeric, *(name for name, one in roles.sensitive.items() if one.type == "numeric")}
    return found if roles.unpublished_weight is None else found | {roles.unpublished_weight}


def is_native(kind: str) -> bool:
    """Tell whether a type of DuckDB is one of numbers."""
    return kind.removeprefix("U").startswith(_NATIVE)


def column_expression(policy: ReleasePolicy, name: str, kind: str) -> str:
    """Return the SQL of the cells of a column whose type is `kind`, after all steps of the policy."""
    column, source = identifier(name), policy.source
    text = f"CAST({column} AS VARCHAR)"
    is_number = name in numeric_columns(policy.roles)
    if is_number and is_native(kind):
        return native_number(f"CAST({column} AS DOUBLE)", source.values.get(name, {}), source.missing)
    if kind in ("FLOAT", "DOUBLE"):
        text = f"CASE WHEN NOT isnan({column}) THEN {text} END"
    if kind.startswith("TIMESTAMP") and not kind.endswith("ZONE"):  # midnight is a date, as in other formats
        day = f"CAST({column} AS DATE)"
        text = f"CASE WHEN {column} = {day} THEN CAST({day} AS VARCHAR) ELSE {text} END"
    # Marks of a missing value are of text; what `values` makes of another type is text too.
    is_text = kind == "VARCHAR" or kind.startswith("ENUM") or name in source.values
    text = text_cell(name, text, source, source.missing if is_text else ())
    return number_text(text, source.decimal, source.thousands) if is_number else text
