"""The flows by which a person withdraws or restores a release from Prefect's form or from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.states import Completed

from flows.decision import Name, Reason, Text
from release_store.approval.credentials import SignedText
from release_store.permission import Act
from release_store.store import ReleaseStore
from services.sanitized import sanitize_errors
from services.withdrawal import withdraw_or_restore


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
    work = sanitize_errors(_withdraw_or_restore, "the withdrawal")
    work(Act.WITHDRAW, release, by, reason, signature, store)
    return Completed(message=f"{release} is withdrawn; a tombstone takes its place")


@flow(
    name="restore-release",
    description="Publish a withdrawn release again, with the same bytes.",
    flow_run_name="restore-{release}",
    persist_result=False,
    retries=0,
)
def restore_release(release: Text, by: Name, reason: Reason, signature: Text, store: str = "store") -> Any:
    """Publish a withdrawn release again, with the same bytes.

    Args:
        release: the release, such as clinic-2026Q1-r1.
        by: who restores it, as in people.yaml; not who made it.
        reason: why; kept in the audit log.
        signature: the line that `releasegate sign restore` printed. Do not paste a token: Prefect stores
            this field.
        store: folder of the release store.
    """
    work = sanitize_errors(_withdraw_or_restore, "the restoration")
    work(Act.RESTORE, release, by, reason, signature, store)
    return Completed(message=f"{release} is restored: it is public again")


def _withdraw_or_restore(act: Act, release: str, by: str, reason: str, signature: str, store: str) -> None:
    opened, credential = ReleaseStore.open_to_work(Path(store)), SignedText(signature)
    withdraw_or_restore(opened, act, release, by=by, reason=reason, credential=credential)
