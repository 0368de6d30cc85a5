"""The people of a candidate, as keyed hashes of their identifiers; the identifiers go no further."""

from __future__ import annotations

from policy.model import ReleasePolicy
from release_store.person_key import hashed_people
from release_store.records import PersonHashes
from tasks.types import IntArray, SourceTable


def people_of(
    source: SourceTable, labels: IntArray, policy: ReleasePolicy, key: bytes | None
) -> PersonHashes | None:
    """Return the hashes of the people whose records are published: those whose label (n,) is not negative.

    None without a key, or where the policy names no column that tells whom a row is about. A row whose
    identifier is missing is nobody's. O(n) hashes, and one sort.
    """
    column = policy.roles.key
    if key is None or column is None:
        return None
    identifiers = source.frame[column].to_numpy(dtype=object)[labels >= 0]
    return hashed_people(key, column, (one for one in identifiers if isinstance(one, str)))
