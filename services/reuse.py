"""The cells of an earlier release that a policy uses again, found in the store and checked."""

from __future__ import annotations

from policy.errors import VerificationFailed
from policy.load import policy_from_document
from policy.model import ReleasePolicy
from release_store.records import CandidateRecord, Release
from release_store.store import ReleaseStore
from release_store.summary import reused_release
from tasks.composition import History
from tasks.history.reuse import check_same_columns, release_to_reuse
from tasks.history.selection import by_leaves
from tasks.reuse import EarlierCells


def find_release_to_reuse(store: ReleaseStore, policy: ReleasePolicy, period: str) -> Release | None:
    """Return the release whose cells a release of `period` uses; None where it has its own.

    Raises PolicyError where it is not public, of another series, or made under other columns.
    """
    reuse = policy.method.reuse
    if reuse is None:
        return None
    series = policy.series
    found = release_to_reuse(store.releases(), series, reuse, period, store.purged(series))
    if found is not None:
        digest = store.candidate(found.candidate_id).policy_digest
        check_same_columns(policy_from_document(store.policy(digest)), policy, found.release_id)
    return found


def cells_to_reuse(
    store: ReleaseStore, policy: ReleasePolicy, period: str, history: History
) -> EarlierCells | None:
    """Return the cells that a release of `period` uses, read from its published file by the `history`.

    The history is one whose files and classes are those of the log (`earlier_classes`). Raises PolicyError
    as `find_release_to_reuse` does.
    """
    found = find_release_to_reuse(store, policy, period)
    return None if found is None else _cells_of(found.release_id, policy, history)


def cells_reused(record: CandidateRecord, policy: ReleasePolicy, history: History) -> EarlierCells | None:
    """Return the cells that a candidate was made with, whatever became of their release since.

    Raises VerificationFailed where the history of then does not have that release.
    """
    name = reused_release(record.summary.notes)
    return None if name is None else _cells_of(name, policy, history)


def _cells_of(release_id: str, policy: ReleasePolicy, history: History) -> EarlierCells:
    for release, classes in history:
        if release.release_id == release_id:
            return EarlierCells(release_id, by_leaves(classes, policy))
    raise VerificationFailed(
        "the history lacks the release whose cells are used",
        where=release_id,
        hint="Run `releasegate verify`.",
    )
