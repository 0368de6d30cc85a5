"""Whose hashes are kept: of the rows that are published, by the column that the policy calls the key."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import numpy as np
import pandas as pd

from policy.load import parse_policy
from policy.model import ReleasePolicy
from tasks.staging.people import people_and_records, people_of
from tasks.types import SourceTable

KEY = b"k" * 32


def policy(key: str = "  key: person\n") -> ReleasePolicy:
    return parse_policy(
        f"series: clinic\nroles:\n{key}  quasi_identifiers:\n    age: {{type: integer, bounds: [0, 110]}}\n"
        "  sensitive: {disease: {stability: stable}}\n",
        Path("policy.yaml"),
    )


def source(*persons: str | None) -> SourceTable:
    frame = pd.DataFrame({"person": pd.array(persons, dtype="str"), "age": range(len(persons))})
    return SourceTable(frame, "digest", "people.csv")


def hashes(*persons: str) -> tuple[str, ...]:
    return tuple(sorted(hmac.new(KEY, one.encode(), hashlib.sha256).hexdigest() for one in persons))


def test_suppressed_records_are_nobody() -> None:
    found = people_of(source("ann", "bob", "cid", "dan"), np.array([0, -1, 0, 1]), policy(), KEY)
    assert found is not None
    assert found.hashes == hashes("ann", "cid", "dan")


def test_a_person_with_several_rows_counts_once_and_a_row_without_a_person_not_at_all() -> None:
    labels = np.array([0, 0, -1, 0, 1])
    found = people_of(source("ann", None, "bob", "ann", "cid"), labels, policy(), KEY)
    assert found is not None
    assert found.hashes == hashes("ann", "cid")


def test_nothing_is_kept_without_a_key_or_a_column_of_keys() -> None:
    table, labels = source("ann"), np.array([0])
    assert people_of(table, labels, policy(), None) is None
    assert people_of(table, labels, policy(key=""), KEY) is None


def test_the_first_record_of_everybody_is_known_too() -> None:
    labels = np.array([0, 0, -1, 0, 1])
    found = people_and_records(source("ann", None, "bob", "ann", "cid"), labels, policy(), KEY)
    assert found is not None
    people, records = found
    assert dict(zip(people.hashes, records.tolist(), strict=True)) == {
        hashes("ann")[0]: 0,
        hashes("cid")[0]: 4,
    }
