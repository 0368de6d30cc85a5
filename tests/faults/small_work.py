"""The work of a release by hand, with real policies and staged files: what a run does, without its stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from policy.load import parse_policy, policy_digest, policy_document
from policy.model import ReleasePolicy
from release_store.canonical import sha256_hex, utc_now
from release_store.person_key import hashed_people
from release_store.publishing.public_files import candidate_folder
from release_store.publishing.publication import publish
from release_store.records import (
    CandidateRecord,
    CandidateState,
    GateResult,
    PersonHashes,
    Release,
    Verdict,
)
from release_store.store import ReleaseStore
from release_store.summary import Summary
from reports.releasing import report_factory
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import Recoded

MAKER = "ann"
PERSON_KEY = b"a key of people that is for tests"
PASSES = (
    GateResult("files", Verdict.PASS, None, None, "", "reader", 0.01, "3 files"),
    GateResult("k", Verdict.PASS, 3.0, 2.0, ">=", "prosecutor", 0.01, "", {"smallest": [1, 3]}),
    GateResult("suppression", Verdict.PASS, 0.0, 0.05, "<=", "none", 0.01),
    GateResult("unique", Verdict.PASS, 0.0, 0.5, "<=", "none", 0.01),
    GateResult("ncp", Verdict.PASS, 0.25, 0.5, "<=", "none", 0.01),
)
FAILS = (*PASSES[:1], GateResult("k", Verdict.FAIL, 1.0, 2.0, ">=", "prosecutor", 0.01), *PASSES[2:])


def policy_of(series: str, approvers: int = 0) -> ReleasePolicy:
    """Return a policy of two quasi-identifiers and one sensitive attribute."""
    text = (
        f"series: {series}\nroles:\n  quasi_identifiers:\n    age: {{type: integer, bounds: [0, 110]}}\n"
        "    sex: {type: categorical, values: [f, m]}\n  sensitive: {disease: {stability: stable}}\n"
        f"privacy: {{k: 2}}\napproval: {{approvers: {approvers}}}\n"
    )
    return parse_policy(text, Path("policy.yaml"))


def rows_of(period: str) -> pd.DataFrame:
    """Return seven rows to publish in two classes, other ages for every period."""
    low = sum(period.encode()) % 40
    return pd.DataFrame(
        {
            "age_min": [low] * 3 + [low + 20] * 4,
            "age_max": [low + 9] * 3 + [low + 35] * 4,
            "sex": ["f"] * 3 + ["*"] * 4,
            "disease": ["flu", "none", "none", "none", "none", "flu", "flu"],
        }
    )


def figures_of(candidate_id: str) -> dict[str, Any]:
    """Return figures of the form that a run keeps, other ones for every candidate."""
    return {
        "format": "releasegate/figures/1",
        "least": 2,
        "classes": {
            "n": 2,
            "records": 7,
            "least": 3,
            "median": 3.5,
            "greatest": 4,
            "sizes": [{"low": 3, "high": 4, "classes": 2, "records": 7}],
        },
        "ncp": {"age": 0.125, "sex": int(sha256_hex(candidate_id.encode())[:8], 16) / 2**32},
        "narrowing": [],
        "attributes": [
            {
                "name": "disease",
                "role": "sensitive",
                "bins": [{"label": "flu", "after": 3}, {"label": "none", "after": 4}],
            }
        ],
        "latent": None,
    }


def people_in(*names: str) -> PersonHashes:
    """Return the keyed hashes of some people."""
    found = hashed_people(PERSON_KEY, "person", [(name, 0) for name in names])
    return replace(found, values=f"sealed of {len(names)}".encode())


def staged(
    store: ReleaseStore, series: str, period: str, approvers: int = 0, people: PersonHashes | None = None
) -> CandidateRecord:
    """Stage the period's rows and add the candidate that they make."""
    policy = policy_of(series, approvers)
    candidate_id = store.next_candidate_id(series, period)
    input_digest = sha256_hex(f"{series}/{period}".encode())
    last = store.last_release_of(series, period)
    revision = {"revision": {"of": last.release_id, "reason": "a row was missing"}} if last else {}
    store.record_validation(
        series=series,
        period=period,
        input_digest=input_digest,
        n_rows=7,
        n_columns=3,
        passed=True,
        results=[{"expectation": "expect_no_missing", "column": "age", "passed": True}],
        actor=MAKER,
    )
    made = stage(
        Recoded(np.arange(len(rows_of(period))), rows_of(period)),
        policy,
        candidate_id=candidate_id,
        period=period,
        folder=candidate_folder(store.root, candidate_id),
        n_source=7,
    )
    record = CandidateRecord(
        candidate_id=candidate_id,
        series=series,
        period=period,
        state=CandidateState.STAGED,
        made_by=MAKER,
        made_at=utc_now(),
        policy_digest=policy_digest(policy),
        input_digest=input_digest,
        candidate_digest=made.digest,
        history_head=store.history_head(series),
        expires_at=None,
        summary=Summary({"method": "mondrian", "n_source": 7, "n_published": 7, **revision}),
    )
    store.add_candidate(
        record, policy=policy_document(policy), n_rows=7, n_columns=3, files=made.files, people=people
    )
    return record


def assessed(
    store: ReleaseStore,
    series: str,
    period: str,
    *,
    approvers: int = 0,
    passes: bool = True,
    people: PersonHashes | None = None,
    figures: bool = True,
) -> CandidateRecord:
    """Stage a candidate and keep its gates: approved, waiting for approval where asked for, or blocked.

    Under the lock of its series, as a run does it; published or decided on afterwards.
    """
    opened = CandidateState.AWAITING_APPROVAL if approvers else CandidateState.APPROVED
    to = opened if passes else CandidateState.BLOCKED
    with store.series_lock(series):
        record = staged(store, series, period, approvers, people)
        store.record_gates(
            record.candidate_id,
            PASSES if passes else FAILS,
            to=to,
            actor=MAKER,
            figures=figures_of(record.candidate_id) if figures else None,
        )
    return store.candidate(record.candidate_id)


def published(store: ReleaseStore, candidate_id: str) -> Release:
    """Publish an approved candidate with the classes of its staged file."""
    record = store.candidate(candidate_id)
    folder = candidate_folder(store.root, candidate_id)
    with store.series_lock(record.series):
        classes = read_classes(folder / "data.parquet", policy_of(record.series))
        return publish(
            store,
            candidate_id,
            classes,
            actor=MAKER,
            manifest_extra={"classes": 2},
            report=report_factory(store, candidate_id),
        )
