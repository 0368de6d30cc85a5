"""Publication: a candidate becomes public whole, or not at all, whatever happens in between.

1. In one transaction: all is checked again, and the start, the classes and every file's digest are kept.
2. The files are put together in a hidden folder, synced, and appear by one rename.
3. In one transaction: the release is kept, and the candidate is published.
4. The signed checkpoint, `latest` and the catalog follow; what was not yet written, the next run writes.

Whatever ends between two steps is finished or undone by `recover`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.errors import ReleaseGateError, StoreError, VerificationFailed
from release_store.approval.decisions import HINT_ALTERED
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.checkpoints import check_can_keep
from release_store.db import queries
from release_store.db.connection import connect, foreign_log, transaction
from release_store.db.release_changes import (
    Report,
    Started,
    fail_publication,
    finish_publication,
    start_publication,
    started_publication,
    undo_publication,
)
from release_store.own_places import file_error
from release_store.publishing.public_files import (
    build_release,
    candidate_folder,
    differing_files,
    move_into_place,
    partial_folder,
    release_folder,
    remove_folder,
    series_folder,
)
from release_store.publishing.public_index import (
    announcements_missing,
    check_log,
    outdated_catalog,
    update_public_index,
    write_catalog,
)
from release_store.publishing.purge import settle_purges, unsettled_purges
from release_store.publishing.recovery import leftovers, settle_leftovers
from release_store.publishing.restoration import settle_restorations, unsettled_restorations
from release_store.publishing.withdrawal import settle_withdrawals, unsettled_withdrawals
from release_store.records import CandidateState, EquivalenceClasses, Release
from release_store.store import ReleaseStore, SeriesInUse
from release_store.verification.public import check_series_folder
from release_store.verification.rows_and_log import check_rows_follow_log, context_of, refuse
from release_store.verification.view import run_check


def publish(
    store: ReleaseStore,
    candidate_id: str,
    classes: EquivalenceClasses,
    *,
    actor: str,
    manifest_extra: Mapping[str, Any],
    reason: str = "",
    report: Report | None = None,
    compared: bool = False,
) -> Release:
    """Make an approved candidate public; to be called inside `store.series_lock`.

    `classes` are those that the gates read from the staged files; `reason` is of the person who asks for the
    publication, where it does not follow from gates or approvals. `report` makes the release's `report.html`
    of what its manifest says but for its files; what it raises goes on to the caller, and nothing is kept.
    `compared` says that the caller holds the lock since it has compared the series' earlier releases.
    Raises Blocked if the candidate is stale (it is then marked so); VerificationFailed if a staged file or
    what is public of the series changed, rows do not follow the log, or the log does not continue the newest
    checkpoint; StoreError if it is not approved by gates and people or cannot be written. In each of these
    nothing becomes public.
    """
    key = keys.load_key(store.root)
    check_can_keep(store.root)
    check_log(store)
    series = store.candidate(candidate_id).series
    _settle_series(store, series)
    check_staged_files(store, candidate_id, actor)
    if not compared:
        store.earlier_classes(series)  # raises where they, or the published files, were altered
    with transaction(store.root) as con:
        check_rows_follow_log(con, store.root, None, compared=True)  # all that is signed with it
        if not compared:
            check_rows_follow_log(con, store.root, series, again=True)
        view = context_of(con, store.root, series)
        refuse(run_check("releases", check_series_folder, view, queries.releases(con)))
        begun = start_publication(
            con, store.root, candidate_id, classes, actor, manifest_extra, key, reason, report
        )
    if isinstance(begun, ReleaseGateError):
        raise begun
    started, documents = begun
    staged = {name: digest for name, digest in started.files.items() if name not in documents}
    partial = partial_folder(store.root, series, started.release_id)
    try:
        build_release(partial, candidate_folder(store.root, candidate_id), staged, documents)
        move_into_place(partial, release_folder(store.root, series, started.release_id))
    except (OSError, ReleaseGateError) as error:
        if not release_folder(store.root, series, started.release_id).exists():
            _undo(store, started, f"the files could not be written ({type(error).__name__})")
        if isinstance(error, ReleaseGateError):
            raise
        raise StoreError(
            f"the release could not be written ({type(error).__name__})",
            where=str(partial.parent),
            hint="Check the free space and the folder's permissions, and publish again.",
        ) from None
    with transaction(store.root) as con:
        check_rows_follow_log(con, store.root, series, compared=True, again=True)
        release = finish_publication(con, started)
    try:
        update_public_index(store, key, series)
    except OSError as error:
        raise StoreError(
            f"is published, but its checkpoint or the catalog could not be written ({type(error).__name__})",
            where=release.release_id,
            hint="Free the disk; the next run writes them again.",
        ) from None
    return release


def recover(store: ReleaseStore, *, timeout: float = 0.0) -> list[str]:
    """Finish or undo what interrupted acts left, and say so in a line each.

    A series whose lock another process holds, for `timeout` seconds at least, is left alone: whoever holds
    it is alive and settles its own, and what is left after that the next to come settles. What a run left
    that died before its publication is ended.
    Raises VerificationFailed where the log does not continue the newest checkpoint: nothing is signed; and
    where rows ask for a withdrawal, a restoration or a purge that does not follow from the log.
    """
    check_log(store)
    said = _remove_foreign_log(store) + settle_leftovers(store)
    for series in _series_names(store):
        begun = _unfinished(store, series) or _half_done(store, series)
        if not begun and not announcements_missing(store, series):
            continue
        try:
            with store.series_lock(series, timeout):
                said += _settle_series(store, series)
        except SeriesInUse:
            continue
    outdated = outdated_catalog(store)
    if outdated is not None:
        write_catalog(store)
        said.append(f"{outdated.relative_to(store.root)}: written again")
    return said


def _remove_foreign_log(store: ReleaseStore) -> list[str]:
    """Remove what stands in the place of the database's log: what it can read of one, it has read by now."""
    with connect(store.root) as con:
        log = foreign_log(con, store.root)
        if log is None:
            return []
        log.unlink()
    return [f"{log.name}: removed, the database cannot read it; what it held may be lost"]


def _settle_series(store: ReleaseStore, series: str) -> list[str]:
    if _half_done(store, series):
        store.check_rows(series)  # nothing is taken down, made public or removed because a row says so
    said = _recover_series(store, series)
    said += settle_withdrawals(store, series)
    said += settle_restorations(store, series)
    said += settle_purges(store, series)
    missing = announcements_missing(store, series)
    if missing:
        outdated = outdated_catalog(store)
        problem = ""
        try:
            missing += set(update_public_index(store, keys.load_key(store.root), series)) - set(missing)
        except OSError as error:
            problem = type(error).__name__
        if problem:
            raise StoreError(
                f"the files beside its releases cannot be written ({problem})",
                where=str(series_folder(store.root, series)),
                hint="Free the disk, fix the permissions, or restore the folder from a copy.",
            )
        missing += [outdated] if outdated else []
        said += [f"{path.relative_to(store.root)}: written again" for path in missing]
    return said


def _half_done(store: ReleaseStore, series: str) -> bool:
    """Tell whether a withdrawal, a restoration or a purge of a series was interrupted."""
    return bool(
        unsettled_withdrawals(store, series)
        or unsettled_restorations(store, series)
        or unsettled_purges(store, series)
    )


def unsettled(store: ReleaseStore) -> list[str]:
    """Return what `recover` would settle, in one line each; nothing is changed."""
    with connect(store.root) as con:
        log = foreign_log(con, store.root)
    left = [f"{log.name}: is no log that the database can read"] if log else []
    left += [f"{name}: was never assessed" for names in leftovers(store).values() for name in names]
    for series in _series_names(store):
        left += [f"{one.candidate_id}: its publication was interrupted" for one in _unfinished(store, series)]
        withdrawn = unsettled_withdrawals(store, series)
        left += [f"{one.release_id}: is withdrawn, but was not taken down" for one in withdrawn]
        restored = unsettled_restorations(store, series)
        left += [f"{one.release_id}: is restored, but was not put back" for one in restored]
        left += [f"{name}: is purged, but its rows are there" for name in unsettled_purges(store, series)]
        missing = announcements_missing(store, series)
        left += [f"{path.relative_to(store.root)}: is missing or out of date" for path in missing]
    outdated = outdated_catalog(store)
    if outdated is not None:
        left.append(f"{outdated.relative_to(store.root)}: is missing or out of date")
    return left


def _undo(store: ReleaseStore, started: Started, reason: str) -> None:
    remove_folder(partial_folder(store.root, started.series, started.release_id))
    with transaction(store.root) as con:
        undo_publication(con, started, reason)


def _series_names(store: ReleaseStore) -> list[str]:
    return sorted({record.series for record in store.candidates()})


def _unfinished(store: ReleaseStore, series: str) -> list[Started]:
    with connect(store.root) as con:
        return [
            started_publication(con, record.candidate_id, series)
            for record in queries.candidates(con, series)
            if record.state is CandidateState.PUBLISHING
        ]


def _recover_series(store: ReleaseStore, series: str) -> list[str]:
    """Settle the interrupted publications of a series; its lock must be held, so that none is running."""
    said = []
    for started in _unfinished(store, series):
        final = release_folder(store.root, series, started.release_id)
        if not final.exists():
            _undo(store, started, "the publication was interrupted before anything was public")
            said.append(f"{started.candidate_id}: publication undone, nothing was public; state: approved")
        elif differing_files(final, started.files):
            with transaction(store.root) as con:
                fail_publication(con, started)
            said.append(f"{started.candidate_id}: failed, {final} is not the assessed folder")
        else:
            with transaction(store.root) as con:
                check_rows_follow_log(con, store.root, series, compared=True)
                finish_publication(con, started)
            said.append(f"{started.candidate_id}: publication finished as {started.release_id}")
    return said


def check_staged_files(store: ReleaseStore, candidate_id: str, actor: str) -> None:
    """Raise VerificationFailed, and log it, unless the staged files are those that the gates judged."""
    folder = candidate_folder(store.root, candidate_id)
    files = store.files(candidate_id)
    changed = differing_files(folder, files)
    wrong = [f"{name} {what}" for name in files if (what := file_error(folder / name))]
    if not changed and not wrong:
        return
    finding = f"changed since its gates ran: {', '.join(changed)}" if changed else wrong[0]
    with transaction(store.root) as con:
        audit.append(con, actor, "publication.refused", candidate_id, finding)
    raise VerificationFailed(finding, where=str(folder), hint=HINT_ALTERED)
