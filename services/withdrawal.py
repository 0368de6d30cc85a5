"""A person withdraws or restores a release, and who wants to know of it is told."""

from __future__ import annotations

from release_store.approval.credentials import Credential
from release_store.permission import Act
from release_store.publishing.publication import recover
from release_store.publishing.restoration import restore
from release_store.publishing.withdrawal import withdraw
from release_store.records import Release
from release_store.store import ReleaseStore
from services.observability.notice_delivery import notify_on_exit

ACTS = {Act.WITHDRAW: withdraw, Act.RESTORE: restore}


def withdraw_or_restore(
    store: ReleaseStore,
    act: Act,
    release_id: str,
    *,
    by: str,
    reason: str,
    credential: Credential | None = None,
) -> Release:
    """Finish what was interrupted, do one of the ACTS, and send the notices; raises as the act."""
    recover(store)
    with notify_on_exit(store.root):
        return ACTS[act](store, release_id, by=by, reason=reason, credential=credential)
