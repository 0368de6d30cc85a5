"""What two releases or candidates are compared by: each one's side as named values, and the rows of both.

The page `diff.html` of the site compares the same sides by the same rules (assets/diff.js).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from release_store.summary import Summary
from reports.documents import Document
from tasks.methods.registry import methods, parameters_of
from tasks.risk.registry import GATES

SECTIONS = ("facts", "policy", "method", "gates", "classes", "utility")
FACTS = (
    "series",
    "period",
    "state",
    "made_by",
    "made_at",
    "published_at",
    "policy_digest",
    "input_digest",
    "candidate_digest",
    "history_head",
)
_NAMED = ("quasi_identifiers", "sensitive")  # roles whose columns are a list of what has a name


def side_of(record: Document, policy: Mapping[str, Any], sizes: Mapping[str, Any]) -> Document:
    """Return what a release or candidate is compared by, a section each.

    `record` is what `record_document` returns; `sizes` are the number of its classes, the least, the middle
    and the greatest of their sizes, and empty where they are not known.
    """
    summary = Summary(record["summary"])
    return {
        "facts": {name: record[name] for name in FACTS},
        "policy": fields_of(policy),
        "method": method_of(summary),
        "gates": _gates(record),
        "classes": {**sizes, "records published": summary.n_published, "records left out": summary.left_out},
        "utility": _utility(record),
    }


def rows_of(one: Document, other: Document) -> dict[str, list[Document]]:
    """Return the rows of two sides, a list a section: `name`, `a`, `b` and whether they are the `same`.

    `a` or `b` is left out of a row where that side has no such name. Of the policies only what differs.
    """
    rows = {name: _rows(one[name], other[name]) for name in SECTIONS if name != "policy"}
    policy = _rows(*_told_once(one["policy"], other["policy"]))
    order = {name: number for number, name in enumerate(GATES)}
    return {
        **rows,
        "policy": [row for row in policy if not row["same"]],
        "gates": sorted(rows["gates"], key=lambda row: order.get(row["name"], len(order))),
    }


def fields_of(policy: Mapping[str, Any]) -> Document:
    """Return a policy's fields by their dotted names; the columns of a role by their own."""
    roles = dict(policy.get("roles", {}))
    for role in _NAMED:
        columns = roles.get(role, [])
        roles[role] = {
            **{column["name"]: {f: v for f, v in column.items() if f != "name"} for column in columns},
            "(order)": [column["name"] for column in columns],
        }
    return dict(_leaves({**policy, "roles": roles}, ""))


def method_of(summary: Summary) -> Document:
    """Return the method, its seed and every parameter; one that was left out as it is by default now."""
    parameters = summary.parameters
    model = _parameters(str(summary.method))
    if model is not None:
        # Those of an earlier program may not be today's: then the given ones are all that can be told.
        with suppress(ValidationError):
            parameters = model.model_validate(parameters).model_dump(mode="json")
    named = {"method": summary.method, "history": summary.history, "seed": summary.seed}
    return {**named, **parameters}


@cache
def _parameters(name: str) -> type[BaseModel] | None:
    """Return the model of a method's parameters; making one takes milliseconds."""
    method = methods().get(name)
    return None if method is None else parameters_of(method)


def _rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Document]:
    """Return a row for each name that either has, in their order."""
    return [_row(name, one, other) for name in dict.fromkeys([*one, *other])]


def _row(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Document:
    row: Document = {"name": name}
    row |= {side: has[name] for side, has in (("a", one), ("b", other)) if name in has}
    return row | {"same": "a" in row and "b" in row and row["a"] == row["b"]}


def _leaves(value: Any, name: str) -> Sequence[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        return [(name, value)]
    return [leaf for key, part in value.items() for leaf in _leaves(part, f"{name}.{key}" if name else key)]


def _told_once(one: Document, other: Document) -> tuple[Document, Document]:
    """Leave out a section that one of two policies does not have where the other's fields tell it."""
    return _without_sections_of(one, other), _without_sections_of(other, one)


def _without_sections_of(fields: Document, other: Document) -> Document:
    sections = {name[:end] for name in other for end in range(len(name)) if name[end] == "."}
    return {name: value for name, value in fields.items() if value is not None or name not in sections}


def _gates(record: Document) -> Document:
    shown = ("verdict", "value", "relation", "threshold")
    return {gate["gate"]: {name: gate[name] for name in shown} for gate in record["gates"]}


def _utility(record: Document) -> Document:
    """Return what the gates on the analysts' losses measured."""
    values = {gate["gate"]: gate["value"] for gate in record["gates"]}
    return {name: values[name] for name in ("ncp", "suppression") if name in values}
