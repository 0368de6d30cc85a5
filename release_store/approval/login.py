"""What a person signs to log in to a server of a store, and whose login it is.

The text names another statement than a decision's, so that neither can be taken for the other.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from release_store.approval.reviewers import Reviewer, Reviewers
from release_store.protocol.proofs import signed_by
from release_store.protocol.strict_json import read_json, same

STATEMENT = "releasegate login 1"
_LONGEST_TEXT = 4_000
_FIELDS = {"statement", "public_key", "signature"}


@dataclass(frozen=True)
class SignedLogin:
    """A signed login as it came: nothing of it is believed yet."""

    statement: dict[str, Any]
    public_key: str
    signature: str

    @property
    def challenge(self) -> str:
        """The challenge that it says it answers."""
        return str(self.statement.get("challenge"))

    def is_for(self, store_id: str, origin: str) -> bool:
        """Tell whether it is a login to this store by this origin, and nothing more."""
        return same(self.statement, login_statement(store_id, origin, self.challenge))

    def is_signed(self) -> bool:
        """Tell whether the key that it names signed it."""
        return signed_by(self.statement, self.public_key, self.signature)

    def person(self, staff: Reviewers) -> Reviewer | None:
        """Return the person whose key it names, or None."""
        return person_of_key(staff, self.public_key)


def login_statement(store_id: str, origin: str, challenge: str) -> dict[str, Any]:
    """Return what is signed: a login to a store, at the address that the browser shows, once."""
    return {"statement": STATEMENT, "store_id": store_id, "origin": origin, "challenge": challenge}


def read_login(text: str) -> SignedLogin | None:
    """Return the signed login in a text (base64url of JSON), or None if it is none."""
    try:
        if len(text) > _LONGEST_TEXT:
            return None
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        found = read_json(data)
        if not isinstance(found, dict) or found.keys() != _FIELDS or not isinstance(found["statement"], dict):
            return None
        key, signature = found["public_key"], found["signature"]
        if not isinstance(key, str) or not isinstance(signature, str):
            return None
        return SignedLogin(found["statement"], key, signature)
    except Exception:  # anybody's text: nothing of it is told
        return None


def person_of_key(staff: Reviewers, public_key: str) -> Reviewer | None:
    """Return the person who has a key, or None."""
    return next((one for one in staff.members if one.public_key == public_key), None)
