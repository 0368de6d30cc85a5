"""The SQL that reads a cell by the steps that a policy declares (`policy/cells.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from policy.cells import SERIAL
from policy.model import Source
from policy.text import BLANKS, INVISIBLE, one_spelling
from tasks.sql import identifier, literal

NO_CELL = "\0"  # stands in no text of `utf_8_text`
FEW_MARKS = 16  # of a missing value: comparisons with each cost less than one search among all
FIRST_SERIAL, LAST_SERIAL = 61, 2_958_465  # 1900-03-01, from which spreadsheets agree, and 9999-12-31
_BETWEEN = "\x1f"  # the control character between units
_ANY_BLANK = "[ \u00a0\u202f]"


def visible(text: str) -> str:
    """Return the SQL of what `one_spelling` makes of a text."""
    return f"nfc_normalize(translate({text}, {literal(INVISIBLE)}, ''))"


def stripped(text: str) -> str:
    """Return the SQL of a text without the blanks around it."""
    return f"trim({text}, {literal(BLANKS)})"


def known(text: str, missing: Sequence[str], *, stored: bool = False) -> str:
    """Return the SQL of a text, NULL where it is one of the marks of a missing value.

    A `stored` text costs nothing to read again; any other is computed as often as it stands there.
    """
    if not missing:
        return text
    if len(missing) == 1 or (stored and len(missing) <= FEW_MARKS):
        differs = " AND ".join(f"{text} <> {literal(mark)}" for mark in missing)
        return f"CASE WHEN {differs} THEN {text} END"
    # Neither NOT IN nor list_contains: DuckDB makes a join of five texts or more, and rows lose their order.
    # Nor nullif: it stands for its first text twice, and one in another has twice as many.
    marks = literal("".join(f"{_BETWEEN}{mark}" for mark in missing) + _BETWEEN)
    between = literal(_BETWEEN)
    return f"CASE WHEN NOT contains({marks}, {between} || {text} || {between}) THEN {text} END"


def text_cell(name: str, text: str, source: Source, missing: Sequence[str]) -> str:
    """Return the SQL of a cell of the column `name` after all steps but numbers; `text` is that of its text.

    A mark of a missing value counts before the steps and after them.
    """
    text = known(_tidied(text, source), missing, stored=not source.strip and source.invisible == "kept")
    if case := source.case.get(name):
        text = f"{case}({text})"
    if values := source.values.get(name):
        text = known(_with_values(text, values), missing)
    if formats := source.dates.get(name):
        text = iso_date(text, formats)
    return text


def number_text(text: str, decimal: str, thousands: str | None) -> str:
    """Return the SQL of a number in plain decimal notation, from a text with these marks.

    What is no number in these marks is none afterwards: `1.5` is none where the comma is the decimal mark.
    """
    if thousands is not None:
        mark = _ANY_BLANK if thousands == " " else re.escape(thousands)
        groups = rf"^ *[+-]?[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+(?:{re.escape(decimal)}[0-9]*)? *$"
        plain = f"regexp_replace({text}, {literal(mark)}, '', 'g')"
        text = f"CASE WHEN regexp_matches({text}, {literal(groups)}) THEN {plain} ELSE {text} END"
    return f"translate({text}, ',.', '.,')" if decimal == "," else text


def native_number(
    number: str, values: Mapping[str, Iterable[str]], missing: Sequence[str], *, text: str | None = None
) -> str:
    """Return the SQL of a number that the file holds as one, with other spellings replaced by their value.

    `text` is the SQL of the number's text, if texts are to be returned.
    """
    cases = [
        f"WHEN {number} = try_cast({literal(one)} AS DOUBLE) THEN "
        + (
            "NULL"
            if value in missing
            else literal(value)
            if text
            else f"try_cast({literal(value)} AS DOUBLE)"
        )
        for value, others in values.items()
        for one in others
    ]
    otherwise = text or number
    return f"CASE {' '.join(cases)} ELSE {otherwise} END" if cases else otherwise


def iso_date(text: str, formats: Sequence[str]) -> str:
    """Return the SQL of a date as yyyy-mm-dd where the text is one in these formats, else of the text."""
    return f"coalesce({date_or_null(text, formats)}, {text})"


def date_or_null(text: str, formats: Sequence[str]) -> str:
    """Return the SQL of a date as yyyy-mm-dd where the text is one in these formats, else NULL."""
    written = [one for one in formats if one != SERIAL]
    found = [f"try_strptime({text}, {literal(one)})" for one in written]
    dates = [
        f"CASE WHEN year({one}) BETWEEN 1000 AND 9999 THEN strftime({one}, '%Y-%m-%d') END" for one in found
    ]
    if SERIAL in formats:
        day = f"try_cast({text} AS INTEGER)"
        dates.append(
            f"CASE WHEN regexp_matches({text}, '^[0-9]+$') AND {day} BETWEEN {FIRST_SERIAL} AND "
            f"{LAST_SERIAL} THEN strftime(DATE '1899-12-30' + {day}, '%Y-%m-%d') END"
        )
    return f"coalesce({', '.join(dates)})"


def loaded_cells(names: Sequence[str], source: Source) -> str:
    """Return the SQL of cells of text as a query sees them: text, or NULL where one is missing."""
    return ", ".join(_loaded(name, source) for name in names)


def column_names(names: Sequence[str], source: Source) -> list[str]:
    """Return the names of a file's columns as the policy calls them."""
    if source.invisible == "removed":
        names = [one_spelling(name) for name in names]
    return [name.strip(BLANKS) for name in names] if source.strip else list(names)


def renamed(names: Sequence[str], source: Source) -> str:
    """Return the SQL that selects columns under the names that the policy gives them."""
    pairs = zip(names, column_names(names, source), strict=True)
    return ", ".join(f"{identifier(name)} AS {identifier(called)}" for name, called in pairs)


def _loaded(name: str, source: Source) -> str:
    column = identifier(name)
    text = _tidied(column, source)
    return f"{known(text, source.missing or (NO_CELL,), stored=text == column)} AS {column}"


def _tidied(text: str, source: Source) -> str:
    text = visible(text) if source.invisible == "removed" else text
    return stripped(text) if source.strip else text


def _with_values(text: str, values: Mapping[str, Iterable[str]]) -> str:
    cases = [
        f"WHEN {literal(one)} THEN {literal(value)}" for value, others in values.items() for one in others
    ]
    return f"CASE {text} {' '.join(cases)} ELSE {text} END" if cases else text
