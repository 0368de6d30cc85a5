"""Withdrawal: a release leaves the public place, and a tombstone says who took it down, when and why.

1. In one transaction: the release is `withdrawn`, with the name and the reason.
2. `latest` moves on, and the release's folder leaves `releases/` by one rename, kept whole for the audit.
3. The tombstone takes its place.
4. In one transaction: the end is kept. A signed checkpoint and the catalog follow.

Whatever ends between two steps is finished by the next run, or by `recover`: a person's word is not undone.
Whoever copied the release has it, so it stays in every later comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

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
from release_store.protocol.names import CORRECTED, RESTORED
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
from release_store.records import AuditEvent, Proof, Release, ReleaseState
from release_store.states import check_transition, may
from release_store.store import ReleaseStore
from release_store.verification.rows_and_log import check_rows_follow_log

Connection = duckdb.DuckDBPyConnection
ACTION_OF = {Act.WITHDRAW: "release.withdrawn", Act.RESTORE: RESTORED}  # the event that keeps an act


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
    series = series_of(store, release_id)
    with store.series_lock(series):
        with store.kept_transaction() as con:
            check_rows_follow_log(con, store.root, series, compared=True)
            release = queries.release(con, release_id)
            said = as_said(release_statement(Act.WITHDRAW, release, store.store_id, by, reason), credential)
            refused = move_release(con, release, ReleaseState.WITHDRAWN, said, staff, credential, _not_now)
        if refused is not None:
            raise refused
        settle_withdrawals(store, series)
        announce(store, key, release, "is withdrawn")
    return store.release(release_id)


def series_of(store: ReleaseStore, release_id: str) -> str:
    """Return the series of a release. Raises UsageError if there is no release of that id."""
    known = {release.release_id: release.series for release in store.releases()}
    if release_id not in known:
        raise UsageError(
            f"there is no release '{release_id}'{did_you_mean(release_id, known)}",
            hint="Run `releasegate history` to list them.",
        )
    return known[release_id]


def announce(store: ReleaseStore, key: Ed25519PrivateKey, release: Release, done: str) -> None:
    """Write what tells readers of a release's new state; `done` says in an error what is kept by then."""
    try:
        update_public_index(store, key, release.series)
    except OSError as error:
        raise StoreError(
            f"{done}, but its checkpoint or the catalog was not written ({type(error).__name__})",
            where=release.release_id,
            hint="Free the disk; the next run writes them again.",
        ) from None


def release_statement(act: Act, release: Release, store_id: str, by: str, reason: str) -> Statement:
    """Return what a person says now who does `act` to a release: bound to its files and its state."""
    return Statement(act.value, store_id, release.release_id, release_bound(release), by, reason, utc_now())


def release_bound(release: Release) -> dict[str, str]:
    """Return what a word on a release is bound to."""
    return {"release_digest": tree_digest(release.files), "release_state": release.state.value}


def move_release(
    con: Connection,
    release: Release,
    to: ReleaseState,
    said: Statement,
    staff: Reviewers,
    credential: Credential | None,
    refusal: Callable[[Connection, Release, Statement, Proof], ReleaseGateError | None],
) -> ReleaseGateError | None:
    """Keep that a person takes a release to another state; or, in the log, that this was refused.

    Returns the error to raise, None if nothing was refused. `refusal` says why the act is not done to this
    release on this word, None if it is.
    """
    act, name = Act(said.act), release.release_id
    proof = authenticate(con, staff, act, said, credential)
    if isinstance(proof, ReleaseGateError):
        error: ReleaseGateError | None = proof
    else:
        error = refusal(con, release, said, proof) or _other_state(con, release, said)
    if error is not None or isinstance(proof, ReleaseGateError):
        error = error or StoreError("nobody says it", where=name)
        refuse(con, said.act, said, error)
        return error
    check_transition(release.state, to)
    con.execute("UPDATE release SET state = ? WHERE release_id = ?", [to.value, name])
    payload = {
        "release": name,
        "release_state": to.value,
        "at": said.at,
        "bound": dict(said.bound),
        "proof": proof.document(),
    }
    audit.append(con, said.by, ACTION_OF[act], name, said.reason, payload)
    return None


def _not_now(_: Connection, release: Release, *__: object) -> UsageError | None:
    """Return why a release cannot be withdrawn as it stands, or None."""
    if may(Act.WITHDRAW, release.state):
        return None
    hint = "There is nothing left to withdraw; run `releasegate show` to see who withdrew it."
    return UsageError(f"is {release.state} already", where=release.release_id, hint=hint)


def _other_state(con: Connection, release: Release, said: Statement) -> ReleaseGateError | None:
    """Return why a word is not about a release as it is now, or None."""
    if dict(said.bound) != release_bound(release):
        return Blocked(
            "the signed text is about another state of the release, or other files",
            where=release.release_id,
            hint="Look at the release again, and sign the current state.",
        )
    try:
        check_moment(said, utc_now(), _since(con, release))
    except UsageError as error:
        return error
    return None


def _since(con: Connection, release: Release) -> datetime:
    """Return when a release came into its state, or the clock was corrected after that."""
    found = con.execute(
        "SELECT at_utc FROM event WHERE action = ? OR (object = ? AND action IN (SELECT unnest(?))) "
        "ORDER BY number DESC LIMIT 1",
        [CORRECTED, release.release_id, ["release.published", *ACTION_OF.values()]],
    ).fetchone()
    return datetime.fromisoformat(found[0]) if found else release.published_at


def unsettled_withdrawals(store: ReleaseStore, series: str) -> list[Release]:
    """Return the withdrawn releases of a series that are still public, or that lack their tombstone."""
    withdrawn = [one for one in store.releases(series) if one.state is ReleaseState.WITHDRAWN]
    if not withdrawn:
        return []
    with connect(store.root) as con:
        done = queries.taken_down(con)
    return [
        one
        for one in withdrawn
        if one.release_id not in done
        or release_folder(store.root, series, one.release_id).exists()
        or not tombstone_file(store.root, series, one.release_id).exists()
    ]


def settle_withdrawals(store: ReleaseStore, series: str) -> list[str]:
    """Take down what was withdrawn: see `settle`."""
    return settle(store, unsettled_withdrawals(store, series), _take_down, "withdrawn", "taken down")


def settle(
    store: ReleaseStore,
    left: list[Release],
    move: Callable[[ReleaseStore, Release], None],
    was: str,
    now: str,
) -> list[str]:
    """Move what is left of releases, and say so in one line each; the series' lock must be held.

    `was` and `now` say what had been done to them, and what is done here. Raises StoreError where the system
    refuses it, and as `move`.
    """
    for release in left:
        try:
            move(store, release)
        except OSError as error:
            raise StoreError(
                f"is {was}, but could not be {now} ({type(error).__name__})",
                where=release.release_id,
                hint="Free the disk, or fix the permissions; the next run does it.",
            ) from None
    return [f"{release.release_id}: {was}, and now {now}" for release in left]


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
        if name not in queries.taken_down(con):
            audit.append(con, event.actor, "release.taken_down", name, "", {"release": name})


def withdrawal_event(con: Connection, release_id: str) -> AuditEvent:
    """Return the event that last withdrew a release. Raises StoreError if the log knows of none."""
    for event in reversed(audit.read_events_about(con, [], [release_id], [])):
        if event.action == "release.withdrawn":
            return event
    raise StoreError(
        "is withdrawn, but the log does not say by whom", where=release_id, hint="Run `releasegate verify`."
    )


def check_withdrawals(root: Path, con: Connection, releases: Sequence[Release]) -> list[Finding]:
    """Return where a withdrawn release is still public, or its tombstone is not what the log says."""
    findings = []
    withdrawn = [one for one in releases if one.state is ReleaseState.WITHDRAWN]
    done = queries.taken_down(con) if withdrawn else set()
    for release in withdrawn:
        name, series = release.release_id, release.series
        if release_folder(root, series, name).exists():
            findings.append(Finding(name, "is withdrawn but still public; the next run takes it down"))
        elif name not in done:
            findings.append(Finding(name, "is withdrawn, but the log does not say that it was taken down"))
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
