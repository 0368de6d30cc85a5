"""A policy as people read it: every field by its dotted name, and what the role of each column is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.text import number_of
from reports.difference_sides import fields_of

Document = Mapping[str, Any]
MOST_LISTED = 200  # values of one field; more are counted
UNSEEN = ("key", "identifiers", "household", "weight", "dropped")  # roles of columns that nobody sees
# What a page for everybody leaves out: where the table comes from, what it must be, and unseen columns.
_OWNERS = ("source.", "expectations.", "roles.key", "roles.identifiers", "roles.household", "roles.weight")
_OWNERS_TOO = ("roles.dropped", "gates.leak.", "linkage.control")
_OF_VALUES = ("roles.", "gates.models.", "gates.worlds.")
ROLES = {
    "key": "key",
    "identifiers": "identifier",
    "household": "household",
    "quasi_identifiers": "quasi-identifier",
    "sensitive": "sensitive",
    "kept": "kept",
    "weight": "survey weight",
    "dropped": "dropped",
}


def roles_of(policy: Document) -> dict[str, str]:
    """Return the role of each column by the keys of `ROLES`, in their order."""
    roles = policy.get("roles", {})
    return {name: role for role in ROLES for name in _names(roles.get(role))}


def policy_fields(policy: Document, *, public: bool = False) -> dict[str, Any]:
    """Return the fields that are set by their dotted names; of a `public` page, those that everybody may see.

    A description that is empty, and the order of columns, are left out.
    """
    return {
        name: value
        for name, value in fields_of(policy).items()
        if not name.endswith(".(order)")
        and not (name.endswith(".description") and not value)
        and not (public and name.startswith((*_OWNERS, *_OWNERS_TOO)))
    }


def field_text(name: str, value: Any, *, listed: bool = True) -> str:
    """Return the value of a field as one text; values of columns are counted where they are not `listed`."""
    if value is None or value in ("", [], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, list | tuple):
        return str(value)
    if len(value) > MOST_LISTED or (not listed and name.startswith(_OF_VALUES)):
        return number_of(len(value), "value")
    return ("; " if any(isinstance(one, list | tuple) for one in value) else ", ").join(map(_one, value))


def _one(value: Any) -> str:
    """Return one value of a list; the path from a leaf to the root of a hierarchy without the root."""
    if isinstance(value, list | tuple):
        path = [str(one) for one in value]
        return " < ".join(path[:-1] if path[-1:] == ["*"] else path)
    return str(value)


def _names(columns: Any) -> list[str]:
    if columns is None:
        return []
    if isinstance(columns, str):
        return [columns]
    return [str(one["name"] if isinstance(one, Mapping) else one) for one in columns]
