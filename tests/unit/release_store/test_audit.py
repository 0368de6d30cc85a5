from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
import rfc8785

from policy.errors import StoreError
from release_store.audit import log as audit
from release_store.audit.log import check_chain
from release_store.db.connection import transaction
from release_store.store import ReleaseStore
from tests.support.timeouts import HANG_TIMEOUT

WRITER = """
import sys
from pathlib import Path
from release_store.db import connection
from release_store.store import ReleaseStore
from tests.support.timeouts import HANG_TIMEOUT
connection.LOCK_TIMEOUT = HANG_TIMEOUT
store = ReleaseStore.open(Path(sys.argv[1]))
for n in range(8):
    store.record_validation(
        series="clinic", period="2024", input_digest=f"{sys.argv[2]}-{n}", n_rows=1, n_columns=1,
        passed=True, results=[], actor=sys.argv[2])
"""
ROOT = Path(__file__).parents[3]


def write(store: ReleaseStore, count: int) -> None:
    with transaction(store.root) as con:
        for n in range(count):
            audit.append(con, "ann", "tried", f"thing {n}", "why", {"n": n, "share": 0.5, "large": 1e17})


def test_an_event_is_hashed_over_all_its_other_fields(store: ReleaseStore) -> None:
    write(store, 1)
    first, second = store.events()
    assert first.previous == "0" * 64
    assert second.previous == first.hash
    fields = dataclasses.asdict(second)
    own = fields.pop("hash")
    assert own == hashlib.sha256(rfc8785.dumps(fields)).hexdigest()


def test_a_whole_chain_has_no_findings(store: ReleaseStore) -> None:
    write(store, 5)
    assert [event.number for event in store.events()] == [1, 2, 3, 4, 5, 6]
    assert check_chain(store.events()) == []
    assert [event.number for event in store.events(after=4)] == [5, 6]


def test_every_field_of_every_event_is_bound(store: ReleaseStore) -> None:
    write(store, 2)
    events = store.events()
    for n, event in enumerate(events):
        for field in dataclasses.fields(event):
            other = {"number": 77, "payload": {"n": -1}}.get(field.name, "other")
            changed = [*events[:n], dataclasses.replace(event, **{field.name: other}), *events[n + 1 :]]
            assert check_chain(changed), (n, field.name)


def test_a_removed_or_swapped_event_is_found(store: ReleaseStore) -> None:
    write(store, 4)
    events = store.events()
    for n in range(len(events) - 1):
        assert check_chain(events[:n] + events[n + 1 :])
        assert check_chain([*events[:n], events[n + 1], events[n], *events[n + 2 :]])


def change_with_event(con: duckdb.DuckDBPyConnection, payload: dict[str, object]) -> None:
    con.execute("INSERT INTO store_info VALUES ('a', 'b')")
    audit.append(con, "ann", "tried", "it", "", payload)


def test_an_event_that_cannot_be_written_leaves_no_change(store: ReleaseStore) -> None:
    before = store.events()
    with pytest.raises(StoreError), transaction(store.root) as con:
        change_with_event(con, {"bad": object()})
    assert store.events() == before
    with transaction(store.root) as con:
        assert con.execute("SELECT * FROM store_info WHERE name = 'a'").fetchall() == []


@pytest.mark.faults
def test_four_processes_that_write_at_once_lose_no_event(store: ReleaseStore) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store.root), f"p{n}"], env=environment)
        for n in range(4)
    ]
    assert [writer.wait(timeout=HANG_TIMEOUT) for writer in writers] == [0, 0, 0, 0]
    events = store.events()
    assert check_chain(events) == []
    assert len(events) == 1 + 4 * 8
    for n in range(4):
        own = [event.payload["input"] for event in events if event.actor == f"p{n}"]
        assert own == [f"p{n}-{m}" for m in range(8)]
