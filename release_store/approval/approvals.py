"""How many people must agree to a candidate: by its policy, the last release's, its table, and the store.

A policy that guards less than that of the series' last release is nobody's to publish alone: at least one
person agrees, and as many as the release before needed. What was found stands in the candidate's summary, and
with it in the log, the manifest and the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policy.load import policy_from_document
from policy.loosening import RULES, loosened
from policy.model import ReleasePolicy
from release_store.canonical import digest_of
from release_store.summary import RequiredApprovals, Summary

_UNREADABLE = "the two policies cannot be compared"


@dataclass(frozen=True)
class PreviousRelease:
    """The last release of a series: its policy's document, None where it is lost, and how many it needed."""

    release_id: str
    policy: Mapping[str, Any] | None
    needed: int


def approval_requirement(
    policy: Mapping[str, Any], before: PreviousRelease | None, at_least: int, doubts: Sequence[str] = ()
) -> RequiredApprovals:
    """Return how many people must agree to a candidate by its policy's document, and why.

    `before` is the series' last release, whatever its state, and None for a first one; `at_least` what the
    people of the store ask of every candidate. A table of `doubts` is nobody's to publish alone either.
    """
    looser = [] if before is None else looser_than(before.policy, policy)
    by_policy = approvers_of(policy)
    least = max(before.needed, 1) if before is not None and looser else int(bool(doubts))
    return RequiredApprovals(
        needed=max(by_policy, at_least, least),
        at_least=at_least,
        compared_with=None if before is None else before.release_id,
        looser=tuple(looser),
        rules=RULES,
        doubts=tuple(doubts),
    )


def looser_than(earlier: Mapping[str, Any] | None, now: Mapping[str, Any]) -> list[str]:
    """Return what a policy's document guards less than an earlier one's, as `loosened`.

    One that cannot be read guards we know not what: any other is taken for looser.
    """
    if earlier is None:
        return [_UNREADABLE]
    if digest_of(earlier) == digest_of(now):
        return []
    before, after = readable_policy(earlier), readable_policy(now)
    return [_UNREADABLE] if before is None or after is None else loosened(before, after)


def readable_policy(document: Mapping[str, Any]) -> ReleasePolicy | None:
    """Return the policy of a document that is kept, or None where it is none that is understood."""
    try:
        return policy_from_document(document)
    except Exception:  # whatever stands there
        return None


def approvers_of(policy: Mapping[str, Any]) -> int:
    """Return how many people must agree by a policy's document alone."""
    approval = policy.get("approval") or {}
    return int(approval.get("approvers", 0))


def needed_by(policy: Mapping[str, Any], summary: Summary) -> int:
    """Return how many people must agree to a candidate: what is kept of it, and never less than its policy's.

    A candidate of an earlier releasegate has its policy's number alone.
    """
    required = summary.required_approvals
    return max(approvers_of(policy), required.needed if required else 0)
