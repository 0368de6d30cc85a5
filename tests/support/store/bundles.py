"""Evidence bundles taken apart, altered, signed again and put together, for the tests."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from release_store.audit import keys, merkle
from release_store.canonical import canonical_json, digest_of, pretty_json, sha256_hex

Members = dict[str, bytes]


def taken_apart(bundle: Path) -> Members:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put_together(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


@dataclass
class Told:
    """What a bundle tells, to be altered."""

    events: list[dict[str, Any]]
    manifest: dict[str, Any]
    policy: dict[str, Any]
    files: dict[str, bytes]

    def event(self, action: str) -> dict[str, Any]:
        return next(one for one in self.events if one["action"] == action)


def told(members: Members) -> Told:
    return Told(
        [one["event"] for one in json.loads(members["evidence.json"])["events"]],
        json.loads(members["release/manifest.json"]),
        json.loads(members["policy.json"]),
        {name[8:]: data for name, data in members.items() if name.startswith("release/")},
    )


def forged(members: Members, edit: Callable[[Told], object], key: Ed25519PrivateKey) -> Members:
    """Return the bundle after `edit`, with all digests, hashes, proofs and signatures made anew.

    It is what somebody could make who writes the whole store and holds `key`.
    """
    tale = told(members)
    edit(tale)
    tale.files["manifest.json"] = pretty_json(tale.manifest)
    for event in tale.events:
        if event["action"] in ("publication.started", "release.published"):
            event["payload"]["files"] = {name: sha256_hex(data) for name, data in tale.files.items()}
        if event["action"] == "store.created":
            event["payload"]["public_key"] = keys.public_hex(key)
        event["hash"] = digest_of({name: value for name, value in event.items() if name != "hash"})
    return {
        "README.txt": members["README.txt"],
        "verify_evidence.py": members["verify_evidence.py"],
        "public-key.pem": keys.public_pem(key),
        "policy.json": canonical_json(tale.policy),
        **{f"release/{name}": data for name, data in tale.files.items()},
        **_signed_again(members, tale.events, key),
    }


def _signed_again(members: Members, events: list[dict[str, Any]], key: Ed25519PrivateKey) -> Members:
    checkpoint, newest = (json.loads(members[name]) for name in ("checkpoint.json", "newest-checkpoint.json"))
    hashes = [hashlib.sha256(bytes([number])).hexdigest() for number in range(newest["size"])]
    for event in events:
        if event["number"] <= newest["size"]:
            hashes[event["number"] - 1] = event["hash"]
    tree = merkle.log_tree(hashes)
    signed = [
        keys.sign_checkpoint(
            key,
            store_id=one["store_id"],
            size=one["size"],
            head=hashes[one["size"] - 1],
            at=one["at"],
            root=tree.root(one["size"]).hex(),
        )
        for one in (checkpoint, newest)
    ]
    proven = []
    for event in sorted(events, key=lambda one: one["number"]):
        sizes = [one["size"] for one in signed if event["number"] <= one["size"]]
        path = tree.inclusion_proof(event["number"] - 1, sizes[0]) if sizes else None
        proven.append({"event": event, "path": None if path is None else [one.hex() for one in path]})
    path = tree.consistency_proof(checkpoint["size"], newest["size"])
    evidence = {
        "format": 1,
        "events": proven,
        "consistency": [{"size": checkpoint["size"], "path": [one.hex() for one in path]}],
    }
    return {
        "evidence.json": pretty_json(evidence),
        "checkpoint.json": pretty_json(signed[0]),
        "newest-checkpoint.json": pretty_json(signed[1]),
    }
