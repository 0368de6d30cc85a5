from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cli.__main__ import main
from policy.errors import StoreError, UsageError
from release_store.audit import keys
from release_store.person_key import PERSON_KEY_VARIABLE
from release_store.store import ReleaseStore


def test_the_key_lies_beside_the_store_and_only_its_owner_reads_it(store: ReleaseStore) -> None:
    path = store.root.with_name("store.key")
    assert keys.key_path(store.root) == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert keys.read_public_hex(store.root) == keys.public_hex(keys.load_key(store.root))


def test_a_key_inside_the_store_is_refused(store: ReleaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(store.root / "locks" / "my.key"))
    with pytest.raises(UsageError, match="inside the store"):
        keys.load_key(store.root)


@pytest.mark.enemy("other account", "reads a file")
def test_a_key_that_others_read_is_refused(store: ReleaseStore) -> None:
    keys.key_path(store.root).chmod(0o640)
    with pytest.raises(UsageError, match="read by others"):
        keys.load_key(store.root)


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN PRIVATE KEY-----\nnothing\n"])
def test_a_missing_or_broken_key_is_told_and_never_replaced(
    store: ReleaseStore, content: bytes | None
) -> None:
    path = keys.key_path(store.root)
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        keys.load_key(store.root)
    assert str(path) in str(caught.value)


def test_the_key_may_be_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "safe" / "signing.pem"))
    store = ReleaseStore.create(tmp_path / "store")
    assert (tmp_path / "safe" / "signing.pem").is_file()
    assert not (tmp_path / "store.key").exists()
    assert keys.read_public_hex(store.root) == keys.public_hex(keys.load_key(store.root))


def test_a_signature_holds_for_its_checkpoint_only(store: ReleaseStore) -> None:
    key = keys.load_key(store.root)
    public = keys.public_hex(key)
    signed = keys.sign_checkpoint(key, store_id="s", size=3, head="ab", at="2024-01-01T00:00:00+00:00")
    assert keys.signature_holds(signed, public)
    for field in signed:
        assert not keys.signature_holds({**signed, field: 2**70}, public), field
        assert not keys.signature_holds({**signed, field: "00"}, public), field
        assert not keys.signature_holds({name: signed[name] for name in signed if name != field}, public)
    assert not keys.signature_holds({**signed, "more": 1}, public)


@pytest.mark.enemy("store writer", "forges a word")
def test_the_key_of_another_store_signs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, other = ReleaseStore.create(tmp_path / "mine"), ReleaseStore.create(tmp_path / "other")
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "other.key"))
    with pytest.raises(UsageError, match="is the signing key of another store"):
        keys.load_key(mine.root)
    assert keys.load_key(other.root)


@pytest.mark.enemy("owner of the folder", "forges a word")
@pytest.mark.parametrize("name", ["store.key", "store.people.key"])
@pytest.mark.parametrize("kind", ["key", "dangling link", "link", "folder", "pipe"])
def test_a_key_that_is_there_before_the_store_is_not_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
) -> None:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    monkeypatch.delenv(PERSON_KEY_VARIABLE, raising=False)
    path, planted = tmp_path / name, keys.make_key(tmp_path / "planted")
    match kind:
        case "key":
            path.write_bytes(keys.key_path(tmp_path / "planted").read_bytes())
            path.chmod(0o600)
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path, 0o600)
        case _:
            path.symlink_to(tmp_path / ("none" if kind == "dangling link" else "planted.key"))
    before = sorted(one.name for one in tmp_path.iterdir())
    with pytest.raises(UsageError) as caught:
        ReleaseStore.create(tmp_path / "store")
    assert (caught.value.message, caught.value.where) == ("is there before the store is", str(path))
    assert caught.value.hint.startswith("Move it away; or, if it is your own key, name it in RELEASEGATE_")
    assert sorted(one.name for one in tmp_path.iterdir()) == before  # nothing of the store, and no key
    path.rmdir() if kind == "folder" else path.unlink()
    store = ReleaseStore.create(tmp_path / "store")
    assert keys.read_public_hex(store.root) != keys.public_hex(planted)


def test_keys_that_are_named_on_purpose_are_used_and_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = keys.make_key(tmp_path / "own")
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "own.key"))
    monkeypatch.setenv(PERSON_KEY_VARIABLE, str(tmp_path / "people.key"))
    assert main(["--store", str(tmp_path / "store"), "init"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[1] == f"uses its signing key {tmp_path / 'own.key'}"
    assert told[2].startswith("created the key of people")
    assert len(told) == 4
    assert keys.read_public_hex(tmp_path / "store") == keys.public_hex(named)
    assert main(["--store", str(tmp_path / "other"), "init"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("uses the key of people")


@pytest.mark.enemy("other account", "forges a word")
def test_a_named_key_that_others_read_makes_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys.make_key(tmp_path / "own")
    (tmp_path / "own.key").chmod(0o640)
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "own.key"))
    with pytest.raises(UsageError, match="can be read by others"):
        ReleaseStore.create(tmp_path / "store")
    assert [one.name for one in tmp_path.iterdir()] == ["own.key"]


@pytest.mark.parametrize("was_there", [True, False])
def test_a_store_that_cannot_be_made_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, was_there: bool
) -> None:
    if was_there:
        (tmp_path / "store").mkdir()

    def broken(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("release_store.store.keep", broken)
        with pytest.raises(StoreError, match="the disk is full"):
            ReleaseStore.create(tmp_path / "store")
    assert [one.name for one in tmp_path.rglob("*")] == ["store"] * was_there
    ReleaseStore.create(tmp_path / "store")


def test_a_link_to_nothing_is_no_place_for_a_store(tmp_path: Path) -> None:
    (tmp_path / "store").symlink_to(tmp_path / "none")
    with pytest.raises(UsageError, match="is not an empty folder"):
        ReleaseStore.create(tmp_path / "store")
    assert [one.name for one in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("damaged", [True, False])
def test_a_store_without_a_home_is_made_and_says_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    accepts_nothing: Path,
    damaged: bool,
) -> None:
    if damaged:
        accepts_nothing.parent.mkdir(parents=True)
        accepts_nothing.write_text("damaged")
    else:
        accepts_nothing.parents[1].write_text("no folder")
    root = tmp_path / "store"
    assert main(["--store", str(root), "init"]) == 0
    told = capsys.readouterr().out.splitlines()[-1]
    assert f"`releasegate trust {root}`" in told
    assert "RELEASEGATE_TRUST" in told
    with pytest.raises(UsageError):
        ReleaseStore.open_to_work(root)
    monkeypatch.setenv("RELEASEGATE_TRUST", str(tmp_path))
    ReleaseStore.open_to_work(root)
