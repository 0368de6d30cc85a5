"""Recoding as a Prefect task."""

from __future__ import annotations

import pandas as pd

from policy.model import ReleasePolicy
from tasks.recoding.generalize import published_frame
from tasks.shielded import stage
from tasks.types import Partition, PreparedTable


@stage("recoding: groups become published cells")
def recoding(table: PreparedTable, groups: Partition, policy: ReleasePolicy) -> pd.DataFrame:
    """Return the rows as they would be published."""
    return published_frame(table, groups, policy)
