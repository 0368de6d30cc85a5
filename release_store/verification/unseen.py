"""What verification could not look at, and why: a note each, since silence would say that it was compared."""

from __future__ import annotations

from policy.errors import ReleaseGateError, UsageError
from policy.text import number_of
from release_store.audit import keys
from release_store.audit.checkpoints import KEPT, kept_file
from release_store.audit.log import Finding
from release_store.person_key import fingerprint_of, person_key, person_key_path
from release_store.protocol.clock import IN_ORDER
from release_store.protocol.proofs import PROVEN
from release_store.verification.view import VerificationContext

_MOST_TOLD = 3
_SAID_FIRST = {  # what the first event of a store says that this releasegate makes, by field
    "decisions": (PROVEN, "decisions without a proof"),
    "times": (IN_ORDER, "events in no order of time"),
    "checkpoint": (KEPT, "a checkpoint that is not kept beside the key"),
}


def note_unseen(view: VerificationContext) -> list[Finding]:
    """Note each key that is not at hand, and what an earlier releasegate did not log."""
    _signing_key(view)
    _person_key(view)
    _old_log(view)
    return []


def _signing_key(view: VerificationContext) -> None:
    try:
        keys.key_at_hand(view.root)
        return
    except ReleaseGateError as error:
        where, why = error.where or "signing key", error.message
    unseen = "that the public key in the store is its public half was not compared"
    try:
        if not kept_file(view.root, view.store_id).exists():
            unseen += ", nor that the log goes on from the checkpoint that is kept beside it"
    except UsageError:
        pass  # it lies in the store
    view.note(where, f"{why}; {unseen}")


def _person_key(view: VerificationContext) -> None:
    """Hashes are compared with the log in any case; whose they are, the key alone tells."""
    kept = view.con.execute(
        "SELECT candidate_id, fingerprint, policy_digest FROM person_key JOIN candidate USING (candidate_id) "
        "ORDER BY position"
    ).fetchall()
    if not kept:
        return
    try:
        key, where = person_key(view.root), str(person_key_path(view.root))
        why = "the key of people is missing"
    except ReleaseGateError as error:
        key, where, why = None, error.where or "key of people", error.message
    if key is None:
        of = number_of(len(kept), "candidate")
        view.note(where, f"{why}; the hashes of people of {of} were compared with the log alone")
        return
    others = [name for name, fingerprint, policy in kept if fingerprint != _own(view, key, policy)]
    if others:
        told = f"{', '.join(others[:_MOST_TOLD])}{' and others' if others[_MOST_TOLD:] else ''}"
        view.note(where, f"is another key than that of {told}, whose people are compared with nobody's")


def _own(view: VerificationContext, key: bytes, policy_digest: str) -> str | None:
    """Return the fingerprint that hashes have under this key and policy."""
    roles = view.policy(policy_digest).get("roles")
    column = roles.get("key") if isinstance(roles, dict) else None
    return fingerprint_of(key, column) if isinstance(column, str) else None


def _old_log(view: VerificationContext) -> None:
    first = (view.log.first or ("", {}))[1]
    missing = [what for name, (said, what) in _SAID_FIRST.items() if first.get(name) != said]
    if missing:
        told = ", or ".join(missing)
        view.note("event 1", f"an earlier releasegate made the store, so no finding tells {told}")
    names = [name for name, one in view.log.candidates.items() if "made_at" not in one.staged()]
    if names:
        of = number_of(len(names), "candidate")
        view.note(names[0], f"{of} of an earlier releasegate: series, period and times were not compared")
