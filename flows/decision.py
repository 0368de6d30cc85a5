"""The flow by which a person decides on a candidate from Prefect's form or from a shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from prefect import flow
from prefect.states import Completed
from pydantic import Field

from flows.runtime.prefect_runtime import PrefectRuntime
from flows.runtime.rerun import run_again
from release_store.approval.credentials import SignedText
from release_store.permission import LONGEST_NAME, LONGEST_REASON
from release_store.store import ReleaseStore
from services.decisions import decide
from services.sanitized import sanitize_errors

Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Reason = Annotated[str, Field(min_length=1, max_length=LONGEST_REASON)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@flow(
    name="decide-release",
    description="Approve, reject or override a candidate; the last required approval publishes it.",
    flow_run_name="{decision}-{candidate}",
    persist_result=False,
    retries=0,
)
def decide_release(
    candidate: Text,
    candidate_digest: Digest,
    decision: Literal["approve", "reject", "override"],
    by: Name,
    reason: Reason,
    signature: Text,
    store: str = "store",
) -> Any:
    """Take one person's signed decision on a candidate, bound to the very files that the person looked at.

    Args:
        candidate: the candidate, such as clinic-2026Q1-c1.
        candidate_digest: digest shown by `releasegate show`; if it has changed, the decision is refused.
        decision: what is decided. An override needs two admins and is permanently recorded.
        by: who decides, as in people.yaml.
        reason: why; kept in the audit log.
        signature: the line that `releasegate sign` printed. Do not paste a token: Prefect stores this field.
        store: folder of the release store.
    """
    return sanitize_errors(_decide_release, "the decision")(
        candidate, candidate_digest, decision, by, reason, signature, store
    )


def _decide_release(
    candidate: str, digest: str, decision: str, by: str, reason: str, signature: str, store_path: str
) -> Any:
    store = ReleaseStore.open_to_work(Path(store_path))
    runtime = PrefectRuntime()
    outcome = decide(
        store,
        candidate,
        decision,
        by=by,
        reason=reason,
        credential=SignedText(signature),
        seen=digest,
        run=runtime.run,
    )
    if outcome.release_id:
        runtime.show_verdict(store, outcome.candidate_id, outcome.release_id)
    again = [run_again(store, stale) for stale in outcome.stale]
    return Completed(message="; ".join([outcome.message, *again]), data=outcome)
