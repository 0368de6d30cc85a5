"""A store that an earlier releasegate made opens, verifies and takes releases under this one."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path

import duckdb
import pytest

from cli.__main__ import main
from policy.errors import StoreError, VerificationFailed
from release_store.audit import keys
from release_store.db import connection
from release_store.db.connection import DATABASE, migrations
from release_store.records import CandidateState, ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed, people_in
from tests.fixtures.make_store import BLOCKED, HERE, TEST_KEY, WAITING, make, pack, unpack
from tests.support.at_work import decide, write_people

STORES = sorted(HERE.glob("store_schema_*.zip"))


def schema_of(store: Path) -> int:
    with duckdb.connect(str(store / DATABASE), read_only=True) as con:
        found = con.execute("SELECT max(number) FROM schema_migration").fetchone()
    assert found is not None
    return int(found[0])


def logged_files(store: ReleaseStore) -> list[tuple[str, dict[str, str]]]:
    return [(one.release_id, one.files) for one in store.releases()]


@pytest.fixture(params=STORES, ids=[path.stem for path in STORES])
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An old store as it was packed, never opened since, with its test key at hand."""
    unpack(request.param, tmp_path)
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / TEST_KEY))
    write_people(tmp_path / "store")
    assert schema_of(tmp_path / "store") == int(request.param.stem.rsplit("_", 1)[1])
    return tmp_path / "store"


def test_the_first_schema_has_its_store() -> None:
    assert STORES[0].stem == "store_schema_1"
    assert all(path.stat().st_size < 300_000 for path in STORES)
    for path in STORES:
        with zipfile.ZipFile(path) as file:
            assert TEST_KEY in file.namelist()


def test_an_old_store_opens_and_verifies(old: Path) -> None:
    store = ReleaseStore.open(old)
    assert schema_of(old) == max(migrations())
    assert verify(store) == []
    assert [one.release_id for one in store.releases("clinic")] == ["clinic-2024-r1", "clinic-2025-r1"]
    assert {one.state for one in store.releases()} == {ReleaseState.PUBLISHED}
    assert [one.by for one in store.decisions("clinic-2025-c1")] == ["bob"]
    assert store.candidate(WAITING).state is CandidateState.AWAITING_APPROVAL
    assert store.candidate(BLOCKED).state is CandidateState.BLOCKED
    assert len(store.earlier_classes("clinic")) == 2
    assert (store.figures(WAITING), store.all_figures()) == (None, {})


def test_an_old_store_that_cannot_be_written_verifies_as_it_is(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = schema_of(old)
    monkeypatch.setattr(connection, "_open", lambda path, _timeout: connection._open_to_read(path))
    store = ReleaseStore.open(old)
    assert verify(store) == []
    (approval,) = store.decisions("clinic-2025-c1")
    assert (approval.proof is None) is (schema < 4)  # decisions have proofs since
    assert (store.figures(WAITING), store.all_figures()) == (None, {})
    assert schema_of(old) == schema


ALTERED = r"that does not belong to the store|was altered"


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize(
    "sql",
    ["ALTER TABLE candidate ADD COLUMN more INTEGER", "CREATE VIEW sly AS FROM candidate"],
    ids=["column", "view"],
)
def test_an_old_store_whose_definitions_were_altered_is_not_migrated(old: Path, sql: str) -> None:
    with duckdb.connect(str(old / DATABASE)) as con:
        con.execute(sql)
    schema = schema_of(old)
    with pytest.raises(VerificationFailed, match=ALTERED):
        ReleaseStore.open(old).events()
    assert any(re.search(ALTERED, one.what) for one in verify(ReleaseStore(old, "")))
    assert schema_of(old) == schema


def test_what_an_old_store_published_is_asked_todays_gates(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its two releases were let out by three gates; e was not among them, and 2 is under the default of 3.

    Nobody is followed, so that beside the first it cannot be told what both leave possible.
    """
    assert main(["--store", str(old), "audit", "clinic", "--by", "eve", "--json"]) == 4
    found = json.loads(capsys.readouterr().out)["releases"]
    assert [one["release"] for one in found] == ["clinic-2024-r1", "clinic-2025-r1"]
    assert [one["not_passed"] for one in found] == [["e"], ["e", "worlds"]]
    assert main(["--store", str(old), "diff", "clinic-2024-r1", WAITING]) == 0
    assert verify(ReleaseStore.open(old)) == []


def test_an_old_store_takes_another_release(old: Path) -> None:
    store = ReleaseStore.open(old)
    logged = store.events()
    record = assessed(store, "clinic", "2027", approvers=1)
    decide(store, record.candidate_id, "approve", by="cyd", reason="looked at it")
    made = store.release("clinic-2027-r1")
    assert (made.candidate_id, made.number) == (record.candidate_id, 3)
    assert list(store.all_figures()) == [record.candidate_id]
    assert [name for name, one in logged_files(store) if "report.html" in one] == [made.release_id]
    assert store.events()[: len(logged)] == logged
    assert verify(store) == []


def test_a_policy_looser_than_an_old_releases_takes_as_many_as_that_one(old: Path) -> None:
    store = ReleaseStore.open(old)
    with pytest.raises(StoreError, match="approval by people is required"):
        assessed(store, "clinic", "2027")
    (record,) = (one for one in store.candidates("clinic") if one.period == "2027")
    required = record.summary.required_approvals
    assert required is not None
    assert (required.needed, required.compared_with) == (1, "clinic-2025-r1")
    assert verify(store) == []


def test_an_old_store_takes_a_release_with_hashes_of_its_people(old: Path) -> None:
    had = schema_of(old)
    store = ReleaseStore.open(old)
    record = assessed(store, "clinic", "2027", approvers=1, people=people_in("ann", "bea"))
    decide(store, record.candidate_id, "approve", by="cyd", reason="looked at it")
    found = store.people_in_common(record.candidate_id)
    assert found is not None
    assert found.n == 2
    before = None if had == 1 else 1  # the first schema had no people
    assert found.earlier == {"clinic-2024-r1": None, "clinic-2025-r1": before}
    assert verify(store) == []


def test_a_candidate_that_waited_in_an_old_store_is_approved_and_published(old: Path) -> None:
    store = ReleaseStore.open(old)
    outcome = decide(store, WAITING, "approve", by="cyd", reason="looked at it")
    assert (outcome.state, outcome.release_id) == ("published", "clinic-2026-r1")
    assert verify(store) == []


def test_a_store_comes_out_of_its_zip_as_it_went_in(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    make(tmp_path / "before")
    pack(tmp_path / "before", tmp_path / "store.zip")
    unpack(tmp_path / "store.zip", tmp_path / "after")
    for path in sorted((tmp_path / "before").rglob("*")):
        copy = tmp_path / "after" / path.relative_to(tmp_path / "before")
        assert path.is_symlink() == copy.is_symlink()
        assert path.lstat().st_mode == copy.lstat().st_mode
        assert path.is_dir() or path.read_bytes() == copy.read_bytes()
