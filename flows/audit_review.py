"""The flow that looks once a week whether all is what it was, and would pass now."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.states import Completed, Failed

from flows.runtime.prefect_runtime import PrefectRuntime
from policy.errors import ReleaseGateError
from release_store.approval.expiry import end_expired
from release_store.approval.reviewer_log import log_reviewers
from release_store.store import ReleaseStore
from services.actor import default_actor
from services.observability.notice_delivery import notify_on_exit, tell_problems, verify_failed
from services.runtime import Stage
from services.sanitized import sanitize_errors
from services.store_review import review_markdown, review_rows, review_store, summary_line

REVIEW = Stage("audit", "verify the store, and review its published releases")


@flow(
    name="audit-review",
    description="Verify the store, and review all published releases by today's gates.",
    persist_result=False,
    retries=0,
)
def audit_review(store: str = "store", series: str | None = None) -> Any:
    """Verify the store, and assess each release by its own policy; a page and a table show what was found.

    Args:
        store: folder of the release store.
        series: only this series; if empty, all series with a release.
    """
    return sanitize_errors(_audit_review, "the audit review")(store, series)


def _review(store_path: Path, series: str | None, by: str) -> tuple[bool, str]:
    """Review the store, tell it in a page and a table, and return whether all is well, and it in one line."""
    found = review_store(ReleaseStore.open_to_work(store_path), by=by, series=series)
    if n_findings := len(found.findings) + len(found.refused):
        tell_problems(verify_failed(ReleaseStore.open(store_path), n_findings))
    create_markdown_artifact(
        key="audit-review", markdown=review_markdown(found), description=summary_line(found)
    )
    create_table_artifact(
        key="audit-review-releases", table=review_rows(found), description=summary_line(found)
    )
    return found.ok, summary_line(found)


def _audit_review(store_path: str, series: str | None) -> Any:
    root, by = Path(store_path), default_actor()
    with notify_on_exit(root):
        with contextlib.suppress(ReleaseGateError):  # a store that is damaged or only read is told below
            log_reviewers(ReleaseStore.open(root))
        with contextlib.suppress(ReleaseGateError):
            end_expired(ReleaseStore.open(root), actor=by)
        ok, line = PrefectRuntime().stage(REVIEW, lambda _: _review(root, series, by))
    return Completed(message=line) if ok else Failed(message=line)
