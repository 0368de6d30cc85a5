"""Small stores, candidates and classes made by hand, for the tests of the store and their subprocesses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from release_store.canonical import digest_of, sha256_hex, tree_digest
from release_store.db.release_changes import Report
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import publish
from release_store.records import (
    CandidateRecord,
    CandidateState,
    Decision,
    EquivalenceClasses,
    GateResult,
    PersonHashes,
    Release,
    SetCells,
    Verdict,
)
from release_store.store import ReleaseStore
from release_store.summary import Summary

K_PASSES = GateResult("k", Verdict.PASS, 3.0, 2.0, ">=", "prosecutor", 0.01)
K_FAILS = GateResult("k", Verdict.FAIL, 1.0, 2.0, ">=", "prosecutor", 0.01)


def classes_of_two() -> EquivalenceClasses:
    """Two classes of three and four records; the second is published as `*` for its sex."""
    return EquivalenceClasses(
        size=np.array([3, 4]),
        intervals={"age": np.array([[20.0, 29.0], [30.0, 45.0]])},
        sets={
            "sex": SetCells(("f", "m"), np.array([[True, False], [False, False]]), np.array([False, True]))
        },
        sensitive_values={"disease": ("flu", "none")},
        counts={"disease": np.array([[1, 2], [0, 4]])},
    )


def stage(
    store: ReleaseStore,
    *,
    series: str = "clinic",
    period: str = "2024",
    approvers: int = 0,
    content: str = "age_min,age_max\n20,29\n",
    package: bytes = b"{}\n",
    people: PersonHashes | None = None,
    more: Mapping[str, bytes] | None = None,
    **changed: Any,
) -> CandidateRecord:
    """Write two staged files, and `more`, and add the candidate that they make."""
    candidate_id = store.next_candidate_id(series, period)
    folder = candidate_folder(store.root, candidate_id)
    folder.mkdir()
    contents = {"data.csv": content.encode(), "datapackage.json": package, **(more or {})}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    files = {name: sha256_hex(data) for name, data in contents.items()}
    last = store.last_release_of(series, period)
    revision = {"revision": {"of": last.release_id, "reason": "a row was missing"}} if last else {}
    policy = {"series": series, "approval": {"approvers": approvers}}
    fields: dict[str, Any] = {
        "candidate_id": candidate_id,
        "series": series,
        "period": period,
        "state": CandidateState.STAGED,
        "made_by": "ann",
        "made_at": datetime.now(UTC),
        "policy_digest": digest_of(policy),
        "input_digest": sha256_hex(period.encode()),
        "candidate_digest": tree_digest(files),
        "history_head": store.history_head(series),
        "expires_at": None,
        **changed,
        "summary": Summary(changed.get("summary", {"n_published": 7, **revision})),
    }
    record = CandidateRecord(**fields)
    return store.add_candidate(record, policy=policy, n_rows=7, n_columns=3, files=files, people=people)


def approved(store: ReleaseStore, **wanted: Any) -> str:
    """Stage a candidate that passes its one gate, and return its id."""
    record = stage(store, **wanted)
    store.record_gates(record.candidate_id, [K_PASSES], to=CandidateState.APPROVED, actor="ann")
    return record.candidate_id


def awaiting(store: ReleaseStore, *, approvers: int = 1, **wanted: Any) -> CandidateRecord:
    """Stage a candidate that passes its gate and waits for people."""
    record = stage(store, approvers=approvers, **wanted)
    store.record_gates(record.candidate_id, [K_PASSES], to=CandidateState.AWAITING_APPROVAL, actor="ann")
    return record


def word(record: CandidateRecord, by: str = "bob", decision: str = "approve", **changed: Any) -> Decision:
    """One person's decision on a candidate as it stands."""
    fields: dict[str, Any] = {
        "candidate_id": record.candidate_id,
        "decision": decision,
        "by": by,
        "reason": "looked at it",
        "at": datetime.now(UTC),
        "candidate_digest": record.candidate_digest,
        "policy_digest": record.policy_digest,
        "history_head": record.history_head,
        **changed,
    }
    return Decision(**fields)


def publish_one(store: ReleaseStore, candidate_id: str, report: Report | None = None) -> Release:
    """Publish an approved candidate under its series' lock."""
    extra = {"method": "mdav"}
    with store.series_lock(store.candidate(candidate_id).series):
        return publish(
            store, candidate_id, classes_of_two(), actor="ann", manifest_extra=extra, report=report
        )
