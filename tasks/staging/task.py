"""Staging as a Prefect task: the candidate's files are written and sealed by their digests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pandas as pd

from policy.load import policy_digest, policy_document
from policy.model import ReleasePolicy
from release_store.canonical import utc_now
from release_store.records import CandidateRecord, CandidateState
from release_store.store import ReleaseStore
from tasks.shielded import stage
from tasks.staging.stage import stage as write_candidate
from tasks.types import Candidate, SourceTable


@stage("staging: write and seal the candidate", retries=1)
def staging(
    frame: pd.DataFrame,
    source: SourceTable,
    policy: ReleasePolicy,
    store: ReleaseStore,
    *,
    period: str,
    actor: str,
    notes: dict[str, Any],
) -> Candidate:
    """Write the files that would be public, and keep the candidate in the store."""
    candidate_id = store.next_candidate_id(policy.series, period)
    head = store.history_head(policy.series)
    candidate = write_candidate(
        frame,
        policy,
        candidate_id=candidate_id,
        period=period,
        folder=store.root / "candidates" / candidate_id,
        n_source=len(source.frame),
    )
    now = utc_now()
    record = CandidateRecord(
        candidate_id=candidate_id,
        series=policy.series,
        period=period,
        state=CandidateState.STAGED,
        made_by=actor,
        made_at=now,
        policy_digest=policy_digest(policy),
        input_digest=source.digest,
        candidate_digest=candidate.digest,
        history_head=head,
        expires_at=now + timedelta(days=policy.approval.expires_days),
        summary={
            "method": policy.method.name,
            "parameters": policy.method.parameters,
            "history_aware": policy.method.history_aware,
            "seed": policy.seed,
            "n_source": candidate.n_source,
            "n_published": candidate.n_published,
            "notes": notes,
        },
    )
    store.add_candidate(
        record,
        policy=policy_document(policy),
        n_rows=len(source.frame),
        n_columns=source.frame.shape[1],
        files=candidate.files,
    )
    return candidate
