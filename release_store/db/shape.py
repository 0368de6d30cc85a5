"""The shape of the store's database, held against one that the same migrations make in memory.

What the definitions say decides what is read: a generated column or a view can show one reader something else
than another. So every object is compared by DuckDB's own text of it, which has types, nullability, defaults,
collations, generated columns and constraints, before anything is read.
"""

from __future__ import annotations

from functools import cache

import duckdb

Shape = dict[tuple[str, str], str]  # kind and name to the definition

MIGRATIONS_TABLE = (
    "CREATE TABLE IF NOT EXISTS schema_migration "
    "(number INTEGER PRIMARY KEY, name VARCHAR NOT NULL, applied_at VARCHAR NOT NULL)"
)
# Each read by its full name: a macro could stand in place of a short one.
_OBJECTS = {
    "table": "SELECT table_name, sql FROM system.main.duckdb_tables() WHERE NOT internal",
    "index": "SELECT index_name, coalesce(sql, '') FROM system.main.duckdb_indexes()",
    "sequence": "SELECT sequence_name, coalesce(sql, '') FROM system.main.duckdb_sequences()",
    "type": "SELECT type_name, logical_type FROM system.main.duckdb_types() WHERE NOT internal",
    "view": "SELECT view_name, coalesce(sql, '') FROM system.main.duckdb_views() WHERE NOT internal",
    "macro": "SELECT function_name, '' FROM system.main.duckdb_functions() WHERE NOT internal",
    "schema": "SELECT schema_name, '' FROM system.main.duckdb_schemas() WHERE NOT internal",
}
_MARK = ("table", "schema_migration")


def shape_of(con: duckdb.DuckDBPyConnection) -> Shape:
    """Return the definitions of everything that a database holds but its triggers."""
    return {
        (kind, str(name)): str(text)
        for kind, sql in _OBJECTS.items()
        for name, text in con.execute(sql).fetchall()
    }


@cache
def shape_of_migrations(migrations: tuple[str, ...]) -> Shape:
    """Return the shape that these migrations make, in order; none make an empty database."""
    with duckdb.connect() as con:
        if migrations:
            con.execute(MIGRATIONS_TABLE)
        for sql in migrations:
            con.execute(sql)
        return shape_of(con)


def schema_mark_error(found: Shape, migrations: tuple[str, ...]) -> str | None:
    """Return what is wrong with the table that numbers the schema, if it is there: it is read first."""
    if _MARK not in found or found[_MARK] == shape_of_migrations(migrations)[_MARK]:
        return None
    return "the table schema_migration was altered"


def differences(found: Shape, wanted: Shape) -> list[str]:
    """Return one line for each object that is missing, altered, or not of the migrations."""
    said = [
        f"holds {'an' if kind == 'index' else 'a'} {kind} that does not belong to the store ({name})"
        for kind, name in found.keys() - wanted.keys()
    ]
    said += [f"the {kind} {name} is missing" for kind, name in wanted.keys() - found.keys()]
    said += [
        f"the {kind} {name} was altered"
        for kind, name in found.keys() & wanted.keys()
        if found[kind, name] != wanted[kind, name]
    ]
    return sorted(said)
