"""What a policy's query may be: one SELECT over the inputs that are declared, by DuckDB's own parser."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

import duckdb

# Functions that make rows without reading anything.
TABLE_FUNCTIONS = ("range", "generate_series", "unnest", "repeat_row")
_QUERY_NODES = ("SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE")
# Functions that tell of the process or of the machine, beside those that DuckDB calls volatile.
_TELLING = ("current_setting", "getenv", "getvariable", "in_search_path", "txid_current", "current_query")
MEND_SELECT = "Write one SELECT statement of DuckDB's SQL."


def problem_of(
    connection: duckdb.DuckDBPyConnection, query: str, inputs: Collection[str]
) -> tuple[str, str] | None:
    """Return what is wrong with a query and how to mend it, or None. `inputs` are the names it may read.

    Raises duckdb.Error where it cannot be parsed.
    """
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        return "is not one SELECT", MEND_SELECT
    found = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    parsed: dict[str, Any] = {"error": True}
    with suppress(ValueError, RecursionError):
        parsed = json.loads(found[0]) if found else parsed
    if parsed.get("error") is not False or len(parsed["statements"]) != 1:
        return "is not one SELECT", MEND_SELECT
    return _problem(list(_nodes(parsed)), {name.casefold() for name in inputs}, _volatile(connection))


def _problem(nodes: list[dict[str, Any]], inputs: set[str], volatile: set[str]) -> tuple[str, str] | None:
    own = {str(entry["key"]).casefold() for node in nodes for entry in _ctes(node)}
    for node in nodes:
        kind = str(node.get("type", ""))
        if kind.endswith("_NODE") and kind not in _QUERY_NODES:
            return "is not one SELECT", MEND_SELECT
        if kind == "SHOW_REF":
            return "describes tables, which are no rows about people", MEND_SELECT
        if kind == "BASE_TABLE":
            name = str(node.get("table_name", ""))
            if node.get("schema_name") or node.get("catalog_name") or name.casefold() not in inputs | own:
                return _undeclared(name)
        if kind == "TABLE_FUNCTION":
            name = str((node.get("function") or {}).get("function_name", ""))
            if name.casefold() not in TABLE_FUNCTIONS:
                return _undeclared(name)
        name = str(node.get("function_name", "")).casefold()
        if name in volatile:
            return (
                f"calls {name}(), which does not follow from the inputs alone",
                "Leave it out: the same inputs give the same rows.",
            )
    return None


def _undeclared(name: str) -> tuple[str, str]:
    shown = name if name.isprintable() and len(name) <= 60 else "something"
    return (
        f"reads {shown!r}, which is no declared input",
        "A query reads `input`, the table's file, and the names of source.inputs.",
    )


def _volatile(connection: duckdb.DuckDBPyConnection) -> set[str]:
    rows = connection.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"
    ).fetchall()
    return {str(row[0]).casefold() for row in rows if row[0] != "error"} | set(_TELLING)


def _ctes(node: dict[str, Any]) -> list[dict[str, Any]]:
    found = node.get("cte_map")
    return found.get("map", []) if isinstance(found, dict) else []


def _nodes(parsed: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a parsed statement; without recursion, since a query may be nested deep."""
    pending = [parsed]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            yield one
            pending += one.values()
        elif isinstance(one, list):
            pending += one
