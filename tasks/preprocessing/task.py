"""Preprocessing as a Prefect task."""

from __future__ import annotations

from policy.model import ReleasePolicy
from tasks.preprocessing.prepare import prepare
from tasks.shielded import stage
from tasks.types import PreparedTable, SourceTable


@stage("preprocessing: columns become arrays")
def preprocessing(table: SourceTable, policy: ReleasePolicy) -> PreparedTable:
    """Return the table's quasi-identifiers and sensitive attributes as arrays."""
    return prepare(table, policy)
