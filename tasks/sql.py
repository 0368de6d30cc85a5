"""The few pieces of SQL that are composed from a policy's names and texts."""

from __future__ import annotations

from collections.abc import Iterable


def literal(text: str) -> str:
    """Return the text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return the name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text_or_missing(name: str, tokens: Iterable[str]) -> str:
    """Return the column as text, NULL where a cell is one of the tokens, under the column's name."""
    column = identifier(name)
    text = f"CAST({column} AS VARCHAR)"
    # Neither NOT IN nor list_contains: DuckDB makes a join of five texts or more, and rows lose their order.
    known = " AND ".join(f"{text} <> {literal(token)}" for token in tokens)
    return f"CASE WHEN {known} THEN {text} END AS {column}"


def quoted_formula(name: str) -> str:
    """Return the SQL of a text column in which what a spreadsheet runs begins with an apostrophe."""
    column, apostrophe = identifier(name), literal("'")
    begins = f"left({column}, 1) IN ('=', '+', '-', '@', chr(9), chr(10), chr(13))"
    return f"CASE WHEN {begins} THEN {apostrophe} || {column} ELSE {column} END AS {column}"
