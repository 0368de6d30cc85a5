"""How many people of a release were in each earlier one, where keyed hashes of them are kept."""

from __future__ import annotations

from typing import Any

from release_store.store import ReleaseStore


def people_document(store: ReleaseStore, candidate_id: str) -> dict[str, Any] | None:
    """Return the people of a candidate in counts as JSON values; None where no hashes of them are kept."""
    found = store.people_in_common(candidate_id)
    if found is None:
        return None
    earlier = [{"release": name, "in_common": count} for name, count in found.earlier.items()]
    return {"key": found.fingerprint, "n": found.n, "earlier": earlier}


def people_line(document: dict[str, Any]) -> str:
    """Return the same in one line."""
    told = [
        f"{one['in_common']} were in {one['release']}"
        if one["in_common"] is not None
        else f"{one['release']} cannot be compared"
        for one in document["earlier"]
    ]
    return "; ".join([f"{document['n']} kept as keyed hashes", *told])
