"""The stages from a table to its published classes, as the release flow runs them, without Prefect."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.meter import Meter
from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from services.pipeline import make_rows
from tasks.methods.registry import bound_method
from tasks.risk.published import read_classes
from tasks.staging.stage import stage
from tasks.types import Candidate, Partition, PreparedTable, Recoded, SourceTable

MAKING = ("preprocessing", "representation", "partitioning", "aggregation", "recoding")


@dataclass(frozen=True)
class Made:
    """What one run made: the arrays, the groups, the staged files, and the classes read back from them."""

    table: PreparedTable
    groups: Partition
    candidate: Candidate
    classes: EquivalenceClasses
    rows: Recoded


def make(source: SourceTable, policy: ReleasePolicy, folder: Path, meter: Meter) -> Made:
    """Run the stages from preprocessing to the reading back of the staged rows; `folder` must not exist."""
    made = make_rows(source, policy, bound_method(policy), [], "benchmark", stages=meter)
    table, rows = made.table, made.rows
    candidate = meter.run(
        "staging",
        stage,
        rows,
        policy,
        candidate_id="benchmark",
        period="benchmark",
        folder=folder,
        n_source=table.n_records,
    )
    classes = meter.run("reading back", read_classes, folder / "data.parquet", policy)
    return Made(table, made.groups, candidate, classes, rows)
