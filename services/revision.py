"""Whether a period has a release already, and what a revision of it replaces."""

from __future__ import annotations

from policy.errors import UsageError
from release_store.permission import Act, Person, check_permission, check_typed
from release_store.records import Release, ReleaseState
from release_store.states import may
from release_store.store import ReleaseStore
from release_store.summary import Revision


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
                hint="Release the period again with --revise REASON and --by NAME.",
            )
        return last
    where = f"{series} {period}"
    check_typed(by or "", revise, where)
    check_permission(Act.REVISE, Person(by or "", revise), where)
    if last is None or not may(Act.REVISE, last.state):
        raise UsageError("the period has no release to revise", where=where, hint="Leave --revise out.")
    return Revision(last.release_id, revise)
