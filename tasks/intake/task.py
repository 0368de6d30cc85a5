"""Intake as a Prefect task."""

from __future__ import annotations

from pathlib import Path

from policy.model import ReleasePolicy
from policy.trusted import Trusted
from tasks.intake.read import read_table
from tasks.shielded import stage
from tasks.types import SourceTable


@stage("intake: read the period's table", retries=2)
def intake(
    policy: ReleasePolicy, input_path: Path | None, period: str, base: Path, trusted: Trusted
) -> SourceTable:
    """Read the columns of the policy's roles, and nothing else."""
    return read_table(policy, input_path=input_path, period=period, base=base, trusted=trusted)
