"""What an approver signs, where the store is at hand or only what `show --json` told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from policy.errors import UsageError
from policy.plain_file import read_bytes
from release_store.approval.credentials import PrivateKey, Statement, sign_text
from release_store.canonical import utc_now
from release_store.guarded_files import check_plain
from release_store.permission import Act, Person, check_permission, check_typed
from release_store.publishing.withdrawal import release_bound
from release_store.records import CandidateRecord, CandidateState, Release

_FIELDS = {"store_id", "object", "state", "bound"}


def to_sign(store_id: str, candidate: CandidateRecord, release: Release | None) -> dict[str, Any]:
    """Return what a word on a candidate, or on a release, is bound to: all that is needed to sign one."""
    if release is not None:
        bound, name, state = release_bound(release), release.release_id, str(release.state)
    else:
        bound = {
            "candidate_digest": candidate.candidate_digest,
            "policy_digest": candidate.policy_digest,
            "history_head": candidate.history_head,
        }
        name, state = candidate.candidate_id, str(candidate.state)
    return {"store_id": store_id, "object": name, "state": state, "bound": bound}


def read_to_sign(path: Path, name: str) -> dict[str, Any]:
    """Return the same from a file that `show --json` wrote. Raises UsageError if it is none of `name`."""
    check_plain(path)
    try:
        found: Any = json.loads(read_bytes(path))
        said = found["to_sign"]
        texts = [said["store_id"], said["object"], said["state"], *said["bound"].values()]
        fine = said.keys() == _FIELDS and all(isinstance(text, str) for text in texts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fine = False
    if not fine:
        raise UsageError(
            "does not contain what is to be signed",
            where=str(path),
            hint=f"Give the output of `releasegate show {name} --json`.",
        )
    if said["object"] != name:
        raise UsageError(f"is about {said['object']}", where=str(path), hint=f"Give that of {name}.")
    document: dict[str, Any] = said
    return document


def sign_statement(document: dict[str, Any], act: str, *, by: str, reason: str, key: PrivateKey) -> str:
    """Return one line that says and proves what a person decided about what `document` tells."""
    of_release = "release_digest" in document["bound"]
    if of_release is not (act in (Act.WITHDRAW, Act.RESTORE)):
        raise UsageError(
            f"`{act}` cannot be used on a {'release' if of_release else 'candidate'}",
            where=document["object"],
            hint="Withdraw or restore a release; approve, reject or override a candidate.",
        )
    check_typed(by, reason, document["object"])
    check_permission(Act(act), Person(by, reason), document["object"])
    # An approved candidate, whose publication was interrupted, is not approved again: it is published.
    left = act == Act.APPROVE and document["state"] == CandidateState.APPROVED
    said = Statement(
        Act.PUBLISH.value if left else act,
        document["store_id"],
        document["object"],
        document["bound"],
        by,
        reason,
        utc_now(),
    )
    return sign_text(said, key.key)
