"""The few pieces of SQL that are composed from a policy's names and texts."""

from __future__ import annotations


def literal(text: str) -> str:
    """Return the text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def quoted_formula(name: str) -> str:
    """Return the SQL of a text column in which what a spreadsheet runs begins with an apostrophe."""
    column, apostrophe = identifier(name), literal("'")
    begins = f"left({column}, 1) IN ('=', '+', '-', '@', chr(9), chr(10), chr(13))"
    return f"CASE WHEN {begins} THEN {apostrophe} || {column} ELSE {column} END AS {column}"


def number_text(name: str) -> str:
    """Return the SQL of doubles as shortest texts, whole numbers below 2^53 without a point."""
    column = identifier(name)
    return (
        f"CASE WHEN {column} = trunc({column}) AND abs({column}) < {2**53} "
        f"THEN CAST(CAST({column} AS BIGINT) AS VARCHAR) ELSE CAST({column} AS VARCHAR) END AS {column}"
    )
