"""The steps by which a table's cells are read right, found from the cells: fields of a policy's `source`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, cast

import duckdb

from policy.cells import SERIAL, DecimalMark, ThousandsMark
from policy.model import Source
from services.drafting.tables import Loaded
from tasks.intake.cells import FIRST_SERIAL, date_or_null, number_text, stripped, text_cell
from tasks.sql import identifier, literal

# Ways to write that a value is unknown, in whatever case. "None" is left out: it often says "nothing", which
# is a value.
MISSING_TOKENS = (
    *("", "?", "-", "--", ".", "na", "n/a", "n.a.", "null", "nan", "unknown", "not known"),
    *("k.a.", "k. a.", "keine angabe", "unbekannt"),
    *("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!"),
)
MOST_FOLDED = 1000  # values of a column whose case may be changed
LOOKED_AT = 5000  # distinct values of a column in which marks of numbers are looked for
NUMBERS_WITH_MARKS = r"^[-+]?[0-9][0-9.,' \x{00a0}\x{202f}]*(?:[eE][-+]?[0-9]+)?$"
# Of notations that fit as many columns, the first is taken.
MARKS: tuple[tuple[DecimalMark, ThousandsMark | None], ...] = (
    (".", None),
    (",", None),
    (".", ","),
    (",", "."),
    (".", " "),
    (",", " "),
    (".", "'"),
    (",", "'"),
)
ISO = "%Y-%m-%d"
DATE_FORMATS = (
    *(ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d"),
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y"),
)
OTHER_ORDER = {"%d/%m/%Y": "%m/%d/%Y", "%m/%d/%Y": "%d/%m/%Y", "%d-%m-%Y": "%m-%d-%Y", "%m-%d-%Y": "%d-%m-%Y"}
LIKE_DATE = (
    r"^(?:[0-9]{1,4}[-./ ][0-9A-Za-z]{1,3}[-./ ][0-9]{1,4}|[A-Za-z]{3} [0-9]{1,2}, [0-9]{4}"
    r"|(?:1[89]|2[01])[0-9]{6})$"
)
DATES_SHARE = 0.5  # of a column's known cells, from which it is one of dates
LAST_DAY = 73_050  # 2099-12-31 as a spreadsheet's number of a day


@dataclass(frozen=True)
class Steps:
    """What a policy's `source` has to say of the cells, and why; names are those of columns."""

    source: Source
    padded: tuple[str, ...] = ()  # with blanks around cells
    marked: tuple[str, ...] = ()  # with numbers that need `decimal` or `thousands`
    doubtful: tuple[str, ...] = ()  # whose numbers another notation would read otherwise
    otherwise: tuple[str, ...] = ()  # with numbers in a notation that is not the table's
    either_order: tuple[str, ...] = ()  # whose dates may have the day first or the month first


def tidy(con: duckdb.DuckDBPyConnection, loaded: Loaded) -> Steps:
    """Find the steps for `cells`, and read its cells by all of them but the marks of numbers."""
    names = loaded.names
    padded = _padded(con, names)
    missing = _missing(con, names, strip=bool(padded) or loaded.padded_names)
    source = Source(
        delimiter=loaded.delimiter,
        encoding=loaded.encoding,
        strip=bool(padded) or loaded.padded_names,
        missing=missing,
    )
    _read_again(con, loaded, source)
    dates, either_order = _dates(con, names)
    case = _case(con, [name for name in names if name not in dates])
    changed = {name: formats for name, formats in dates.items() if formats != (ISO,)}
    source = source.model_copy(update={"dates": changed, "case": case})
    _read_again(con, loaded, source)
    marks = _marks(con, [name for name in names if name not in dates], loaded.delimiter)
    source = source.model_copy(update={"decimal": marks.decimal, "thousands": marks.thousands})
    return Steps(source, padded, marks.marked, marks.doubtful, marks.otherwise, either_order)


def is_number(text: str, source: Source) -> str:
    """Return the SQL of a cell as a finite number, NULL where it is none in the marks of `source`."""
    number = f"try_cast({number_text(text, source.decimal, source.thousands)} AS DOUBLE)"
    return f"CASE WHEN isfinite({number}) THEN {number} END"


def _read_again(con: duckdb.DuckDBPyConnection, loaded: Loaded, source: Source) -> None:
    cells = (
        f"{text_cell(name, identifier(name), source, source.missing)} AS {identifier(name)}"
        for name in loaded.names
    )
    number = identifier(loaded.number)
    con.execute(f"CREATE TABLE read_again AS SELECT {', '.join(cells)}, {number} FROM cells ORDER BY rowid")
    con.execute("DROP TABLE cells")
    con.execute("ALTER TABLE read_again RENAME TO cells")


def _counts(con: duckdb.DuckDBPyConnection, conditions: Sequence[str]) -> list[int]:
    """Return how many rows of `cells` meet each condition."""
    if not conditions:
        return []
    asked = ", ".join(f"count(*) FILTER ({one})" for one in conditions)
    found = con.execute(f"SELECT {asked} FROM cells").fetchone()
    return [int(one) for one in found or ()]


def _padded(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> tuple[str, ...]:
    columns = [identifier(name) for name in names]
    counts = _counts(con, [f"{column} <> {stripped(column)}" for column in columns])
    return tuple(name for name, count in zip(names, counts, strict=True) if count)


def _missing(con: duckdb.DuckDBPyConnection, names: Sequence[str], *, strip: bool) -> tuple[str, ...]:
    """Return the ways in which the table says that a value is unknown, as they are written."""
    tokens = ", ".join(map(literal, MISSING_TOKENS))
    found: set[str] = {""}
    for name in names:
        cell = stripped(identifier(name)) if strip else identifier(name)
        rows = con.execute(f"SELECT DISTINCT {cell} FROM cells WHERE lower({cell}) IN ({tokens})").fetchall()
        found.update(row[0] for row in rows)
    return tuple(sorted(found, key=lambda token: (MISSING_TOKENS.index(token.lower()), token)))


def _case(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, Literal["lower", "upper"]]:
    """Return the columns in which a value is written in several cases, and the case to write it in.

    Codes are written in upper case, words in lower case.
    """
    found: dict[str, Literal["lower", "upper"]] = {}
    for name in names:
        query = f"""
            SELECT count(DISTINCT v), count(DISTINCT lower(v)), count(v),
                   2 * count(*) FILTER (regexp_matches(v, '[0-9]')) > count(v)
            FROM (SELECT {identifier(name)} AS v FROM cells)
        """
        written, folded, known, coded = con.execute(query).fetchall()[0]
        if folded < written and folded <= min(MOST_FOLDED, known / 2):
            found[name] = "upper" if coded else "lower"
    return found


# Dates ------------------------------------------------------------------------------------------------------


def _dates(
    con: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the formats of each column of dates, the commonest first, and the columns of either order."""
    columns = [identifier(name) for name in names]
    like = _counts(con, [f"regexp_matches({column}, {literal(LIKE_DATE)})" for column in columns])
    known = _counts(con, [f"{column} IS NOT NULL" for column in columns])
    dates: dict[str, tuple[str, ...]] = {}
    either: list[str] = []
    for name, count, rows in zip(names, like, known, strict=True):
        if count and count >= DATES_SHARE * rows:
            formats, two_orders = _formats(con, identifier(name), rows)
            if formats:
                dates[name] = formats
            if formats and two_orders:
                either.append(name)
    return dates, tuple(either)


def _formats(con: duckdb.DuckDBPyConnection, column: str, known: int) -> tuple[tuple[str, ...], bool]:
    """Return the fewest formats that read a column's dates, none if they read too few.

    Also returns whether some dates could have the day first or the month first.
    """
    chosen: list[str] = []
    totals: dict[str, int] = {}
    left = known
    while left:
        unread = "".join(f" AND {date_or_null(column, (one,))} IS NULL" for one in chosen)
        others = [one for one in DATE_FORMATS if one not in chosen]
        counts = _counts(con, [f"{date_or_null(column, (one,))} IS NOT NULL{unread}" for one in others])
        found = dict(zip(others, counts, strict=True))
        totals = totals or found
        best = max(found, key=lambda one: found[one])  # the day comes first where both orders fit as many
        if not found[best]:
            break
        chosen.append(best)
        left -= found[best]
    day = f"regexp_matches({column}, '^[0-9]+$') AND try_cast({column} AS INTEGER)"
    if chosen and left and _counts(con, [f"{day} BETWEEN {FIRST_SERIAL} AND {LAST_DAY}"])[0] == left:
        chosen.append(SERIAL)
        left = 0
    if not chosen or left > (1 - DATES_SHARE) * known:
        return (), False
    pairs = [(one, OTHER_ORDER[one]) for one in chosen if one in OTHER_ORDER]
    return tuple(chosen), any(totals[one] == totals[other] or other in chosen for one, other in pairs)


# Numbers ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Marks:
    decimal: DecimalMark
    thousands: ThousandsMark | None
    marked: tuple[str, ...]
    doubtful: tuple[str, ...]
    otherwise: tuple[str, ...]


def _marks(con: duckdb.DuckDBPyConnection, names: Sequence[str], delimiter: str) -> _Marks:
    """Return the notation in which most columns are numbers."""
    columns = [identifier(name) for name in names]
    like = _counts(con, [f"regexp_matches({one}, {literal(NUMBERS_WITH_MARKS)})" for one in columns])
    known = _counts(con, [f"{one} IS NOT NULL" for one in columns])
    with_marks = _counts(con, [f"regexp_matches({one}, '[^-+0-9]')" for one in columns])
    numbers = [n for n, *counts in zip(names, like, known, with_marks, strict=True) if _all_like(*counts)]
    sums = {name: dict(zip(MARKS, _sums(con, name), strict=True)) for name in numbers}
    # `1,234` may be either: where the comma delimits cells, it is less often a decimal mark.
    order = MARKS if delimiter == ";" else (MARKS[0], MARKS[2], MARKS[1], *MARKS[3:])
    best = max(order, key=lambda marks: sum(one[marks] is not None for one in sums.values()))
    read = {name: one for name, one in sums.items() if one[best] is not None}
    rivals = [m for m in MARKS if sum(one[m] is not None for one in sums.values()) == len(read)]
    doubtful = [n for n, one in read.items() if len({one[m] for m in rivals if one[m] is not None}) > 1]
    plain = best == MARKS[0] and delimiter != ";"
    return _Marks(
        *best,
        marked=tuple(name for name, one in read.items() if one[MARKS[0]] != one[best]),
        doubtful=() if plain else tuple(doubtful),
        otherwise=tuple(
            name for name, one in sums.items() if name not in read and any(one[m] is not None for m in MARKS)
        ),
    )


def _all_like(like: int, known: int, with_marks: int) -> bool:
    return with_marks > 0 and like == known


def _sums(con: duckdb.DuckDBPyConnection, name: str) -> Iterator[float | None]:
    """Yield the sum of a column's numbers in each notation, None where some cell is no number in it.

    The first distinct values are looked at, which are read in the same order in every notation.
    """
    column = identifier(name)
    distinct = f"SELECT DISTINCT {column} AS v FROM cells WHERE {column} IS NOT NULL"
    values = f"({distinct} ORDER BY v LIMIT {LOOKED_AT})"
    asked = []
    for decimal, thousands in MARKS:
        number = is_number("v", Source(decimal=decimal, thousands=thousands))
        asked.append(f"CASE WHEN count({number}) = count(*) THEN fsum({number}) END")
    found = con.execute(f"SELECT {', '.join(asked)} FROM {values}").fetchone()
    yield from cast("tuple[float | None, ...]", found)
