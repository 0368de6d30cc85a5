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
PERIOD = (
    r"(?<![0-9])(?:19|20)[0-9]{2}"
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
    return _series(stem), file


def periods_in(name: str) -> list[str]:
    """Return the periods that stand in a file's name."""
    return re.findall(PERIOD, _stem(name))


def period_of(name: str, names: Sequence[str]) -> str | None:
    """Return the period in a file's name: of `names`, the part that differs; None where it has none."""
    file = series_of(names)[1] if len(names) > 1 else None
    if file is None:
        return next(iter(periods_in(name)), None)
    before, after = file.split("{period}")
    return name[len(before) : len(name) - len(after)]


def _of_several(names: Sequence[str]) -> tuple[str, str | None]:
    if found := _of_whole_periods(names):
        return found
    # What all names begin or end with may hold a part of the period, such as the century or the "Q".
    before = re.sub(r"(?:(?:19|20)[0-9]{2}-?[QqMmWw]?|[0-9]+)$", "", _common_beginning(names))
    after = _common_beginning([name[len(before) :][::-1] for name in names])[::-1]
    after = re.sub(r"^[A-Za-z0-9]+", "", after)
    periods = [name[len(before) : len(name) - len(after)] for name in names]
    if not all(re.fullmatch(r"[A-Za-z0-9_:-]+", period) for period in periods):
        return _series(_stem(before)), None
    return _series(_stem(before) + _stem(after)), f"{before}{{period}}{after}"


def _of_whole_periods(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the series and the files' name where each name has one period, and they differ in it alone."""
    periods = [periods_in(name) for name in names]
    if any(len(found) != 1 for found in periods) or len({found[0] for found in periods}) < len(names):
        return None
    others = {name.replace(found[0], "{period}", 1) for name, found in zip(names, periods, strict=True)}
    if len(others) > 1:
        return None
    file = others.pop()
    return _series(_stem(file).replace("{period}", "")), file


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    return next((first[:n] for n, letter in enumerate(first) if last[n : n + 1] != letter), first)


def _stem(name: str) -> str:
    """Return a file's name without its ending, which has no digit but in `sqlite3`."""
    return re.sub(r"(?:\.(?:[A-Za-z]+|sqlite3))+$", "", name)


def _series(stem: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", stem).strip("-_")[:64] or "series"
