"""Whether a period has a release already, and what a revision of it replaces."""

from __future__ import annotations

from policy.errors import UsageError
from release_store.permission import Act, Person, check_permission, check_typed
from release_store.protocol.names import PACKAGE, REPORT
from release_store.records import Release, ReleaseState
from release_store.states import may
from release_store.store import ReleaseStore
from release_store.summary import Revision


def same_as_withdrawn(store: ReleaseStore, candidate_id: str) -> str:
    """Return the withdrawn release that a candidate revises and equals, "" if there is none.

    It equals one whose rows are the same bytes, or that was made of the same input under the same policy.
    """
    record = store.candidate(candidate_id)
    last = store.last_release_of(record.series, record.period)
    if last is None or not may_be_restored(store, last):
        return ""
    files, made = store.files(candidate_id), store.candidate(last.candidate_id)
    rows = files.keys() - {PACKAGE, REPORT}
    same_rows = bool(rows) and all(files[name] == last.files.get(name) for name in rows)
    same_source = (made.input_digest, made.policy_digest) == (record.input_digest, record.policy_digest)
    return last.release_id if same_rows or same_source else ""


def may_be_restored(store: ReleaseStore, release: Release) -> bool:
    """Tell whether a release, the last of its period, is withdrawn and still has its rows."""
    return may(Act.RESTORE, release.state) and release.release_id not in store.purged(release.series)


def resolve_revision(
    store: ReleaseStore, series: str, period: str, *, by: str | None, revise: str | None
) -> Release | Revision | None:
    """Return what a run of the period is asked for, `revise` being the reason for another release of it.

    None is its first release; a Release stands already, and nothing is to be done; a Revision replaces the
    last one, superseded or withdrawn as it may be. Raises UsageError for a revision that has no name, no
    reason or nothing to revise, and for a period whose release was withdrawn and is not to be revised.
    """
    last = store.last_release_of(series, period)
    if revise is None:
        if last is not None and last.state is ReleaseState.WITHDRAWN:
            raise UsageError(
                f"{last.release_id} of this period was withdrawn",
                where=f"{series} {period}",
                hint=f"Run `releasegate restore {last.release_id}`, or add --revise REASON and --by NAME."
                if may_be_restored(store, last)
                else "Add --revise REASON and --by NAME.",
            )
        return last
    where = f"{series} {period}"
    check_typed(by or "", revise, where)
    check_permission(Act.REVISE, Person(by or "", revise), where)
    if last is None or not may(Act.REVISE, last.state):
        raise UsageError("the period has no release to revise", where=where, hint="Leave --revise out.")
    return Revision(last.release_id, revise)
