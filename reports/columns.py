"""The columns of a release: their roles, how they are published, and what analysts have of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from policy.recoding import Form, form_of
from policy.text import number_of
from reports.pages import number, share
from reports.policy_text import ROLES, UNSEEN, roles_of
from tasks.utility.groupable import HIDDEN_BY, LEAST_CONTIGUOUS, MOST_LABELS, Groupable, is_lost

Document = Mapping[str, Any]
_NUMBERS = ("integer", "numeric")
_NODES = ("hierarchy", "full-domain")
_UNCHANGED = "unchanged"
_NEVER = "never published"


@dataclass(frozen=True)
class ColumnRow:
    """One column in texts, empty where there is nothing to say. `warns` if NCP hides that it is lost."""

    name: str
    role: str
    published: str
    lost: str = ""
    exact: str = ""
    median: str = ""
    contiguous: str = ""
    labels: str = ""
    warns: bool = False


def column_rows(policy: Document, figures: Document | None, *, public: bool = False) -> list[ColumnRow]:
    """Return a row a column; on a `public` page those that nobody sees are one row, counted."""
    roles = roles_of(policy)
    found = figures or {}
    ncp, groupable = found.get("ncp") or {}, found.get("groupable") or {}
    rows = [
        _row(name, role, policy, ncp.get(name), groupable.get(name))
        for name, role in roles.items()
        if role not in UNSEEN
    ]
    unseen = [(name, role) for name, role in roles.items() if role in UNSEEN]
    if public and unseen:
        return [*rows, ColumnRow(number_of(len(unseen), "more column"), "not named here", _NEVER)]
    how = {"key": f"{_NEVER}; follows people by a keyed hash"}
    return [*rows, *(ColumnRow(name, ROLES[role], how.get(role, _NEVER)) for name, role in unseen)]


def _row(name: str, role: str, policy: Document, ncp: float | None, by: Document | None) -> ColumnRow:
    if role != "quasi_identifiers":
        return ColumnRow(name, ROLES[role], _UNCHANGED, lost="0%")
    column = _column(policy, name)
    known = _groupable(by)
    if known is None:
        return ColumnRow(name, ROLES[role], _how(column, policy), lost=share(ncp) if ncp is not None else "")
    unit = "wide" if column.get("type") in _NUMBERS else "value" if known.median == 1 else "values"
    return ColumnRow(
        name,
        ROLES[role],
        _how(column, policy),
        share(ncp) if ncp is not None else "",
        share(known.exact),
        f"{number(known.median)} {unit}",
        share(known.contiguous),
        number(known.labels),
        _is_hidden(known, ncp),
    )


def _is_hidden(column: Groupable, ncp: float | None) -> bool:
    return ncp is not None and ncp <= HIDDEN_BY and is_lost(column)


def lost_columns(figures: Document | None) -> list[str]:
    """Return a sentence on each column that can hardly be grouped by though NCP counts it as little loss."""
    found = figures or {}
    lines = []
    for name, by in (found.get("groupable") or {}).items():
        column, ncp = _groupable(by), (found.get("ncp") or {}).get(name)
        if column is None or not _is_hidden(column, ncp):
            continue
        if column.contiguous < LEAST_CONTIGUOUS:
            why = (
                f"{share(1 - column.contiguous)} of its rows hold several values that are neither one range "
                f"nor one node of a hierarchy (median {number(column.median)} values)"
            )
        else:
            why = (
                f"it has {number(column.labels)} different labels (more than {MOST_LABELS}), and "
                f"{share(column.exact)} of its rows hold a single value"
            )
        lines.append(
            f"{name}: NCP counts {share(ncp)} of its detail as lost, but it can hardly be grouped by: {why}."
        )
    return lines


def contents(policy: Document) -> str:
    """Return in a sentence or two which columns a release has, and in which form."""
    roles = roles_of(policy)
    changed = [name for name, role in roles.items() if role == "quasi_identifiers"]
    as_is = [name for name, role in roles.items() if role in ("sensitive", "kept")]
    n_of = Counter(role for role in roles.values() if role in UNSEEN)
    unseen = [number_of(n, f"{ROLES[role]} column") for role, n in n_of.items()]
    key = policy.get("roles", {}).get("key") is not None
    several = policy.get("rows") == "several"
    lines = [
        ("A person can have several rows." if several else "Each row is about one person.") if key else "",
        f"Generalized: {', '.join(changed)}." if changed else "",
        f"Unchanged: {', '.join(as_is)}." if as_is else "",
        f"Never published: {' and '.join(unseen)}." if unseen else "",
    ]
    return " ".join(filter(None, lines))


def _groupable(by: Document | None) -> Groupable | None:
    """Return what the figures keep of a column; None where they are of another form, as a later one's."""
    try:
        return Groupable(**by) if by else None
    except TypeError:
        return None


def _column(policy: Document, name: str) -> Document:
    listed = policy.get("roles", {}).get("quasi_identifiers", ())
    return next((one for one in listed if one.get("name") == name), {})


def _how(column: Document, policy: Document) -> str:
    recoding, kind = policy.get("method", {}).get("recoding", "sets"), column.get("type")
    form = form_of(recoding, numeric=kind in _NUMBERS)
    if form is not Form.CONTAINS:
        return "values of the class" if form is Form.REPLACED else "values with noise"
    if kind in (*_NUMBERS, "ordinal", "date"):
        return "ranges"
    if kind == "code":
        return "prefixes"
    return "nodes of its hierarchy" if recoding in _NODES and column.get("hierarchy") else "sets of values"
