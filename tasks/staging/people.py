"""The people of a candidate, as keyed hashes of their identifiers; the identifiers go no further."""

from __future__ import annotations

import numpy as np

from policy.errors import StoreError
from policy.model import ReleasePolicy
from release_store.person_key import hashed_people
from release_store.records import EquivalenceClasses, PersonHashes
from tasks.recoding.generalize import generalized
from tasks.risk.space import counts_of, space_of, with_equal_cells
from tasks.types import IntArray, PreparedTable, SourceTable


def people_of(
    source: SourceTable, classes: IntArray, policy: ReleasePolicy, key: bytes | None
) -> PersonHashes | None:
    """Return the hashes of the people whose records are published, with the class (n,) of each record.

    A record of class -1 is not published. None without a key, or where the policy names no column that tells
    whom a row is about. A row whose identifier is missing is nobody's. O(n) hashes, and one sort.
    """
    column = policy.roles.key
    if key is None or column is None:
        return None
    identifiers = source.frame[column].to_numpy(dtype=object)
    published = zip(identifiers[classes >= 0], classes[classes >= 0].tolist(), strict=True)
    return hashed_people(key, column, (row for row in published if isinstance(row[0], str)))


def class_numbers(
    table: PreparedTable, labels: IntArray, policy: ReleasePolicy, published: EquivalenceClasses
) -> IntArray:
    """Return the published class of each record, (n,), -1 for those that are left out.

    `published` are the classes read back from the staged file, by whose numbers every later reader knows
    them. Raises StoreError unless the records, so placed, have the sizes and the sensitive values of those
    classes. O(n) a column.
    """
    groups = generalized(table, labels, policy)
    found = with_equal_cells(groups, published)
    number = np.where(labels >= 0, found[np.maximum(labels, 0)] if len(found) else -1, -1)
    placed = bool((found >= 0).all())
    if placed:
        space = space_of([groups, published])
        theirs = {**counts_of(published, space), "": published.size[:, None]}
        for name, counts in {**counts_of(groups, space), "": groups.size[:, None]}.items():
            ours = np.zeros_like(theirs[name])
            np.add.at(ours, found, counts)
            placed &= np.array_equal(ours, theirs[name])
    if not placed:
        raise StoreError("the staged classes are not those of the records: people cannot be placed in them")
    return number
