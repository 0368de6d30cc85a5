"""People who work with the stores of the tests, a key for each, and their words with what proves them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from release_store.approval.credentials import Credential, PrivateKey
from release_store.approval.reviewers import people_path
from release_store.audit import keys
from release_store.protocol.person_names import normalize_name
from release_store.publishing import purge as purging
from release_store.publishing import restoration, withdrawal
from release_store.records import CandidateState, Decision, Release
from release_store.store import ReleaseStore
from services import decisions as decided
from services.outcome import Outcome

NAMES = ("ann", "bob", "cid", "cleo", "cyd", "dan", "eve")
ROLES = ("operator", "approver", "admin")


def key_of(name: str) -> PrivateKey:
    """Return the key of the person of that name, the same each time: for tests, and for nothing else."""
    seed = hashlib.sha256(f"a key for tests of {normalize_name(name)}".encode()).digest()
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(seed))


def member(name: str, roles: Sequence[str] = ROLES, **more: str) -> dict[str, object]:
    """Return a person as the file of people has them."""
    return {"name": name, "roles": list(roles), "public_key": keys.public_hex(key_of(name).key), **more}


def write_people(root: Path, *people: dict[str, object]) -> Path:
    """Write the file of people of the store in `root`, of all `NAMES` with every role if none is."""
    path = people_path(root)
    path.write_text(yaml.safe_dump({"people": list(people) or [member(name) for name in NAMES]}))
    path.chmod(0o600)
    return path


def key_file(folder: Path, name: str) -> Path:
    """Return the file of a person's key in `folder`, written if it is not there."""
    path = folder / f"{normalize_name(name) or 'nobody'}.pem"
    if not path.exists():
        pem = key_of(name).key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
    return path


def decide(store: ReleaseStore, candidate_id: str, word: str, *, by: str, reason: str) -> Outcome:
    """Decide as somebody does who has their key at hand."""
    return decided.decide(store, candidate_id, word, by=by, reason=reason, credential=key_of(by))


def agreed(store: ReleaseStore, decision: Decision, approvers_needed: int) -> CandidateState:
    """Give the store a decision, signed by its person's key."""
    return store.decide(decision, approvers_needed=approvers_needed, credential=key_of(decision.by))


def withdraw(
    store: ReleaseStore, release_id: str, *, by: str, reason: str, credential: Credential | None = None
) -> Release:
    """Withdraw as somebody does who has their key at hand."""
    return withdrawal.withdraw(store, release_id, by=by, reason=reason, credential=credential or key_of(by))


def restore(
    store: ReleaseStore, release_id: str, *, by: str, reason: str, credential: Credential | None = None
) -> Release:
    """Restore as somebody does who has their key at hand."""
    return restoration.restore(store, release_id, by=by, reason=reason, credential=credential or key_of(by))


def purge(store: ReleaseStore, series: str, *, by: str, reason: str, days: int = 0) -> purging.Purgeable:
    """Purge the rows of what ended as somebody does who has their key at hand."""
    age = timedelta(days=days)
    return purging.purge(store, series, age, by=by, reason=reason, credential=key_of(by))
