"""What an altered definition, a weak key or a second spelling gains: nothing."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from policy.errors import VerificationFailed
from release_store.canonical import file_digest
from release_store.db.connection import DATABASE
from release_store.protocol.ed25519 import is_public_key, is_signature
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from release_store.verification.verify import verify

SHAPES = {
    "ALTER TABLE class_size ADD COLUMN more INTEGER": "the table class_size",
    "ALTER TABLE class_size ALTER COLUMN size DROP NOT NULL": "the table class_size",
    "ALTER TABLE class_size ALTER COLUMN size SET DEFAULT 7": "the table class_size",
    "CREATE INDEX sly ON class_size (size)": "holds an index",
    "CREATE SEQUENCE sly": "holds a sequence",
    "CREATE TYPE sly AS ENUM ('a')": "holds a type",
    "DROP TABLE candidate_figures": "the table candidate_figures is missing",
    "DROP TABLE class_size; CREATE TABLE class_size (candidate_id VARCHAR COLLATE NOCASE NOT NULL, "
    "class INTEGER NOT NULL, size BIGINT NOT NULL)": "the table class_size",
    "DROP TABLE class_size; CREATE TABLE class_size (candidate_id VARCHAR NOT NULL, class INTEGER NOT NULL, "
    "kept BIGINT, size BIGINT AS (CASE WHEN current_setting('memory_limit') = '381.4 MiB' "
    "THEN kept END))": "the table class_size",
    "DROP TABLE person_key; CREATE TABLE person_key (candidate_id VARCHAR PRIMARY KEY, fingerprint VARCHAR "
    "NOT NULL)": "the table person_key",
}


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("sql", SHAPES)
def test_a_definition_that_no_migration_made_is_refused(store: ReleaseStore, sql: str) -> None:
    with duckdb.connect(str(store.root / DATABASE)) as con:
        con.execute(sql)
    with pytest.raises(VerificationFailed, match=SHAPES[sql]):
        store.events()
    assert any(SHAPES[sql] in one.what for one in verify(store))


WEAK = [
    (y | sign << 255).to_bytes(32, "little").hex()
    for y in (
        0,
        1,
        2**255 - 20,
        0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        2**255 - 19 - 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
        2**255 - 19,
        2**255 - 18,
    )
    for sign in (0, 1)
]


@pytest.mark.enemy("approver", "forges a word")
@pytest.mark.parametrize("key", WEAK)
def test_a_key_of_small_order_or_of_a_second_spelling_is_none(key: str) -> None:
    assert not is_public_key(key)


def test_a_key_and_a_signature_have_one_spelling() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    own = Ed25519PrivateKey.generate()
    key, signature = own.public_key().public_bytes_raw().hex(), own.sign(b"x").hex()
    assert is_public_key(key)
    assert is_signature(signature)
    for other in (key.upper(), f" {key}", f"{key}\n", key[:-2]):
        assert not is_public_key(other)
    for other in (signature.upper(), f"{signature} ", signature[:64] + "f" * 64):
        assert not is_signature(other)


@pytest.mark.enemy("store writer", "changes history")
def test_a_file_swapped_after_its_digest_was_taken_has_no_effect(tmp_path: Path) -> None:
    file = tmp_path / "data.parquet"
    file.write_bytes(b"judged")
    digest = file_digest(file)
    with sealed_file(file, digest) as copy:
        file.write_bytes(b"another")
        assert copy.read_bytes() == b"judged"
        with pytest.raises(PermissionError):
            copy.write_bytes(b"x")
    with pytest.raises(VerificationFailed, match="differs from the assessed file"), sealed_file(file, digest):
        pass
