"""Is the number of people who had to agree to each candidate the one that follows from what is kept?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from policy.loosening import RULES
from release_store.approval.approvals import (
    PreviousRelease,
    approval_requirement,
    approvers_of,
    needed_by,
    readable_policy,
)
from release_store.approval.reviewers import AT_LEAST
from release_store.audit.log import Finding
from release_store.records import CandidateRecord
from release_store.summary import RequiredApprovals
from release_store.verification.view import VerificationContext, run_check

# Digests of the policy before and of its own, how many were needed before, what the store asks, and doubts.
_Pair = tuple[str, str, int, int, tuple[str, ...]]


def check_approvals(view: VerificationContext, records: Mapping[str, CandidateRecord]) -> list[Finding]:
    """Each candidate says how many had to agree; candidates of earlier versions, before any did, need not.

    It is found anew from its policy, the policy of the series' last release then, and what the people of the
    store asked then. Those that other rules of what is looser found are held to the least alone.
    """
    published = _published(view, records)
    found: dict[_Pair, RequiredApprovals | None] = {}
    findings: list[Finding] = []
    for name, record in records.items():
        if name in view.log.candidates:
            findings += run_check(name, _approval, view, records, published, found, record)
    return findings


def _published(
    view: VerificationContext, records: Mapping[str, CandidateRecord]
) -> dict[str, list[tuple[int, str, str]]]:
    """Return for each series the event that published each release, with its id and candidate, in order."""
    by_series: dict[str, list[tuple[int, str, str]]] = {}
    rows = view.con.execute("SELECT release_id, series, candidate_id FROM release").fetchall()
    for release_id, series, candidate_id in rows:
        logged = view.log.releases.get(release_id)
        if logged is not None and logged.number is not None and candidate_id in records:
            by_series.setdefault(series, []).append((logged.number, release_id, candidate_id))
    return {series: sorted(found) for series, found in by_series.items()}


def _approval(
    view: VerificationContext,
    records: Mapping[str, CandidateRecord],
    published: Mapping[str, list[tuple[int, str, str]]],
    found: dict[_Pair, RequiredApprovals | None],
    record: CandidateRecord,
) -> list[Finding]:
    name, logged = record.candidate_id, view.log.candidates[record.candidate_id]
    kept = record.summary.required_approvals
    if kept is None:
        since = view.log.counted_since
        late = since is not None and logged.number > since
        return [Finding(name, "does not give the required number of approvals")] if late else []
    policy = view.policy(record.policy_digest)
    people = {} if logged.people is None else view.log.people[logged.people]
    at_least = int(people.get(AT_LEAST, 0))
    earlier = published.get(record.series, [])
    place = bisect_left(earlier, (logged.number, "", ""))
    of = records[earlier[place - 1][2]] if place else None
    doubts = record.summary.doubts
    pair = ("" if of is None else of.policy_digest, record.policy_digest, _needed(view, of), at_least, doubts)
    if pair not in found:
        found[pair] = _again(view, pair, policy)
    again = found[pair]
    if again is None or kept.rules != RULES:  # by a version that reads policies in another way
        needed = max(kept.needed, at_least, approvers_of(policy), int(bool(doubts)))
        again = replace(kept, at_least=at_least, needed=needed)
    compared_with = earlier[place - 1][1] if place else None
    if (kept.needed, kept.at_least, kept.compared_with) == (again.needed, again.at_least, compared_with):
        return []
    return [Finding(name, "the required number of approvals differs from the log")]


def _needed(view: VerificationContext, record: CandidateRecord | None) -> int:
    """Return how many people had to agree to a candidate, 0 for none."""
    return 0 if record is None else needed_by(view.policy(record.policy_digest), record.summary)


def _again(view: VerificationContext, pair: _Pair, policy: Mapping[str, Any]) -> RequiredApprovals | None:
    """Find anew how many must agree; None where it rests on a policy that is not understood any more."""
    before_digest, digest, needed, at_least, doubts = pair
    if not before_digest:
        return approval_requirement(policy, None, at_least, doubts)
    document = view.policy(before_digest)
    if before_digest != digest and None in (readable_policy(document), readable_policy(policy)):
        return None
    return approval_requirement(policy, PreviousRelease("", document, needed), at_least, doubts)
