"""The flow by which a person withdraws a release from Prefect's form or from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.states import Completed

from flows.decision import Name, Reason, Text
from release_store.approval.credentials import SignedText
from release_store.store import ReleaseStore
from services import withdrawal as service
from services.sanitized import sanitize_errors


@flow(
    name="withdraw-release",
    description="Withdraw a release from the public folder; a tombstone stays.",
    flow_run_name="withdraw-{release}",
    persist_result=False,
    retries=0,
)
def withdraw_release(release: Text, by: Name, reason: Reason, signature: Text, store: str = "store") -> Any:
    """Withdraw a release from the public folder. Copies of it exist, so later releases stay compared with it.

    Args:
        release: the release, such as clinic-2026Q1-r1.
        by: who withdraws it, as in people.yaml.
        reason: why; kept in the audit log, and public.
        signature: the line that `releasegate sign withdraw` printed. Do not paste a token: Prefect stores
            this field.
        store: folder of the release store.
    """
    return sanitize_errors(_withdraw_release, "the withdrawal")(release, by, reason, signature, store)


def _withdraw_release(release_id: str, by: str, reason: str, signature: str, store_path: str) -> Any:
    store = ReleaseStore.open_to_work(Path(store_path))
    release = service.withdraw_release(
        store, release_id, by=by, reason=reason, credential=SignedText(signature)
    )
    return Completed(message=f"{release.release_id} is withdrawn; a tombstone takes its place")
