from __future__ import annotations

import stat
from pathlib import Path

import pytest

from policy.errors import UsageError
from release_store.audit import keys
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
