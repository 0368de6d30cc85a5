"""Name a series after the tables of its periods, and write the period in their names as {period}."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from policy.location import Location, ObjectAddress
from policy.postgres_address import PostgresTable

_DAY = r"(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0[1-9]|1[0-2])"
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero gennaio",
            "feb february februar fev f\u00e9v fevrier f\u00e9vrier febrero febbraio",
            "mar march mrz m\u00e4r m\u00e4rz maerz mars marzo",
            "apr april avr avril abr abril aprile",
            "may mai mayo maggio",
            "jun june juni juin junio giugno",
            "jul july juli juillet julio luglio",
            "aug august aout ao\u00fbt agosto",
            "sep sept september septembre septiembre settembre",
            "oct october okt oktober octobre octubre ottobre",
            "nov november novembre noviembre",
            "dec december dez dezember d\u00e9c decembre d\u00e9cembre diciembre dicembre",
        ),
        1,
    )
    for name in names.split()
}
_NAME = rf"(?<![^\W\d_])(?i:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})(?![^\W\d_])"
_YEAR, _BETWEEN = r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])", "[ ._-]{0,2}"
_VALID = r"[A-Za-z0-9._-]+"  # of --period
PERIOD = (
    rf"{_NAME}{_BETWEEN}(?:19|20)[0-9]{{2}}(?![0-9])|(?<![0-9])(?:19|20)[0-9]{{2}}{_BETWEEN}{_NAME}|{_NAME}"
    r"|(?<![0-9])(?:19|20)[0-9]{2}"
    rf"(?:-{_MONTH}-{_DAY}|_{_MONTH}_{_DAY}|{_MONTH}{_DAY}|-?[QqMmWwHhSs]?[0-9]{{1,2}}|[A-Z](?![A-Za-z]))?(?![0-9])"
)


def source_of(tables: Sequence[Location]) -> tuple[str, str | None]:
    """Return the series' name, and `source.path` of its policy, with {period} in place of a period in it.

    The path is None where the tables differ in more than a period.
    """
    series, name = series_of([table_name(table) for table in tables])
    others = {_without_name(table) for table in tables}
    first = tables[0]
    if name is None or (len(others) > 1 and not isinstance(first, Path)):
        return series, None
    if isinstance(first, PostgresTable):
        # An address writes the braces as something else, and this character as %00.
        return series, str(replace(first, table=name.replace("{period}", "\0"))).replace("%00", "{period}")
    if isinstance(first, ObjectAddress):
        return series, str(replace(first, key=first.key.removesuffix(first.name) + name))
    return series, name


def table_name(table: Location) -> str:
    """Return the name of a file, an object, or a table of Postgres without its schema."""
    return table.table if isinstance(table, PostgresTable) else table.name


def _without_name(table: Location) -> Location | None:
    """Return what two tables have in common that differ in their names alone; None for files."""
    if isinstance(table, PostgresTable):
        return replace(table, table="")
    if isinstance(table, ObjectAddress):
        return replace(table, key=table.key.removesuffix(table.name))
    return None


def series_of(names: Sequence[str]) -> tuple[str, str | None]:
    """Return the series' name, and the name of its files, with {period} in place of a period in it.

    Of several files, the part in which their names differ is the period; None where that is no period.
    """
    if len(names) > 1:
        return _of_several(names)
    file = names[0]
    stem = _stem(file)
    periods = periods_in(file)
    # Two periods are the ends of a range.
    if len(periods) == 1:
        file = file.replace(periods[0], "{period}", 1)
        stem = stem.replace(periods[0], "", 1)
    return _series(stem), file if all(re.fullmatch(_VALID, one) for one in periods[:1]) else None


def periods_in(name: str) -> list[str]:
    """Return the periods that stand in a file's name."""
    return re.findall(PERIOD, _stem(name))


def period_of(name: str, names: Sequence[str]) -> str | None:
    """Return the period in a file's name: of `names`, the part that differs; None where it has none.

    A month that is written as no period can be, such as `Jan 2025`, is written as `2025-01`.
    """
    period = _written_in(name, names)
    if period is None or re.fullmatch(_VALID, period):
        return period
    form, place = _place(period) or ("", ())
    return f"{place[0]}-{place[1]:02}" if form == "month" else None


def _written_in(name: str, names: Sequence[str]) -> str | None:
    file = series_of(names)[1] if len(names) > 1 else None
    if file is None:
        return next(iter(periods_in(name)), None)
    before, after = file.split("{period}")
    return name[len(before) : len(name) - len(after)]


def in_order(tables: Sequence[Location]) -> list[Location] | None:
    """Return tables in the order of their periods; None where the names tell none.

    Of months without a year, those after the longest gap come first: `nov`, `dec`, `jan`.
    """
    names = [table_name(table) for table in tables]
    places = [_place(_written_in(name, names) or "") for name in names]
    found = [one for one in places if one is not None]
    if len({form for form, _ in found}) != 1 or len({place for _, place in found}) < len(tables):
        return None
    order = sorted(place for _, place in found)
    if found[0][0] == "name":
        gaps = [(now[0] - before[0]) % 12 for before, now in zip([order[-1], *order], order, strict=False)]
        first = gaps.index(max(gaps))
        order = [*order[first:], *order[:first]]
    return [table for _, table in sorted(zip([order.index(one[1]) for one in found], tables, strict=True))]


def _place(period: str) -> tuple[str, tuple[int, ...]] | None:
    """Return the form of a period, and its place among those of the form."""
    year = re.search(_YEAR, period)
    name = re.search(_NAME, period)
    if name and len(period) <= len(name[0]) + 6:
        month = _MONTHS[name[0].lower()]
        return ("month", (int(year[0]), month)) if year else ("name", (month,))
    if found := re.fullmatch(r"([0-9]{1,2})[-_.]([0-9]{4})", period):
        return "month", (int(found[2]), int(found[1]))
    if found := re.fullmatch(r"([0-9]{4})[-_]?([A-Za-z]?)([0-9]{0,2})[-_]?([0-9]{0,2})", period):
        numbers = [int(one) for one in (found[1], found[3], found[4]) if one]
        if found[2] and not found[3]:
            return "letter", (numbers[0], ord(found[2].upper()))
        forms = ("year", "month", "day")
        return found[2].upper() or forms[len(numbers) - 1], (*numbers,)
    return ("number", (int(period),)) if re.fullmatch("[0-9]{1,3}", period) else None


def _of_several(names: Sequence[str]) -> tuple[str, str | None]:
    if found := _of_whole_periods(names):
        return found
    # What all names begin or end with may hold a part of the period, such as the century or the "Q".
    before = re.sub(r"(?:(?:19|20)[0-9]{2}-?[QqMmWw]?|[0-9]+)$", "", _common_beginning(names))
    whole = re.sub(r"[^\W\d_]+$", "", before)
    if all(re.match(_NAME, name[len(whole) :]) for name in names):
        before = whole
    after = _common_beginning([name[len(before) :][::-1] for name in names])[::-1]
    after = re.sub(r"^[A-Za-z0-9]+", "", after)
    periods = [name[len(before) : len(name) - len(after)] for name in names]
    if not all(re.fullmatch(r"[A-Za-z0-9_:-]+", period) for period in periods):
        return _series(_stem(before)), None
    return _series(_stem(before) + _stem(after)), f"{before}{{period}}{after}"


def _of_whole_periods(names: Sequence[str]) -> tuple[str, str | None] | None:
    """Return the series and the files' name where each name has one period, and they differ in it alone."""
    periods = [periods_in(name) for name in names]
    if any(len(found) != 1 for found in periods) or len({found[0] for found in periods}) < len(names):
        return None
    others = {name.replace(found[0], "{period}", 1) for name, found in zip(names, periods, strict=True)}
    if len(others) > 1:
        return None
    file = others.pop()
    valid = all(re.fullmatch(_VALID, one) for (one,) in periods)
    return _series(_stem(file).replace("{period}", "")), file if valid else None


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    return next((first[:n] for n, letter in enumerate(first) if last[n : n + 1] != letter), first)


def _stem(name: str) -> str:
    """Return a file's name without its ending, which has no digit but in `sqlite3`."""
    return re.sub(r"(?:\.(?:[A-Za-z]+|sqlite3))+$", "", name)


def _series(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", stem).strip("-_")[:64] or "series"
