"""How a cell of a column is read in SQL: a number as DOUBLE, all else as text, NULL where it is missing."""

from __future__ import annotations

import re

from expectations.number_text import HELD_DIGITS, WHOLE_LIMIT
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


def limit_of_doubles(kind: str) -> float | None:
    """Return the size from which doubles may not hold numbers of a type of DuckDB; None where they do."""
    if kind in ("BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT"):
        return WHOLE_LIMIT
    decimal = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", kind)
    if decimal is None or int(decimal[1]) <= HELD_DIGITS:
        return None
    return 10.0 ** (HELD_DIGITS - int(decimal[2]))


def column_expression(policy: ReleasePolicy, name: str, kind: str, *, exact: bool = False) -> str:
    """Return the SQL of the cells of a column whose type is `kind`, after all steps of the policy.

    `exact` numbers of a type of DuckDB are texts.
    """
    column, source = identifier(name), policy.source
    text = f"CAST({column} AS VARCHAR)"
    is_number = name in numeric_columns(policy.roles)
    if is_number and is_native(kind):
        # A FLOAT of 0.1 is 0.10000000149011612 as a DOUBLE: its shortest text is what was written.
        number, values = f"CAST({text if kind == 'FLOAT' else column} AS DOUBLE)", source.values.get(name, {})
        return native_number(number, values, source.missing, text=text if exact else None)
    if kind in ("FLOAT", "DOUBLE"):
        text = f"CASE WHEN NOT isnan({column}) THEN {text} END"
    if kind.startswith("TIMESTAMP") and not kind.endswith("ZONE"):  # midnight is a date, as in other formats
        day = f"CAST({column} AS DATE)"
        text = f"CASE WHEN {column} = {day} THEN CAST({day} AS VARCHAR) ELSE {text} END"
    # Marks of a missing value are of text; what `values` makes of another type is text too.
    is_text = kind == "VARCHAR" or kind.startswith("ENUM") or name in source.values
    text = text_cell(name, text, source, source.missing if is_text else ())
    return number_text(text, source.decimal, source.thousands) if is_number else text
