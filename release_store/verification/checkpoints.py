"""Does every signed checkpoint hold for the log as it is: those of the releases, and one kept elsewhere?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError, UsageError, VerificationFailed
from policy.plain_file import not_read, read_bytes
from policy.text import number_of
from release_store.audit import keys
from release_store.audit.checkpoints import check_kept, checkpoint_files, kept_file, read_kept, was_kept
from release_store.audit.log import Finding
from release_store.canonical import pretty_json
from release_store.guarded_files import read_plain
from release_store.protocol.ed25519 import is_public_key
from release_store.publishing.public_files import checkpoint_of
from release_store.records import Release
from release_store.verification.view import VerificationContext

MISSING = "is missing"


def check_checkpoints(view: VerificationContext, releases: list[Release]) -> list[Finding]:
    """Every checkpoint holds for the log as it is, and is the one of the release that it lies beside."""
    wanted = checkpoint_files(view.root, {one.release_id: one.series for one in releases}, view.log.announced)
    findings = []
    newest = 0
    seen: dict[str, Path] = {}
    present = (view.root / "releases").glob(f"{view.series or '*'}/*.checkpoint.json")
    for path in sorted(wanted.keys() | set(present)):
        size, wrong, found = _checkpoint(view, path)
        newest = max(newest, size)
        if not wrong:
            wrong = _misplaced(view, path, found)
        if not wrong:  # one that stands where another belongs is told as that, and not of the other again
            first = seen.setdefault(str(found["signature"]), path)
            wrong = [f"is the same as {first.name}"] * (first != path)
        findings += [Finding(f"{path.parent.name}/{path.name}", what) for what in wrong]
    if newest > view.log.size:
        findings.append(_cut(view, newest))
    return findings


def _misplaced(view: VerificationContext, path: Path, found: dict[str, Any]) -> list[str]:
    """A checkpoint is of the release whose name it bears, and signs the event that it follows.

    Those of the earlier forms do not say what they are of.
    """
    if found.get("of", checkpoint_of(path)) != checkpoint_of(path):
        return ["belongs to another release"]
    due = view.log.announced.get(checkpoint_of(path))
    if due is not None and int(found["size"]) < due.number:
        return ["is older than its release"]
    return []


def check_kept_with_key(view: VerificationContext) -> list[Finding]:
    """What is kept beside the signing key holds for the log too, where it is at hand."""
    try:
        path = kept_file(view.root, view.store_id)
    except UsageError:
        return []  # the key lies in the store, which is told elsewhere
    if not path.exists() and keys.key_path(view.root).exists() and was_kept(view.con, view.root):
        return [Finding(path.name, "is missing; the newest checkpoint is kept beside the signing key")]
    return check_goes_on_from_kept(view)


def check_goes_on_from_kept(view: VerificationContext) -> list[Finding]:
    """What is kept beside the signing key holds for the log; that it may be missing is told elsewhere."""
    path = kept_file(view.root, view.store_id)
    kept = read_kept(path)
    heads = [one for one in kept if isinstance(one, dict) and one.get("of") == view.store_id]
    if kept and len(heads) != 1:  # one of two heads may be of a transaction that was never committed
        kept = [one for one in kept if one not in heads]
    findings = [
        finding
        for one in kept
        for finding in check_kept_checkpoint(view, Path(path.name), one, view.public_key)
    ]
    if not findings and not view.log.findings:
        try:
            check_kept(view.con, view.root)
        except VerificationFailed as error:
            return [Finding(error.where, error.message)]
    return findings


def _cut(view: VerificationContext, size: int) -> Finding:
    return Finding("log", f"has {number_of(view.log.size, 'event')}, but a signed checkpoint counts {size}")


def _checkpoint(view: VerificationContext, path: Path) -> tuple[int, list[str], dict[str, Any]]:
    """Return the size that a checkpoint signs (0 if it does not hold), what is wrong with it, and itself."""
    try:
        data = read_bytes(path)
        found: Any = json.loads(data)
    except FileNotFoundError:
        return 0, [MISSING], {}
    except IsADirectoryError:
        return 0, ["is a folder"], {}
    except OSError as error:
        return 0, [not_read(error)], {}
    except (ValueError, RecursionError):
        return 0, ["is not JSON"], {}
    size, wrong = _statement(view, found, view.signed_by)
    if not wrong and data != pretty_json(found):
        wrong = ["was altered"]
    return size, wrong, found


def recorded_public_key(text: str) -> str:
    """Return a key in hexadecimal that is given as such, or as a file. Raises UsageError if it is none."""
    return text if is_public_key(text) else keys.read_public_file(Path(text))


def read_kept_checkpoint(path: Path) -> Any:
    """Return what a checkpoint kept elsewhere says. Raises UsageError if it cannot be read."""
    hint = "Give a checkpoint that was copied from beside a release."
    data, _ = read_plain(path, "the checkpoint", hint=hint)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        finding = f"the checkpoint {not_read(error)}"
        raise UsageError(finding, where=str(path), hint=hint) from None
    return found[-1] if isinstance(found, list) and found else found  # as it is kept beside the key


def check_kept_checkpoint(
    view: VerificationContext, path: Path, found: Any, trusted: str | None
) -> list[Finding]:
    """What `found` says, a checkpoint that somebody kept in `path`, holds for the log as it is."""
    size, wrong = _guarded_statement(view, found, trusted)
    findings = [Finding(str(path), what) for what in wrong]
    return [*findings, _cut(view, size)] if size > view.log.size else findings


def _guarded_statement(view: VerificationContext, found: Any, trusted: str | None) -> tuple[int, list[str]]:
    try:
        return _statement(view, found, trusted)
    except (ReleaseGateError, duckdb.Error):
        return 0, ["cannot be compared with the store"]


def _statement(view: VerificationContext, found: Any, trusted: str | None) -> tuple[int, list[str]]:
    """Return the size that a signed statement gives the log (0 if it does not hold), and what is wrong."""
    if not isinstance(found, dict) or trusted is None or not keys.signature_holds(found, trusted):
        return 0, ["is not signed by the store's key"]
    if found["store_id"] != view.store_id:
        return 0, ["belongs to a different store"]
    size = int(found["size"])
    if not 0 < size <= view.log.size or view.log.hashes[size - 1] != found["head"]:
        return size, [f"event {size} in the log is not the signed one"]
    if view.by_root and "root" in found and found["root"] != view.tree.root(size).hex():
        return size, [f"the Merkle root of the first {number_of(size, 'event')} is not the signed one"]
    return size, []
