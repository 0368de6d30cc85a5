"""Is the store what it was? The chain, the signatures, the digests and all that refers to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from policy.errors import ReleaseGateError
from release_store.audit import keys
from release_store.audit.checkpoints import LOST
from release_store.audit.log import Finding, read_events_of
from release_store.audit.replay import read_log
from release_store.db import queries
from release_store.db.connection import DATABASE, connect, is_damage
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
from release_store.verification.places import check_places
from release_store.verification.public import check_folders
from release_store.verification.purges import check_purges
from release_store.verification.releases import check_release_files
from release_store.verification.rows_and_log import ROW_CHECKS
from release_store.verification.staged_files import check_staged_files
from release_store.verification.unseen import note_unseen
from release_store.verification.view import Unreadable, VerificationContext, run_check

__all__ = ["Finding", "Verified", "notes", "overrides", "refusal_as_finding", "verified", "verify"]

_MEMORY = "400MB"
_LOST = "the checkpoint beside the signing key was gone, so what had been kept in it could not be compared"
_MOST_TOLD = 5


@dataclass(frozen=True)
class Verified:
    """What verification found wrong, and what is no fault and must be known."""

    findings: list[Finding]
    notes: list[Finding]


def verify(
    store: ReleaseStore, *, checkpoint: Path | None = None, public_key: str | None = None
) -> list[Finding]:
    """Return everything in the store that is not as it was written; nothing if all is well.

    `checkpoint` (a file) and `public_key` (a file, or the key in hexadecimal) were kept outside the store:
    the log must go on from that checkpoint, and the store's key must be that key. Damage of any kind (a
    missing file, broken JSON, a cut log) is a finding, never an exception. Raises UsageError where a file
    that was kept cannot be read.
    """
    return verified(store, checkpoint=checkpoint, public_key=public_key).findings


def notes(store: ReleaseStore) -> list[Finding]:
    """Return what is no fault and must be known, as `verified` does."""
    return verified(store).notes


def verified(
    store: ReleaseStore, *, checkpoint: Path | None = None, public_key: str | None = None
) -> Verified:
    """Return what `verify` finds, with notes: what could not be compared and why, corrections, overrides."""
    kept_key = recorded_public_key(public_key) if public_key else None
    kept_checkpoint = read_kept_checkpoint(checkpoint) if checkpoint else None
    findings: list[Finding] = []
    remarks: list[Finding] = []
    try:
        with connect(store.root):
            pass  # a log that the database did not write back, because its process died, is now taken up
        with connect(store.root) as con:
            con.execute(f"SET memory_limit = '{_MEMORY}'")
            try:
                log = read_log(con)
            except duckdb.Error as error:
                if not is_damage(error):
                    raise
                findings.append(Unreadable("the log", "cannot be read"))
                return Verified(_damage_in_one(findings), remarks)
            view = VerificationContext(store.root, con, log, keys.read_public_hex(store.root), notes=remarks)
            findings += log.findings
            for what, check in _CHECKS.items():
                findings += run_check(what, check, view)
            if kept_key is not None and kept_key != view.public_key:
                findings.append(Finding(keys.PUBLIC_KEY_FILE, f"is not the key in {public_key}"))
            if checkpoint is not None and kept_checkpoint is not None:
                trusted = kept_key or view.public_key
                findings += check_kept_checkpoint(view, checkpoint, kept_checkpoint, trusted)
    except ReleaseGateError as error:
        findings.append(refusal_as_finding(store.root, error))
    return Verified(_damage_in_one(findings), remarks)


def refusal_as_finding(root: Path, error: ReleaseGateError) -> Finding:
    """Return why a store cannot be read at all, and what mends it."""
    hint = error.hint[:1].lower() + error.hint[1:].rstrip(".")
    return Finding(error.where or root.name, f"{error.message}; {hint}" if hint else error.message)


def _damage_in_one(findings: list[Finding]) -> list[Finding]:
    """Tell in one line all that a damaged database does not give back."""
    lost = list(dict.fromkeys(one.where for one in findings if isinstance(one, Unreadable)))
    if not lost:
        return findings
    told = ", ".join(lost[:_MOST_TOLD]) + (f" and {len(lost) - _MOST_TOLD} more" if lost[_MOST_TOLD:] else "")
    damage = Finding(DATABASE, f"is damaged; it does not give back: {told}; restore it from a backup")
    return [damage, *(one for one in findings if not isinstance(one, Unreadable))]


def overrides(store: ReleaseStore, series: str | None = None) -> dict[str, dict[str, Any]]:
    """Return by release what was overridden, by whom, when and why, of one series or of all."""
    with connect(store.root) as con:
        return _overridden(con, series)


def _overridden(con: duckdb.DuckDBPyConnection, series: str | None = None) -> dict[str, dict[str, Any]]:
    said = {
        release.release_id: override_of(con, release.candidate_id)
        for release in queries.releases(con, series)
        if release.overridden
    }
    return {name: one for name, one in said.items() if one is not None}


def _public(view: VerificationContext) -> list[Finding]:
    releases = queries.releases(view.con)
    findings = check_release_files(view, releases)
    findings += run_check("checkpoints", check_checkpoints, view, releases)
    findings += run_check("releases", check_folders, view, releases)
    findings += run_check("purged", check_purges, view, releases)
    findings += run_check("superseded", check_superseded, view.root, view.con, releases)
    return findings + run_check("withdrawn", check_withdrawals, view.root, view.con, releases)


def _clock(view: VerificationContext) -> list[Finding]:
    for event in read_events_of(view.con, [CORRECTED]):
        view.note(f"event {event.number}", corrected_in_words(vars(event)))
    return []


def _lost_checkpoints(view: VerificationContext) -> list[Finding]:
    for event in read_events_of(view.con, [LOST]):
        view.note(f"event {event.number}", _LOST)
    return []


def _overrides(view: VerificationContext) -> list[Finding]:
    for name, said in _overridden(view.con).items():
        gates = ", ".join(f"{gate} ({verdict})" for gate, verdict in said["gates"].items())
        people = " and ".join(one["by"] for one in said["by"])
        view.note(name, f"{people} published it by override of {gates}")
    return []


# What each looks at is what a damaged database does not give back.
_CHECKS: dict[str, Callable[[VerificationContext], list[Finding]]] = {
    **ROW_CHECKS,
    "files and folders": check_places,
    "staged files": check_staged_files,
    "public files": _public,
    "kept checkpoint": check_kept_with_key,
    "what was not seen": note_unseen,
    "corrections of the clock": _clock,
    "lost checkpoints": _lost_checkpoints,
    "overrides": _overrides,
}
