"""Amounts that are written as text, with a currency, a percent sign or a negative in parentheses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import duckdb

from policy.cells import DecimalMark, ThousandsMark
from tasks.intake.cells import number_text
from tasks.sql import identifier, literal

_SIGNS = "US\\$|[$\u20ac\u00a3\u00a5\u20b9\u20ba%]"
_WORDS = (
    "EUR|USD|GBP|CHF|CAD|AUD|NZD|JPY|INR|PLN|SEK|NOK|DKK|CZK|HUF|RON|BGN|TRY|euros?|kr\\.?|Fr\\.|SFr\\.?"
    "|z\u0142|K\u010d|(?-i:Ft)|lei|\u043b\u0432\\.?"
)
_UNIT = f"(?:{_SIGNS}|{_WORDS})"
_APART = rf"(?:{_SIGNS}|(?:^|[^\pL])(?:{_WORDS})(?:[^\pL]|$))"
_BLANKS = "[ \u00a0\u202f]*"
_DIGITS = "[0-9][0-9.,'\u2019 \u00a0\u202f]*"
_NO_CENTS = "[.,][-\u2013\u2014]+"  # in place of cents
_MULTIPLES = r"(?:k|mio|mn|m|bn|tsd\.?|t)"
AMOUNT = (
    rf"(?i)^[-+(]* *{_UNIT}?{_BLANKS}[-+(]* *{_DIGITS}(?:{_NO_CENTS})?{_BLANKS}{_MULTIPLES}?{_BLANKS}{_UNIT}?"
    " *[-)]*$"
)
MARKED = rf"(?i){_APART}|^ *\("
CURRENCY = rf"(?i){_APART.replace('%', '')}"
MULTIPLE = rf"(?i)[0-9]{_BLANKS}{_MULTIPLES}{_BLANKS}{_UNIT}? *[-)]*$"
SAME_UNITS = {"\u20ac": "eur", "euro": "eur", "euros": "eur", "us$": "usd", "$": "usd", "\u00a3": "gbp"}
SAME_UNITS |= {"z\u0142": "pln", "k\u010d": "czk", "ft": "huf", "lei": "ron", "kr.": "kr"}
SAME_UNITS |= dict.fromkeys(("fr.", "sfr", "sfr."), "chf")
TWO_NUMBERS = "[0-9][^0-9]*[^0-9.,' \u00a0\u202f\u2019][^0-9]*[0-9]"  # a band of amounts is none
MOST, FEWEST, LONGEST = 0.9, 20, 30  # share of the values, values and characters of amounts that no SQL reads
NOTATIONS: tuple[tuple[DecimalMark, ThousandsMark | None], ...] = (
    (".", ","),
    (",", "."),
    (".", "'"),
    (",", "'"),
)
DIGITS, MOST_PLACES = 24, 6  # of exact amounts: what is multiplied with another has at most 38
THOUSANDS_ALONE = r"^[0-9]{1,3}(?:\.[0-9]{3})+$"  # no amount of money has three decimals


@dataclass(frozen=True)
class Amounts:
    """The SQL that reads each column of amounts as numbers, the columns for which there is none, and those of
    `read` with a currency.
    """

    read: dict[str, str] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    money: tuple[str, ...] = ()


def find_amounts(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> Amounts:
    """Find the columns of `cells` in which every value is an amount, and some one has a mark of it.

    No SQL is returned for a column with two currencies, with thousands as `k`, or in which nearly all values
    have a currency beside a number, but otherwise. O(n) a column.
    """
    read: dict[str, str] = {}
    unread: list[str] = []
    money: list[str] = []
    for name in names:
        column = identifier(name)
        distinct = f"(SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL)"
        if not con.execute(
            f"SELECT bool_or(regexp_matches({column}, {literal(MARKED)})) FROM {distinct}"
        ).fetchall()[0][0]:
            continue
        others, multiples, alike, values, units = con.execute(
            f"""
            SELECT count(*) FILTER (NOT regexp_matches({column}, {literal(AMOUNT)})),
                   count(*) FILTER (regexp_matches({column}, {literal(MULTIPLE)})),
                   count(*) FILTER (length({column}) <= {LONGEST} AND regexp_matches({column}, '[0-9]')
                                    AND regexp_matches({column}, {literal(CURRENCY)})
                                    AND NOT regexp_matches({column}, {literal(TWO_NUMBERS)})),
                   count(*),
                   list(DISTINCT nullif(lower(regexp_extract({column}, {literal(f"(?i){_UNIT}")})), ''))
            FROM {distinct}
            """
        ).fetchall()[0]
        currencies = {SAME_UNITS.get(one, one) for one in units if one is not None}
        if others and (values <= FEWEST or alike < MOST * values):
            continue
        number = None if others or multiples or len(currencies) > 1 else _number(con, column)
        if number is None:
            unread.append(name)
        else:
            read[name] = number
            money += [name] * (not currencies <= {"%"})
    return Amounts(read, tuple(unread), tuple(money))


def _number(con: duckdb.DuckDBPyConnection, column: str) -> str | None:
    """Return the SQL of a column's amounts as numbers, in the first notation that reads all, if one does."""
    distinct = f"(SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL)"
    text = column
    for needless, instead in ((_NO_CENTS, ""), (r"\pL+\.", ""), ("\u2019", "'")):
        found = f"bool_or(regexp_matches({column}, {literal(needless)}))"
        if con.execute(f"SELECT {found} FROM {distinct}").fetchall()[0][0]:
            text = f"regexp_replace({text}, {literal(needless)}, {literal(instead)}, 'g')"
    sign = f"CASE WHEN regexp_matches({text}, '^ *\\(|-') THEN '-' ELSE '' END"
    digits = f"regexp_replace({text}, '[^0-9.,'']', '', 'g')"
    alone = con.execute(
        f"SELECT bool_or(regexp_matches({digits}, {literal(THOUSANDS_ALONE)})) FROM {distinct}"
    ).fetchall()[0][0]
    for decimal, thousands in (*NOTATIONS[1:], NOTATIONS[0]) if alone else NOTATIONS:
        text = f"{sign} || {number_text(digits, decimal, thousands)}"
        places = f"max(length(regexp_extract({text}, '\\.([0-9]*)$', 1)))"
        (scale,) = con.execute(f"SELECT {places} FROM {distinct}").fetchall()[0]
        for type_ in (f"DECIMAL({DIGITS}, {scale})", "DOUBLE"):  # exact, where it can be
            number = f"try_cast({text} AS {type_})"
            if (scale <= MOST_PLACES or type_ == "DOUBLE") and con.execute(
                f"SELECT count({number}) = count(*) FROM {distinct}"
            ).fetchall()[0][0]:
                return number
    return None
