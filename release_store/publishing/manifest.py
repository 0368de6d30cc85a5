"""The manifest of a release: what it is, what it was judged against, and who let it out."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import duckdb

from policy.errors import StoreError
from release_store.approval.admission import is_overridden
from release_store.approval.decisions import decision_document
from release_store.audit import log as audit
from release_store.canonical import iso, plain, pretty_json
from release_store.db import queries
from release_store.db.changes import gate_json
from release_store.permission import Act
from release_store.records import CandidateRecord, Verdict

_FILES = "files"
_SOFTWARE = (
    "releasegate",
    "cryptography",
    "duckdb",
    "great-expectations",
    "numpy",
    "pandas",
    "prefect",
    "pydantic",
    "torch",
)


def manifest_facts(
    con: duckdb.DuckDBPyConnection,
    record: CandidateRecord,
    release_id: str,
    number: int,
    extra: Mapping[str, Any],
    override: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what the manifest of a release about to be published says but for its files, as plain JSON.

    `override` is what `override_of` returns. Raises StoreError if `extra` names a field that the store fills
    itself.
    """
    size, head = audit.log_head(con)
    own = {
        "release_id": release_id,
        "series": record.series,
        "period": record.period,
        "number": number,
        "candidate_id": record.candidate_id,
        "candidate_digest": record.candidate_digest,
        "made_by": record.made_by,
        "made_at": record.made_at,
        "policy_digest": record.policy_digest,
        "input_digest": record.input_digest,
        "history_head": record.history_head,
        "summary": record.summary.document,
        "gates": [gate_json(result) for result in queries.gates(con, record.candidate_id)],
        "decisions": [decision_document(one) for one in queries.decisions(con, record.candidate_id)],
        "software": software_versions(),
        "log": {"store_id": queries.store_info(con, "store_id"), "size": size, "head": head},
    }
    if override is not None:
        own["override"] = override
    clash = sorted({*own, _FILES} & extra.keys())
    if clash:
        raise StoreError(f"the manifest's own fields cannot be given: {', '.join(clash)}")
    facts: dict[str, Any] = plain({**own, **extra})
    return facts


def build_manifest(facts: Mapping[str, Any], files: Mapping[str, str]) -> bytes:
    """Return the manifest that says these facts, as JSON that is the same for the same facts.

    `files` (name to SHA-256) are those that become public, but for the manifest.
    """
    return pretty_json({**facts, _FILES: files})


def override_of(con: duckdb.DuckDBPyConnection, candidate_id: str) -> dict[str, Any] | None:
    """Return which gates administrators overrode, who, when and why; None where every gate passed."""
    verdicts = queries.verdicts_of(con, [candidate_id]).get(candidate_id, [])
    decisions = queries.decisions(con, candidate_id)
    if not is_overridden(verdicts, [one.decision for one in decisions]):
        return None
    return {
        "gates": {gate: verdict for gate, verdict in verdicts if verdict != Verdict.PASS},
        "by": [
            {"by": one.by, "at": iso(one.at), "reason": one.reason}
            for one in decisions
            if one.decision == Act.OVERRIDE
        ],
    }


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that a release depends on."""
    found = {"python": platform.python_version()}
    for name in _SOFTWARE:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
