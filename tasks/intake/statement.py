"""What a policy's query may be: one SELECT over the inputs that are declared, by DuckDB's own parser.

It may call the functions of `functions.py` alone.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any

from tasks.intake.database_process import DatabaseProcess
from tasks.intake.functions import DEPENDING, HINT_SAME, TABLE_FUNCTIONS, refusal

_QUERY_NODES = ("SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE", "RECURSIVE_CTE_NODE")
# Those that are called without parentheses. An input's column of such a name is reached as input.name.
_BARE = (
    "current_catalog",
    "current_role",
    "current_user",
    "session_user",
    "user",
    "current_date",
    "current_time",
    "current_timestamp",
    "localtime",
    "localtimestamp",
)
LONGEST_QUERY = 20_000  # characters: the time of DuckDB's binder goes with their square, and nothing ends it
LONGEST_PATH = 6  # names with points between them
HINT_SELECT = "Write one SELECT statement of DuckDB's SQL."


def problem_of(database: DatabaseProcess, query: str, inputs: Collection[str]) -> tuple[str, str] | None:
    """Return what is wrong with a query and how to mend it, or None. `inputs` are the names it may read.

    Raises duckdb.Error where it cannot be parsed.
    """
    if len(query) > LONGEST_QUERY:
        return f"has more than {LONGEST_QUERY:,} characters", (
            "Prepare the table beforehand, and shorten the query."
        )
    if database.kinds_of_statements(query) != ["SELECT"]:
        return "is not one SELECT", HINT_SELECT
    found = database.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    parsed: dict[str, Any] = {"error": True}
    with suppress(ValueError, RecursionError):
        parsed = json.loads(found[0]) if found else parsed
    if parsed.get("error") is not False or len(parsed["statements"]) != 1:
        return "is not one SELECT", HINT_SELECT
    nodes = list(_nodes(parsed))
    own = {str(entry["key"]).casefold() for node in nodes for entry in _ctes(node)}
    # Where such a name is out of scope, it would lead to DuckDB's own view.
    for name in sorted(own & _system_views(database)):
        return f"names a part of itself {name!r}, like a view of DuckDB", "Choose another name."
    return _problem(nodes, {name.casefold() for name in inputs} | own)


def _problem(nodes: list[dict[str, Any]], names: set[str]) -> tuple[str, str] | None:
    for node in nodes:
        found = _reading(node, names) or _changing(node)
        if found:
            return found
    return None


def _reading(node: dict[str, Any], names: set[str]) -> tuple[str, str] | None:
    """Say what a node reads that is no declared input."""
    kind = str(node.get("type", ""))
    path = node.get("column_names")
    if isinstance(path, list) and len(path) > LONGEST_PATH:
        return f"has a name of more than {LONGEST_PATH} parts", "Write table.column, or column."
    if kind.endswith("_NODE") and kind not in _QUERY_NODES:
        return "is not one SELECT", HINT_SELECT
    if kind == "SHOW_REF":
        return "describes tables instead of selecting rows", HINT_SELECT
    if kind == "BASE_TABLE":
        name = str(node.get("table_name", ""))
        if node.get("schema_name") or node.get("catalog_name") or name.casefold() not in names:
            return _undeclared(name)
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", ""))
        if name.casefold() not in TABLE_FUNCTIONS:
            return _undeclared(name)
    return None


def _changing(node: dict[str, Any]) -> tuple[str, str] | None:
    """Say what in a node gives other rows at another time."""
    if node.get("sample"):
        return "takes a sample, which depends on more than the inputs", HINT_SAME
    name = _function(node)
    if name in _BARE and name not in DEPENDING:
        hint = f"If a column is meant, write input.{name}."
        return f"reads {name}, which depends on more than the inputs", hint
    if name == "age" and len(node.get("arguments", [])) == 1:  # the age today
        return "calls age(), which depends on more than the inputs", HINT_SAME
    return refusal(name) if name else None


def _function(node: dict[str, Any]) -> str:
    """Return the name of the function that a node calls, with or without parentheses; empty for others."""
    bare = node.get("column_names")
    if node.get("type") == "COLUMN_REF" and isinstance(bare, list) and len(bare) == 1:
        return str(bare[0]).casefold() if str(bare[0]).casefold() in _BARE else ""
    return str(node.get("function_name", "")).casefold()


def _undeclared(name: str) -> tuple[str, str]:
    shown = name if name.isprintable() and len(name) <= 60 else "something"
    return (
        f"reads {shown!r}, which is not a declared input",
        "A query can read `input`, which is the table, and the names in source.inputs.",
    )


def _system_views(database: DatabaseProcess) -> set[str]:
    rows = database.execute("SELECT DISTINCT view_name FROM duckdb_views() WHERE internal").fetchall()
    return {str(row[0]).casefold() for row in rows}


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
