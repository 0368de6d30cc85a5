"""A person withdraws a release, and who wants to know of it is told."""

from __future__ import annotations

from release_store.approval.credentials import Credential
from release_store.publishing.publication import recover
from release_store.publishing.withdrawal import withdraw
from release_store.records import Release
from release_store.store import ReleaseStore
from services.observability.notice_delivery import notify_on_exit


def withdraw_release(
    store: ReleaseStore, release_id: str, *, by: str, reason: str, credential: Credential | None = None
) -> Release:
    """Finish what was interrupted, withdraw a release, and send the notices; raises as `withdraw`."""
    recover(store)
    with notify_on_exit(store.root):
        return withdraw(store, release_id, by=by, reason=reason, credential=credential)
