"""Amounts that are written as text, with a currency, a percent sign or a negative in parentheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from policy.cells import DecimalMark, ThousandsMark
from tasks.intake.cells import number_text
from tasks.sql import identifier, literal

_UNIT = (
    "(?:US\\$|[$\u20ac\u00a3\u00a5\u20b9%]"
    "|\\b(?:EUR|USD|GBP|CHF|CAD|AUD|NZD|JPY|INR|PLN|SEK|NOK|DKK|CZK|euros?|kr)\\b)"
)
_DIGITS = "[0-9][0-9.,' \u00a0\u202f]*"
AMOUNT = rf"(?i)^[-+(]* *{_UNIT}? *[-+(]* *{_DIGITS}(?:k|mio|mn|m|bn)? *{_UNIT}? *[-)]*$"
MARKED = rf"(?i){_UNIT}|^ *\("
MULTIPLE = rf"(?i)[0-9] *(?:k|mio|mn|m|bn) *{_UNIT}? *[-)]*$"
NOTATIONS: tuple[tuple[DecimalMark, ThousandsMark | None], ...] = (
    (".", ","),
    (",", "."),
    (".", "'"),
    (",", "'"),
)
THOUSANDS_ALONE = r"^[0-9]{1,3}(?:\.[0-9]{3})+$"  # no amount of money has three decimals


@dataclass(frozen=True)
class Amounts:
    """The SQL that reads each column of amounts as numbers, and the columns for which there is none."""

    read: dict[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def find_amounts(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Amounts:
    """Find the columns of `cells` in which every value is an amount, and some one has a mark of it.

    A column with two currencies, or with thousands as `k`, is one that no SQL is returned for. O(n) a column.
    """
    read: dict[str, str] = {}
    unread: list[str] = []
    for name in names:
        column = identifier(name)
        distinct = f"(SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL)"
        if not con.execute(
            f"SELECT bool_or(regexp_matches({column}, {literal(MARKED)})) FROM {distinct}"
        ).fetchall()[0][0]:
            continue
        others, multiples, units = con.execute(
            f"""
            SELECT count(*) FILTER (NOT regexp_matches({column}, {literal(AMOUNT)})),
                   count(*) FILTER (regexp_matches({column}, {literal(MULTIPLE)})),
                   count(DISTINCT nullif(lower(regexp_extract({column}, {literal(f"(?i){_UNIT}")})), ''))
            FROM {distinct}
            """
        ).fetchall()[0]
        if others:
            continue
        number = None if multiples or units > 1 else _number(con, column)
        if number is None:
            unread.append(name)
        else:
            read[name] = number
    return Amounts(read, tuple(unread))


def _number(con: duckdb.DuckDBPyConnection, column: str) -> str | None:
    """Return the SQL of a column's amounts as numbers, in the first notation that reads all, if one does."""
    sign = f"CASE WHEN regexp_matches({column}, '^ *\\(|-') THEN '-' ELSE '' END"
    digits = f"regexp_replace({column}, '[^0-9.,'']', '', 'g')"
    distinct = f"(SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL)"
    alone = con.execute(
        f"SELECT bool_or(regexp_matches({digits}, {literal(THOUSANDS_ALONE)})) FROM {distinct}"
    ).fetchall()[0][0]
    for decimal, thousands in (*NOTATIONS[1:], NOTATIONS[0]) if alone else NOTATIONS:
        number = f"try_cast({sign} || {number_text(digits, decimal, thousands)} AS DOUBLE)"
        if con.execute(f"SELECT count({number}) = count(*) FROM {distinct}").fetchall()[0][0]:
            return number
    return None
