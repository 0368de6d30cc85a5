"""What `diff.html` compares: the side of every release and candidate, a file a series."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from release_store.records import CandidateRecord, Release
from release_store.snapshot import StoreSnapshot
from reports.difference_sides import fields_of, side_of
from reports.documents import Document

Pairs = list[tuple[str, Any]]
_OF_ANOTHER_FORM = (TypeError, ValueError, KeyError, AttributeError)


def sides_of_series(whole: StoreSnapshot, series: str) -> dict[str, Any]:
    """Return the policies of a series by digest, and the side of each release and unpublished candidate.

    Names and values are pairs, since names of columns may be any, and their order is told. What is of a form
    that cannot be compared is left out.
    """
    releases = {one.candidate_id: one for one in whole.releases if one.series == series}
    records = [one for one in whole.candidates if one.series == series]
    digests = dict.fromkeys(one.policy_digest for one in records)
    policies: dict[str, Pairs] = {}
    for digest in digests:
        with suppress(*_OF_ANOTHER_FORM):
            policies[digest] = _pairs(fields_of(whole.policies.get(digest, {})))
    sides: dict[str, Any] = {}
    for record in records:
        release = releases.get(record.candidate_id)
        with suppress(*_OF_ANOTHER_FORM):
            if record.policy_digest in policies:
                name = release.release_id if release else record.candidate_id
                sides[name] = _written(whole, record, release)
    return {"policies": policies, "sides": sides}


def side(whole: StoreSnapshot, record: CandidateRecord, release: Release | None) -> Document:
    """Return what a release or candidate is compared by, without its policy's fields."""
    facts: Document = {
        "series": record.series,
        "period": record.period,
        "state": str(release.state if release else record.state),
        "made_by": record.made_by,
        "made_at": record.made_at.isoformat(),
        "published_at": release.published_at.isoformat() if release else None,
        "policy_digest": record.policy_digest,
        "input_digest": record.input_digest,
        "candidate_digest": record.candidate_digest,
        "history_head": record.history_head,
        "summary": record.summary,
        "gates": whole.gate_documents.get(record.candidate_id, ()),
    }
    return side_of(facts, {}, _sizes(whole, record, release))


def _sizes(whole: StoreSnapshot, record: CandidateRecord, release: Release | None) -> Document:
    """Return the sizes of the classes: a release's from the history, a candidate's from its figures."""
    kept = whole.class_sizes.get(record.candidate_id) if release else None
    if kept is not None:
        return {
            "number": kept.number,
            "smallest": kept.smallest,
            "median": kept.median,
            "largest": kept.largest,
        }
    found = whole.figures.get(record.candidate_id, {}).get("classes")
    if not isinstance(found, Mapping) or not found.get("n"):
        return {}
    names = {"number": "n", "smallest": "least", "median": "median", "largest": "greatest"}
    return {name: found.get(field) for name, field in names.items()}


def _written(whole: StoreSnapshot, record: CandidateRecord, release: Release | None) -> dict[str, Any]:
    sections = side(whole, record, release)
    sections.pop("policy")
    return {name: _pairs(values) for name, values in sections.items()}


def _pairs(values: Mapping[str, Any]) -> Pairs:
    return list(values.items())
