"""Everything that a store keeps about its series, read at one moment with a fixed number of queries."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import duckdb

from release_store.db import queries
from release_store.db.changes import gate_json
from release_store.records import (
    CandidateRecord,
    Decision,
    GateResult,
    Release,
    Validation,
)

Connection = duckdb.DuckDBPyConnection


@dataclass(frozen=True)
class ClassSizes:
    """How many equivalence classes there are, and the records of the least, the middle and the greatest."""

    number: int
    smallest: int
    median: float
    largest: int


@dataclass(frozen=True)
class StoreSnapshot:
    """The records of one series or of all, oldest first; what is by candidate leaves out those without."""

    store_id: str
    known_series: tuple[str, ...]  # with a candidate or an input
    everywhere: dict[str, str]  # the series of every candidate and release, whatever was asked for
    releases: tuple[Release, ...]
    candidates: tuple[CandidateRecord, ...]
    gates: dict[str, list[GateResult]]
    gate_documents: dict[str, list[dict[str, Any]]]  # the same as JSON
    decisions: dict[str, list[Decision]]
    files: dict[str, dict[str, str]]
    refused: tuple[Validation, ...]
    policies: dict[str, dict[str, Any]]  # by digest
    figures: dict[str, dict[str, Any]]
    unreadable: frozenset[str]  # candidates whose figures are no JSON object
    class_sizes: dict[str, ClassSizes]  # of published candidates


def read_snapshot(con: Connection, series: str | None = None) -> StoreSnapshot:
    """Return all about one series or all. Raises StoreError where the database holds what nobody wrote there.

    Policies and figures that are no JSON objects are left out, and such figures named: whoever shows what was
    made with them says so.
    """
    known = con.execute(
        "SELECT series FROM candidate UNION SELECT series FROM validation "
        "UNION SELECT split_part(object, '/', 1) FROM event WHERE starts_with(action, 'input.')"
    ).fetchall()
    candidates = queries.candidates(con, series)
    names = [one.candidate_id for one in candidates]
    gates = queries.gates_of(con, names)
    figures, unreadable = _figures(con, names)
    return StoreSnapshot(
        store_id=queries.store_info(con, "store_id"),
        known_series=tuple(sorted(name for (name,) in known if series in (None, name))),
        everywhere=_everywhere(con),
        releases=tuple(queries.releases(con, series)),
        candidates=tuple(candidates),
        gates=gates,
        gate_documents={name: [gate_json(one) for one in own] for name, own in gates.items()},
        decisions=queries.decisions_of(con, names),
        files=queries.files_of(con, names),
        refused=tuple(queries.validations(con, series, refused_only=True)),
        policies=_policies(con),
        figures=figures,
        unreadable=unreadable,
        class_sizes=_class_sizes(con),
    )


def _everywhere(con: Connection) -> dict[str, str]:
    rows = con.execute(
        "SELECT candidate_id, series FROM candidate_name UNION ALL "
        "SELECT candidate_id, series FROM candidate UNION ALL SELECT release_id, series FROM release"
    ).fetchall()
    return {str(name): str(series) for name, series in rows}


def _policies(con: Connection) -> dict[str, dict[str, Any]]:
    return _objects(con.execute("SELECT digest, document FROM policy").fetchall())


def _figures(con: Connection, names: list[str]) -> tuple[dict[str, dict[str, Any]], frozenset[str]]:
    rows = con.execute(
        "SELECT candidate_id, document FROM candidate_figures WHERE candidate_id IN (SELECT unnest(?))",
        [names],
    ).fetchall()
    found = _objects(rows)
    return found, frozenset(str(name) for name, _ in rows) - found.keys()


def _objects(rows: list[tuple[Any, ...]]) -> dict[str, dict[str, Any]]:
    found = {}
    for name, text in rows:
        with suppress(ValueError, TypeError, RecursionError):
            document = json.loads(text, parse_constant=_no_number)
            if isinstance(document, dict):
                found[str(name)] = document
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _class_sizes(con: Connection) -> dict[str, ClassSizes]:
    rows = con.execute(
        "SELECT candidate_id, count(*), min(size), median(size), max(size) FROM class_size "
        "GROUP BY candidate_id"
    ).fetchall()
    return {name: ClassSizes(n, low, float(middle), high) for name, n, low, middle, high in rows}
