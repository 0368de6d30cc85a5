"""Connections to DuckDB in memory: nothing of one is in another, also after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tasks import duck
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).resolve().parents[3]
FORK = """
import os, sys
from pathlib import Path
from release_store.store import ReleaseStore
from tasks import duck

store = ReleaseStore.create(Path(sys.argv[1]))
with duck.connection() as con:
    con.execute("SELECT sum(range) FROM range(1_000_000)").fetchone()
if os.fork() == 0:
    with duck.connection() as con, duck.connection(threads=1) as other:
        found = con.execute("SELECT sum(range) FROM range(1_000_000)").fetchone()
        assert found == other.execute("SELECT sum(range) FROM range(1_000_000)").fetchone()
    assert store.n_events() == 1
    os._exit(7)
print(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_what_one_connection_makes_is_not_in_the_next() -> None:
    with duck.connection() as con:
        con.execute("CREATE TEMP TABLE mine AS SELECT 1")
        with duck.connection() as other, pytest.raises(duckdb.CatalogException):
            other.execute("FROM mine")
    with duck.connection() as con, pytest.raises(duckdb.CatalogException):
        con.execute("FROM mine")


def test_a_file_that_changed_is_read_as_it_is_now(tmp_path: Path) -> None:
    file = tmp_path / "some.parquet"
    for number in range(3):
        with duck.connection(threads=1) as con:
            con.execute(f"COPY (SELECT {number} AS number) TO '{file}' (FORMAT parquet)")
        os.utime(file, (1_700_000_000, 1_700_000_000))  # of the same size, and as old
        with duck.connection() as con:
            assert con.execute("FROM read_parquet(?)", [str(file)]).fetchall() == [(number,)]


def test_a_process_that_was_forked_has_instances_of_its_own(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK, str(tmp_path / "store")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=HANG_TIMEOUT,
    )
    assert done.stdout == "7\n"
