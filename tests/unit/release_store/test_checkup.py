"""Whether a store is fit for work: each check finds what it is there for, in one line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

import duckdb
import pytest

from cli.__main__ import main
from policy.errors import UsageError
from release_store import checkup as module
from release_store.audit import keys
from release_store.checkup import Check, Condition, check_store
from release_store.db import connection
from release_store.db.connection import DATABASE, migrations
from release_store.person_key import PERSON_KEY_VARIABLE
from release_store.publishing import publication
from release_store.publishing.locks import locks_in_use
from release_store.publishing.recovery import REASON
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.support.store.hand_made import approved, publish_one, stage

ROOT = Path(__file__).parents[3]
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if name != keys.KEY_VARIABLE},
    "PYTHONPATH": str(ROOT),
}
HOLDER = """
import sys
from pathlib import Path
from release_store.store import ReleaseStore
with ReleaseStore.open(Path(sys.argv[1])).series_lock("clinic"):
    print("held", flush=True)
    sys.stdin.read()
"""
NAMES = [
    "database",
    "trust",
    "triggers",
    "clock",
    "signing key",
    "key of people",
    "locks",
    "interrupted work",
    "checkpoints",
    "folders",
    "folder modes",
    "file system",
    "disk space",
]


@pytest.fixture(autouse=True)
def _no_key_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)


def not_fine(store: ReleaseStore) -> list[Check]:
    return [check for check in check_store(store.root) if check.condition is not Condition.FINE]


def only(store: ReleaseStore, name: str, said: str) -> None:
    """One check finds something that a person has to mend, in one line; all others are fine."""
    (check,) = not_fine(store)
    assert (check.name, check.condition) == (name, Condition.WRONG)
    assert said in check.found
    assert check.hint
    assert "\n" not in check.found + check.hint


def test_a_store_that_is_well_is_fine_in_every_check(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    checks = check_store(store.root)
    assert [check.name for check in checks] == NAMES
    assert {check.condition for check in checks} == {Condition.FINE}
    assert checks[0].found == f"opens, schema {max(migrations())}"
    assert f"{keys.key_path(store.root)} is the store's, mode 0600" in checks[4].found


def test_a_folder_that_is_not_there_is_a_users_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no store here"):
        check_store(tmp_path / "nothing")
    assert main(["--store", str(tmp_path / "nothing"), "doctor"]) == 2


def missing(store: ReleaseStore) -> None:
    (store.root / DATABASE).unlink()


def broken(store: ReleaseStore) -> None:
    (store.root / DATABASE).write_bytes(b"x" * 5000)


def cut(store: ReleaseStore) -> None:
    os.truncate(store.root / DATABASE, 4096 * 3)


def empty(store: ReleaseStore) -> None:
    (store.root / DATABASE).unlink()
    duckdb.connect(str(store.root / DATABASE)).close()


def newer(store: ReleaseStore) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con:
        con.execute("INSERT INTO schema_migration VALUES (999, 'later', 'now')")


@pytest.mark.parametrize("damage", [missing, broken, cut, empty, newer])
def test_a_database_that_is_no_good_is_one_line(
    store: ReleaseStore, capsys: pytest.CaptureFixture[str], damage
) -> None:
    damage(store)
    assert main(["--store", str(store.root), "doctor"]) == 6
    told = capsys.readouterr()
    assert told.err == ""
    wrong = [line for line in told.out.splitlines() if not line.startswith("  fine  ")]
    assert len(wrong) == 1
    assert wrong[0].startswith(" wrong  database: ")
    assert "Traceback" not in told.out


def test_a_database_that_somebody_holds_is_told_with_the_process(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE", 0.2)
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(store.root / DATABASE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        only(store, "database", f"process {holder.pid} has used the store")
        holder.kill()


def test_a_dropped_trigger_is_told(store: ReleaseStore) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con:
        con.execute("DROP TRIGGER event_keeps_deletes ON event")
    only(store, "triggers", "event_keeps_deletes")


def test_a_signing_key_that_is_gone_open_or_anothers_is_told(
    store: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = keys.key_path(store.root)
    path.chmod(0o644)
    only(store, "signing key", "can be read by others")
    kept = path.read_bytes()
    path.unlink()
    only(store, "signing key", "cannot be read (FileNotFoundError)")
    keys.make_key(store.root.with_name("another"))
    monkeypatch.setenv(keys.KEY_VARIABLE, str(keys.key_path(store.root.with_name("another"))))
    only(store, "signing key", "of another store")
    monkeypatch.setenv(keys.KEY_VARIABLE, str(store.root / "inside.key"))
    only(store, "signing key", "inside the store")
    monkeypatch.delenv(keys.KEY_VARIABLE)
    path.write_bytes(kept)
    path.chmod(0o600)
    (store.root / keys.PUBLIC_KEY_FILE).unlink()
    only(store, "signing key", "public-key.pem: is missing")


def test_a_key_of_people_of_no_use_is_told(
    store: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "people.key"
    path.write_bytes(b"short")
    path.chmod(0o600)
    monkeypatch.setenv(PERSON_KEY_VARIABLE, str(path))
    only(store, "key of people", "has 5 bytes")
    path.write_bytes(b"k" * 40)
    assert not_fine(store) == []


def test_what_a_dead_run_left_is_ended_and_told_once(store: ReleaseStore) -> None:
    name = stage(store).candidate_id
    (store.root / "candidates" / store.next_candidate_id("clinic", "2025")).mkdir()
    assert [(check.name, check.condition, check.found) for check in not_fine(store)] == [
        ("interrupted work", Condition.MENDED, f"{name}: failed, {REASON}"),
        ("interrupted work", Condition.MENDED, "candidates/clinic-2025-c1: removed, it was never assessed"),
    ]
    assert store.candidate(name).state is CandidateState.FAILED
    assert not_fine(store) == []


def test_an_interrupted_publication_is_finished_or_undone_and_doctor_says_which(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for period, step, said in (
        ("2024", "finish_publication", "publication finished as clinic-2024-r1"),
        ("2025", "build_release", "publication undone, nothing was public; state: approved"),
    ):
        name = approved(store, period=period)
        with monkeypatch.context() as patch:
            patch.setattr(publication, step, lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                publish_one(store, name)
        assert main(["--store", str(store.root), "doctor"]) == 0
        assert f"mended  interrupted work: {name}: {said}\n" in capsys.readouterr().out


def test_a_release_that_is_not_what_was_to_be_published_needs_a_person(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = approved(store)
    with monkeypatch.context() as patch:
        patch.setattr(publication, "finish_publication", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publish_one(store, name)
    (store.root / "releases/clinic/clinic-2024-r1/data.csv").write_text("changed\n")
    mended, wrong = not_fine(store)
    assert (mended.condition, mended.found.split(",")[0]) == (Condition.MENDED, f"{name}: failed")
    assert wrong.found == "releases/clinic/clinic-2024-r1 belongs to no candidate and no release"
    only(store, "folders", "releases/clinic/clinic-2024-r1")


def test_a_folder_that_nobody_accounts_for_is_told(store: ReleaseStore) -> None:
    (store.root / "candidates/notes").mkdir()
    only(store, "folders", "candidates/notes")


def test_a_store_that_cannot_be_written_is_looked_at_and_left_as_it_is(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_one(store, approved(store))
    monkeypatch.setattr(connection, "_open", lambda path, _timeout: connection._open_to_read(path))
    checks = check_store(store.root)
    assert {check.condition for check in checks} == {Condition.FINE}
    assert checks[0].found.endswith("; the store is read-only, so nothing is repaired")
    (store.root / "releases/catalog.json").unlink()
    only(store, "interrupted work", "releases/catalog.json: is missing or out of date")
    assert not (store.root / "releases/catalog.json").exists()


def test_a_candidate_that_was_never_judged_is_told_where_nothing_can_be_mended(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = stage(store).candidate_id
    with monkeypatch.context() as patch:
        patch.setattr(connection, "_open", lambda path, _timeout: connection._open_to_read(path))
        only(store, "interrupted work", f"{name}: was never assessed")
    assert store.candidate(name).state is CandidateState.STAGED


def test_a_lock_is_told_with_who_holds_it_and_nobody_is_disturbed(store: ReleaseStore) -> None:
    publish_one(store, approved(store))
    name = stage(store, period="2025").candidate_id
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.root)],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        (lock,) = locks_in_use(store.root)
        assert lock.name == "clinic.lock"
        assert lock.process in (holder.pid, None)
        if Path("/proc/locks").exists():
            assert lock.process == holder.pid
        assert not_fine(store) == []
        found = {check.name: check.found for check in check_store(store.root)}
        assert found["locks"] == f"held: {lock}"
        assert store.candidate(name).state is CandidateState.STAGED
        holder.kill()
    assert locks_in_use(store.root) == []
    assert [check.condition for check in not_fine(store)] == [Condition.MENDED]


@pytest.mark.parametrize("folder", [".", "candidates", "releases", "locks"])
def test_a_folder_that_others_can_look_into_is_told(store: ReleaseStore, folder: str) -> None:
    (store.root / folder).chmod(0o750)
    only(store, "folder modes", "has mode 0750")


def test_a_folder_that_is_gone_is_told(store: ReleaseStore) -> None:
    (store.root / "candidates").rmdir()
    only(store, "folder modes", "candidates is missing")


def test_folders_on_two_file_systems_are_told(store: ReleaseStore) -> None:
    other = Path("/dev/shm")  # noqa: S108 -- on Linux a file system in memory
    if not other.is_dir() or other.stat().st_dev == store.root.stat().st_dev:
        pytest.skip("there is no second file system here")
    with tempfile.TemporaryDirectory(dir=other) as name:
        (store.root / "candidates").rmdir()
        (store.root / "candidates").symlink_to(name)
        only(
            store,
            "file system",
            "candidates, releases lie on 2 file systems; a file cannot be renamed from one to another",
        )


def test_a_disk_that_is_full_is_told(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 5, 5 * 1024**2))
    only(store, "disk space", "5 MiB are free")


def test_json_says_the_same(store: ReleaseStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--store", str(store.root), "doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    names = [one["check"] for one in told["checks"]]
    assert names[: len(NAMES)] == NAMES  # what stands around the store follows
    assert {"people", "settings", "notices"} <= {*names[len(NAMES) :]}
    (store.root / "locks").chmod(0o777)
    assert main(["--store", str(store.root), "doctor", "--json"]) == 6
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is False
    assert [one["condition"] for one in told["checks"]].count("wrong") == 1
