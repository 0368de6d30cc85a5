"""What `diff.html` compares: the side of every release and candidate, a file a series."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from release_store.canonical import canonical_json
from release_store.records import CandidateRecord, Release
from release_store.snapshot import StoreSnapshot
from reports.difference_sides import fields_of, side_of
from reports.documents import Document
from reports.gate_wording import limit_of, measured_of
from reports.text import minute

Written = list[tuple[str, ...]]
_OF_ANOTHER_FORM = (TypeError, ValueError, KeyError, AttributeError)


def sides_of_series(whole: StoreSnapshot, series: str) -> dict[str, Any]:
    """Return the policies of a series by digest, and the side of each release and unpublished candidate.

    A value is its name, its text and, unless it is a text itself, its canonical JSON, by which two are equal.
    They are a list, since columns may have any name, and in order. What cannot be compared is left out.
    """
    releases = {one.candidate_id: one for one in whole.releases if one.series == series}
    records = [one for one in whole.candidates if one.series == series]
    digests = dict.fromkeys(one.policy_digest for one in records)
    policies: dict[str, Written] = {}
    for digest in digests:
        with suppress(*_OF_ANOTHER_FORM):
            policies[digest] = _written("policy", fields_of(whole.policies.get(digest, {})))
    sides: dict[str, Any] = {}
    for record in records:
        release = releases.get(record.candidate_id)
        with suppress(*_OF_ANOTHER_FORM):
            if record.policy_digest in policies:
                name = release.release_id if release else record.candidate_id
                sections = side(whole, record, release)
                del sections["policy"]
                sides[name] = {section: _written(section, values) for section, values in sections.items()}
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
        "summary": record.summary.document,
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


def _written(section: str, values: Mapping[str, Any]) -> Written:
    return [
        (name, value) if isinstance(value, str) and not name.endswith("_at")
        else (name, _text(section, name, value), canonical_json(value).decode())
        for name, value in values.items()
    ]  # fmt: skip


def _text(section: str, name: str, value: Any) -> str:
    if value is None:
        return "none"
    if section == "gates":
        gate = {"gate": name, **value}
        measured = value["value"]  # a text where JSON has no such number: NaN, Infinity
        told = measured if isinstance(measured, str) else measured_of(gate)
        found = f" {told}" if told else ""
        bound = "" if value["threshold"] is None else f" (must be {limit_of(gate)})"
        return f"{value['verdict'].replace('_', ' ')}{found}{bound}"
    if section == "facts" and name.endswith("_at"):
        return minute(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
