"""Bundles whose table is large."""

from __future__ import annotations

import zipfile
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from release_store.canonical import canonical_json, sha256_hex, tree_digest
from release_store.protocol.proofs import word_of
from tests.support.at_work import key_of
from tests.support.pages.random_edits import seeded
from tests.support.store.bundles import Members, Told, forged


def large_bundle(members: Members, key: Ed25519PrivateKey, size: int, method: int, folder: Path) -> Path:
    """Write a bundle whose table has about so many bytes."""
    rng = seeded(3)
    rows = b"".join(
        b"%d,%d,%s\n" % (rng.randrange(99), rng.randrange(99), rng.randbytes(8).hex().encode())
        for _ in range(50_000)
    )
    other = forged(members, lambda tale: larger(tale, rows * (size // len(rows))), key)
    with zipfile.ZipFile(folder / "large.zip", "w", method, compresslevel=1) as archive:
        for name, data in other.items():
            archive.writestr(name, data)
    return folder / "large.zip"


def larger(tale: Told, data: bytes) -> None:
    """Let the whole history be of a larger file."""
    tale.files["data.csv"] = data
    files = {**tale.manifest["files"], "data.csv": sha256_hex(data)}
    digest = tree_digest(files)
    tale.manifest.update(files=files, candidate_digest=digest)
    staged = tale.event("candidate.staged")["payload"]
    staged.update(files=files, candidate_digest=digest)
    for event in tale.events:
        if event["action"] == "decision.approve":
            said = event["payload"]
            said["candidate_digest"] = digest
            word = word_of(event, tale.event("store.created")["payload"]["store_id"])
            said["proof"]["signature"] = key_of(event["actor"]).key.sign(canonical_json(word)).hex()
    said = [one["payload"] for one in tale.events if one["action"] == "decision.approve"]
    tale.manifest["decisions"] = [
        {**one, **{name: made[name] for name in one}}
        for one, made in zip(tale.manifest["decisions"], said, strict=True)
    ]
