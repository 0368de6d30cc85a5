"""The steps by which a table's cells are read right, found from the cells: fields of a policy's `source`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import duckdb

from policy.cells import SERIAL, DecimalMark, ThousandsMark
from policy.model import Source
from services.drafting.amounts import find_amounts
from services.drafting.rounding import Rounding
from services.drafting.tables import Loaded
from tasks.intake.cells import FIRST_SERIAL, date_or_null, number_text, stripped, text_cell, visible
from tasks.intake.column_words import words_of
from tasks.sql import identifier, literal

# Ways to write that a value is unknown, in whatever case. "None" is left out: it often says "nothing", which
# is a value.
MISSING_TOKENS = (
    *("", "?", "-", "--", ".", "na", "n/a", "n.a.", "null", "nan", "unknown", "not known"),
    *("k.a.", "k. a.", "keine angabe", "unbekannt"),
    *("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#name?", "#num!", "#null!"),
)
SEXES = (
    (
        *(
            "m",
            "male",
            "man",
            "men",
            "masculine",
            "m\u00e4nnlich",
            "maennlich",
            "mann",
            "h",
            "homme",
            "masculin",
        ),
        *("hombre", "homem", "masculino", "maschio", "uomo", "mies", "m\u0119\u017cczyzna", "mu\u017e"),
    ),
    (
        *(
            "f",
            "w",
            "female",
            "woman",
            "women",
            "feminine",
            "weiblich",
            "frau",
            "femme",
            "f\u00e9minin",
            "v",
            "k",
        ),
        *(
            "mujer",
            "mulher",
            "femenino",
            "feminino",
            "femmina",
            "donna",
            "vrouw",
            "kvinna",
            "kvinde",
            "kvinne",
        ),
        *("nainen", "kobieta", "\u017eena"),
    ),
)
SEX_WORDS = frozenset(
    (
        *(
            "sex",
            "gender",
            "geschlecht",
            "sexe",
            "sexo",
            "genre",
            "genero",
            "g\u00e9nero",
            "g\u00eanero",
            "sesso",
        ),
        *(
            "genere",
            "geslacht",
            "k\u00f6n",
            "kon",
            "k\u00f8n",
            "kj\u00f8nn",
            "sukupuoli",
            "p\u0142e\u0107",
            "plec",
        ),
        *("pohlav\u00ed", "pohlavie"),
    )
)
ROWS = '"rows of it"'  # beside a column's distinct values
MOST_SEXES = 20  # values of a column of sexes
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
    *("%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d.%b.%Y"),
    *("%d. %m. %Y", "%d.%m.%Y.", "%Y.%m.%d.", "%Y. %m. %d."),
)
OTHER_ORDER = {"%d/%m/%Y": "%m/%d/%Y", "%m/%d/%Y": "%d/%m/%Y", "%d-%m-%Y": "%m-%d-%Y", "%m-%d-%Y": "%d-%m-%Y"}
LIKE_DATE = (
    r"^(?:[0-9]{1,4}(?:[-/ ]|\. ?)[0-9A-Za-z]{1,3}(?:[-/ ]|\. ?)[0-9]{1,4}\.?"
    r"|[A-Za-z]{3} [0-9]{1,2}, [0-9]{4}|(?:1[89]|2[01])[0-9]{6})$"
)
DATES_SHARE = 0.5  # of a column's known cells, from which it is one of dates
LAST_DAY = 73_050  # 2099-12-31 as a spreadsheet's number of a day


@dataclass(frozen=True)
class Steps:
    """What a policy's `source` has to say of the cells, and why; names are those of columns."""

    source: Source
    hidden: tuple[str, ...] = ()  # with characters in cells that are not shown
    padded: tuple[str, ...] = ()  # with blanks around cells
    marked: tuple[str, ...] = ()  # with numbers that need `decimal` or `thousands`
    doubtful: tuple[str, ...] = ()  # whose numbers another notation would read otherwise
    otherwise: tuple[str, ...] = ()  # with numbers in a notation that is not the table's
    either_order: tuple[str, ...] = ()  # whose dates may have the day first or the month first
    replaced: Mapping[str, str] = field(default_factory=dict)  # columns that a query reads, by this SQL
    amounts: tuple[str, ...] = ()  # of them, those that are amounts written as text
    unread_amounts: tuple[str, ...] = ()  # that no one query reads
    money: tuple[str, ...] = ()  # of `amounts`, those with a currency
    shortened: Mapping[str, int] = field(default_factory=dict)  # codes, and the characters that are read
    rounded: Mapping[str, Rounding] = field(default_factory=dict)  # numbers that hardly repeat
    exact: Mapping[str, str] = field(default_factory=dict)  # their SQL before


def tidy(con: duckdb.DuckDBPyConnection, loaded: Loaded) -> Steps:
    """Find the steps for `cells`, and read its cells by all of them but the marks of numbers."""
    names = loaded.names
    hidden = tuple(hidden_rows(con, names))
    if hidden:
        _read_again(con, loaded, Source(invisible="removed", missing=()))
    padded = _padded(con, names)
    missing = _missing(con, names, strip=bool(padded) or loaded.padded_names)
    source = Source(
        delimiter=loaded.delimiter,
        encoding=loaded.encoding,
        invisible="removed" if hidden or loaded.hidden_names else "kept",
        strip=bool(padded) or loaded.padded_names,
        missing=missing,
    )
    _read_again(con, loaded, source)
    dates, either_order = _dates(con, names)
    case = _case(con, [name for name in names if name not in dates])
    changed = {name: formats for name, formats in dates.items() if formats != (ISO,)}
    source = source.model_copy(update={"dates": changed, "case": case})
    if changed or case:
        _read_again(con, loaded, source)
    source = source.model_copy(update={"values": _sexes(con, names)})
    if source.values:
        _read_again(con, loaded, source)
    marks = _marks(con, [name for name in names if name not in dates], loaded.delimiter)
    source = source.model_copy(update={"decimal": marks.decimal, "thousands": marks.thousands})
    amounts = find_amounts(con, [name for name in names if name not in dates])
    replace_cells(
        con,
        {
            name: f"replace(CAST({sql} AS VARCHAR), '.', '{marks.decimal}')"
            for name, sql in amounts.read.items()
        },
    )
    return Steps(
        source,
        hidden,
        padded,
        marks.marked,
        marks.doubtful,
        marks.otherwise,
        either_order,
        amounts.read,
        tuple(amounts.read),
        amounts.unread,
        amounts.money,
    )


def replace_cells(con: duckdb.DuckDBPyConnection, sql: Mapping[str, str]) -> None:
    """Put what the SQL says of each column in place of its cells."""
    if sql:
        replaced = ", ".join(f"{one} AS {identifier(name)}" for name, one in sql.items())
        con.execute(f"CREATE TABLE replaced AS SELECT * REPLACE ({replaced}) FROM cells ORDER BY rowid")
        con.execute("DROP TABLE cells")
        con.execute("ALTER TABLE replaced RENAME TO cells")


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


def distinct_cells(column: str) -> str:
    """Return the SQL of a column's values in `cells`, each once, and beside them the rows that have it."""
    return f"(SELECT {column}, count(*) AS {ROWS} FROM cells GROUP BY 1)"


def _counts(con: duckdb.DuckDBPyConnection, column: str, conditions: Sequence[str]) -> list[int]:
    """Return how many rows of `cells` meet each condition on a column: each value is looked at once."""
    asked = ", ".join(f"coalesce(sum({ROWS}) FILTER ({one}), 0)" for one in conditions)
    found = con.execute(f"SELECT {asked} FROM {distinct_cells(column)}").fetchone()
    return [int(one) for one in found or ()]


def hidden_rows(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, int]:
    """Return the columns of `cells` in which there are characters that are not shown, with their rows."""
    columns = {name: identifier(name) for name in names}
    counts = {name: _counts(con, one, [f"{one} <> {visible(one)}"])[0] for name, one in columns.items()}
    return {name: count for name, count in counts.items() if count}


def _padded(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> tuple[str, ...]:
    columns = {name: identifier(name) for name in names}
    return tuple(name for name, one in columns.items() if _counts(con, one, [f"{one} <> {stripped(one)}"])[0])


def _missing(con: duckdb.DuckDBPyConnection, names: Sequence[str], *, strip: bool) -> tuple[str, ...]:
    """Return the ways in which the table says that a value is unknown, as they are written."""
    tokens = ", ".join(map(literal, MISSING_TOKENS))
    found: set[str] = {""}
    for name in names:
        column = identifier(name)
        cell = stripped(column) if strip else column
        rows = con.execute(
            f"SELECT {cell} FROM {distinct_cells(column)} WHERE lower({cell}) IN ({tokens})"
        ).fetchall()
        found.update(row[0] for row in rows)
    return tuple(sorted(found, key=lambda token: (MISSING_TOKENS.index(token.lower()), token)))


def _case(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, Literal["lower", "upper"]]:
    """Return the columns in which a value is written in several cases, and the case to write it in.

    Codes are written in upper case, words in lower case.
    """
    found: dict[str, Literal["lower", "upper"]] = {}
    for name in names:
        query = f"""
            SELECT count(v), count(DISTINCT lower(v)), coalesce(sum(n) FILTER (v IS NOT NULL), 0),
                   2 * coalesce(sum(n) FILTER (regexp_matches(v, '[0-9]')), 0) > sum(n) FILTER (v IS NOT NULL)
            FROM (SELECT {identifier(name)} AS v, count(*) AS n FROM cells GROUP BY 1)
        """
        written, folded, known, coded = con.execute(query).fetchall()[0]
        if folded < written and folded <= min(MOST_FOLDED, known / 2):
            found[name] = "upper" if coded else "lower"
    return found


def _sexes(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the other spellings of each sex, by the longest one, in columns that are named after it."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for name in names:
        if not words_of(name) & SEX_WORDS:
            continue
        column = identifier(name)
        query = (
            f"SELECT DISTINCT {column} FROM cells WHERE {column} IS NOT NULL ORDER BY ALL LIMIT {MOST_SEXES}"
        )
        values = sorted((row[0] for row in con.execute(query).fetchall()), key=len, reverse=True)
        if any(one.lower() == "h" for one in values):  # of men; and "m" may be of women, as in Spanish
            values = [one for one in values if one.lower() != "m"]
        spelt = [[one for one in values if one.lower() in spellings] for spellings in SEXES]
        own = {first: tuple(others) for first, *others in filter(None, spelt) if others}
        if own:
            found[name] = own
    return found


# Dates ------------------------------------------------------------------------------------------------------


def _dates(
    con: duckdb.DuckDBPyConnection, names: Sequence[str]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the formats of each column of dates, the commonest first, and the columns of either order."""
    dates: dict[str, tuple[str, ...]] = {}
    either: list[str] = []
    for name in names:
        column = identifier(name)
        like = f"regexp_matches({column}, {literal(LIKE_DATE)})"
        count, rows = _counts(con, column, [like, f"{column} IS NOT NULL"])
        if count and count >= DATES_SHARE * rows:
            formats, two_orders = _formats(con, column, rows)
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
        counts = _counts(
            con, column, [f"{date_or_null(column, (one,))} IS NOT NULL{unread}" for one in others]
        )
        found = dict(zip(others, counts, strict=True))
        totals = totals or found
        best = max(found, key=lambda one: found[one])  # the day comes first where both orders fit as many
        if not found[best]:
            break
        chosen.append(best)
        left -= found[best]
    day = f"regexp_matches({column}, '^[0-9]+$') AND try_cast({column} AS INTEGER)"
    if chosen and left and _counts(con, column, [f"{day} BETWEEN {FIRST_SERIAL} AND {LAST_DAY}"])[0] == left:
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
    numbers = [name for name in names if _is_all_numbers(con, identifier(name))]
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


def _is_all_numbers(con: duckdb.DuckDBPyConnection, column: str) -> bool:
    """Tell whether all values of a column are like numbers, and some have more than digits."""
    like, marked = (f"regexp_matches({column}, {literal(one)})" for one in (NUMBERS_WITH_MARKS, "[^-+0-9]"))
    others, with_marks = _counts(con, column, [f"NOT {like}", marked])
    return not others and with_marks > 0


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
