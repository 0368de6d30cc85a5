"""Signed checkpoints of the log."""

from __future__ import annotations

from typing import Any

from cryptography.exceptions import InvalidSignature

from release_store.protocol.ed25519 import is_hash, verify_signature
from release_store.protocol.strict_json import Broken, canonical, whole_number

_SIGNED = ("store_id", "size", "head", "at", "public_key")


def signature_holds(checkpoint: dict[str, Any], public_key: str) -> bool:
    """Tell whether a checkpoint was signed by `public_key` (hexadecimal) and holds nothing unsigned."""
    signed = {name: value for name, value in checkpoint.items() if name != "signature"}
    if set(signed) - {"root", "of"} != set(_SIGNED) or signed["public_key"] != public_key:
        return False
    try:
        verify_signature(public_key, checkpoint["signature"], canonical(signed))
    except (InvalidSignature, KeyError, ValueError):
        return False
    return True


def proven_by(number: int, checkpoint: dict[str, Any], newest: dict[str, Any]) -> dict[str, Any] | None:
    """Return the checkpoint whose root proves an event: the release's, else the newest, else None."""
    for one in (checkpoint, newest):
        if "root" in one and number <= whole_number(one["size"]):
            return one
    return None


def tree_root(checkpoint: dict[str, Any]) -> bytes:
    """Return the root of the log's tree that a checkpoint signs, 32 bytes. Raises Broken if it is no hash."""
    if not is_hash(checkpoint["root"]):
        raise Broken("the root of a checkpoint is not a hash")
    return bytes.fromhex(checkpoint["root"])
