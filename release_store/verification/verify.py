"""Is the store what it was? The chain, the signatures, the digests and all that refers to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError
from release_store.audit import keys
from release_store.audit.log import Finding, read_events_of
from release_store.audit.replay import read_log
from release_store.db import queries
from release_store.db.connection import connect, trigger_errors
from release_store.db.figures import check_figures
from release_store.db.people import check_people
from release_store.protocol.clock import corrected_in_words
from release_store.protocol.names import CORRECTED
from release_store.publishing.manifest import override_of
from release_store.publishing.tombstones import check_superseded
from release_store.publishing.withdrawal import check_withdrawals
from release_store.store import ReleaseStore
from release_store.verification.candidates import check_candidates
from release_store.verification.checkpoints import (
    check_checkpoints,
    check_kept_checkpoint,
    check_kept_with_key,
    read_kept_checkpoint,
    recorded_public_key,
)
from release_store.verification.inputs import check_inputs
from release_store.verification.proofs import check_decision_proofs
from release_store.verification.public import check_folders
from release_store.verification.purges import check_purges
from release_store.verification.releases import check_releases
from release_store.verification.rows import check_rows
from release_store.verification.view import VerificationContext, run_check

__all__ = ["Finding", "notes", "verify"]

_MEMORY = "400MB"


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
            findings += log.findings
            checks = (
                _store,
                _guards,
                check_rows,
                _places,
                check_inputs,
                check_candidates,
                check_decision_proofs,
            )
            for check in (*checks, _figures, _people, _releases):
                findings += run_check(store.root.name, check, view)
            if kept_key is not None and kept_key != view.public_key:
                findings.append(Finding(keys.PUBLIC_KEY_FILE, f"is not the key in {public_key}"))
            if checkpoint is not None and kept_checkpoint is not None:
                trusted = kept_key or view.public_key
                findings += check_kept_checkpoint(view, checkpoint, kept_checkpoint, trusted)
    except ReleaseGateError as error:
        findings.append(Finding(error.where or store.root.name, error.message))
    return findings


def notes(store: ReleaseStore) -> list[Finding]:
    """Return what is no fault and must be known: corrections of the clock, and releases by override."""
    with connect(store.root) as con:
        found = [
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


def _store(view: VerificationContext) -> list[Finding]:
    """The store's own id and key stand in its first event."""
    action, payload = view.log.first or ("", {})
    if action != "store.created":
        return [Finding("event 1", "the log does not begin with the creation of the store")]
    findings = []
    if view.public_key != payload.get("public_key"):
        findings.append(Finding(keys.PUBLIC_KEY_FILE, "is missing or not the store's first key"))
    elif view.public_key != (_held_public_key(view.root) or view.public_key):
        findings.append(
            Finding(keys.PUBLIC_KEY_FILE, f"is not the public half of {keys.key_path(view.root)}")
        )
    if "created_at" in payload and view.created_at != payload["created_at"]:
        findings.append(Finding("created_at", "differs from the logged one"))
    if view.store_id != payload.get("store_id"):
        findings.append(Finding("store_id", "differs from the first one"))
    return findings


def _held_public_key(root: Path) -> str | None:
    """Return the public half of the signing key where it is at hand: beside a copy of a store it is not."""
    try:
        return keys.public_hex(keys.key_at_hand(root))
    except ReleaseGateError:
        return None


def _guards(view: VerificationContext) -> list[Finding]:
    """The triggers that keep tables append-only are there, as they were made, and no others."""
    return [Finding(name, what) for name, what in trigger_errors(view.con).items()]


def _places(view: VerificationContext) -> list[Finding]:
    """Candidates, gate results and decisions stand in the order of the log, numbered without a gap."""
    findings = [
        Finding(name, f"the positions of its rows in {table} were changed")
        for table, rows in (("gate_result", "gate_result"), ("decision", queries.DECISIONS))
        for name in queries.misplaced(view.con, rows)
    ]
    logged = list(view.log.candidates)
    for name, place in queries.places(view.con).items():
        if not 0 < place <= len(logged) or logged[place - 1] != name:
            findings.append(Finding(name, "is not at its position in the log"))
    return findings


def _figures(view: VerificationContext) -> list[Finding]:
    return check_figures(view.con, view.log)


def _people(view: VerificationContext) -> list[Finding]:
    return check_people(view.con, view.log)


def _releases(view: VerificationContext) -> list[Finding]:
    releases = queries.releases(view.con)
    findings = check_releases(view, releases)
    findings += run_check("checkpoints", check_checkpoints, view, releases)
    findings += run_check("checkpoints", check_kept_with_key, view)
    findings += run_check("releases", check_folders, view, releases)
    findings += run_check("purged", check_purges, view, releases)
    findings += run_check("superseded", check_superseded, view.root, view.con, releases)
    return findings + run_check("withdrawn", check_withdrawals, view.root, view.con, releases)
