"""Publication: a candidate becomes public whole, or not at all, whatever happens in between.

1. In one transaction: all is checked again, and the start, the classes and every file's digest are kept.
2. The files are put together in a hidden folder, synced, and appear by one rename.
3. In one transaction: the release is kept, and the candidate is published.
4. The signed checkpoint, `latest` and the catalog follow; each can be made again from the history.

Whatever ends between two steps is finished or undone by `recover`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policy.errors import ReleaseGateError, StoreError, VerificationFailed
from release_store import audit, keys, queries
from release_store.announcement import announce, announcements_missing
from release_store.connection import connect, transaction
from release_store.public_files import (
    MANIFEST,
    appear,
    build_release,
    candidate_folder,
    differing_files,
    partial_folder,
    release_folder,
    remove_folder,
)
from release_store.records import CandidateState, EquivalenceClasses, Release
from release_store.release_changes import (
    Started,
    fail_publication,
    finish_publication,
    start_publication,
    started_publication,
    undo_publication,
)
from release_store.store import ReleaseStore
from release_store.withdrawal import settle_withdrawals, unsettled_withdrawals


def publish(
    store: ReleaseStore,
    candidate_id: str,
    classes: EquivalenceClasses,
    *,
    actor: str,
    manifest_extra: Mapping[str, Any],
) -> Release:
    """Make an approved candidate public; to be called inside `store.series_lock`.

    `classes` are those that the gates read from the staged files. Raises Blocked if the candidate is
    stale (it is then marked so), VerificationFailed if a staged file changed, StoreError if it is not
    approved by gates and people or cannot be written; in each of these nothing becomes public.
    """
    key = keys.load_key(store.root)
    series = store.candidate(candidate_id).series
    _recover_series(store, series)
    _check_staged_files(store, candidate_id, actor)
    with transaction(store.root) as con:
        begun = start_publication(con, store.root, candidate_id, classes, actor, manifest_extra)
    if isinstance(begun, ReleaseGateError):
        raise begun
    started, manifest = begun
    staged = {name: digest for name, digest in started.files.items() if name != MANIFEST}
    partial = partial_folder(store.root, series, started.release_id)
    try:
        build_release(partial, candidate_folder(store.root, candidate_id), staged, manifest)
        appear(partial, release_folder(store.root, series, started.release_id))
    except (OSError, ReleaseGateError) as error:
        if not release_folder(store.root, series, started.release_id).exists():
            _undo(store, started, f"the files could not be written ({type(error).__name__})")
        if isinstance(error, ReleaseGateError):
            raise
        raise StoreError(
            f"the release could not be written ({type(error).__name__})",
            where=str(partial.parent),
            mend="Free the disk, and publish again.",
        ) from None
    with transaction(store.root) as con:
        release = finish_publication(con, started)
    try:
        announce(store, key, series)
    except OSError as error:
        raise StoreError(
            f"is published, but its checkpoint or the catalog could not be written ({type(error).__name__})",
            where=release.release_id,
            mend="Free the disk; the next run writes them again.",
        ) from None
    return release


def recover(store: ReleaseStore, *, timeout: float = 600.0) -> list[str]:
    """Finish or undo what interrupted publications and withdrawals left; say what was done in a line each.

    Waits for a publication that is still running, `timeout` seconds at most (then StoreError).
    """
    said: list[str] = []
    for series in _series_names(store):
        begun = _unfinished(store, series) or unsettled_withdrawals(store, series)
        if not begun and not announcements_missing(store, series):
            continue
        with store.series_lock(series, timeout):
            said += _recover_series(store, series)
            said += settle_withdrawals(store, series)
            missing = announcements_missing(store, series)
            if missing:
                announce(store, keys.load_key(store.root), series)
                said += [f"{path.relative_to(store.root)}: written again" for path in missing]
    return said


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
            said.append(f"{started.candidate_id}: publication undone, nothing was public; approved again")
        elif differing_files(final, started.files):
            with transaction(store.root) as con:
                fail_publication(con, started)
            said.append(f"{started.candidate_id}: failed, {final} is not what was to be published")
        else:
            with transaction(store.root) as con:
                finish_publication(con, started)
            said.append(f"{started.candidate_id}: publication finished as {started.release_id}")
    return said


def _check_staged_files(store: ReleaseStore, candidate_id: str, actor: str) -> None:
    folder = candidate_folder(store.root, candidate_id)
    changed = differing_files(folder, store.files(candidate_id))
    if not changed:
        return
    finding = f"changed since the gates judged it: {', '.join(changed)}"
    with transaction(store.root) as con:
        audit.append(con, actor, "publication.refused", candidate_id, finding)
    raise VerificationFailed(finding, where=str(folder), mend="Prepare the period again.")
