"""Representation as a Prefect task."""

from __future__ import annotations

from tasks.methods.base import BoundMethod
from tasks.shielded import progress, stage
from tasks.types import PreparedTable, Representation


@stage("representation: place the records")
def representation(table: PreparedTable, method: BoundMethod) -> Representation:
    """Train what the method trains, and return where the records lie."""
    with progress("representation") as tell:
        return method.represent(table, tell)
