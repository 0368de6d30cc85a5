"""The address of a table of Postgres: strict, without a password, and under TLS but on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import PolicyError, UsageError
from policy.location import location_of
from policy.postgres_address import PostgresTable, postgres_database, postgres_table
from policy.trusted import Trusted

SECRET = "hunter2"  # noqa: S105 -- what no message may repeat
NAMES = st.text(st.sampled_from("aB9_.@$+-\u00df\u4e2d"), min_size=1, max_size=9)
TABLES = st.text(st.sampled_from("aB9 _%&=#/?:@[]{}';,\u00df\u4e2d"), min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("written", "expected", "shown"),
    [
        (
            "postgresql://reader@db.example.org/clinic?table=visits",
            PostgresTable("db.example.org", "clinic", "visits", user="reader"),
            "postgresql://reader@db.example.org/clinic?table=public.visits",
        ),
        (
            "postgres://127.0.0.1:5433/clinic?sslmode=disable&table=a.Visits%20of%202026&connect_timeout=3",
            PostgresTable(
                "127.0.0.1", "clinic", "Visits of 2026", "a", port=5433, sslmode="disable", connect_seconds=3
            ),
            "postgresql://127.0.0.1:5433/clinic?table=a.Visits%20of%202026&sslmode=disable&connect_timeout=3",
        ),
        (
            "postgresql://ann%40home@[::1]/clinic?table=visits",
            PostgresTable("::1", "clinic", "visits", user="ann@home"),
            "postgresql://ann%40home@[::1]/clinic?table=public.visits",
        ),
        (
            "postgresql://%2Frun%2FPostgres/clinic?table=a.b.c",
            PostgresTable("/run/Postgres", "clinic", "c", "a.b"),
            "postgresql://%2Frun%2FPostgres/clinic?table=a.b.c",
        ),
    ],
)
def test_an_address_names_a_server_a_database_and_a_table(
    written: str, expected: PostgresTable, shown: str
) -> None:
    found = location_of(written, "--input")
    assert found == expected
    assert str(found) == shown
    assert location_of(shown, "--input") == expected


@given(NAMES, NAMES, TABLES, TABLES, st.integers(1, 65_535), st.sampled_from(["", "require", "verify-full"]))
def test_an_address_is_read_as_it_is_shown(
    user: str, database: str, schema: str, table: str, port: int, mode: str
) -> None:
    address = PostgresTable("db.example.org", database, table, schema, user, port, mode)
    assert location_of(str(address), "--input") == address


@pytest.mark.enemy("policy author", "reads a file")
@pytest.mark.parametrize(
    ("written", "message"),
    [
        (f"postgresql://ann:{SECRET}@h/d?table=t", "holds a password"),
        (f"postgresql://:{SECRET}@h/d?table=t", "holds a password"),
        ("postgresql://ann:@h/d?table=t", "holds a password"),
        (f"postgresql://ann@{SECRET}:x@h/d?table=t", "holds a password"),
        (f"postgresql://h/d?table=t&password={SECRET}", "has a parameter 'password', which is not read"),
        (f"postgresql://h/d?table=t&options=-c%20{SECRET}", "has a parameter 'options', which is not read"),
        (f"postgresql://h/d?table=t&host={SECRET}", "has a parameter 'host', which is not read"),
        (f"postgresql://h/d?table=t&{SECRET}=1", "has a parameter of another name, which is not read"),
        (f"postgresql://h/d?table=t&table={SECRET}", "has a parameter twice"),
        (f"postgresql://h/d?{SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://h/d?table=t#{SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://h:0/d?table={SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://h:65536/d?table={SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://h:{SECRET}/d?table=t", "is not a valid address of Postgres"),
        (f"postgresql://h,{SECRET}/d?table=t", "has no valid host"),
        (f"postgresql://h:1,{SECRET}:2/d?table=t", "is not a valid address of Postgres"),
        (f"postgresql://[{SECRET}]/d?table=t", "is not a valid address of Postgres"),
        (f"postgresql:///d?table={SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://%2Frun%2F..%20%2F{SECRET}/d?table=t", "has no valid host"),
        (f"postgresql://h\n/d?table={SECRET}", "is not a valid address of Postgres"),
        (f"postgresql://h?table={SECRET}", "has a name of a user or a database that is not read"),
        (f"postgresql://h/a=b{SECRET}?table=t", "has a name of a user or a database that is not read"),
        (f"postgresql://h/{SECRET}/d?table=t", "has a name of a user or a database that is not read"),
        (f"postgresql://h/d%00{SECRET}?table=t", "has a name of a user or a database that is not read"),
        (f"postgresql://h/{SECRET}", "names a database and no table"),
        (f"postgresql://h/d?table=%22{SECRET}", "has a name of a table that is not read"),
        (f"postgresql://h/d?table={SECRET}%00", "has a name of a table that is not read"),
        (f"postgresql://h/d?table=.{SECRET}", "has a name of a table that is not read"),
        (f"postgresql://h/d?table={SECRET}{'x' * 63}", "has a name of a table that is not read"),
        (f"postgresql://h/d?table={SECRET}&sslmode=prefer", "has an sslmode that is not allowed"),
        (f"postgresql://h/d?table=t&sslmode={SECRET}", "has an sslmode that is not allowed for this host"),
        (f"postgresql://localhost/d?table=t&sslmode={SECRET}", "has an sslmode that is not allowed"),
        (f"postgresql://h/d?table=t&connect_timeout={SECRET}", "has a connect_timeout that is not a number"),
        ("postgresql://h/d?table=t&connect_timeout=61", "has a connect_timeout that is not a number"),
        ("postgresql://h/d?table=t&connect_timeout=0", "has a connect_timeout that is not a number"),
    ],
)  # fmt: skip
def test_any_other_address_is_refused_and_not_repeated(written: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        location_of(written, "source.path")
    assert caught.value.where == "source.path"
    assert message in caught.value.message
    assert SECRET not in str(caught.value)
    assert caught.value.hint


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize(
    ("host", "mode", "counts"),
    [
        ("db.example.org", "", "verify-full"),
        ("db.example.org", "require", "require"),
        ("127.0.0.1.example.org", "", "verify-full"),
        ("127.0.0.1", "", "prefer"),
        ("localhost", "verify-ca", "verify-ca"),
        ("/run/postgresql", "", "prefer"),
    ],
)
def test_rows_travel_under_tls_but_on_this_machine(host: str, mode: str, counts: str) -> None:
    assert PostgresTable(host, "d", "t", sslmode=mode).tls == counts


@pytest.mark.enemy("policy author", "reads a file")
@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("postgresql://reader@h/clinic?table=visits", True),
        ("postgresql://reader@h:5432/clinic?table=other.visits", True),
        ("postgresql://reader@h/clinic2?table=visits", False),
        ("postgresql://reader@h.example.org/clinic?table=visits", False),
        ("postgresql://reader@h:5433/clinic?table=visits", False),
        ("postgresql://owner@h/clinic?table=visits", False),
        ("postgresql://h/clinic?table=visits", False),
        ("postgresql://reader@h/clinic?table=visits&sslmode=require", False),
        ("postgresql://reader@h/clinic?table=visits&connect_timeout=9", False),
    ],
)
def test_a_policy_names_tables_of_trusted_databases_alone(
    address: str, allowed: bool, tmp_path: Path
) -> None:
    trusted = Trusted(databases=(postgres_database("postgresql://reader@h/clinic", "postgres"),))
    if allowed:
        assert trusted.located(address, tmp_path, "source.path") == postgres_table(address, "source.path")
        with pytest.raises(PolicyError):
            Trusted().located(address, tmp_path, "source.path")
    else:
        with pytest.raises(PolicyError) as caught:
            trusted.located(address, tmp_path, "source.path")
        assert "is not a table of a database that the store's owner trusts" in caught.value.message
        assert "trusted.yaml" in caught.value.hint
