"""Is the store what it was? The chain, the signatures, the digests and all that refers to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError
from release_store.audit import keys
from release_store.audit.checkpoints import LOST
from release_store.audit.log import Finding, read_events_of
from release_store.audit.replay import read_log
from release_store.db import queries
from release_store.db.connection import connect
from release_store.protocol.clock import corrected_in_words
from release_store.protocol.names import CORRECTED
from release_store.publishing.manifest import override_of
from release_store.publishing.tombstones import check_superseded
from release_store.publishing.withdrawal import check_withdrawals
from release_store.store import ReleaseStore
from release_store.verification.checkpoints import (
    check_checkpoints,
    check_kept_checkpoint,
    check_kept_with_key,
    read_kept_checkpoint,
    recorded_public_key,
)
from release_store.verification.public import check_folders
from release_store.verification.releases import check_release_files
from release_store.verification.rows_and_log import rows_unlike_log
from release_store.verification.view import VerificationContext, run_check

__all__ = ["Finding", "notes", "verify"]

_MEMORY = "400MB"
_LOST = "the checkpoint beside the signing key was gone, so what had been kept in it could not be compared"


def verify(
    store: ReleaseStore, *, checkpoint: Path | None = None, public_key: str | None = None
) -> list[Finding]:
    """Return everything in the store that is not as it was written; nothing if all is well.

    `checkpoint` (a file) and `public_key` (a file, or the key in hexadecimal) were kept outside the store:
    the log must go on from that checkpoint, and the store's key must be that key. Damage of any kind (a
    missing file, broken JSON, a cut log) is a finding, never an exception. Raises UsageError where a file
    that was kept cannot be read.
    """
    kept_key = recorded_public_key(public_key) if public_key else None
    kept_checkpoint = read_kept_checkpoint(checkpoint) if checkpoint else None
    findings: list[Finding] = []
    try:
        with connect(store.root) as con:
            con.execute(f"SET memory_limit = '{_MEMORY}'")
            log = read_log(con)
            view = VerificationContext(store.root, con, log, keys.read_public_hex(store.root))
            findings += rows_unlike_log(view)
            findings += run_check(store.root.name, _public_place, view)
            if kept_key is not None and kept_key != view.public_key:
                findings.append(Finding(keys.PUBLIC_KEY_FILE, f"is not the key in {public_key}"))
            if checkpoint is not None and kept_checkpoint is not None:
                trusted = kept_key or view.public_key
                findings += check_kept_checkpoint(view, checkpoint, kept_checkpoint, trusted)
    except ReleaseGateError as error:
        findings.append(Finding(error.where or store.root.name, error.message))
    return findings


def notes(store: ReleaseStore) -> list[Finding]:
    """Return what is no fault and must be known: corrections of the clock, lost checkpoints, overrides."""
    with connect(store.root) as con:
        found = [Finding(f"event {event.number}", _LOST) for event in read_events_of(con, [LOST])]
        found += [
            Finding(f"event {event.number}", corrected_in_words(vars(event)))
            for event in read_events_of(con, [CORRECTED])
        ]
    for release_id, said in overrides(store).items():
        gates = ", ".join(f"{gate} ({verdict})" for gate, verdict in said["gates"].items())
        people = " and ".join(one["by"] for one in said["by"])
        found.append(Finding(release_id, f"{people} published it by override of {gates}"))
    return found


def overrides(store: ReleaseStore, series: str | None = None) -> dict[str, dict[str, Any]]:
    """Return by release what was overridden, by whom, when and why, of one series or of all."""
    with connect(store.root) as con:
        said = {
            release.release_id: override_of(con, release.candidate_id)
            for release in queries.releases(con, series)
            if release.overridden
        }
    return {name: one for name, one in said.items() if one is not None}


def _public_place(view: VerificationContext) -> list[Finding]:
    releases = queries.releases(view.con)
    findings = check_release_files(view, releases)
    findings += run_check("checkpoints", check_checkpoints, view, releases)
    findings += run_check("checkpoints", check_kept_with_key, view)
    findings += run_check("releases", check_folders, view, releases)
    findings += run_check("superseded", check_superseded, view.root, view.con, releases)
    return findings + run_check("withdrawn", check_withdrawals, view.root, view.con, releases)
