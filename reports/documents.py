"""What the commands write with --json: documents for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policy.errors import UsageError, did_you_mean
from release_store.approval.signing import to_sign
from release_store.db.queries import GateSummary
from release_store.protocol.names import REPORT, RESTORED
from release_store.publishing.public_files import candidate_folder, kept_folder
from release_store.records import GateResult, Verdict
from release_store.store import ReleaseStore
from reports.advice_text import advice_document, advice_of
from reports.people import people_document

Document = dict[str, Any]
_NO_GATES = GateSummary(0, 0, (), None, None)


def gate_document(result: GateResult) -> Document:
    """Return one gate's result as JSON values."""
    return {
        "gate": result.gate,
        "verdict": str(result.verdict),
        "value": result.value,
        "relation": result.relation,
        "threshold": result.threshold,
        "attacker": result.attacker,
        "detail": result.detail,
        "seconds": round(result.seconds, 4),
        "witness": result.witness,
    }


def gate_result(document: Mapping[str, Any]) -> GateResult:
    """Return the gate's result that `gate_document` or a manifest holds."""
    return GateResult(**{**document, "verdict": Verdict(document["verdict"])})


def history_document(store: ReleaseStore, series: str | None) -> Document:
    """Return releases and candidates as JSON values. Raises UsageError for a series unknown to the store."""
    found = store.overview(series)
    if series is not None:
        check_known_series(series, found.known_series)
    return {
        "releases": [
            {
                "release": release.release_id,
                "series": release.series,
                "period": release.period,
                "number": release.number,
                "state": str(release.state),
                "override": release.overridden,
                "published_at": release.published_at.isoformat(),
                "method": release.summary.method,
                "rows": release.summary.n_source,
                "published_rows": release.summary.n_published,
                "ncp": gates.ncp,
                "k": gates.k,
                "gates_passed": gates.passed,
                "gates": gates.n,
            }
            for release in found.releases
            for gates in (found.gates.get(release.candidate_id, _NO_GATES),)
        ],
        "candidates": [
            {
                "candidate": candidate.candidate_id,
                "series": candidate.series,
                "period": candidate.period,
                "state": str(candidate.state),
                "made_by": candidate.made_by,
                "made_at": candidate.made_at.isoformat(),
                "failing": list(found.gates.get(candidate.candidate_id, _NO_GATES).failing),
            }
            for candidate in found.unpublished
        ],
        "refused_inputs": [
            {
                "series": v.series,
                "period": v.period,
                "at": v.at.isoformat(),
                "failed": _failed_expectations(v.results),
            }
            for v in found.refused
        ],
    }


def check_known_series(series: str, known: Sequence[str]) -> None:
    """Raise UsageError for a series that the store does not know."""
    if series not in known:
        raise UsageError(
            f"unknown series '{series}'{did_you_mean(series, known)}",
            hint=f"Known series: {', '.join(known)}." if known else "The store holds no series yet.",
        )


def _failed_expectations(results: Any) -> list[str]:
    return [f"{r.get('column') or 'table'}: {r.get('expectation')}" for r in results if not r.get("passed")]


def record_document(store: ReleaseStore, identifier: str) -> Document:
    """Return a release or candidate with gates, decisions and files. Raises UsageError if there is none."""
    releases = {release.release_id: release for release in store.releases()}
    release = releases.get(identifier)
    candidates = {candidate.candidate_id: candidate for candidate in store.candidates()}
    candidate = candidates.get(release.candidate_id if release else identifier)
    if candidate is None:
        raise UsageError(
            f"no release or candidate '{identifier}'{did_you_mean(identifier, [*releases, *candidates])}",
            hint="Run `releasegate history` to list them.",
        )
    folder = (
        kept_folder(store.root, release) if release else candidate_folder(store.root, candidate.candidate_id)
    )
    purge = store.purged(candidate.series).get(identifier)
    return {
        "release": release.release_id if release else None,
        "override": release.overridden if release else False,
        "candidate": candidate.candidate_id,
        "series": candidate.series,
        "period": candidate.period,
        "state": str(release.state if release else candidate.state),
        "made_by": candidate.made_by,
        "made_at": candidate.made_at.isoformat(),
        "published_at": release.published_at.isoformat() if release else None,
        "policy_digest": candidate.policy_digest,
        "input_digest": candidate.input_digest,
        "candidate_digest": candidate.candidate_digest,
        "history_head": candidate.history_head,
        "summary": candidate.summary.document,
        "files": release.files if release else store.files(candidate.candidate_id),
        "folder": str(folder),
        "purged_at": purge.at if purge else None,
        "report": str(folder / REPORT) if (folder / REPORT).is_file() else None,
        "people": people_document(store, candidate.candidate_id),
        "gates": [gate_document(result) for result in store.gates(candidate.candidate_id)],
        "advice": [advice_document(one) for one in advice_of(store, candidate.candidate_id)],
        "to_sign": to_sign(store.store_id, candidate, release),
        "afterwards": _afterwards(store, release.release_id) if release else [],
        "questions": [one.document() for one in store.questions(candidate.candidate_id)],
        "decisions": [
            {
                "decision": d.decision,
                "by": d.by,
                "reason": d.reason,
                "at": d.at.isoformat(),
                "proof": d.proof.method if d.proof else None,
            }
            for d in store.decisions(candidate.candidate_id)
        ],
    }


def _afterwards(store: ReleaseStore, release_id: str) -> list[Document]:
    """Return who superseded, withdrew or restored a release, when and why."""
    return [
        {"state": event.payload["release_state"], "by": event.actor, "reason": event.reason, "at": event.at}
        for event in store.events_about(release_id)
        if event.action in ("release.superseded", "release.withdrawn", RESTORED)
    ]
