"""What the author of a policy and the supplier of a table try: each is refused in a line or two."""

from __future__ import annotations

import gzip
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from test_intake import CANARY, HEADER, ROW, policy, read, refused, written

from policy.errors import InputError, PolicyError
from policy.load import parse_policy
from policy.trusted import Memory, Trusted
from tasks import duck, memory
from tasks.intake import csv_file as loading
from tasks.intake import lengths
from tasks.intake import query as querying
from tasks.intake import sealed as sealing
from tasks.intake.database import own_database
from tasks.intake.database_process import DatabaseProcess
from tasks.intake.lines import count_records
from tasks.intake.read import read_table
from tasks.intake.sealed import sealed
from tasks.intake.statement import problem_of

AUTHOR = "policy author"
SUPPLIER = "data supplier"
MINIMAL = """
series: s
roles:
  quasi_identifiers: {age: {type: integer, bounds: [0, 120]}%s}
  sensitive: {disease: {stability: stable}}
%s"""

READS = {
    "read_text": "select * replace (content as note) from input, read_text('{file}')",
    "read_blob": "select * replace (content::varchar as note) from input, read_blob('{file}')",
    "read_csv": "select * from read_csv('{file}')",
    "read_json": "select * from read_json('{file}')",
    "read_parquet": "select * from read_parquet('{file}')",
    "a file's name": "select * from '{file}'",
    "glob": "select * replace (file as note) from input, glob('{folder}/*')",
    "sniff_csv": "select * from sniff_csv('{file}')",
    "parquet_metadata": "select * from parquet_metadata('{file}')",
    "query of a text": "select * from query('select * from read_text(''{file}'')')",
    "a table of a name": "select * from query_table('{file}')",
    "in a subquery": "select * replace ((select content from read_text('{file}')) as note) from input",
    "in a CTE": "with w as (select content from read_text('{file}')) select * from input, w",
    "in a join's condition": "select i.* from input i join input j on (select true from read_text('{file}'))",
    "under a CTE's name": 'with "{file}" as (select 1) select * from main."{file}"',
    "a database's file": "select * from read_duckdb('{file}')",
    "of the catalog": "select * from duckdb_secrets()",
    "settings": "select * from duckdb_settings()",
    "a setting": "select * replace (current_setting('home_directory') as note) from input",
    "tables": "show tables",
    "a description": "describe input",
}
WRITES = {
    "copy": "copy (select 1) to '{file}'",
    "copy in a CTE": "with w as (copy (select 'x') to '{file}') select * from input",
    "copy in an inner CTE": "select * from (with w as (copy (select 1) to '{file}') select * from w)",
    "attach": "attach '{file}'",
    "two statements": "select * from input; copy (select 1) to '{file}'",
    "insert in a CTE": "with w as (insert into input select * from input returning *) select * from input",
    "export": "export database '{folder}'",
    "install": "install httpfs",
    "load": "load '{file}'",
    "set": "set enable_external_access = true",
    "pragma": "pragma enable_profiling",
    "create": "create table t as select 1",
    "log": "select * replace (write_log('{file}')::varchar as note) from input",
}


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize("how", READS)
def test_a_query_reads_nothing_but_its_inputs(tmp_path: Path, how: str) -> None:
    inner = tmp_path / "policies"
    inner.mkdir()
    secret = written(tmp_path, CANARY, "secret.csv")
    query = READS[how].replace("{file}", str(secret)).replace("{folder}", str(tmp_path))
    table = written(inner, HEADER + ROW)
    error = refused(table, inner, query=query)
    assert isinstance(error, InputError)
    assert str(error).startswith("source.query: ")


@pytest.mark.enemy(AUTHOR, "writes a file")
@pytest.mark.parametrize("how", WRITES)
def test_a_query_writes_nothing(tmp_path: Path, how: str) -> None:
    table = written(tmp_path, HEADER + ROW)
    goal = tmp_path / "people.yaml"
    query = WRITES[how].replace("{file}", str(goal)).replace("{folder}", str(tmp_path / "export"))
    before = sorted(tmp_path.iterdir())
    assert str(refused(table, tmp_path, query=query)).startswith("source.query: ")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_what_the_parser_let_through_is_refused_by_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(querying, "problem_of", lambda *_: None)
    secret = written(tmp_path, CANARY, "secret.csv")
    table = written(tmp_path, HEADER + ROW)
    query = READS["read_text"].replace("{file}", str(secret))
    assert "PermissionException" in str(refused(table, tmp_path, query=query))
    goal = tmp_path / "out.csv"
    query = WRITES["copy in a CTE"].replace("{file}", str(goal))
    assert "PermissionException" in str(refused(table, tmp_path, query=query))
    assert not goal.exists()
    unlocked = "set enable_external_access = true"
    assert "InvalidInputException" in str(refused(table, tmp_path, query=f"{unlocked}; select 1"))


@pytest.mark.enemy(AUTHOR, "stops the work")
@pytest.mark.parametrize(
    "call",
    [
        "random()",
        "uuid()",
        "nextval('s')",
        "sleep_ms(10)",
        "setseed(0.1)",
        "now()",
        "today()",
        "current_date",
        "CURRENT_TIMESTAMP",
        "localtime",
        "age(timestamp '2020-01-01')",
        "ago('1 day')",
    ],
)
def test_a_query_gives_the_same_rows_each_time(tmp_path: Path, call: str) -> None:
    table = written(tmp_path, HEADER + ROW)
    error = refused(table, tmp_path, query=f"select * replace (({call})::varchar as note) from input")
    assert "which depends on more than the inputs" in str(error)


@pytest.mark.enemy(AUTHOR, "stops the work")
@pytest.mark.parametrize(
    "query", ["select * from input using sample 1", "select * from input tablesample 50%"]
)
def test_a_query_takes_no_sample(tmp_path: Path, query: str) -> None:
    error = refused(written(tmp_path, HEADER + ROW), tmp_path, query=query)
    assert "which depends on more than the inputs" in str(error)


@pytest.mark.enemy(AUTHOR, "learns a value")
def test_a_part_of_a_query_does_not_open_duckdbs_own_views(tmp_path: Path) -> None:
    query = (
        "select i.* replace (s.sql as note) from input i, sqlite_master s "
        "where 1 in (with sqlite_master as (select 1 as sql) select sql from sqlite_master)"
    )
    error = refused(written(tmp_path, HEADER + ROW), tmp_path, query=query)
    assert "names a part of itself 'sqlite_master', like a view of DuckDB" in str(error)


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_a_small_parquet_file_of_endless_text_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.parquet"
    columns = ", ".join(f"'x' AS {name}" for name in HEADER.strip().split(",") if name not in ("age", "note"))
    duckdb.sql(f"COPY (SELECT {columns}, 30 AS age, repeat('x', 60000) AS note FROM range(2000)) TO '{path}'")
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(lengths, "memory_bytes", lambda: 100 << 20)
    error = refused(path, tmp_path)
    assert "holds 114 MiB of text, more than half of the memory" in str(error)
    query = "select i.* replace (repeat('x', 60000) as note) from input i, range(2000)"
    error = refused(written(tmp_path, HEADER + ROW), tmp_path, query=query)
    assert "of text, more than half of the memory" in str(error)


def test_rows_of_long_cells_are_read_few_at_a_time() -> None:
    assert lengths.vectors_of(100) == 50
    assert lengths.vectors_of(65_536) == 1
    assert lengths.vectors_of(0) == 50


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("select * from people", "reads 'people', which is not a declared input"),
        ("select * from main.input", "reads 'input', which is not a declared input"),
        ("select * from read_text('x')", "reads 'read_text', which is not a declared input"),
        ("select * from (describe input)", "describes tables"),
        ("select * from (show all tables)", "describes tables"),
        ("select 1; select 2", "is not one SELECT"),
        ("copy input to 'x'", "is not one SELECT"),
        ("with a as (select 1) select * from b", "reads 'b', which is not a declared input"),
        ("select version()", "calls version()"),
        ("select a.b.c.d.e.f.g from input", "has a name of more than 6 parts"),
        (f"select {'1 + ' * 6000} 1", "has more than 20,000 characters"),
    ],
)
def test_the_parser_by_itself_refuses(query: str, wrong: str) -> None:
    """Before the database, which would refuse most of them too."""
    with DatabaseProcess() as database:
        found = problem_of(database, query, ["input"])
    assert found is not None
    assert found[0].startswith(wrong)


def test_the_parser_lets_what_reads_the_inputs_alone_pass() -> None:
    with DatabaseProcess() as database:
        for query in (
            "select * from input",
            "with a as (select * from INPUT) select * from a join unnest([1]) u(x) on true union select 1, 2",
            "select i.current_date, age(x, y), date_trunc('month', d) from input i",
        ):
            assert problem_of(database, query, ["input"]) is None, query


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_the_database_of_a_query_opens_nothing_and_keeps_its_settings() -> None:
    with own_database() as connection:
        for setting, value in (
            ("temp_directory", ""),
            ("autoinstall_known_extensions", "false"),
            ("autoload_known_extensions", "false"),
            ("python_enable_replacements", "false"),
        ):
            (found,) = connection.execute(f"SELECT current_setting('{setting}')::VARCHAR").fetchall()[0]
            assert found == value, setting
        half = sum(map(_bytes, connection.execute("SELECT current_setting('memory_limit')").fetchall()[0]))
        assert 0.4 < half / (os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) < 0.6
    with duck.connection() as connection:
        (found,) = connection.execute("SELECT current_setting('temp_directory')").fetchall()[0]
        assert found == ""


def _bytes(written: str) -> float:
    number, unit = written.split()
    return float(number) * 1024.0 ** ["bytes", "KiB", "MiB", "GiB", "TiB"].index(unit)


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_a_query_runs_with_its_settings_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(querying, "problem_of", lambda *_: None)
    query = "select i.* replace (current_setting('lock_configuration')::varchar || "
    query += "current_setting('enable_external_access')::varchar as note) from input i"
    assert read(written(tmp_path, HEADER + ROW), query=query).frame["note"].tolist() == ["truefalse"]


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize("name", ["ada-key", "store.key~", "ada.key.bak", "id_ed25519", "ADA.PEM", "a.Key"])
def test_a_key_is_read_by_no_query_whatever_its_name(tmp_path: Path, name: str) -> None:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / name).write_bytes(b"\n" + pem)
    query = "select i.* replace ((select string_agg(k::varchar, '') from k) as note) from input i"
    table = written(tmp_path, HEADER + ROW)
    with pytest.raises((InputError, PolicyError), match=r"is a key|a key or a list of people"):
        read(table, query=query, inputs={"k": name}, format="csv")


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_query_that_never_ends_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(querying, "QUERY_SECONDS", 0.05)
    table = written(tmp_path, HEADER + ROW)
    endless = "select i.* from input i, range(1000000000) a(x), range(1000000000) b(y) where x * y = -1"
    assert "took longer than" in str(refused(table, tmp_path, query=endless))


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_query_of_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "MOST_ROWS", 1000)
    table = written(tmp_path, HEADER + ROW)
    error = refused(table, tmp_path, query="select i.* from input i, range(1000000000000)")
    assert str(error).startswith("source.query: gives more than 1,000 rows\n")


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_query_that_needs_more_than_the_owners_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20))
    table = written(tmp_path, HEADER + ROW)
    much = "select list(hash(r) order by r) as found from range(20000000) t(r)"
    error = refused(table, tmp_path, query=f"select i.* from input i join ({much}) on len(found) > 0")
    assert str(error).splitlines()[0] == "source.query: needs more than the 64 MiB of memory_limit"


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_query_that_fills_the_folder_to_spill_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20, tmp_path / "spill", 8 << 20))
    table = written(tmp_path, HEADER + ROW)
    many = "select max(length(n)) as longest from (select 'name ' || r as n from range(1000000000000) t(r) "
    query = f"select i.* from input i join ({many} order by hash(r) limit 900000000000)) on longest > 0"
    error = refused(table, tmp_path, query=query)
    assert str(error).splitlines()[0] == ("trusted.yaml: spill_limit: temporary files need more than 8 MiB")


@pytest.mark.enemy(AUTHOR, "learns a value")
@pytest.mark.parametrize(
    "cell",
    ["error('SpillFailed: ' || note)", "cast('SpillFailed: ' || note as int)"],
)
def test_a_query_that_writes_our_errors_shows_no_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: str
) -> None:
    (tmp_path / "spill").mkdir()
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20, tmp_path / "spill"))
    table = written(tmp_path, HEADER + ROW.replace("ok", CANARY))
    error = refused(table, tmp_path, query=f"select * replace ({cell} as note) from input")
    assert isinstance(error, InputError)
    assert str(error).startswith("source.query: fails (")
    assert CANARY not in str(error)


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_query_of_endless_cells_is_refused(tmp_path: Path) -> None:
    table = written(tmp_path, HEADER + ROW)
    error = refused(table, tmp_path, query="select * replace (repeat('x', 100000) as note) from input")
    assert "the column 'note' has a cell of more than 65,536 characters" in str(error)


def test_a_query_joins_the_inputs_that_the_policy_declares(tmp_path: Path) -> None:
    written(tmp_path, "id,town\np1,Aix\n", "towns_2024Q1.csv")
    query = "select i.* replace (t.town as city) from input i join towns t using (id)"
    table = read(written(tmp_path, HEADER + ROW), query=query, inputs={"towns": "towns_{period}.csv"})
    assert table.frame["city"].tolist() == ["Aix"]


# The paths that a policy names


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize("how", ["..", "absolute", "link", "folder link"])
def test_a_policy_names_files_below_its_folder_alone(tmp_path: Path, how: str) -> None:
    base = tmp_path / "policies"
    base.mkdir()
    outside = written(tmp_path, HEADER + ROW, "outside.csv")
    (base / "link.csv").symlink_to(outside)
    (base / "folder").symlink_to(tmp_path)
    named = {
        "..": "../outside.csv",
        "absolute": str(outside),
        "link": "link.csv",
        "folder link": "folder/outside.csv",
    }[how]
    for source in ({"path": named}, {"query": "select * from other", "inputs": {"other": named}}):
        error = refused(None, base, **source)
        assert isinstance(error, PolicyError)
        assert "leads out of the policy's folder" in str(error)
    trusted = Trusted((tmp_path,))
    assert (
        len(read_table(policy(path=named), input_path=None, period="p", base=base, trusted=trusted).frame)
        == 1
    )


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize(
    "secret", ["store/a.csv", "store.key", "kept.csv", "people.yaml", "cy.pem", "dee.token"]
)
def test_no_policy_reads_a_store_or_a_key(tmp_path: Path, secret: str) -> None:
    (tmp_path / "store").mkdir()
    written(tmp_path, HEADER + ROW, secret)
    never = (tmp_path / "store", tmp_path / "store.key", tmp_path / "kept.csv")
    trusted = Trusted((tmp_path,), never=never)
    with pytest.raises(PolicyError, match="which no policy reads"):
        read_table(policy(path=secret), input_path=None, period="p", base=tmp_path, trusted=trusted)
    with pytest.raises(PolicyError, match="which no policy reads"):
        read_table(
            policy(format="csv"), input_path=tmp_path / secret, period="p", base=tmp_path, trusted=trusted
        )


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_a_store_that_nobody_named_is_known_by_its_database(tmp_path: Path) -> None:
    (tmp_path / "history.duckdb").touch()
    (tmp_path / "deep").mkdir()
    written(tmp_path, HEADER + ROW, "deep/a.csv")
    assert "which no policy reads" in str(refused(None, tmp_path, path="deep/a.csv"))


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_a_link_that_changes_while_it_is_opened_gains_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tmp_path / "policies"
    base.mkdir()
    outside = written(tmp_path, HEADER + ROW.replace("flu", CANARY), "outside.csv")
    own = written(base, HEADER + ROW)
    opened = sealing.open_plain

    def swapped(path: Path) -> object:
        own.unlink()
        own.symlink_to(outside)
        return opened(path)

    monkeypatch.setattr(sealing, "open_plain", swapped)
    assert "leads out of the policy's folder" in str(refused(None, base, path="t.csv"))


@pytest.mark.enemy(AUTHOR, "reads a file")
@pytest.mark.parametrize("written_as", ["../store.key", "{folder}/store.key", "key.csv"])
def test_a_hierarchy_is_no_key(tmp_path: Path, written_as: str) -> None:
    base = tmp_path / "policies"
    base.mkdir()
    key = written(tmp_path, f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n", "store.key")
    (base / "key.csv").symlink_to(key)
    named = written_as.replace("{folder}", str(tmp_path))
    text = MINIMAL % (f", city: {{type: categorical, hierarchy: {named}}}", "")
    for trusted in (None, Trusted((tmp_path,), never=(key,)), Trusted((tmp_path,))):
        with pytest.raises(PolicyError) as caught:
            parse_policy(text, base / "p.yaml", trusted)
        assert CANARY not in str(caught.value)
        assert len(str(caught.value).splitlines()) == 2


# Bombs


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_aliases_of_yaml_are_counted_in_full() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)
    )
    with pytest.raises(PolicyError, match="its aliases"):
        parse_policy(bomb, Path("p.yaml"))
    with pytest.raises(PolicyError, match="contains itself"):
        parse_policy("a: &a [*a]\n", Path("p.yaml"))


@pytest.mark.enemy(AUTHOR, "stops the work")
def test_a_policy_has_a_largest_size(tmp_path: Path) -> None:
    from policy.load import load_policy

    path = written(tmp_path, "# " + "x" * (2 << 20), "p.yaml")
    with pytest.raises(PolicyError, match="is too large"):
        load_policy(path)
    with pytest.raises(PolicyError, match="has more than 1,048,576 characters"):
        parse_policy("# " + "x" * (2 << 20), path)


@pytest.mark.enemy(SUPPLIER, "stops the work")
@pytest.mark.parametrize(
    "content", [b"\0" * (80 << 20), b"p,A,30,L,flu,x,s\n" * (5 << 20)], ids=["zeros", "rows"]
)
def test_a_file_that_grows_when_it_is_decompressed_is_refused(tmp_path: Path, content: bytes) -> None:
    path = written(tmp_path, gzip.compress(content, 9), "t.csv.gz")
    assert "is compressed more than 200 times" in str(refused(path, tmp_path))


@pytest.mark.enemy(SUPPLIER, "stops the work")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a device"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path = Path("/dev/zero")
    else:
        path.symlink_to("/dev/zero")
    error = refused(path, tmp_path, format="csv")
    assert any(word in str(error) for word in ("is not a regular file", "is a folder"))


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_a_cell_of_megabytes_is_refused_and_no_row_is_dropped(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROW + ROW.replace("ok", "x" * (40 << 20)) + ROW)
    assert "line 3 has more than 1,048,576 bytes" in str(refused(path, tmp_path))
    quoted = written(tmp_path, HEADER + ROW + ROW.replace("ok", '"' + "x\n" * (1 << 20) + '"'))
    assert "line 3 " in str(refused(quoted, tmp_path, line_breaks=True))


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_too_many_categories_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "MOST_VALUES", 100)
    rows = "".join(f"p{i},A,30,Leeds,flu{i},ok,s\n" for i in range(101))
    error = refused(written(tmp_path, HEADER + rows), tmp_path)
    assert "the column 'disease' has more than 100 different values" in str(error)


# Quotes


@pytest.mark.enemy(SUPPLIER, "publishes a person")
def test_two_stray_quotes_do_not_join_the_lines_between_them(tmp_path: Path) -> None:
    rows = [f"p{i},{CANARY}{i},30,Leeds,flu,ok,s\n" for i in range(400)]
    rows[100] = rows[100].replace("flu", '"flu')
    rows[130] = rows[130].replace("flu", 'flu"')
    error = refused(written(tmp_path, HEADER + "".join(rows)), tmp_path)
    assert "line 102 has a quote that is not closed" in str(error)


@pytest.mark.enemy(SUPPLIER, "publishes a person")
def test_a_quoted_value_holds_no_delimiter_where_the_policy_says_so(tmp_path: Path) -> None:
    lines = [ROW, ROW.replace("flu", '"a ""quoted"" flu"'), ROW, ROW.replace("flu", '"flu, cold"'), ROW]
    path = written(tmp_path, HEADER + "".join(lines))
    assert len(read(path).frame) == 5
    error = refused(path, tmp_path, quoted_delimiters=False)
    assert "line 5 has a quoted value that contains the delimiter" in str(error)
    path = written(tmp_path, HEADER + "".join(lines[:3]))
    assert len(read(path, quoted_delimiters=False).frame) == 3


@pytest.mark.enemy(SUPPLIER, "publishes a person")
def test_rows_that_were_read_are_held_against_line_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, HEADER + ROW * 3)

    def more(*given: object, **named: object) -> object:
        found = count_records(*given, **named)  # type: ignore[arg-type]
        return replace(found, records=found.records + 1)

    monkeypatch.setattr(loading, "count_records", more)
    assert "has 4 rows by its line ends, but 3 were read" in str(refused(path, tmp_path))


def test_blank_lines_and_a_last_line_without_an_end_are_counted(tmp_path: Path) -> None:
    for text in (
        HEADER + ROW + "\n" + ROW,
        HEADER + ROW + ROW[:-1],
        (HEADER + ROW + "\n" + ROW).replace("\n", "\r\n"),
    ):
        with sealed(written(tmp_path, text)) as table:
            counted = count_records(table, line_breaks=False)
        assert counted.records - counted.blank == 3


# What was read is what is used


@pytest.mark.enemy("store writer", "changes history")
def test_the_sealed_copy_can_be_changed_by_nobody(tmp_path: Path) -> None:
    with sealed(written(tmp_path, HEADER + ROW)) as table:
        with pytest.raises(OSError, match="not permitted"):
            table.path.write_bytes(b"x")
        with pytest.raises(OSError, match="not permitted"):
            os.truncate(table.path, 1)
        assert table.path.read_text() == HEADER + ROW


@pytest.mark.enemy(SUPPLIER, "changes history")
def test_a_file_that_is_swapped_after_it_was_read_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, HEADER + ROW)
    digest = read(path).digest
    counted = loading.count_records

    def swap(*given: Any, **named: Any) -> object:
        written(tmp_path, HEADER + ROW.replace("flu", "hiv"))
        return counted(*given, **named)

    monkeypatch.setattr(loading, "count_records", swap)
    found = read(path)
    assert (found.frame["disease"].tolist(), found.digest) == (["flu"], digest)


@pytest.mark.enemy(SUPPLIER, "changes history")
def test_a_file_that_grows_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, HEADER + ROW)
    poured = sealing._pour

    def growing(*given: object) -> None:
        poured(*given)  # type: ignore[arg-type]
        with path.open("a") as file:
            file.write(ROW)

    monkeypatch.setattr(sealing, "_pour", growing)
    assert "changed while it was being read" in str(refused(path, tmp_path))


def test_a_query_ends_with_no_timer_left(tmp_path: Path) -> None:
    read(written(tmp_path, HEADER + ROW), query="from input")
    timers = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    assert all(one.finished.is_set() for one in timers)  # its thread may take a moment to end
