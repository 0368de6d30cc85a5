"""The functions that a query may call: all of the pinned DuckDB are known, and no allowed one tells more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from test_intake import HEADER, ROW, refused, written

from tasks.intake.database_process import DatabaseProcess
from tasks.intake.functions import TABLE_FUNCTIONS, is_allowed, is_refused_on_purpose
from tasks.intake.statement import problem_of
from tests.support.hostile.watch import Watch

AUTHOR = "policy author"
CANARY = "Zebedee Quintrell"
CALLED = ("scalar", "aggregate", "window", "macro")


@pytest.fixture(scope="module")
def database() -> Iterator[DatabaseProcess]:
    with DatabaseProcess() as made:
        yield made


def functions(*kinds: str) -> list[tuple[str, str, str, tuple[str, ...]]]:
    """Name, kind, stability and types of the parameters of what the pinned DuckDB brings."""
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT DISTINCT function_name, function_type, coalesce(stability, ''), "
            "list_transform(range(len(parameters)), lambda i: coalesce(parameter_types[i + 1], '')) "
            f"FROM duckdb_functions() WHERE function_type IN {kinds!r} ORDER BY ALL"
        ).fetchall()
    return [(name, kind, stability, tuple(types)) for name, kind, stability, types in found]


def test_each_function_of_this_duckdb_is_allowed_or_refused_on_purpose() -> None:
    names = {name for name, *_ in functions(*CALLED)}
    assert len(names) > 900
    unknown = [name for name in sorted(names) if is_allowed(name) == is_refused_on_purpose(name)]
    assert unknown == []


def test_no_allowed_function_changes_from_call_to_call() -> None:
    changing = {name for name, _, stability, _ in functions(*CALLED) if stability not in ("CONSISTENT", "")}
    assert {name for name in changing if is_allowed(name)} == {
        "error"
    }  # it gives nothing, and ends the query


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_no_function_that_gives_a_table_is_let_in_beside_those_that_only_make_rows(
    database: DatabaseProcess,
) -> None:
    names = {name for name, *_ in functions("table", "table_macro")} - set(TABLE_FUNCTIONS)
    assert len(names) > 90
    for name in sorted(names):
        found = problem_of(database, f"SELECT * FROM {name}('x')", ["input"])
        assert found is not None, name
        assert found[0] == f"reads '{name}', which is not a declared input"


@pytest.mark.enemy(AUTHOR, "learns a value")
@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("pg_sleep(9)", "calls pg_sleep(), which depends on more than the inputs"),
        ("PG_GET_VIEWDEF(1)", "calls pg_get_viewdef(), which depends on more than the inputs"),
        ("main.pg_get_viewdef(1)", "calls pg_get_viewdef(), which depends on more than the inputs"),
        ("note.pg_sleep()", "calls pg_sleep(), which depends on more than the inputs"),
        (
            "has_table_privilege('a', 'b')",
            "calls has_table_privilege(), which depends on more than the inputs",
        ),
        ("getvariable('x')", "calls getvariable(), which depends on more than the inputs"),
        ("json_serialize_plan('x')", "calls json_serialize_plan(), which no query may call"),
        ("lowr(note)", "calls lowr(), which no query may call (did you mean 'lower'?)"),
        ('"a\nb"(note)', "calls a function that no query may call"),
        ("sum(random()) over ()", "calls random(), which depends on more than the inputs"),
        ("list_transform([1], lambda x: random())", "calls random(), which depends on more than the inputs"),
    ],
)
def test_a_function_that_is_not_listed_is_refused_by_its_name(
    database: DatabaseProcess, call: str, said: str
) -> None:
    found = problem_of(database, f"SELECT {call} AS note FROM input", ["input"])
    assert found is not None
    assert found[0].startswith(said)
    assert "\n" not in found[1]


def test_a_refused_function_is_two_lines_of_the_query(tmp_path: Path) -> None:
    error = refused(
        written(tmp_path, HEADER + ROW), tmp_path, query="select pg_sleep(600) as note from input"
    )
    assert str(error).splitlines() == [
        "source.query: calls pg_sleep(), which depends on more than the inputs",
        "  Remove it: the same inputs must give the same rows.",
    ]


SYNTAX = """
a || b, a + b, a - b, -a, a * b, a / b, a // b, a % b, a ^ b, a ** b, a & b, a | b, ~a, a << 1, a >> 1, @a
a LIKE 'x', a NOT LIKE 'x', a ILIKE 'x', a NOT ILIKE 'x', a GLOB 'x', a SIMILAR TO 'x', a ~ 'x', a !~ 'x'
a LIKE 'x' ESCAPE '$', a NOT ILIKE 'x' ESCAPE '$', a ^@ 'x', a IS DISTINCT FROM b, a BETWEEN 1 AND 2
a IN (1, 2), a NOT IN (1), a IS NULL, NOT a, a AND b OR c, a = b, a <> b, a <= b, a::INT, TRY_CAST(a AS DATE)
COALESCE(a, b), NULLIF(a, b), IFNULL(a, b), CASE WHEN a THEN b ELSE c END, IF(a, b, c), GREATEST(a, b)
EXTRACT(year FROM d), d AT TIME ZONE 'UTC', INTERVAL '1 day', INTERVAL (a) MONTHS, POSITION('x' IN a)
SUBSTRING(a FROM 1 FOR 2), TRIM(BOTH 'x' FROM a), OVERLAY(a PLACING b FROM 1), a COLLATE NOCASE
[1, 2], a[1], a[1:2], {'x': 1}, {'x': 1}.x, MAP {'x': 1}, (1, 2), [x + 1 FOR x IN a IF x > 1]
a -> '$.x', a ->> 'x', a.trim().upper(), TRY(a::INT), COLUMNS('a.*'), grouping(a), unnest([1])
count(*), count(DISTINCT a), string_agg(a, ',' ORDER BY b), sum(a) FILTER (b > 1), EXISTS (FROM input)
row_number() OVER (), lag(a) OVER (PARTITION BY b ORDER BY c), first_value(a IGNORE NULLS) OVER w
"""
QUERIES = """
FROM input UNPIVOT (v FOR n IN (a, b))
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 9) FROM t, generate_series(3)
FROM input ASOF JOIN other USING (id, d) QUALIFY rank() OVER (ORDER BY d) = 1 ORDER BY ALL LIMIT 5
VALUES (1), (2)
"""


def test_the_syntax_of_a_query_calls_allowed_functions_alone(database: DatabaseProcess) -> None:
    """DuckDB's parser puts names of functions in place of operators and forms."""
    queries = [
        f"SELECT {line} FROM input GROUP BY ALL WINDOW w AS (ORDER BY c)"
        for line in SYNTAX.strip().splitlines()
    ]
    for query in (*queries, *QUERIES.strip().splitlines()):
        assert problem_of(database, query, ["input", "other"]) is None, query


ARGUMENTS = {
    "VARCHAR": ("'{file}'", "'{variable}'", "'kept'"),
    "DATE": ("DATE '2020-01-02'",),
    "TIME": ("TIME '01:02:03'",),
    "INTERVAL": ("INTERVAL '1 day'",),
    "BLOB": ("'{file}'::BLOB",),
    "JSON": ('\'{{"a": "{file}"}}\'::JSON',),
    "BOOLEAN": ("true",),
    "UUID": ("'0190163d-8694-739b-aea5-966c26f8ad91'::UUID",),
}


def arguments(kind: str) -> tuple[str, ...]:
    """What is tried for a parameter: names of a file, a variable and a table, or what its type asks for."""
    if kind.endswith("]"):
        return tuple(f"[{one}]" for one in arguments(kind[: kind.rindex("[")]))
    if kind.startswith("TIMESTAMP"):
        return (f"'2020-01-02 03:04:05'::{kind}",)
    if "INT" in kind or kind in ("DOUBLE", "FLOAT") or kind.startswith("DECIMAL"):
        return ("1",)
    return ARGUMENTS.get(kind, ARGUMENTS["VARCHAR"])


def calls() -> Iterator[str]:
    """Yield calls of all allowed functions, with arguments that name what they must not tell."""
    for name, kind, _, types in functions(*CALLED):
        if not is_allowed(name):
            continue
        shown = f'"{name}"'
        for number in range(3 if types else 1):
            given = [arguments(one)[number % len(arguments(one))] for one in types]
            call = f"{shown}({', '.join(given)})"
            yield f"SELECT ({call} OVER ())::VARCHAR" if kind == "window" else f"SELECT ({call})::VARCHAR"


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.enemy(AUTHOR, "learns a value")
def test_no_allowed_function_reads_a_file_the_environment_the_clock_or_the_catalog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called where nothing holds them back: twice, with another content of file, variable and catalog."""
    file = tmp_path / "secret.csv"
    asked = sorted({one.format(file=file, variable="RELEASEGATE_SECRET") for one in calls()})
    assert len(asked) > 1000
    told: list[list[str]] = []
    for number in range(2):
        file.write_text(f"{CANARY} {number}\n")
        monkeypatch.setenv("RELEASEGATE_SECRET", f"{CANARY} {number}")
        with duckdb.connect() as connection:
            connection.execute(
                f"CREATE TABLE kept AS SELECT '{CANARY} {number}' AS c FROM range({number} + 1)"
            )
            watch = Watch(tmp_path)
            told.append([answer(connection, one) for one in asked])
            assert watch.close() == (set(), set())
    assert sum(not one.startswith("!") for one in told[0]) > 500  # so many calls do give something
    assert [one for one, other in zip(*told, strict=True) if one != other or CANARY in one] == []


def answer(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    try:
        return repr(connection.execute(query).fetchall())
    except duckdb.Error as error:
        return f"!{type(error).__name__}"


def test_the_test_above_would_see_a_function_that_tells_more(tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text(CANARY)
    with duckdb.connect() as one, duckdb.connect() as other:
        other.execute("CREATE TABLE kept AS SELECT 1")
        for query in ("SELECT uuid()", "SELECT count(*) FROM duckdb_tables()"):
            assert answer(one, query) != answer(other, query)
        watch = Watch(tmp_path)
        assert CANARY in answer(one, f"SELECT content FROM read_text('{file}')")
        assert file in watch.close()[0]
