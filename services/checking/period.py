"""A period that the name of its file, or the dates in its table, contradict: it may be a slip of the hand."""

from __future__ import annotations

import re
from datetime import date

from policy.model import ReleasePolicy
from policy.period import first_day, last_day, period_form, period_with
from services.checking.findings import Finding
from tasks.intake.cell_table import TABLE, Cells
from tasks.sql import identifier

MOST = 0.9  # share of a column's dates in one other period from which it contradicts the period
_IN_NAME = re.compile(
    r"(?<![0-9A-Za-z])(?:19|20)[0-9]{2}"
    r"(?:-[0-9]{2}-[0-9]{2}|-?[Qq][1-4]|-?[Ww][0-9]{2}|-[0-9]{2})?(?![0-9A-Za-z])"
)
_HINT = "Check --period and the input."


def name_finding(name: str, period: str, where: str) -> Finding | None:
    """Return a warning where a file's name has one period, and it has no day in common with `period`.

    A day in a name is often that of an export: it counts for a period of one day alone.
    """
    first, last = first_day(period), last_day(period)
    found = list(dict.fromkeys(_IN_NAME.findall(name)))
    if first is None or last is None or len(found) != 1:
        return None
    other = found[0].upper()
    form = period_form(other)
    if form == "day" and period_form(period) != "day":
        return None
    begins, ends = first_day(other), last_day(other)
    if begins is None or ends is None or (begins <= last and first <= ends):
        return None
    return Finding(where, "--period", f"is {period}, and the file's name says {found[0]}", _HINT, None)


def period_in_name(name: str) -> str | None:
    """Return the only period in a file's name; None where there is none, or several."""
    found = {one.upper() for one in _IN_NAME.findall(name)}
    return found.pop() if len(found) == 1 and all(map(first_day, found)) else None


def date_findings(cells: Cells, policy: ReleasePolicy, period: str) -> list[Finding]:
    """Return a warning for each column whose dates lie almost all in one other period of the same form.

    At least k rows must have a date in it. Dates that are spread, as those of birth, say nothing.
    """
    form = period_form(period)
    if form is None or first_day(period) is None:
        return []
    roles, found = policy.roles, []
    for name in (*roles.columns_read(), *roles.dropped):
        if name in (roles.key, roles.household) or not cells.has(name) or name in cells.native:
            continue
        other = _period_of_dates(cells, name, form, policy.privacy.k)
        if other is not None and other != period:
            said = f"almost all of its dates are in {other}, and --period is {period}"
            found.append(Finding(cells.where, f"column '{name}'", said, _HINT, None))
    return found


def _period_of_dates(cells: Cells, name: str, form: str, k: int) -> str | None:
    """Return the period in which almost all dates of a column lie, None where there is none."""
    column = identifier(name)
    described = cells.all(f"SELECT column_name FROM (DESCRIBE {TABLE}) WHERE column_name = ?", [name])
    if not described:
        return None
    looks = cells.all(f"SELECT {column} FROM {TABLE} WHERE {column} IS NOT NULL LIMIT 20")
    if len(looks) < min(k, 20) or not any(
        re.match(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}", str(v)) for (v,) in looks
    ):
        return None
    for written in ("%Y-%m-%d", "%d.%m.%Y", "%Y/%m/%d"):
        day = f"try_strptime(regexp_extract({column}, '^[0-9]+[-/.][0-9]+[-/.][0-9]+'), '{written}')"
        known, dated = cells.one(f"SELECT count({column}), count({day}) FROM {TABLE}")
        if dated < MOST * known or dated < k:
            continue
        day_, rows = cells.all(
            f"SELECT date_trunc('{form}', {day})::DATE, count(*) FROM {TABLE} "
            f"WHERE {day} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
        )[0]
        if rows >= MOST * dated and rows >= k and isinstance(day_, date):
            return period_with(day_, form)
        return None
    return None
