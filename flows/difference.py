"""Two releases or candidates side by side, and what differs between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from pydantic import ValidationError

from flows.documents import Document, record_document
from policy.errors import ReleaseGateError
from policy.load import policy_from_document
from release_store.public_files import candidate_folder, differing_files
from release_store.records import EquivalenceClasses
from release_store.store import ReleaseStore
from tasks.methods.registry import methods, parameters_of
from tasks.risk.gate import GATES
from tasks.risk.published import read_classes
from tasks.risk.space import equal_cells

_FACTS = (
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


def difference_document(store: ReleaseStore, one: str, other: str) -> Document:
    """Return two releases or candidates row by row: `name`, `a`, `b` and whether they are the `same`.

    `a` or `b` is left out of a row where that one has no such field, parameter or gate. Raises UsageError
    for an id that the store does not know.
    """
    found = [record_document(store, name) for name in (one, other)]
    classes = [_classes(store, each) for each in found]
    policies = [store.policy(each["policy_digest"]) for each in found]
    both = [each for each in classes if each is not None]
    return {
        "a": one,
        "b": other,
        "facts": [_row(name, *({name: each[name]} for each in found)) for name in _FACTS],
        "policy": [row for row in _rows(*_told_once(*map(_fields, policies))) if not row["same"]],
        "method": _rows(*(_method(each["summary"]) for each in found)),
        "gates": _gate_rows(*found),
        "classes": _rows(*(_sizes(*each) for each in zip(found, classes, strict=True))),
        "equal_classes": equal_cells(*both) if len(both) == len(found) else None,
        "utility": _rows(*map(_utility, found)),
    }


def _rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Document]:
    """Return a row for each name that either has, in their order."""
    return [_row(name, one, other) for name in dict.fromkeys([*one, *other])]


def _gate_rows(one: Document, other: Document) -> list[Document]:
    """Return a row for each gate, in the order in which gates are asked."""
    order = {name: number for number, name in enumerate(GATES)}
    rows = _rows(_gates(one), _gates(other))
    return sorted(rows, key=lambda row: order.get(row["name"], len(order)))


def _row(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Document:
    row: Document = {"name": name}
    row |= {side: has[name] for side, has in (("a", one), ("b", other)) if name in has}
    return row | {"same": "a" in row and "b" in row and row["a"] == row["b"]}


def _fields(document: Mapping[str, Any]) -> Document:
    """Return a policy's fields by their dotted names; the columns of a role by their own."""
    roles = dict(document.get("roles", {}))
    for role in _NAMED:
        columns = roles.get(role, [])
        roles[role] = {
            **{column["name"]: {f: v for f, v in column.items() if f != "name"} for column in columns},
            "(order)": [column["name"] for column in columns],
        }
    return dict(_leaves({**document, "roles": roles}, ""))


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


def _method(summary: Mapping[str, Any]) -> Document:
    """Return the method, its seed and every parameter; one that was left out as it is by default now."""
    parameters = summary.get("parameters") or {}
    method = methods().get(str(summary.get("method")))
    if method is not None:
        # Those of an earlier program may not be today's: then the given ones are all that can be told.
        with suppress(ValidationError):
            parameters = parameters_of(method).model_validate(parameters).model_dump(mode="json")
    named = ("method", "history_aware", "seed")
    return {**{name: summary.get(name) for name in named}, **parameters}


def _gates(record: Document) -> Document:
    shown = ("verdict", "value", "relation", "threshold")
    return {gate["gate"]: {name: gate[name] for name in shown} for gate in record["gates"]}


def _utility(record: Document) -> Document:
    """Return what the gates on the analysts' losses measured."""
    values = {gate["gate"]: gate["value"] for gate in record["gates"]}
    return {name: values[name] for name in ("ncp", "suppression") if name in values}


def _sizes(record: Document, classes: EquivalenceClasses | None) -> Document:
    published, source = record["summary"].get("n_published"), record["summary"].get("n_source")
    known = published is not None and source is not None
    sizes = {} if classes is None or not classes.n_classes else _of_sizes(classes.size)
    return sizes | {
        "records published": published,
        "records left out": source - published if known else None,
    }


def _of_sizes(size: np.ndarray) -> Document:
    return {
        "number": len(size),
        "smallest": int(size.min()),
        "median": float(np.median(size)),
        "largest": int(size.max()),
    }


def _classes(store: ReleaseStore, record: Document) -> EquivalenceClasses | None:
    """Return a release's classes from the history, a candidate's from its staged files; None without."""
    if record["release"]:
        return store.classes(record["release"])
    folder = candidate_folder(store.root, record["candidate"])
    if differing_files(folder, record["files"]):
        return None
    try:
        policy = policy_from_document(store.policy(record["policy_digest"]))
        return read_classes(folder / "data.parquet", policy)
    except ReleaseGateError:
        return None
