"""Alterations of a store are found by verify: a fixed sample of every kind, and a thousand at random."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policy.errors import UsageError
from release_store.audit import keys
from release_store.audit.log import Finding
from release_store.canonical import pretty_json
from release_store.db.connection import connect
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults import alterations
from tests.faults.alterations import KINDS, Kept


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kept]:
    folder = tmp_path_factory.mktemp("alterations")
    return folder, alterations.make_template(folder)


def test_an_alteration_of_every_kind_is_found(template: tuple[Path, Kept]) -> None:
    folder, kept = template
    made = list(alterations.alter(len(KINDS), 1, folder, kept))
    assert {one.kind for one in made} == KINDS.keys()
    assert [f"{one.number} {one.kind}: {one.what}" for one in made if not one.findings] == []


def test_an_alteration_of_every_kind_is_told_before_a_publication(tmp_path: Path) -> None:
    made = list(alterations.published_after(len(KINDS), 2, tmp_path))
    assert made[0].findings == (alterations.UNHARMED,)
    assert [f"{one.number} {one.kind}: {one.what}" for one in made if not one.findings] == []
    told = {one.kind for one in made if one.findings not in ((), (alterations.UNHARMED,))}
    # Files of other candidates bear on nothing that is published; tombstones are written anew from the log.
    others = {"a byte of what waits", "rows where they do not belong", "a byte of a tombstone"}
    assert KINDS.keys() - told <= others


@pytest.mark.nightly
def test_a_thousand_alterations_are_told_before_a_publication(tmp_path: Path) -> None:
    made = list(alterations.published_after(1_000, 2, tmp_path))
    assert [f"{one.number} {one.kind}: {one.what}" for one in made if not one.findings] == []


@pytest.mark.nightly
def test_a_thousand_alterations_are_found(tmp_path: Path) -> None:
    made = list(alterations.alter(1_000, 1, tmp_path))
    assert [f"{one.number} {one.kind}: {one.what}" for one in made if not one.findings] == []
    assert Counter(one.kind for one in made).keys() == KINDS.keys()
    assert len({one.what for one in made}) > 500


def test_every_column_of_every_table_can_be_altered(template: tuple[Path, Kept]) -> None:
    """Random cells seldom come to a column of few rows: each is looked at here, with several values."""
    with connect(template[0] / "template/store") as con:
        columns = con.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns "
            "WHERE table_name IN (SELECT unnest(?::VARCHAR[])) ORDER BY ALL",
            [list(alterations.TABLES)],
        ).fetchall()
        assert {table for table, _, _ in columns} == set(alterations.TABLES)
        for table, column, kind in columns:
            found = con.execute(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL").fetchone()
            if found is None:
                continue
            # The same value now and then is another try; so many in a row are a column that nothing alters.
            others = {repr(alterations._other(found[0], kind, random.Random(seed))) for seed in range(20)}  # noqa: S311
            assert others - {repr(found[0])}, (table, column, kind)


@pytest.mark.parametrize("seed", range(3))
def test_a_byte_of_the_sealed_values_is_found(copy: Path, seed: int) -> None:
    with alterations.unguarded(copy) as con:
        name, sealed = con.execute("SELECT * FROM person_values ORDER BY ALL").fetchall()[seed]
        other = alterations._other(sealed, "BLOB", random.Random(seed))  # noqa: S311
        con.execute("UPDATE person_values SET sealed = ? WHERE candidate_id = ?", [other, name])
    assert name in {finding.where for finding in verify(ReleaseStore.open(copy))}


@pytest.fixture
def copy(template: tuple[Path, Kept], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the store, whose signing key is not at hand."""
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "no.key"))
    shutil.copytree(template[0] / "template/store", tmp_path / "copy/store", symlinks=True)
    return tmp_path / "copy/store"


@pytest.fixture
def kept(template: tuple[Path, Kept]) -> Kept:
    return template[1]


def test_what_was_kept_agrees_with_a_store_that_nobody_touched(copy: Path, kept: Kept) -> None:
    store = ReleaseStore.open(copy)
    assert verify(store, checkpoint=kept.checkpoint, public_key=str(kept.public_key)) == []
    assert verify(store, checkpoint=kept.checkpoint) == []


def test_a_history_signed_anew_is_found_by_what_was_kept_alone(
    copy: Path, kept: Kept, tmp_path: Path
) -> None:
    rng = random.Random(3)  # noqa: S311
    events = ReleaseStore.open(copy).events()
    forged = 4, replace(events[4], reason="another reason")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alterations, "_forged", lambda *_: forged)
        alterations.rewritten_and_signed(copy, rng)
    (tmp_path / "no.key").unlink()
    store = ReleaseStore.open(copy)
    alone = verify(
        store
    )  # an answer is signed for the hash of its question, which is another now, as is a seal
    assert {re.sub(r"clinic-\S+", "it", one.what) for one in alone} == {
        "answers no open question",
        "approves it while a question has no answer",
        "seals another event than the one before it",
        "its gate results lack the seal of the store's key",
        "its report lacks the seal of the store's key",
        "the start of its publication lacks the seal of the store's key",
    }

    def more(**kept: Any) -> list[Finding]:
        return [one for one in verify(store, **kept) if one not in alone]

    found = {finding.where: finding.what for finding in more(checkpoint=kept.checkpoint)}
    assert list(found) == [str(kept.checkpoint)]
    assert {finding.where for finding in more(public_key=str(kept.public_key))} == {"public-key.pem"}
    both = more(checkpoint=kept.checkpoint, public_key=str(kept.public_key))
    assert {finding.where for finding in both} == {"public-key.pem", str(kept.checkpoint)}
    assert any("in the log is not the signed one" in finding.what for finding in both)


def test_a_log_cut_behind_every_checkpoint_that_is_left_is_found_by_the_one_kept(
    copy: Path, kept: Kept
) -> None:
    with alterations.unguarded(copy) as con:
        con.execute("DELETE FROM event WHERE number > 3")
    for path in copy.glob("releases/*/*.checkpoint.json"):
        path.unlink()
    found = [finding.what for finding in verify(ReleaseStore.open(copy), checkpoint=kept.checkpoint)]
    size = json.loads(kept.checkpoint.read_text())["size"]
    assert f"has 3 events, but a signed checkpoint counts {size}" in found


def test_a_kept_checkpoint_that_was_edited_or_is_of_another_store_is_found(
    copy: Path, kept: Kept, tmp_path: Path
) -> None:
    store = ReleaseStore.open(copy)
    said = json.loads(kept.checkpoint.read_text())
    edited = tmp_path / "edited.json"
    edited.write_bytes(pretty_json({**said, "size": 1}))
    assert "is not signed" in verify(store, checkpoint=edited)[0].what
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(keys.KEY_VARIABLE, str(kept.checkpoint.parents[1] / "signing.key"))
        other = ReleaseStore.create(tmp_path / "other")
    assert "belongs to a different store" in verify(other, checkpoint=kept.checkpoint)[0].what


@pytest.mark.parametrize("content", [None, b"", b"{"])
def test_a_kept_file_that_cannot_be_read_is_a_users_error(
    copy: Path, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "kept"
    if content is not None:
        path.write_bytes(content)
    store = ReleaseStore.open(copy)
    with pytest.raises(UsageError, match="the checkpoint cannot be read"):
        verify(store, checkpoint=path)
    with pytest.raises(UsageError, match="the public key cannot be read"):
        verify(store, public_key=str(path))


def test_the_command_takes_what_was_kept(
    copy: Path, kept: Kept, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from cli.__main__ import main

    asked = ["--store", str(copy), "verify", "--checkpoint", str(kept.checkpoint)]
    assert main([*asked, "--public-key", str(kept.public_key)]) == 0
    assert "OK, no tampering found" in capsys.readouterr().out
    alterations.rewritten(copy, random.Random(1))  # noqa: S311
    assert main(asked) == 6
    assert str(kept.checkpoint) in capsys.readouterr().out
    assert main(["--store", str(copy), "verify", "--public-key", str(tmp_path / "none")]) == 2


def test_a_result_that_is_missing_is_found_by_what_was_to_be_asked(copy: Path) -> None:
    with alterations.unguarded(copy) as con:
        con.execute("DELETE FROM gate_result WHERE candidate_id = 'clinic-2025-c2' AND gate = 'suppression'")
    found = {(finding.where, finding.what) for finding in verify(ReleaseStore.open(copy))}
    assert ("clinic-2025-r1", "gate suppression has no result, though the release had to pass it") in found
