from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from release_store.audit import keys
from release_store.canonical import pretty_json
from release_store.db.connection import DATABASE
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.support.at_work import agreed, write_people
from tests.support.store.hand_made import approved, awaiting, publish_one, word

RELEASE = Path("releases/clinic/clinic-2025-r1")
CHECKPOINT = Path("releases/clinic/clinic-2025-r1.checkpoint.json")


@pytest.fixture(scope="module")
def two_releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two releases, the second approved by a person, and its key."""
    folder = tmp_path_factory.mktemp("two_releases")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(keys.KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        write_people(store.root)
        publish_one(store, approved(store, period="2024"))
        record = awaiting(store, period="2025")
        agreed(store, word(record), 1)
        publish_one(store, record.candidate_id)
    assert verify(store) == []
    return folder


@pytest.fixture
def history(two_releases: Path, tmp_path: Path) -> ReleaseStore:
    shutil.copytree(two_releases, tmp_path / "copy", symlinks=True)
    return ReleaseStore.open(tmp_path / "copy" / "store")


def test_a_copied_store_has_no_findings(history: ReleaseStore) -> None:
    assert verify(history) == []


def change(store: ReleaseStore, *statements: str, guarded: tuple[str, ...] = ("event",)) -> None:
    """Change the database as somebody would who can write its file: without its triggers."""
    with duckdb.connect(str(store.root / DATABASE)) as con:
        dropped = con.execute("SELECT trigger_name, table_name, sql FROM duckdb_triggers()").fetchall()
        for trigger, table, _ in dropped:
            if table in guarded:
                con.execute(f"DROP TRIGGER {trigger} ON {table}")
        for statement in statements:
            con.execute(statement)
        for _, table, sql in dropped:
            if table in guarded:
                con.execute(sql)


def found(store: ReleaseStore) -> dict[str, str]:
    return {finding.where: finding.what for finding in verify(store)}


def test_the_findings_are_one_line_each(history: ReleaseStore) -> None:
    shutil.rmtree(history.root / "releases")
    findings = verify(history)
    assert len(findings) > 5
    assert all("\n" not in str(finding) and finding.where and finding.what for finding in findings)


def test_a_payload_that_was_changed_is_found(history: ReleaseStore) -> None:
    change(
        history,
        "UPDATE event SET payload = replace(payload, 'pass', 'fail') WHERE action = 'candidate.assessed'",
    )
    findings = found(history)
    numbers = [event.number for event in history.events() if event.action == "candidate.assessed"]
    for number in numbers:
        assert "does not match its hash: it was changed" in findings[f"event {number}"]


@pytest.mark.parametrize("text", ["{", "[]", '{"a":1,"a":2}', '{"a":100000000000000000000}', ""])
def test_a_payload_that_is_no_json_any_more_is_found(history: ReleaseStore, text: str) -> None:
    change(history, f"UPDATE event SET payload = '{text}' WHERE number = 3")
    assert "does not match its hash: it was changed" in found(history)["event 3"]


def test_an_event_that_was_removed_is_found(history: ReleaseStore) -> None:
    change(history, "DELETE FROM event WHERE number = 3")
    assert any("follows event 2" in finding.what for finding in verify(history) if finding.where == "event 4")


def test_two_events_that_were_swapped_are_found(history: ReleaseStore) -> None:
    change(
        history,
        "UPDATE event SET number = 1000 WHERE number = 3",
        "UPDATE event SET number = 3 WHERE number = 4",
        "UPDATE event SET number = 4 WHERE number = 1000",
    )
    assert {"event 3", "event 4"} <= found(history).keys()


def test_a_tail_that_was_cut_is_found_by_the_signed_checkpoint(history: ReleaseStore) -> None:
    size = len(history.events())
    change(history, f"DELETE FROM event WHERE number > {size - 1}")
    assert found(history)["log"] == f"has {size - 1} events, but a signed checkpoint counts {size}"


def test_a_release_that_was_cut_out_whole_is_found_by_its_checkpoint(history: ReleaseStore) -> None:
    """Log, tables and folder are as they were before the release; only its checkpoint is left."""
    first = next(event.number for event in history.events() if event.object == "clinic-2025-c1")
    change(
        history,
        f"DELETE FROM event WHERE number >= {first}",
        "DELETE FROM release_file WHERE release_id = 'clinic-2025-r1'",
        "DELETE FROM release WHERE release_id = 'clinic-2025-r1'",
        guarded=("event", "release_file"),
    )
    change(
        history,
        *(
            f"DELETE FROM {table} WHERE candidate_id = 'clinic-2025-c1'"
            for table in ("decision", "gate_result", "candidate_file")
        ),
        guarded=("decision", "gate_result"),
    )
    change(history, "DELETE FROM candidate WHERE candidate_id = 'clinic-2025-c1'")
    shutil.rmtree(history.root / RELEASE)
    assert "events, but a signed checkpoint counts" in found(history)["log"]


@pytest.mark.enemy("steward", "changes history")
@pytest.mark.enemy("store writer", "changes history")
def test_a_log_rewritten_with_fresh_hashes_is_found_by_the_signed_checkpoint(history: ReleaseStore) -> None:
    from dataclasses import replace

    from release_store.audit.log import GENESIS, check_chain, event_hash

    head, statements, forged = GENESIS, [], []
    for event in history.events():
        other = replace(
            event, actor="eve" if event.action == "decision.approve" else event.actor, previous=head
        )
        other = replace(other, hash=event_hash(other))
        head = other.hash
        forged.append(other)
        statements.append(
            f"UPDATE event SET actor = '{other.actor}', previous = '{other.previous}', hash = '{other.hash}' "
            f"WHERE number = {other.number}"
        )
    change(history, *statements)
    assert check_chain(history.events()) == []
    assert "in the log is not the signed one" in found(history)["clinic/clinic-2025-r1.checkpoint.json"]


def test_a_flipped_byte_in_a_published_file_is_found(history: ReleaseStore) -> None:
    file = history.root / RELEASE / "data.csv"
    data = bytearray(file.read_bytes())
    data[0] ^= 1
    file.write_bytes(data)
    assert list(found(history)) == ["clinic-2025-r1/data.csv"]


def damage_by(path: Path, do: Callable[[Path], object]) -> Callable[[ReleaseStore], object]:
    return lambda store: do(store.root / path)


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        (damage_by(RELEASE / "manifest.json", Path.unlink), "clinic-2025-r1/manifest.json"),
        (damage_by(RELEASE / "more.csv", Path.touch), "clinic-2025-r1/more.csv"),
        (damage_by(RELEASE, shutil.rmtree), "clinic-2025-r1"),
        (damage_by(CHECKPOINT, Path.unlink), "clinic/clinic-2025-r1.checkpoint.json"),
        (damage_by(CHECKPOINT, lambda path: path.write_text("{")), "clinic/clinic-2025-r1.checkpoint.json"),
        (damage_by(CHECKPOINT, lambda path: path.write_text("[]")), "clinic/clinic-2025-r1.checkpoint.json"),
        (damage_by(Path("releases/clinic/latest"), Path.unlink), "clinic/latest"),
        (damage_by(Path("releases/catalog.json"), lambda path: path.write_bytes(b"{}")), "catalog.json"),
        (damage_by(Path("releases/clinic/clinic-2030-r1"), Path.mkdir), "clinic/clinic-2030-r1"),
        (damage_by(Path("public-key.pem"), Path.unlink), "public-key.pem"),
        (damage_by(Path("public-key.pem"), lambda path: path.write_bytes(b"\xff")), "public-key.pem"),
        (damage_by(Path(DATABASE), lambda path: path.write_bytes(b"x" * 5000)), DATABASE),
        (damage_by(Path(DATABASE), Path.unlink), DATABASE),
    ],
)
def test_damage_of_a_file_is_a_finding(
    history: ReleaseStore, damage: Callable[[ReleaseStore], object], where: str
) -> None:
    damage(history)
    assert any(place.endswith(where) for place in found(history))


@pytest.mark.parametrize(
    ("field", "value"),
    [("size", 1), ("head", "0" * 64), ("at", "2020-01-01"), ("store_id", "x"), ("signature", "00")],
)
def test_an_edited_checkpoint_is_found(history: ReleaseStore, field: str, value: object) -> None:
    path = history.root / CHECKPOINT
    path.write_bytes(pretty_json({**json.loads(path.read_text()), field: value}))
    assert list(found(history)) == ["clinic/clinic-2025-r1.checkpoint.json"]


def test_a_checkpoint_signed_by_another_key_is_found(history: ReleaseStore, tmp_path: Path) -> None:
    strange = keys.make_key(tmp_path / "another")
    path = history.root / CHECKPOINT
    signed = json.loads(path.read_text())
    forged = keys.sign_checkpoint(
        strange, store_id=signed["store_id"], size=signed["size"], head=signed["head"], at=signed["at"]
    )
    path.write_bytes(pretty_json(forged))
    (history.root / keys.PUBLIC_KEY_FILE).write_bytes(keys.public_pem(strange))
    assert "is not the store's first key" in found(history)["public-key.pem"]


@pytest.mark.parametrize(
    ("statement", "table", "where", "what"),
    [
        ("UPDATE gate_result SET verdict = 'fail'", "gate_result", "clinic-2025-r1", "gate k says fail"),
        (
            "UPDATE gate_result SET value = 9",
            "gate_result",
            "clinic-2025-c1",
            "its gate results differ from the logged ones",
        ),
        ("UPDATE gate_result SET witness = '{ }'", "gate_result", "clinic-2025-c1", "text where JSON was"),
        (
            "UPDATE gate_result SET attacker = ''",
            "gate_result",
            "clinic-2025-c1",
            "its gate results differ from the logged ones",
        ),
        ("DELETE FROM gate_result", "gate_result", "clinic-2025-r1", "no gate was run"),
        (
            "DELETE FROM proven_decision",
            "proven_decision",
            "clinic-2025-r1",
            "has 0 of 1 required approval",
        ),
        (
            "UPDATE proven_decision SET reason = 'x'",
            "proven_decision",
            "clinic-2025-c1",
            "its decisions differ from the logged ones",
        ),
        (
            "UPDATE proven_decision SET policy_digest = 'x'",
            "proven_decision",
            "clinic-2025-c1",
            "a decision names digests other than the candidate's",
        ),
        (
            "UPDATE candidate SET candidate_digest = 'x'",
            "",
            "clinic-2025-c1",
            "candidate_digest differs from",
        ),
        ("UPDATE candidate SET made_by = 'bob'", "", "clinic-2025-c1", "by the person who made it"),
        ("UPDATE candidate SET state = 'staged'", "", "clinic-2025-c1", "published in the log"),
        (
            "UPDATE policy SET document = '{}'",
            "policy",
            "clinic-2025-c1",
            "the stored policy is not the policy of the candidate",
        ),
        ("UPDATE policy SET document = '{'", "policy", "clinic-2025-c1", "where JSON was written"),
        ("UPDATE release SET state = 'withdrawn'", "", "clinic-2025-r1", "published in the log"),
        (
            "UPDATE release_file SET sha256 = 'x'",
            "release_file",
            "clinic-2025-r1",
            "digests of its files differ from",
        ),
        (
            "UPDATE class_size SET size = 100",
            "",
            "clinic-2025-r1",
            "its equivalence classes differ from the assessed ones",
        ),
        (
            "UPDATE class_attribute SET kind = 'another' WHERE kind = 'sensitive'",
            "",
            "clinic-2025-r1",
            "its equivalence classes are inconsistent",
        ),
        ("DELETE FROM class_size", "", "clinic-2025-r1", "equivalence classes"),
    ],
)
@pytest.mark.by_day(6)
def test_a_table_that_was_changed_is_found_by_the_log(
    history: ReleaseStore, statement: str, table: str, where: str, what: str
) -> None:
    change(history, statement, guarded=(table,))
    assert any(finding.where == where and what in finding.what for finding in verify(history))


def test_dropped_triggers_are_found(history: ReleaseStore) -> None:
    with duckdb.connect(str(history.root / DATABASE)) as con:
        con.execute("DROP TRIGGER event_keeps_deletes ON event")
    assert found(history) == {"event_keeps_deletes": "the trigger is missing"}


def test_a_table_that_is_gone_is_a_finding(history: ReleaseStore) -> None:
    change(history, "DROP TABLE class_size")
    told = "the table class_size is missing; restore the store from a backup"
    assert told in found(history).values()


def test_a_log_that_is_empty_is_a_finding(history: ReleaseStore) -> None:
    change(history, "DELETE FROM event")
    assert found(history)["event 1"] == "the log does not begin with the creation of the store"


def test_a_store_that_was_made_with_another_key_than_the_one_at_hand_is_found(
    history: ReleaseStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys.make_key(tmp_path / "mine")
    monkeypatch.setenv(keys.KEY_VARIABLE, str(keys.key_path(tmp_path / "mine")))
    assert "is not the public half of" in found(history)["public-key.pem"]
