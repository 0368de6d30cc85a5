"""A person purges the rows of what ended, series by series, and who wants to know of it is told."""

from __future__ import annotations

from datetime import timedelta

from release_store.approval.credentials import Credential
from release_store.permission import Act, Person, check_permission
from release_store.publishing.publication import recover
from release_store.publishing.purge import Purgeable, purge, purgeable
from release_store.store import ReleaseStore
from reports.documents import check_known_series
from services.observability.notice_delivery import notify_on_exit


def what_is_purgeable(store: ReleaseStore, days: int, series: str | None) -> list[Purgeable]:
    """Return what `purge_rows` would remove now, by series; nothing is changed."""
    return [purgeable(store, name, timedelta(days=days)) for name in _series(store, series)]


def purge_rows(
    store: ReleaseStore,
    days: int,
    series: str | None,
    *,
    by: str,
    reason: str,
    credential: Credential | None = None,
) -> list[Purgeable]:
    """Finish what was interrupted, and remove what ended more than `days` ago; raises as `purge`."""
    check_permission(Act.PURGE, Person(by, reason), series or "rows")
    recover(store)
    with notify_on_exit(store.root):
        return [
            purge(store, name, timedelta(days=days), by=by, reason=reason, credential=credential)
            for name in _series(store, series)
        ]


def _series(store: ReleaseStore, series: str | None) -> list[str]:
    known = sorted({one.series for one in store.candidates()})
    if series is None:
        return known
    check_known_series(series, known)
    return [series]
