"""Intake as a Prefect task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from policy.model import ReleasePolicy
from policy.trusted import Trusted
from release_store.protocol.commitment import commitment_to, draw_key
from tasks.intake.read import read_table
from tasks.shielded import stage
from tasks.types import SourceTable


@stage("intake: read the period's table", retries=2)
def intake(
    policy: ReleasePolicy, input_path: Path | None, period: str, base: Path, trusted: Trusted, store: Path
) -> SourceTable:
    """Read the columns of the policy's roles; what is recorded of the input is under the key of `store`."""
    source = read_table(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    return replace(source, commitment=commitment_to(store, source.digest), draw_key=draw_key(store))
