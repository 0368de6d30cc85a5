"""Hold the columns of an input against the roles of its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from policy.errors import InputError, did_you_mean
from policy.text import number_of

if TYPE_CHECKING:  # the process that reads workbooks does without it
    from policy.model import ReleasePolicy

LONGEST_NAME = 60
NameCheck: TypeAlias = Callable[[Sequence[str], str], None]
"""What holds the names of columns against something; raises InputError, which tells where they stand."""


def display_column(name: str) -> str:
    """Return the name in quotes on one line, cut where it is long."""
    text = name if name.isprintable() else ascii(name)[1:-1]
    return f"'{text[:LONGEST_NAME]}...'" if len(text) > LONGEST_NAME else f"'{text}'"


def check_columns(names: Sequence[str], policy: ReleasePolicy, where: str) -> None:
    """Every role's column must be there once, and every column must have a role.

    Raises InputError. Names of the input are told only if one of them is a role's column: the first
    line of a file without column names is a person's row.
    """
    roles = list(policy.roles.columns())
    near = {role.casefold() for role in roles}
    if not any(name.strip().casefold() in near for name in names):
        raise InputError(
            f"none of its {number_of(len(names), 'column')} is in the roles of the policy",
            where=where,
            hint="Line 1 must have the names of the columns; source.delimiter sets the delimiter.",
        )
    check_distinct(names, where, tell=True)
    unknown = [name for name in names if name not in set(roles)]
    missing = [role for role in roles if role not in set(names)]
    if missing:
        raise InputError(
            f"the column {display_column(missing[0])} of the policy's roles is missing"
            f"{did_you_mean(missing[0], [name for name in unknown if name.isprintable()])}"
            f"{_more(missing, 'is missing', 'are missing')}",
            where=where,
            hint="Correct the name in roles, or the input.",
        )
    if unknown:
        raise InputError(
            f"the column {display_column(unknown[0])} has no role{_more(unknown, 'has none', 'have none')}",
            where=where,
            hint="Give it a role in the policy; roles.dropped leaves a column out.",
        )


def check_same_columns(types: Mapping[str, str], first: Mapping[str, str], where: str, before: str) -> None:
    """Hold the columns of a part of a table, with DuckDB's types, against those of its first file `before`.

    Raises InputError for a column that only one of them has, and for one whose type is another.
    """
    for name in (*first, *types):
        shown = display_column(name)
        if name not in types or name not in first:
            has = "has" if name in types else "lacks"
            raise InputError(
                f"{has} the column {shown}, unlike {before}",
                where=where,
                hint="All parts of a table have the same columns.",
            )
        if types[name] != first[name]:
            raise InputError(
                f"the column {shown} is {types[name]}, but {first[name]} in {before}",
                where=where,
                hint="Write the column with the same type in all parts of the table.",
            )


def check_distinct(names: Sequence[str], where: str, *, tell: bool) -> None:
    """Refuse columns without a name and names that differ in case only; `tell` names them."""
    seen: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(
                f"column {position} has no name", where=where, hint="Name every column in line 1."
            )
        first = seen.setdefault(name.casefold(), position)
        if first != position:
            other = names[first - 1]
            called = "" if other == name else " apart from case"
            if tell:
                shown = dict.fromkeys((display_column(other), display_column(name)))
                called += f", {' and '.join(shown)}"
            raise InputError(
                f"columns {first} and {position} have the same name{called}",
                where=where,
                hint="Give every column a different name.",
            )


def check_names_differ(names: Sequence[str], where: str) -> None:
    """Refuse what `check_distinct` refuses, and tell no name."""
    check_distinct(names, where, tell=False)


def _more(names: Sequence[str], one: str, several: str) -> str:
    count = len(names) - 1
    return f" ({count} more {one if count == 1 else several})" if count else ""
