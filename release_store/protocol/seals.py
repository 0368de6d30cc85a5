"""Seals: events that sign the event before them, and with it the whole log until then, by the store's key.

Whoever writes the store without its key can make up an event with a fresh hash, and not its seal.
"""

from __future__ import annotations

from typing import Any

from release_store.protocol.checkpoints import signature_holds

SEAL = "log.sealed"  # the action; its payload is a checkpoint, its object that of the event before it
SEALED = "sealed"  # what the first event of a store says of its assessments, unless it is an old one


def seal_error(event: dict[str, Any], store_id: str, public_key: str | None) -> str | None:
    """Return what is wrong with an event that is a seal, None if nothing is."""
    said = event["payload"]
    place = {
        "store_id": store_id,
        "size": event["number"] - 1,
        "head": event["previous"],
        "of": event["object"],
    }
    if public_key is None or any(said.get(name) != value for name, value in place.items()):
        return "seals another event than the one before it"
    return None if signature_holds(said, public_key) else "is not signed by the store's key"
