"""The gates of a policy on rows that nobody publishes: all but those that compare with earlier releases."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from release_store.records import GateResult
from release_store.sealed import sealed_file
from services.candidate import with_units
from services.pipeline import PublishableRows
from tasks.risk.advice import OF_ALL_RELEASES
from tasks.risk.evidence import Evidence
from tasks.risk.published import read_classes
from tasks.risk.registry import GATES, added_gates, assess
from tasks.staging.stage import stage
from tasks.types import PreparedTable, SourceTable

OWN_GATES = {name: gate for name, gate in GATES.items() if name not in OF_ALL_RELEASES}
"""The gates but those that compare with earlier releases, of which an evaluation knows none."""


@dataclass(frozen=True)
class InputTable:
    """A period's table, and the people of `linkage.control`, where the policy names a file of them."""

    period: str
    source: SourceTable
    control: PreparedTable | None


def gates_of(made: PublishableRows, given: InputTable, scratch: Path) -> tuple[GateResult, ...]:
    """Ask the policy's gates, but those on the history, of the rows as they would be staged.

    The staged files lie in the folder `scratch` meanwhile.
    """
    policy, rows, source = made.prepared.policy, made.rows, made.prepared.source
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        staged = stage(
            rows,
            policy,
            candidate_id="trial",
            period=given.period,
            folder=Path(folder) / "files",
            n_source=made.table.n_records,
        )
        staged = with_units(staged, source, rows, policy)
        with sealed_file(staged.folder / "data.parquet", staged.files["data.parquet"]) as file:
            classes = read_classes(file, policy)
        evidence = Evidence(
            policy,
            made.table,
            classes,
            staged.folder,
            staged.files,
            (),
            control=given.control,
            row_people=staged.row_people,
            row_households=staged.row_households,
            row_records=staged.row_records,
        )
        return assess(evidence, {**OWN_GATES, **added_gates(policy)}).results
