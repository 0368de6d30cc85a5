"""Tables of a Postgres server: read as files are, in one snapshot; told in one line where they cannot be."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policy.errors import InputError, ReleaseGateError, TransientFailure, UsageError
from policy.load import load_policy
from policy.location import location_of
from policy.postgres_address import PostgresTable
from policy.trusted import Trusted
from services.awaited_input import ExpectedInput, look
from tasks.intake import postgres as client
from tasks.intake import sealed
from tasks.intake.read import read_table
from tests.support.front_desk import POLICY, Desk
from tests.support.postgres_server import DATABASE, NAMELESS, OWNER, PASSWORD, PROVEN, Postgres

CELLS = "CREATE TABLE cells (id text, value {kind})"


def refused(address: PostgresTable) -> ReleaseGateError:
    """Return why a table cannot be read; it names the address, and nothing of who asks or what is in it."""
    with pytest.raises(ReleaseGateError) as caught, sealed.sealed(address):
        pass
    error = caught.value
    assert error.where == str(address)
    assert error.hint
    assert "\n" not in error.message
    assert error.__cause__ is None
    assert error.__context__ is None
    assert PASSWORD not in str(error)
    return error


def content(address: PostgresTable) -> bytes:
    with sealed.sealed(address) as found, found.open() as file:
        return file.read()


def trusting(desk: Desk, text: str) -> None:
    path = desk.folder / "trusted.yaml"
    path.write_text(text)
    path.chmod(0o600)


def test_a_table_that_a_command_names_is_read_as_the_file(desk: Desk, postgres: Postgres) -> None:
    table = desk.table()
    postgres.copy(table, "people")
    policy = load_policy(desk.policy())
    read = read_table(policy, input_path=postgres.table("people"), period="2026Q1", base=desk.folder)
    sorted_file = desk.folder / "sorted.csv"
    pd.read_csv(table, dtype=str).sort_values("person").to_csv(sorted_file, index=False)
    same = read_table(policy, input_path=sorted_file, period="2026Q1", base=desk.folder)
    pd.testing.assert_frame_equal(read.frame, same.frame)
    assert read.origin == "public.people"
    assert read.digest == hashlib.sha256(content(postgres.table("people"))).hexdigest()


def test_a_table_is_checked_released_and_released_again(
    desk: Desk, postgres: Postgres, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres.copy(desk.table(), "people")
    address = postgres.table("people")
    policy = desk.policy()
    assert desk.say("check", policy, "--period", "2026Q1", "--input", address) == 0
    assert str(address) in capsys.readouterr().out
    assert desk.say("run", policy, "--input", address, "--period", "2026Q1", "--by", "ann") == 0
    (release,) = desk.store.releases()
    postgres.execute("CREATE TABLE copy AS TABLE people ORDER BY disease, person DESC")
    copy = postgres.table("copy")
    assert desk.say("reproduce", release.release_id, "--input", address) == 0
    assert desk.say("reproduce", release.release_id, "--input", copy) == 0  # the same rows are the same input
    postgres.execute("UPDATE people SET age = '40' WHERE person = 'p00000' AND age <> '40'")
    assert desk.say("reproduce", release.release_id, "--input", address) == UsageError.exit_code


def test_a_table_in_which_people_have_several_rows_is_refused(desk: Desk, postgres: Postgres) -> None:
    postgres.copy(desk.table(), "visits")
    postgres.execute("INSERT INTO visits TABLE visits")
    roles = {**POLICY["roles"], "key": None, "dropped": ["person", "street"]}
    policy = desk.policy(roles=roles)
    with pytest.raises(InputError, match=r"'person' has .* they may be of one person"):
        read_table(
            load_policy(policy), input_path=postgres.table("visits"), period="2026Q1", base=desk.folder
        )


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        ("text", "'a,\"b\"'", 'a,"b"'),
        ("text", "''", ""),
        ("text", "'\\N'", "\\N"),
        ("text", "NULL", None),
        ("text", "E'a\\r\\nb'", "a\r\nb"),
        ("text", "'K\u00f6ln'", "K\u00f6ln"),
        ("char(5)", "'ab'", "ab"),
        ("integer", "-7", "-7"),
        ("numeric(8,2)", "1.50", "1.50"),
        ("numeric", "'NaN'", None),
        ("double precision", "0.1", "0.1"),
        ("double precision", "'NaN'", None),
        ("real", "'Infinity'", "Infinity"),
        ("boolean", "true", "true"),
        ("boolean", "false", "false"),
        ("date", "'2026-03-01'", "2026-03-01"),
        ("timestamp", "'2026-03-01'", "2026-03-01"),
        ("timestamp", "'2026-03-01 08:30'", "2026-03-01 08:30:00"),
        ("timestamp", "'infinity'", "infinity"),
        ("timestamptz", "'2026-03-01 01:00+01'", "2026-03-01 00:00:00+00"),
        ("interval", "'1 day 2 hours'", "P1DT2H"),
        ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("bytea", "'\\x00ff'", "\\x00ff"),
        ("integer[]", "'{1,2}'", "{1,2}"),
        ("jsonb", "'{\"a\": 1}'", '{"a": 1}'),
        ("amount", "'NaN'", None),  # a domain over a domain over numeric
    ],
)
@pytest.mark.by_day(8)
def test_a_cell_of_each_type_is_its_text(
    desk: Desk, postgres: Postgres, kind: str, given: str, text: str | None
) -> None:
    postgres.execute(
        "CREATE DOMAIN positive AS numeric", "CREATE DOMAIN amount AS positive", CELLS.format(kind=kind),
        f"INSERT INTO cells VALUES ('a', {given})",
    )  # fmt: skip
    assert cells(desk, postgres, missing=["?"]) == [text]


def cells(desk: Desk, postgres: Postgres, **source: Any) -> list[str | None]:
    """Return the values of the table `cells` as a run reads them."""
    roles = {
        "quasi_identifiers": {"id": {"type": "categorical", "values": ["a"]}},
        "sensitive": {"value": {"stability": "stable"}},
    }
    policy = load_policy(desk.policy("cells.yaml", roles=roles, source=source))
    found = read_table(policy, input_path=postgres.table("cells"), period="2026Q1", base=desk.folder)
    return [None if pd.isna(one) else str(one) for one in found.frame["value"]]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=9),
        min_size=1,
        max_size=9,
    ),
    st.randoms(),
)  # fmt: skip
def test_any_text_comes_as_it_is_and_in_one_order(
    postgres: Postgres, desk: Desk, values: Sequence[str | None], random: Any
) -> None:
    found = []
    for _ in range(2):
        postgres.execute("DROP TABLE IF EXISTS cells", CELLS.format(kind="text"))
        with postgres.connected() as connection:
            connection.cursor().executemany("INSERT INTO cells VALUES ('a', %s)", [[one] for one in values])
        found.append(content(postgres.table("cells")))
        values = random.sample(values, len(values))
    assert found[0] == found[1]
    expected = sorted((one for one in values if one is not None), key=lambda one: one.encode())
    assert cells(desk, postgres, missing=[], line_breaks=False) == [
        *expected, *[None] * (len(values) - len(expected))
    ]  # fmt: skip


def test_a_policy_names_a_table_of_a_trusted_database(desk: Desk, postgres: Postgres) -> None:
    postgres.copy(desk.table(), '"people_2026Q1"')
    trusting(desk, postgres.trusted)
    policy = desk.policy(
        source={"path": str(postgres.table("people_{period}")).replace("%7B", "{").replace("%7D", "}")}
    )
    assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == 0
    query = {"query": "FROM people", "inputs": {"people": str(postgres.table("people_2026Q1"))}}
    again = desk.policy("query.yaml", series="query", source=query)
    assert desk.say("run", again, "--period", "2026Q1", "--by", "ann") == 0


@pytest.mark.enemy("policy author", "reads a file")
def test_a_policy_alone_connects_to_no_server(
    desk: Desk, postgres: Postgres, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `trusted.yaml` no server is asked at all, and with it only the database that it lists."""
    asked: list[object] = []
    monkeypatch.setattr(client, "_connected", asked.append)
    postgres.copy(desk.table(), "people")
    address = str(postgres.table("people"))
    others = [
        str(postgres.table("", user=OWNER)),
        str(postgres.table("", port=5433)),
        str(postgres.table("", sslmode="disable")),
        str(PostgresTable("db.example.org", DATABASE, user="reader")),
        str(PostgresTable(str(postgres.folder), "postgres", user="reader")),
    ]
    for text in ("", f"postgres: {others}\n"):
        trusting(desk, text)
        for source in ({"path": address}, {"query": "from a", "inputs": {"a": address}}):
            policy = desk.policy(source=source)
            assert desk.say("run", policy, "--period", "2026Q1", "--by", "ann") == UsageError.exit_code
            lines = [line for line in capsys.readouterr().err.splitlines() if "is not a table of" in line]
            assert len(lines) == 1
            assert address in lines[0]
    assert not asked


@pytest.mark.enemy("data supplier", "writes a file")
def test_a_view_writes_nothing(postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE log (id int)",
        "CREATE FUNCTION note() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN SET TRANSACTION READ WRITE; INSERT INTO public.log VALUES (1); RETURN 1; END $$",
        "CREATE FUNCTION log() RETURNS int LANGUAGE sql AS 'INSERT INTO public.log VALUES (1) RETURNING id'",
        "GRANT ALL ON log TO reader",
        "CREATE VIEW first AS SELECT public.note()",
        "CREATE VIEW second AS SELECT public.log()",
    )
    assert refused(postgres.table("first")).message == "cannot be read (ActiveSqlTransaction)"
    assert refused(postgres.table("second")).message == "cannot be read (ReadOnlySqlTransaction)"
    with postgres.connected() as connection:
        assert connection.execute("SELECT count(*) FROM log").fetchone() == (0,)


@pytest.mark.enemy("data supplier", "reads a file")
def test_a_view_does_not_run_with_the_rights_of_a_superuser(postgres: Postgres) -> None:
    postgres.execute("CREATE VIEW secrets AS SELECT pg_read_file('PG_VERSION') AS text")
    error = refused(postgres.table("secrets", user=OWNER))
    assert isinstance(error, UsageError)
    assert error.message.startswith("the user is a superuser")
    assert refused(postgres.table("secrets")).message == "this account may not read it"


@pytest.mark.enemy("data supplier", "runs code")
def test_no_function_of_the_database_stands_in_for_one_of_postgres(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute(
        "CREATE DOMAIN moment AS timestamp",
        CELLS.format(kind="moment"),
        "INSERT INTO cells VALUES ('a', '2026-03-01')",
        "CREATE FUNCTION public.isfinite(moment) RETURNS boolean LANGUAGE sql AS 'SELECT false'",
    )
    assert content(postgres.table("cells")) == b'id,value\n"a","2026-03-01"\n'
    monkeypatch.setitem(client._SETTINGS, "search_path", "public")
    assert content(postgres.table("cells")) == b'id,value\n"a","2026-03-01 00:00:00"\n'


@pytest.mark.enemy("operator", "reads a file")
@pytest.mark.parametrize(
    "name", ['a"; DROP TABLE cells; --', "cells) TO PROGRAM 'id", "pg_temp.x", "cells{0}"]
)
def test_a_name_is_a_name_and_no_sql(postgres: Postgres, name: str) -> None:
    postgres.execute(CELLS.format(kind="text"))
    schema, _, table = name.rpartition(".")
    parts = {"schema": schema} if schema else {}
    address = PostgresTable(str(postgres.folder), DATABASE, table, user="reader", **parts)
    assert refused(address).message == "no such table or view"
    assert content(postgres.table("cells")) == b"id,value\n"


def test_names_are_read_as_they_are_written(postgres: Postgres) -> None:
    postgres.execute(
        "CREATE SCHEMA clinic", "GRANT USAGE ON SCHEMA clinic TO reader",
        'CREATE TABLE clinic."Cases of 2026" ("a ""b"", c" text, rows int, "{0}" int, "%s" int)',
        'GRANT SELECT ON clinic."Cases of 2026" TO reader',
    )  # fmt: skip
    written = str(postgres.table("clinic.Cases of 2026"))
    address = location_of(written, "--input")
    assert isinstance(address, PostgresTable)
    assert content(address) == b'"a ""b"", c",rows,{0},%s\n'
    assert refused(postgres.table("clinic.cases of 2026")).message == "no such table or view"


def test_the_account_sees_the_columns_that_it_may_read(postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TABLE cells (id text, secret text, value text)", "REVOKE ALL ON cells FROM reader",
    )  # fmt: skip
    error = refused(postgres.table("cells"))
    assert (error.message, type(error)) == ("this account may not read it", InputError)
    postgres.execute("GRANT SELECT (id, value) ON cells TO reader")
    assert content(postgres.table("cells")) == b"id,value\n"


def test_what_cannot_be_reached_is_told(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.execute(CELLS.format(kind="text"))
    proven, nameless = (postgres.table("cells", user=user) for user in (PROVEN, NAMELESS))
    found = (
        (TransientFailure, postgres.table("cells", port=1), "the server does not answer"),
        (UsageError, proven, "asks for a password, and none is given"),
        (UsageError, nameless, "refuses the user, the password or the database"),
        (InputError, postgres.table("clinic.cells"), "no such table or view"),
    )
    for kind, address, message in found:
        error = refused(address)
        assert (error.message, type(error)) == (message, kind)
    monkeypatch.setenv("PGPASSWORD", "wrong")
    assert refused(proven).message == "refuses the user, the password or the database"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert content(proven) == b"id,value\n"


def test_a_password_is_nowhere(desk: Desk, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    postgres.copy(desk.table(), "people")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = postgres.table("people", user=PROVEN)
    assert desk.say("run", desk.policy(), "--input", address, "--period", "2026Q1", "--by", "ann") == 0
    files = [path for path in desk.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def test_what_the_server_says_of_cells_is_not_told(postgres: Postgres) -> None:
    postgres.execute(
        CELLS.format(kind="text"), "INSERT INTO cells VALUES ('a', 'canary')",
        "CREATE VIEW numbers AS SELECT value::int FROM cells",
    )  # fmt: skip
    assert "canary" not in str(refused(postgres.table("numbers")))
    assert refused(postgres.table("numbers")).message == "cannot be read (InvalidTextRepresentation)"


@pytest.mark.enemy("data supplier", "stops the work")
def test_a_view_that_takes_too_long_or_a_lock_ends_the_reading(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute(CELLS.format(kind="text"), "CREATE VIEW slow AS SELECT pg_sleep(600)::text")
    monkeypatch.setitem(client._SETTINGS, "statement_timeout", "100ms")
    assert refused(postgres.table("slow")).message.startswith("took longer than 3,600 seconds")
    monkeypatch.setitem(client._SETTINGS, "statement_timeout", "0")
    monkeypatch.setitem(client._SETTINGS, "lock_timeout", "100ms")
    with postgres.connected() as connection, connection.transaction():
        connection.execute("LOCK cells")
        error = refused(postgres.table("cells"))
    assert (error.message, type(error)) == ("somebody else has locked the table", TransientFailure)


def test_a_server_that_ends_while_it_is_read_is_told(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PART_BYTES", 1000)
    postgres.execute("CREATE TABLE many AS SELECT repeat('x', 1000) AS x FROM generate_series(1, 100000)")
    address = postgres.table("many")
    with pytest.raises(TransientFailure) as caught, client.open_table(address) as file:  # noqa: PT012
        file.read(10_000)
        ended = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'releasegate'"
        )
        postgres.execute(ended)
        while file.read(1 << 20):
            pass
    assert caught.value.where == str(address)


def test_a_table_that_is_not_there_yet_is_late(desk: Desk, postgres: Postgres) -> None:
    policy = load_policy(desk.policy(source={"wait": {"hours": 1}}))
    expected = ExpectedInput(policy, "2026Q1", postgres.table("people"), desk.folder)
    assert look(expected).late == "is not there"
    postgres.execute("CREATE TABLE people (id int)")
    assert not look(expected).late


def test_a_name_like_that_of_a_compressed_file_is_no_file(postgres: Postgres) -> None:
    postgres.execute("CREATE TABLE gz (id int)")
    assert content(postgres.table("gz")) == b"id\n"


def test_without_the_extra_one_line_says_what_is_missing(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError) as caught, sealed.sealed(postgres.table("people")):
        pass
    assert caught.value.message == "needs the package psycopg, which is not installed"
    assert "requirements.lock" in caught.value.hint


def test_a_table_counts_as_trusted_only_with_its_database(desk: Desk, postgres: Postgres) -> None:
    trusted = Trusted(databases=(postgres.table(""),))
    address = postgres.table("clinic.cases")
    assert trusted.located(str(address), desk.folder, "source.path") == address
