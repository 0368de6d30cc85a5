"""The people of a candidate, as keyed hashes of their identifiers; the identifiers go no further."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from policy.errors import StoreError
from policy.model import ReleasePolicy
from release_store.person_key import hashed_rows
from release_store.person_values import PersonValues, sealed_values
from release_store.records import PersonHashes
from tasks.risk.published import row_classes, row_values, same_rows
from tasks.types import BoolArray, IntArray, Recoded, SourceTable

NOT_THOSE = "the staged rows do not match the records: people cannot be placed in them"


def people_of(
    source: SourceTable, classes: IntArray, policy: ReleasePolicy, key: bytes | None
) -> PersonHashes | None:
    """Return the people of `people_and_records` alone."""
    found = people_and_records(source, classes, policy, key)
    return None if found is None else found[0]


def people_and_records(
    source: SourceTable, classes: IntArray, policy: ReleasePolicy, key: bytes | None
) -> tuple[PersonHashes, IntArray] | None:
    """Return the hashes of the people whose records are published, and for each the first record of theirs.

    `classes` (n,) has the class of each record; one of class -1 is not published. None without a key, or
    where the policy names no column that tells whom a row is about. A row whose identifier is missing is
    nobody's. O(n) hashes, and one sort.
    """
    column = policy.roles.key
    if key is None or column is None:
        return None
    identifiers = source.frame[column]
    records = np.flatnonzero((classes >= 0) & _known(identifiers))
    texts = identifiers.to_numpy(dtype=object)[records]
    people, first = hashed_rows(key, column, texts.tolist(), classes[records])
    return people, records[first]


def _known(identifiers: pd.Series) -> BoolArray:
    """Tell of each row whether its identifier is a text."""
    if isinstance(identifiers.dtype, pd.StringDtype):
        return identifiers.notna().to_numpy()
    return np.fromiter((isinstance(one, str) for one in identifiers), dtype=bool, count=len(identifiers))


def with_values(
    people: PersonHashes,
    records: IntArray,
    file: Path,
    source: SourceTable,
    rows: Recoded,
    classes: IntArray,
    policy: ReleasePolicy,
    key: bytes,
    seats: IntArray | None = None,
) -> PersonHashes:
    """Return the same people with what the staged rows say besides their quasi-identifiers, sealed.

    `people`, `records` and `classes` (n,) as of `people_and_records`; `seats` (n, 2) the signature and
    position of each record, if they have any. People who may have several rows have none. O(n log n).
    """
    if policy.rows != "one_per_person" or not policy.roles.sensitive or people.classes is None:
        return people
    known = _known(source.frame[policy.roles.key])[rows.records]
    if len(records) != known.sum():
        return people  # a key that repeats: nobody can be followed through such a table
    texts, codes = row_values(file, policy)
    place = classes[rows.records]
    seat = np.full((len(place), 2), -1) if seats is None else seats[rows.records]
    row = np.full(len(classes), -1, dtype=np.int64)
    row[rows.records] = np.arange(len(place))
    own, strangers = row[records], np.flatnonzero(~known)
    unknown = np.column_stack([place[strangers], seat[strangers], codes[strangers]]).astype(np.int32)
    unknown = unknown[np.lexsort(unknown.T[::-1])]  # in an order that says nothing of the input's
    values = PersonValues(
        texts, codes[own].astype(np.int32), seat[own].astype(np.int32), unknown, tuple(policy.roles.kept)
    )
    return replace(people, values=sealed_values(key, people, values))


def row_units(file: Path, source: SourceTable, rows: Recoded, column: str) -> IntArray:
    """Return whose each staged row is by a column of the source, (m,) numbers of people, or of households.

    Raises StoreError as `class_numbers` does.
    """
    if not same_rows(file, rows.frame):
        raise StoreError(NOT_THOSE)
    whose, _ = pd.factorize(source.frame[column])
    return np.asarray(whose[rows.records], dtype=np.int64)


def class_numbers(file: Path, rows: Recoded, policy: ReleasePolicy, n_records: int) -> IntArray:
    """Return the published class of each of `n_records` records, (n,), -1 for those that are left out.

    The classes are numbered as every later reader numbers them: they are read from the staged `file`. Raises
    StoreError unless it has the rows that were written, in their order. O(n log n).
    """
    places = row_classes(file, policy)
    if not same_rows(file, rows.frame):
        raise StoreError(NOT_THOSE)
    number = np.full(n_records, -1, dtype=np.int64)
    number[rows.records] = places
    return number
