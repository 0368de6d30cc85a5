"""How the file of people who are not in the table is read: as the source is, but for its query."""

from __future__ import annotations

from typing import Any

from policy.model import ReleasePolicy


def control_policy(policy: ReleasePolicy) -> ReleasePolicy:
    """Return the policy by which the file of `linkage.control` is found and read, without a query.

    A query need not look at the file that it is given: it could read the source once more. Of a workbook or
    database, the only sheet or table is read.
    """
    own: dict[str, Any] = {
        "path": policy.linkage.control,
        "query": None,
        "inputs": {},
        "format": policy.source.format if policy.source.format in ("csv", "parquet") else "auto",
        "sheet": None,
        "table": None,
    }
    return policy.model_copy(update={"source": policy.source.model_copy(update=own)})
