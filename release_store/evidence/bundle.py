"""One zip with all that a stranger needs to verify a release offline, and the script that does it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import StoreError, UsageError, VerificationFailed
from policy.plain_file import open_plain, read_bytes
from release_store.approval.authentication import CHANGED
from release_store.audit import keys, merkle
from release_store.audit import log as audit
from release_store.canonical import canonical_json, pretty_json
from release_store.db import queries
from release_store.db.connection import connect
from release_store.evidence.examine import examine
from release_store.evidence.script import script
from release_store.guarded_files import resolved
from release_store.protocol import names
from release_store.protocol.checkpoints import proven_by
from release_store.publishing.public_files import checkpoint_file, kept_folder
from release_store.records import AuditEvent, CandidateRecord, Release, ReleaseState
from release_store.store import ReleaseStore

_SOONEST = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can hold
_NO_ROWS = """
The release was withdrawn, so its rows and its report are not in this bundle. Their digests are in the log and
in release/manifest.json: whoever has a copy of a file can compare it. Nothing here shows what they hold.
"""
_ROWS = """
THE RELEASE WAS WITHDRAWN. This bundle holds its rows and its report nevertheless, because somebody asked for
them: do not publish them or pass them on.
"""
_README = """
This bundle shows what was published, by which policy, what every gate measured, who agreed, and that none
of it was changed since. It holds nothing of the source beyond the published files.

    python verify_evidence.py BUNDLE.zip [--public-key FILE|HEX] [--checkpoint FILE]

needs Python 3.10 or newer and the package `cryptography`; no network, no database. It prints one line a
finding and ends with 0 if there is none, with 6 otherwise. It reads the zip itself.

Whoever made the whole bundle could have made the key and the script in it too. So
  - take the script from releasegate, not from here: `releasegate evidence --script` writes it;
  - give the public key (--public-key) and an earlier checkpoint (--checkpoint) that you kept from elsewhere.

release/                 the files as they were published, and manifest.json, which binds them
policy.json              the policy that the release was made by
evidence.json            the events of the audit log about the release, its candidate (and those that had its
                         files before and became stale or expired) and its input, each with a proof that it
                         stands in the signed log (Merkle tree of RFC 9162); corrections of the clock; the
                         people whom the log knew when somebody's word was taken, with their public keys
checkpoint.json          the signed state of the log when the release was published
newest-checkpoint.json   the signed state of the log when this bundle was made
public-key.pem           the key that signed both (Ed25519)

Every event in it is proven to be in the log; that there are no others about the release is not. So it cannot
show that the release was not superseded or withdrawn since, or that nobody's word on it was refused: the
publisher's catalog says how it stands, and `releasegate verify` sees the whole log. Nor can it show that
a key was used by the person whose it is, or that the source was what it should have been: only its digest is
kept. A word that is proven by a token only is as good as the log that keeps it.
"""


def write_evidence(store: ReleaseStore, release_id: str, out: Path, *, with_rows: bool = False) -> Path:
    """Write the evidence of a release to the zip `out`, the same bytes for the same store, and return `out`.

    That of a withdrawn release has no file that holds rows, unless somebody wants it `with_rows`.
    Raises UsageError if there is no such release or `out` cannot be written; VerificationFailed, and leaves
    nothing, if what the store holds does not verify; StoreError if no checkpoint has a tree's root yet.
    """
    if resolved(out).is_relative_to(store.root.resolve()):
        raise UsageError(
            "is inside the store, which holds only its own files",
            where=str(out),
            hint="Choose another file with --out.",
        )
    if out.is_symlink() or (out.exists() and not (out.is_file() and zipfile.is_zipfile(out))):
        raise UsageError(
            "exists already and is not an evidence bundle",
            where=str(out),
            hint="Choose another file with --out.",
        )
    with connect(store.root) as con:
        release = queries.release(con, release_id)
        if with_rows and release_id in queries.purged(con, release.series):
            raise UsageError("its rows were purged", where=release_id, hint="Leave out --with-rows.")
        documents = _documents(con, store.root, release, with_rows=with_rows)
    folder = kept_folder(store.root, release)
    spread = with_rows or release.state is not ReleaseState.WITHDRAWN
    published = [name for name in release.files if spread or name in names.WITHOUT_ROWS]
    beside = out.with_name(f".{out.name}.new")
    try:
        try:
            beside.unlink(missing_ok=True)  # then made anew: what was planted there is not written through
            with beside.open("x+b") as file, zipfile.ZipFile(file, "w", allowZip64=False) as archive:
                _fill(archive, documents, {name: folder / name for name in published})
            report = examine(beside, keys.read_public_hex(store.root))
            if report.findings:
                where, what = report.findings[0]
                raise VerificationFailed(
                    f"the evidence in the store does not verify: {where}: {what}",
                    where=release_id,
                    hint="Run `releasegate verify` for details.",
                )
            beside.replace(out)
        finally:
            beside.unlink(missing_ok=True)
    except zipfile.LargeZipFile:
        raise UsageError(
            "the release is too large for a bundle, which holds at most 2 GiB",
            where=release_id,
            hint="`releasegate verify` verifies it in the store.",
        ) from None
    except OSError as error:
        raise UsageError(
            f"the bundle cannot be written ({type(error).__name__})",
            where=str(out),
            hint="Choose another file with --out, and see that the release's files can be read.",
        ) from None
    return out


def _documents(
    con: duckdb.DuckDBPyConnection, root: Path, release: Release, *, with_rows: bool
) -> dict[str, bytes]:
    """Return every member of the bundle but the published files."""
    record = queries.candidate(con, release.candidate_id)
    checkpoint = _read_checkpoint(checkpoint_file(root, release.series, release.release_id))
    trusted = keys.read_public_hex(root)
    if checkpoint is None or trusted is None or not keys.signature_holds(checkpoint, trusted):
        raise VerificationFailed(
            "its checkpoint is missing or not signed by the store's key",
            where=release.release_id,
            hint="Run `releasegate verify` for details; restore a lost checkpoint from a copy of the store.",
        )
    signed = _signed_checkpoints(root, trusted)
    if not signed:
        raise StoreError(
            "no checkpoint of the store signs the root of the log's tree yet",
            where=release.release_id,
            hint="The next publication writes one that does.",
        )
    newest = signed[max(signed)]
    tree = merkle.log_tree(audit.read_hashes(con))
    if tree.size < newest["size"]:
        raise VerificationFailed(
            "the log is shorter than its newest checkpoint",
            where=release.release_id,
            hint="Run `releasegate verify` for details.",
        )
    numbers = [1] if "root" in checkpoint else [1, int(checkpoint["size"])]
    events = _events_about(con, numbers, release, record)
    return {
        names.README: _readme(release, with_rows=with_rows),
        names.SCRIPT: script(),
        names.CHECKPOINT: pretty_json(checkpoint),
        names.NEWEST: pretty_json(newest),
        names.PUBLIC_KEY: read_bytes(root / keys.PUBLIC_KEY_FILE),
        names.POLICY: canonical_json(queries.policy(con, record.policy_digest)),
        names.EVIDENCE: pretty_json(_evidence(tree, events, checkpoint, newest, sorted(signed))),
    }


def _readme(release: Release, *, with_rows: bool) -> bytes:
    title = f"Evidence of the release {release.release_id}"
    withdrawn = "" if release.state is not ReleaseState.WITHDRAWN else _ROWS if with_rows else _NO_ROWS
    return f"{title}\n{'=' * len(title)}\n{withdrawn}{_README}".encode()


def _events_about(
    con: duckdb.DuckDBPyConnection, numbers: Sequence[int], release: Release, record: CandidateRecord
) -> list[AuditEvent]:
    """Return the events of those numbers, and all about a release, its candidate and its input."""
    about_it = {("release", release.release_id), *(("candidate", one) for one in _candidates(con, record))}
    subjects = {name for _, name in about_it}
    found = audit.read_events_about(
        con,
        numbers,
        sorted(subjects),
        [
            canonical_json({field: value}).decode().strip("{}")
            for field, value in sorted({*about_it, ("input", record.input_digest)})
        ],
    )
    period = f"{release.series}/{release.period}"
    about = [
        event
        for event in found
        if event.number in numbers
        or event.object in subjects
        or any(event.payload.get(field) == name for field, name in about_it)
        or (event.object == period and event.payload.get("input") == record.input_digest)
    ]
    about += audit.read_events_of(con, [names.CORRECTED])
    known = audit.read_numbers(con, CHANGED)
    wanted = {
        max((number for number in known if number < event.number), default=0)
        for event in about
        if "proof" in event.payload
    }
    people = audit.read_events_about(con, sorted(wanted - {0} - {one.number for one in about}), [], [])
    return sorted([*about, *people], key=lambda event: event.number)


def _candidates(con: duckdb.DuckDBPyConnection, record: CandidateRecord) -> list[str]:
    """Return a candidate and those whose files it has, which were judged before it."""
    found = [record.candidate_id]
    while (before := record.summary.reassessment) and before.of not in found:
        record = queries.candidate(con, before.of)
        found.append(record.candidate_id)
    return found


def _evidence(
    tree: merkle.MerkleTree,
    events: Sequence[AuditEvent],
    checkpoint: dict[str, Any],
    newest: dict[str, Any],
    sizes: Sequence[int],
) -> dict[str, Any]:
    """Return the events with their proofs, and the proofs that the newest tree continues the earlier ones."""
    proven = []
    for event in events:
        by = proven_by(event.number, checkpoint, newest)
        path = None if by is None else tree.inclusion_proof(event.number - 1, by["size"])
        proven.append({"event": vars(event), "path": path and _hexadecimal(path)})
    return {
        "format": names.FORMAT,
        "events": proven,
        "consistency": [
            {"size": size, "path": _hexadecimal(tree.consistency_proof(size, newest["size"]))}
            for size in sizes
            if size < newest["size"]
        ],
    }


def _hexadecimal(path: Sequence[bytes]) -> list[str]:
    return [one.hex() for one in path]


def _signed_checkpoints(root: Path, trusted: str) -> dict[int, dict[str, Any]]:
    """Return every checkpoint that holds and has a tree's root, by its size."""
    found: dict[int, dict[str, Any]] = {}
    for path in sorted((root / "releases").glob("*/*.checkpoint.json")):
        one = _read_checkpoint(path)
        if one is not None and "root" in one and keys.signature_holds(one, trusted):
            found[int(one["size"])] = one
    return found


def _read_checkpoint(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_bytes(path))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fill(archive: zipfile.ZipFile, documents: Mapping[str, bytes], files: Mapping[str, Path]) -> None:
    """Write the members by their names, with fixed times and modes."""
    published = {names.RELEASE + name: path for name, path in files.items()}
    for name in sorted(documents.keys() | published.keys()):
        member = zipfile.ZipInfo(name, _SOONEST)
        member.compress_type = zipfile.ZIP_DEFLATED
        member.create_system = 3  # Unix, wherever it is made
        member.external_attr = 0o100644 << 16
        if name in documents:
            archive.writestr(member, documents[name])
            continue
        member.file_size = published[name].stat().st_size
        with open_plain(published[name]) as reader, archive.open(member, "w") as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
