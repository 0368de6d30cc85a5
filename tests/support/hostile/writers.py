"""Policies, queries, tables and folders as somebody writes them who wants to gain by it, from a seed."""

from __future__ import annotations

import copy
import gzip
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import yaml

from policy.yaml_text import load_yaml

# Texts that stand in one place each; whoever sees one elsewhere has learnt it there.
NAME = "Kanari7731"  # of people, in the identifiers
OUTSIDE = "Outside7731"  # in files outside the policy's folder
BESIDE = "Beside7731"  # in a file beside the policy that it does not name
TOKEN = "Token7731"  # noqa: S105 - no password; in the environment
ROWS = 60
CITIES = ("Aix", "Brno", "Cork")
ILLS = ("qxflu", "qxasthma", "qxnone")
POLICY: dict[str, Any] = {
    "series": "clinic",
    "period": "quarterly",
    "source": {"path": "people.csv"},
    "roles": {
        "key": "person",
        "identifiers": ["name"],
        "quasi_identifiers": {
            "age": {"type": "integer", "bounds": [0, 110]},
            "city": {"type": "categorical", "hierarchy": "cities.csv"},
        },
        "sensitive": {"disease": {"stability": "stable"}},
        "kept": ["ward"],
    },
    "privacy": {"k": 4, "e": 2},
    "method": {"name": "mondrian"},
}
TABLES = ("people.csv", "people.csv", "table.csv", "table.csv.gz", "table.parquet", "t;a b'.csv")
CODINGS = ("utf-16", "utf-8-sig", "latin-1", "utf-32")
LINKED = ("../outside/secret.csv", "/dev/zero", "beside.csv", "/dev/fd/0")
COLUMNS = ("person", "name", "age", "city", "disease", "ward")
PATHS = (
    *("people.csv", "beside.csv", "link.csv", "folder-link/secret.csv", "../outside/secret.csv"),
    *("{root}/outside/secret.csv", "../outside/store.key", "../outside/people.yaml", "/etc/passwd"),
    *("/dev/zero", "/proc/self/environ", "/proc/self/mem", "/dev/fd/0", "pipe.csv", "folder.csv", "*.csv"),
    *("~/secret.csv", "file://{root}/outside/secret.csv", "s3://bucket/x.csv", "http://127.0.0.1:9/x.csv"),
    *("people.csv\0", "", ".", "..", "a/" * 3000, "policy.yaml", "{period}.csv", "../outside/{period}.csv"),
    *("loop.csv", "cities.csv", "control.csv", "linked/../../outside/secret.csv", "../outside/secret.txt"),
    *("people.csv'; COPY (SELECT 1) TO '{root}/outside/made.csv", "people.csv?x=../outside/secret.csv"),
)
READERS = (
    *("read_csv('{path}')", "read_text('{path}')", "read_blob('{path}')", "'{path}'", "glob('{path}')"),
    *("read_parquet('{path}')", "parquet_metadata('{path}')", "sniff_csv('{path}')", "read_json('{path}')"),
    *("sqlite_scan('{path}', 't')", "query('SELECT * FROM read_text(''{path}'')')", "query_table('beside')"),
    *('"{path}"', "read_csv_auto(['{path}', 'people.csv'])", "iceberg_scan('{path}')"),
)
PLACES = (
    *("duckdb_settings()", "duckdb_secrets()", "duckdb_functions()", "information_schema.tables"),
    *("sqlite_master", "pg_catalog.pg_tables", "pragma_version()", "range(1000000000000)", "repeat('x', 9)"),
    *("(VALUES (1))", "which_secret('x', 'file')", "input, LATERAL (SELECT * FROM read_text('{path}')) t"),
    *("duckdb_temporary_files()", "duckdb_databases()", "(DESCRIBE input)", "(SUMMARIZE input)", "nothing"),
)
CALLS = (
    *("getenv('RELEASEGATE_TOKEN')", "current_setting('home_directory')", "version()", "random()::VARCHAR"),
    *("(SELECT content FROM read_text('{path}'))", "error(name)", "CAST(name AS INTEGER)::VARCHAR", "name"),
    *("repeat(name, 100000000)", "now()::VARCHAR", "current_user", "list(name) OVER ()", "getvariable('x')"),
    *("concat(name, person)", "uuid()::VARCHAR", "(SELECT string_agg(name, ',') FROM input)", "chr(0)"),
    *("strptime(name, '%Y')::VARCHAR", "nextval('x')", "row_number() OVER ()", "repeat(disease, 3000)"),
    *("json_extract(name, '$.x')", "read_text('{path}')", "format('{{:d}}', name)", "[name][9]", "1/0"),
)
STATEMENTS = (
    *("COPY (SELECT * FROM input) TO '{path}'", "COPY input TO '{root}/outside/made.csv'", "INSTALL httpfs"),
    *(
        "ATTACH '{path}' AS x",
        "ATTACH '{root}/outside/made.duckdb'",
        "LOAD '{path}'",
        "CALL pragma_version()",
    ),
    *("SET enable_external_access=true", "PRAGMA enable_external_access", "EXPORT DATABASE '{root}/made'"),
    *("CREATE TABLE x AS FROM input", "DELETE FROM input", "IMPORT DATABASE '{path}'"),
    *("CHECKPOINT", "CALL pragma_version()"),
    *("EXPLAIN SELECT 1", "DESCRIBE input", "PIVOT input ON city", "USE temp", "BEGIN", "VACUUM", "SELECT"),
    *("CREATE MACRO input() AS 1", "PREPARE p AS SELECT 1", "RESET home_directory", "DROP TABLE input"),
    *("CREATE SECRET (TYPE s3)", "INSERT INTO input SELECT * FROM input", "SHOW TABLES", "EXECUTE p"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 3, 1e308, float("nan"), float("inf"), 10**400, "", "x" * 9000, "\u202eabc", "*"),
    *("{period}", "{0.__class__}", "%s%n", "$(touch ran)", "`touch ran`", "<script>alert(1)</script>"),
    *([], {}, [[]], {"x": {"x": []}}, ["person"], ["name", "name"], "name", "person", "2026Q1", "os:system"),
    *(
        "\n- x: 1",
        "a\0b",
        "\u2028series: other",
        ["\ud83d\ude00"],
        "tests.support.hostile.writers:main",
        "../x",
        "-",
    ),
    *({"values": ["x"]}, {"max": 1}, {"max": -1}, {"max": "0.5"}, [0, 1, 2], [1, 0], "auto", "leak", 0.5),
)
LINES = (
    *("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]", "series: other", "\tseries: x"),
    *("x: !!python/object/apply:os.system ['touch ran']", "x: !!python/name:os.system", "<<: *a", "--- x"),
    *("? [a, b]\n: c", "%YAML 9.9", "...", "x: 0o777777777", "x: 2026-13-45", "\ufeff", "\x00", "\x85a: b"),
    *("x: " + "[" * 400, "x: !include people.csv", "roles: {}", "x: 'unclosed", "- a", "{", "x: &x {y: *x}"),
)
CELLS = (
    *(
        '"',
        '""',
        '"x',
        'x"y',
        '"a\nb"',
        '"a,b"',
        "a\rb",
        "\0",
        "\ufeff",
        "=1+1",
        "@SUM(A1)",
        "-",
        "x" * 70_000,
    ),
    *(
        "\udce9",
        "\u202e",
        "1e999",
        "nan",
        "NULL",
        "\\N",
        "'",
        "12/31/99",
        "999999999999999999999",
        "0x1F",
        ",",
    ),
    *("<b>", "$(touch ran)", "{period}", "ann@example.org", "+49 170 1234567", "4111111111111111", "\t", ";"),
)
PLANTED = {
    "prefect.toml": "[results]\npersist_by_default = true\n[logging]\nconfig_path = 'logging.yml'\n",
    "logging.yml": "version: 1\n",
    ".env": "PREFECT_API_URL=http://127.0.0.1:9/api\n",
    ".duckdbrc": ".shell touch ran\n",
    "great_expectations.yml": "config_version: 4\n",
    "trusted.yaml": "folders: [/]\npackages: ['*']\n",
    "people.yaml": "people: {mallory: {roles: [administrator]}}\n",
    "yaml.py": "open('ran', 'w')\n",
    "conftest.py": "open('ran', 'w')\n",
    "beside.parquet": "PAR1",
}


@dataclass(frozen=True)
class Case:
    """A folder as somebody left it, and the words of a command in it."""

    root: Path
    words: list[str]
    declared: frozenset[str]  # the names in the policy's folder that may be opened
    given: str | None  # the table that the command names, which may lie anywhere

    @property
    def desk(self) -> Path:
        """The folder of the policy, in which the command starts."""
        return self.root / "desk"


def write_case(root: Path, seed: int) -> Case:
    """Lay out the folder `root` and choose a command, as the seed says."""
    pick = Random(seed)  # noqa: S311 - the same cases for the same seed
    _lay_out(root, pick)
    # A bad table hides what a policy may do, so that half of the tables are good.
    table = "people.csv" if pick.random() < 0.5 else _table(root / "desk", pick)
    if pick.random() < 0.2:
        return Case(root, ["draft", table], frozenset({table}), table)
    text = _policy(root, pick)
    (root / "desk" / "policy.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    words = ["run", "policy.yaml", "--period", pick.choice(("2026Q1",) * 9 + ("../x", "", "2026Q1'--"))]
    declared = {"policy.yaml", *_declared(text)}
    if pick.random() < 0.5:
        words += ["--input", table]
        return Case(root, words, frozenset({*declared, table}), table)
    return Case(root, words, frozenset(declared), None)


def _lay_out(root: Path, pick: Random) -> None:
    desk, outside = root / "desk", root / "outside"
    for folder in (desk, outside, root / "home", desk / "folder.csv", desk / "linked"):
        folder.mkdir(parents=True)
    rows = people()
    rows.to_csv(desk / "people.csv", index=False)
    rows.assign(ward=f"{BESIDE}").to_csv(desk / "beside.csv", index=False)
    rows[["age", "city"]].to_csv(desk / "control.csv", index=False)
    hierarchy = [[city, "north"] for city in CITIES]
    if pick.random() < 0.2:
        pick.choice(hierarchy)[pick.randrange(2)] = pick.choice((*CELLS, *map(str, VALUES)))
    lines = "".join(f"{';'.join(row)}\n" for row in hierarchy)
    (desk / "cities.csv").write_bytes(lines.encode("utf-8", "surrogateescape"))
    rows.assign(ward=OUTSIDE).to_csv(outside / "secret.csv", index=False)
    rows.assign(ward=OUTSIDE).to_csv(root / "home" / "secret.csv", index=False)
    for name in ("secret.txt", "store.key", "people.yaml", "2026Q1.csv", "history.duckdb"):
        (outside / name).write_text(f"{OUTSIDE}\n")
    # Some libraries look into a folder only the first time: a process begins with all there is.
    for name in pick.sample(sorted(PLANTED), pick.choice((0, 2, len(PLANTED), len(PLANTED)))):
        (desk / name).write_text(PLANTED[name])
    links = {"link.csv": "../outside/secret.csv", "folder-link": "../outside", "loop.csv": "loop.csv"}
    for name in pick.sample(sorted(links), pick.randint(0, 3)):
        (desk / name).symlink_to(links[name])
    if pick.random() < 0.2:
        os.mkfifo(desk / "pipe.csv")


def people() -> pd.DataFrame:
    """Return a table of people who do not exist."""
    number = range(ROWS)
    return pd.DataFrame(
        {
            "person": [f"p{i:05d}" for i in number],
            "name": [f"{NAME}{i} Vogel" for i in number],
            "age": [20 + i % 50 for i in number],
            "city": [CITIES[i % 3] for i in number],
            "disease": [ILLS[i % 7 % 3] for i in number],
            "ward": [f"w{i % 2}" for i in number],
        }
    )


def _table(desk: Path, pick: Random) -> str:
    """Write a table, mostly a bad one, and return its name."""
    name = pick.choice(
        ("people.csv", "people.csv", "table.csv", "table.csv.gz", "table.parquet", "t;a b'.csv")
    )
    rows = people().astype(str).to_numpy().tolist()
    header = list(COLUMNS)
    for _ in range(pick.choice((0, 0, 0, 1, 1, 4))):
        pick.choice([header, *rows])[pick.randrange(len(COLUMNS))] = pick.choice(CELLS)
    lines = [pick.choice((",",) * 9 + (";",)).join(row) for row in [header, *rows]]
    if pick.random() < 0.1:
        lines[pick.randrange(len(lines))] = pick.choice(CELLS)
    data = os.fsencode(pick.choice(("\n",) * 8 + ("\r\n", "\r")).join(lines) + pick.choice(("\n", "\n", "")))
    if pick.random() < 0.05:
        data = data.decode("utf-8", "replace").encode(
            pick.choice(("utf-16", "utf-8-sig", "latin-1", "utf-32")), "replace"
        )
    if name.endswith(".parquet"):
        data = _parquet()
    if name.endswith(".gz"):
        data = gzip.compress(pick.choice((data, data, bytes(30_000_000), b"x" * 3_000_000)))
    for _ in range(pick.choice((0,) * 9 + (1, 8))):
        at = pick.randrange(len(data))
        data = data[:at] + bytes([pick.randrange(256)]) + data[at + 1 :]
    if pick.random() < 0.05:
        data = data[: pick.randrange(len(data))]
    if pick.random() < 0.03:
        (desk / name).unlink(missing_ok=True)
        (desk / name).symlink_to(pick.choice(LINKED))
    else:
        (desk / name).write_bytes(data)
    return name


@cache
def _parquet() -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        rows = people()
        duckdb.sql(f"COPY (FROM rows) TO '{file.name}' (FORMAT parquet)")
        assert len(rows) == ROWS
        return Path(file.name).read_bytes()


def _policy(root: Path, pick: Random) -> str:
    policy = copy.deepcopy(POLICY)
    for _ in range(pick.choice((0, 0, 1, 1, 1, 2))):
        pick.choice((_path, _query, _query, _value, _value, _field))(policy, pick)
    try:
        text = yaml.safe_dump(policy, sort_keys=False, allow_unicode=True)
    except yaml.YAMLError:
        text = repr(policy)
    text = text.replace("{root}", str(root))
    for _ in range(pick.choice((0,) * 8 + (1, 4))):
        lines = text.split("\n")
        lines.insert(pick.randrange(len(lines)), pick.choice(LINES))
        text = "\n".join(lines)
    if pick.random() < 0.05 and text:
        at = pick.randrange(len(text))
        text = text[:at] + chr(pick.randrange(0x250)) + text[at + 1 :]
    return text


def _path(policy: dict[str, Any], pick: Random) -> None:
    path = pick.choice(PATHS)
    source, roles = _section(policy, "source"), _section(policy, "roles")
    match pick.randrange(4):
        case 0:
            source["path"] = path
        case 1:
            source["inputs"] = {pick.choice(("others", "input", "a b", "x'; --")): path}
            source["query"] = "SELECT input.* FROM input JOIN others USING (person)"
        case 2:
            policy["linkage"] = {"control": path}
        case _:
            quasi = _section(roles, "quasi_identifiers")
            quasi["city"] = {"type": "categorical", "hierarchy": path}


def _query(policy: dict[str, Any], pick: Random) -> None:
    """Write a query: a SELECT of the columns with one place turned, or a statement that is none."""
    columns = list(COLUMNS)
    if pick.random() < 0.6:
        at = pick.randrange(len(columns))
        columns[at] = f"{pick.choice(CALLS)} AS {columns[at]}"
    place = pick.choice(("input",) * 3 + READERS + PLACES)
    query = f"SELECT {', '.join(columns)} FROM {place}"
    other = pick.choice(STATEMENTS)
    query = pick.choice(
        (
            *(query,) * 6,
            *(other, f"{query}; {other}", f"{other}; {query}", f"WITH w AS ({other}) {query}"),
            *(f"WITH input AS (SELECT * FROM {place}) SELECT * FROM input", f"FROM ({query})"),
            *(f"{query} UNION ALL SELECT * FROM {pick.choice(READERS)}", f"/* */ {query} -- {other}"),
            *(f"{query} WHERE EXISTS (FROM {pick.choice(READERS)})", f"SELECT ({other})", query[:-3]),
            "WITH RECURSIVE w AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM w WHERE i < 9) FROM w, input",
            "SELECT " + "(" * 300 + "1" + ")" * 300,
        )
    )
    path = pick.choice(PATHS)
    _section(policy, "source")["query"] = query.replace("{path}", path.replace("'", "''"))


def _value(policy: dict[str, Any], pick: Random) -> None:
    """Put another value in one place."""
    section: Any = policy
    while True:
        keys = list(section) if isinstance(section, dict) else list(range(len(section)))
        if not keys:
            return
        key = pick.choice(keys)
        if not isinstance(section[key], dict | list) or pick.random() < 0.15:
            section[key] = pick.choice(VALUES)
            return
        section = section[key]


def _field(policy: dict[str, Any], pick: Random) -> None:
    """Write one more field, of the policy's or of nobody's."""
    more: dict[str, Any] = {
        "method": {"name": pick.choice(VALUES), "parameters": {"seed": pick.choice(VALUES)}},
        "publication": {
            pick.choice(("title", "licence", "description", "csv_formulas")): pick.choice(VALUES)
        },
        "expectations": {pick.choice(("rows", "missing", "missing_in", "unique")): pick.choice(VALUES)},
        "approval": {"approvers": pick.choice(VALUES)},
        "seed": pick.choice(VALUES),
        "rows": pick.choice(("several", "one_per_person", *VALUES)),
        "notices": pick.choice(VALUES),
        "models": {"t_closeness": pick.choice(VALUES)},
        str(pick.choice(VALUES)): pick.choice(VALUES),
    }
    field = pick.choice(sorted(more))
    policy[field] = more[field]


def _section(policy: dict[str, Any], name: str) -> dict[str, Any]:
    found = policy.get(name)
    if not isinstance(found, dict):
        policy[name] = found = {}
    return found


def _declared(text: str) -> set[str]:
    """Return the names of files that a policy declares; a name in its query declares nothing."""
    try:
        policy = load_yaml(text)
    except Exception:
        # Nothing of a policy that is not YAML is a rule.
        return set()
    if not isinstance(policy, dict):
        return set()
    source = policy.get("source") if isinstance(policy.get("source"), dict) else {}
    without = {**policy, "source": {name: said for name, said in source.items() if name != "query"}}
    return {str(said).replace("{period}", "2026Q1") for said in _leaves(without)}


def _leaves(node: Any, depth: int = 0) -> list[Any]:
    if depth > 50:
        return []
    if isinstance(node, dict):
        return [leaf for part in node.values() for leaf in _leaves(part, depth + 1)]
    if isinstance(node, list):
        return [leaf for part in node for leaf in _leaves(part, depth + 1)]
    return [node]
