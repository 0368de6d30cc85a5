"""Restoration: a release that was withdrawn is public again, with the same bytes, on an approver's word.

1. In one transaction: the release is `published` again, with the name and the reason, and what waits to
   replace it is stale.
2. Its files are copied by their digests, synced, and appear under their name by one rename. The kept ones and
   the tombstone are removed.
3. A signed checkpoint, `latest` and the catalog follow.

Whatever ends between two steps is finished by the next run, or by `recover`: a person's word is not undone.
The same bytes tell nothing new: the release stayed in every comparison while it was withdrawn.
"""

from __future__ import annotations

from policy.errors import ReleaseGateError, UsageError, VerificationFailed
from release_store.approval.authentication import maker_of
from release_store.approval.credentials import Credential, Statement, as_said
from release_store.approval.decisions import RESTORED_SINCE
from release_store.approval.reviewers import needed_reviewers
from release_store.audit import keys
from release_store.db import queries
from release_store.db.changes import set_state
from release_store.db.connection import connect
from release_store.permission import Act, Person, check_typed, refusal
from release_store.protocol.proofs import is_by
from release_store.publishing.public_files import (
    build_release,
    differing_files,
    file_errors,
    move_into_place,
    partial_folder,
    release_folder,
    remove_folder,
    sync_folder,
    tombstone_file,
    withdrawn_folder,
)
from release_store.publishing.withdrawal import (
    Connection,
    announce,
    move_release,
    release_statement,
    series_of,
    settle,
)
from release_store.records import CandidateState, Proof, Release, ReleaseState
from release_store.states import may
from release_store.store import ReleaseStore
from release_store.verification.public import check_series_folder
from release_store.verification.rows_and_log import check_rows_follow_log, context_of, refuse
from release_store.verification.view import run_check

_WAITING = (CandidateState.AWAITING_APPROVAL, CandidateState.APPROVED)
_HINT = "Restore the file from a copy of the store; nothing was made public."


def restore(
    store: ReleaseStore, release_id: str, *, by: str, reason: str, credential: Credential | None = None
) -> Release:
    """Put a withdrawn release back into the public place on a person's word, and return it as it then is.

    `credential` proves that it is the person's. Raises UsageError if there is no such release, if it is not
    withdrawn, is not the last of its period or lost its rows, or if the person may not restore it or gives
    no proof; Blocked if what was signed is about it as it no longer is; VerificationFailed if its files are
    not those that were published, or what is kept of the series does not follow the log; StoreError if it
    is restored and its folder could not be moved, which the next run does. What is refused of a person is in
    the log by then.
    """
    check_typed(by, reason, release_id)
    staff = needed_reviewers(store.root)
    key = keys.load_key(store.root)
    series = series_of(store, release_id)
    with store.series_lock(series):
        with store.kept_transaction() as con:
            check_rows_follow_log(con, store.root, series)
            view = context_of(con, store.root, series)
            refuse(run_check("releases", check_series_folder, view, queries.releases(con)))
            release = queries.release(con, release_id)
            said = as_said(release_statement(Act.RESTORE, release, store.store_id, by, reason), credential)

            def not_now(
                con: Connection, release: Release, said: Statement, proof: Proof
            ) -> ReleaseGateError | None:
                return _not_now(con, release, said, proof) or _altered(store, release)

            refused = move_release(con, release, ReleaseState.PUBLISHED, said, staff, credential, not_now)
            if refused is None:
                _outdate_revisions(con, release, by)
        if refused is not None:
            raise refused
        settle_restorations(store, series)
        announce(store, key, release, "is restored")
    return store.release(release_id)


def _not_now(con: Connection, release: Release, said: Statement, proof: Proof) -> UsageError | None:
    """Return why a release is not restored on this word as it stands, or None."""
    name = release.release_id
    if not may(Act.RESTORE, release.state):
        return UsageError(
            f"is {release.state}; only a withdrawn release can be restored",
            where=name,
            hint="Run `releasegate history` to see the state of each release.",
        )
    last = queries.last_release_of(con, release.series, release.period)
    if last is not None and last.release_id != name:
        return UsageError(
            f"{last.release_id} was published of the same period since",
            where=name,
            hint="It stays withdrawn: only the last release of a period can be restored.",
        )
    if (purge := queries.purged(con, release.series).get(name)) is not None:
        return UsageError(
            f"its rows were purged on {purge.at[:10]}",
            where=name,
            hint="It stays withdrawn: the store has its digests only.",
        )
    own = is_by(proof.document(), maker_of(con, release.candidate_id))
    made_by = said.by if own else queries.candidate(con, release.candidate_id).made_by
    return refusal(Act.RESTORE, Person(said.by, said.reason, made_by), name)


def _outdate_revisions(con: Connection, release: Release, by: str) -> None:
    """Make stale what waits to replace the release: it was made before somebody said that this is right."""
    for one in queries.candidates_in(con, release.series, _WAITING):
        if one.summary.revision is not None and one.summary.revision.of == release.release_id:
            reason = f"{release.release_id} {RESTORED_SINCE}"
            set_state(con, one.candidate_id, CandidateState.STALE, actor=by, reason=reason)


def _altered(store: ReleaseStore, release: Release) -> VerificationFailed | None:
    """Return which of the kept files is not the published one, or None."""
    folder = withdrawn_folder(store.root, release.series, release.release_id)
    for file, what in file_errors(folder, release.files).items():
        return VerificationFailed(what, where=str(folder / file), hint=_HINT)
    return None


def unsettled_restorations(store: ReleaseStore, series: str) -> list[Release]:
    """Return the restored releases of a series that are not public yet, or still have a tombstone."""
    with connect(store.root) as con:
        restored = queries.restored_releases(con)
        if not restored:
            return []
        releases = queries.releases(con, series)
    return [
        one
        for one in releases
        if one.release_id in restored
        and one.state is not ReleaseState.WITHDRAWN
        and (
            withdrawn_folder(store.root, series, one.release_id).exists()
            or tombstone_file(store.root, series, one.release_id).exists()
        )
    ]


def settle_restorations(store: ReleaseStore, series: str) -> list[str]:
    """Put back what was restored: see `settle`. Raises VerificationFailed where its files are altered."""
    return settle(store, unsettled_restorations(store, series), _put_back, "restored", "put back")


def _put_back(store: ReleaseStore, release: Release) -> None:
    name, series = release.release_id, release.series
    public, kept = release_folder(store.root, series, name), withdrawn_folder(store.root, series, name)
    if kept.is_dir():
        if not public.is_dir() or differing_files(public, release.files):
            partial = partial_folder(store.root, series, name)
            build_release(partial, kept, release.files, {})  # by its digests: nothing else goes public
            move_into_place(partial, public)
        remove_folder(kept)
        sync_folder(kept.parent)
    tombstone = tombstone_file(store.root, series, name)
    tombstone.unlink(missing_ok=True)
    sync_folder(tombstone.parent)
