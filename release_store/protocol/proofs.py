"""What proves that a person decided: statements, signatures, and the people whom the log knew."""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import InvalidSignature

from release_store.protocol.ed25519 import verify_signature
from release_store.protocol.names import ANSWERED, ASKED, BINDING, CORRECTED, PURGED, RESTORED
from release_store.protocol.person_names import normalize_name
from release_store.protocol.strict_json import canonical, json_digest, json_list, json_text, optional_object

STATEMENT = "releasegate decision 1"
PROVEN = "proven"  # what the first event of a store says of its decisions, unless it is an old one
ROLES_OF_ACTS = {  # one of them is needed for the act
    "approve": {"approver"},
    "reject": {"approver"},
    "publish": {"approver"},
    "withdraw": {"admin", "approver"},
    "restore": {"approver"},
    "override": {"admin"},
    "correct the clock": {"admin"},
    "ask": {"approver"},
    "answer": {"operator"},
    "purge": {"admin", "approver"},
}
_ACTS = {  # others are named by their act
    "release.withdrawn": "withdraw",
    RESTORED: "restore",
    CORRECTED: "correct the clock",
    ASKED: "ask",
    ANSWERED: "answer",
    PURGED: "purge",
}


def statement(
    *, act: str, store_id: str, subject: str, bound: dict[str, str], by: str, reason: str, at: str
) -> dict[str, Any]:
    """Return what a person signs: an act to an object of a store, as it was by the digests in `bound`."""
    return {
        "statement": STATEMENT,
        "act": act,
        "store_id": store_id,
        "object": subject,
        "bound": bound,
        "by": by,
        "reason": reason,
        "at": at,
    }


def signed_by(document: dict[str, Any], public_key: str, signature: str) -> bool:
    """Tell whether a statement was signed by a key (both hexadecimal)."""
    try:
        verify_signature(public_key, signature, canonical(document))
    except (InvalidSignature, TypeError, ValueError):
        return False
    return True


def word_of(event: dict[str, Any], store_id: str) -> dict[str, Any]:
    """Return the statement that a person signed or said, by the event that kept it."""
    said = event["payload"]
    if event["action"] in _ACTS:
        act, bound = _ACTS[event["action"]], said["bound"]
    else:
        act, bound = json_text(said["decision"]), {name: said[name] for name in BINDING}
    return statement(
        act=act,
        store_id=store_id,
        subject=event["object"],
        bound=bound,
        by=event["actor"],
        reason=event["reason"],
        at=said["at"],
    )


def proof_error(
    event: dict[str, Any], store_id: str, people: dict[str, Any] | None, demanded: bool
) -> str | None:
    """Return what is wrong with the proof of a person's word, None if nothing is.

    `people` is what the log said of who was in force then, None where it had said nothing. Without a proof a
    word counts only before that, and only in a store that did not demand it from its first event on.
    """
    proof = event["payload"].get("proof")
    if proof is None:
        return "has no proof of identity" if demanded or people is not None else None
    digest = None if people is None else json_text(people["digest"])
    if people is None or proof["people"] != digest or people_digest(people) != digest:
        return "refers to a different list of people than the log held then"
    said, who = word_of(event, store_id), event["actor"]
    known = [
        one
        for one in json_list(people["members"])
        if normalize_name(json_text(one["name"])) == normalize_name(who)
    ]
    if event["action"] not in (f"decision.{said['act']}", *_ACTS) or said["act"] not in ROLES_OF_ACTS:
        return "names a different action than its event"
    if len(known) != 1:
        return f"is by {who}, who was not in the log then"
    if not ROLES_OF_ACTS[said["act"]] & {json_text(one) for one in json_list(known[0]["roles"])}:
        return f"is by {who}, whose roles did not allow it"
    return None if _is_proven(said, proof, known[0]) else f"is not proven to be by {who}"


def people_digest(people: dict[str, Any]) -> str:
    """Return the digest of who was in force, and of how many must agree to everything, if that was said."""
    told = {name: people[name] for name in ("members", "approvers_at_least") if name in people}
    return json_digest(told if len(told) > 1 else people["members"])


def _is_proven(said: dict[str, Any], proof: dict[str, Any], person: dict[str, Any]) -> bool:
    if proof["method"] == "token":
        return json_text(proof["token"]) != "" and bool(proof["token"] == person["token"])
    return (
        proof["method"] == "signature"
        and proof["public_key"] == person["public_key"]
        and signed_by(said, proof["public_key"], proof["signature"])
    )


def one_person(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two events are of one person, by the name or by what proves it."""
    if normalize_name(one["actor"]) == normalize_name(other["actor"]):
        return True
    return is_by(one["payload"].get("proof"), other["payload"].get("proof"))


def is_by(proof: dict[str, Any] | None, marks: dict[str, Any] | None) -> bool:
    """Tell whether a proof is that of a person, by the key or token that mark them under any name."""
    mine, theirs = optional_object(proof, "a proof"), optional_object(marks, "a proof")
    return any(
        isinstance(mine.get(name), str) and mine[name] != "" and mine[name] == theirs.get(name)
        for name in ("public_key", "token")
    )
