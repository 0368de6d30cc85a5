"""Withdrawal: a release leaves the public place, and a tombstone says who took it down, when and why.

1. In one transaction: the release is `withdrawn`, with the name and the reason.
2. `latest` moves on, and the release's folder leaves `releases/` by one rename, kept whole for the audit.
3. The tombstone takes its place.
4. In one transaction: the end is kept. A signed checkpoint and the catalog follow.

Whatever ends between two steps is finished by the next run, or by `recover`: a person's word is not undone.
Whoever copied the release has it, so it stays in every later comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from policy.errors import Blocked, ReleaseGateError, StoreError, UsageError, did_you_mean
from release_store.approval.authentication import authenticate, refuse
from release_store.approval.credentials import Credential, Statement, as_said, check_moment
from release_store.approval.reviewers import Reviewers, needed_reviewers
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.log import Finding
from release_store.canonical import tree_digest, utc_now
from release_store.db import queries
from release_store.db.connection import connect, transaction
from release_store.own_places import LATEST
from release_store.permission import Act, check_typed
from release_store.publishing.public_files import (
    content_error,
    differing_files,
    move_folder,
    release_folder,
    remove_folder,
    replace_file,
    replace_link,
    series_folder,
    tombstone_file,
    withdrawn_folder,
)
from release_store.publishing.public_index import latest_release, update_public_index
from release_store.publishing.tombstones import OTHER_RECORD, tombstone
from release_store.records import AuditEvent, Release, ReleaseState
from release_store.states import check_transition, may
from release_store.store import ReleaseStore
from release_store.verification.rows_and_log import check_rows_follow_log

Connection = duckdb.DuckDBPyConnection


def withdraw(
    store: ReleaseStore, release_id: str, *, by: str, reason: str, credential: Credential | None = None
) -> Release:
    """Take a release out of the public place on a person's word, and return it as it then is.

    `credential` proves that it is the person's. Raises UsageError if there is no such release, if it is
    withdrawn already, or if the person may not withdraw it or gives no proof; Blocked if what was signed is
    about it as it no longer is; StoreError if it is withdrawn and its folder could not be moved, which the
    next run does. A refusal is in the log by then.
    """
    check_typed(by, reason, release_id)
    staff = needed_reviewers(store.root)
    key = keys.load_key(store.root)
    known = {release.release_id: release.series for release in store.releases()}
    if release_id not in known:
        raise UsageError(
            f"there is no release '{release_id}'{did_you_mean(release_id, known)}",
            hint="Run `releasegate history` to list them.",
        )
    with store.series_lock(known[release_id]):
        with store.kept_transaction() as con:
            check_rows_follow_log(con, store.root, known[release_id], compared=True)
            release = queries.release(con, release_id)
            said = as_said(withdrawal_statement(release, store.store_id, by, reason), credential)
            refused = _keep_withdrawal(con, release, said, staff, credential)
        if refused is not None:
            raise refused
        settle_withdrawals(store, known[release_id])
        try:
            update_public_index(store, key, known[release_id])
        except OSError as error:
            raise StoreError(
                f"is withdrawn, but its checkpoint or the catalog was not written ({type(error).__name__})",
                where=release_id,
                hint="Free the disk; the next run writes them again.",
            ) from None
    return store.release(release_id)


def withdrawal_statement(release: Release, store_id: str, by: str, reason: str) -> Statement:
    """Return what a person says now who withdraws a release: bound to its files and its state."""
    return Statement(
        Act.WITHDRAW.value, store_id, release.release_id, withdrawal_bound(release), by, reason, utc_now()
    )


def withdrawal_bound(release: Release) -> dict[str, str]:
    """Return what a withdrawal is bound to."""
    return {"release_digest": tree_digest(release.files), "release_state": release.state.value}


def _keep_withdrawal(
    con: Connection, release: Release, said: Statement, staff: Reviewers, credential: Credential | None
) -> ReleaseGateError | None:
    """Keep that a release is withdrawn; or, in the log, that this was refused, and return why."""
    proof = authenticate(con, staff, Act.WITHDRAW, said, credential)
    since = audit.corrected_since(con, "release.published", release.release_id) or release.published_at
    refused = proof if isinstance(proof, ReleaseGateError) else _not_now(release, said, since)
    if refused is not None or isinstance(proof, ReleaseGateError):
        error = refused or StoreError("nobody withdraws it", where=release.release_id)
        refuse(con, said.act, said, error)
        return error
    check_transition(release.state, ReleaseState.WITHDRAWN)
    con.execute(
        "UPDATE release SET state = ? WHERE release_id = ?",
        [ReleaseState.WITHDRAWN.value, release.release_id],
    )
    payload = {
        "release": release.release_id,
        "release_state": ReleaseState.WITHDRAWN.value,
        "at": said.at,
        "bound": dict(said.bound),
        "proof": proof.document(),
    }
    audit.append(con, said.by, "release.withdrawn", release.release_id, said.reason, payload)
    return None


def _not_now(release: Release, said: Statement, since: datetime) -> ReleaseGateError | None:
    """Return why a release cannot be withdrawn on this word as it stands, or None.

    `since` is when it was published, or the clock was corrected after that.
    """
    if not may(Act.WITHDRAW, release.state):
        hint = "There is nothing left to withdraw; run `releasegate show` to see who withdrew it."
        return UsageError(f"is {release.state} already", where=release.release_id, hint=hint)
    if dict(said.bound) != withdrawal_bound(release):
        return Blocked(
            "the signed text is about another state of the release, or other files",
            where=release.release_id,
            hint="Look at the release again, and sign the current state.",
        )
    try:
        check_moment(said, utc_now(), since)
    except UsageError as error:
        return error
    return None


def unsettled_withdrawals(store: ReleaseStore, series: str) -> list[Release]:
    """Return the withdrawn releases of a series that are still public, or that lack their tombstone."""
    withdrawn = [one for one in store.releases(series) if one.state is ReleaseState.WITHDRAWN]
    if not withdrawn:
        return []
    with connect(store.root) as con:
        done = queries.withdrawn_releases(con)
    return [
        one
        for one in withdrawn
        if one.release_id not in done
        or release_folder(store.root, series, one.release_id).exists()
        or not tombstone_file(store.root, series, one.release_id).exists()
    ]


def settle_withdrawals(store: ReleaseStore, series: str) -> list[str]:
    """Take down what was withdrawn, and say so in one line each; the series' lock must be held.

    Raises StoreError where the system refuses it.
    """
    said = []
    for release in unsettled_withdrawals(store, series):
        try:
            _take_down(store, release)
        except OSError as error:
            raise StoreError(
                f"is withdrawn, but could not be taken down ({type(error).__name__})",
                where=release.release_id,
                hint="Free the disk, or fix the permissions; the next run takes it down.",
            ) from None
        said.append(f"{release.release_id}: withdrawn, and now taken down")
    return said


def _take_down(store: ReleaseStore, release: Release) -> None:
    name, series = release.release_id, release.series
    # First the link: it never points to a folder that is gone.
    replace_link(series_folder(store.root, series) / LATEST, latest_release(store.releases(series)))
    public, kept = release_folder(store.root, series, name), withdrawn_folder(store.root, series, name)
    if public.is_dir():
        if kept.is_dir() and not differing_files(kept, release.files):
            remove_folder(public)  # it was copied before this died, or put there again by somebody
        else:
            move_folder(public, kept)
    with connect(store.root) as con:
        event = withdrawal_event(con, name)
    replace_file(tombstone_file(store.root, series, name), tombstone(release, event))
    with transaction(store.root) as con:
        if name not in queries.withdrawn_releases(con):
            audit.append(con, event.actor, "release.taken_down", name, "", {"release": name})


def withdrawal_event(con: Connection, release_id: str) -> AuditEvent:
    """Return the event that withdrew a release. Raises StoreError if the log knows of none."""
    for event in audit.read_events_about(con, [], [release_id], []):
        if event.action == "release.withdrawn":
            return event
    raise StoreError(
        "is withdrawn, but the log does not say by whom", where=release_id, hint="Run `releasegate verify`."
    )


def check_withdrawals(root: Path, con: Connection, releases: Sequence[Release]) -> list[Finding]:
    """Return where a withdrawn release is still public, or its tombstone is not what the log says."""
    findings = []
    withdrawn = [one for one in releases if one.state is ReleaseState.WITHDRAWN]
    for release in withdrawn:
        name, series = release.release_id, release.series
        if release_folder(root, series, name).exists():
            findings.append(Finding(name, "is withdrawn but still public; the next run takes it down"))
        path = tombstone_file(root, series, name)
        wanted = tombstone(release, withdrawal_event(con, name))
        if what := content_error(path, wanted, OTHER_RECORD):
            findings.append(Finding(f"{series}/{path.name}", what))
    known = {tombstone_file(root, one.series, one.release_id) for one in withdrawn}
    known |= {withdrawn_folder(root, one.series, one.release_id) for one in withdrawn}
    present = [*(root / "releases").glob("*/*.withdrawn.json"), *(root / "withdrawn").glob("*/*")]
    findings += [
        Finding(f"{path.parent.name}/{path.name}", "belongs to no withdrawn release")
        for path in sorted(set(present) - known)
    ]
    return findings
