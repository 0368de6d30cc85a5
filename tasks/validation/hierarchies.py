"""Which values a hierarchy lacks: one that is frequent enough to be published is named, others counted."""

from __future__ import annotations

import pandas as pd

from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.counting import counted
from tasks.types import SourceTable


def lacking(table: SourceTable, policy: ReleasePolicy) -> str:
    """Say what each hierarchy lacks, and in which file; an empty text where nothing is. O(n) a column.

    A value is named where at least k rows have it; one that fewer people have could tell who they are. No
    value of a query is named: it can give all rows what one of them says, or a list of all names. No
    sensitive value is named.
    """
    told = []
    hierarchies = {name: qi.tree for name, qi in policy.roles.categorical.items()}
    hierarchies |= {name: attribute.hierarchy for name, attribute in policy.roles.sensitive.items()}
    for name, hierarchy in hierarchies.items():
        if hierarchy is None:
            continue
        codes, values = pd.factorize(table.frame[name])
        known = codes >= 0
        rows = None if table.rows is None else table.rows[known]
        counts = pd.Series(counted(codes[known], rows, len(values)), index=pd.Index(values))
        outside = counts[~counts.index.isin(set(hierarchy.leaves))]
        if not len(outside):
            continue
        where = f"the hierarchy {hierarchy.origin or f'of {name!r}'}"
        if policy.source.query is not None:
            told.append(f"{where} lacks {number_of(len(outside), 'value')} of the query")
            continue
        if name in policy.roles.sensitive:
            told.append(f"{where} lacks {number_of(len(outside), 'value')}")
            continue
        frequent = [repr(str(value)) for value in outside.index[outside >= policy.privacy.k]]
        named = ", ".join(sorted(frequent)[:3]) or f"values with under {policy.privacy.k} rows each"
        rare = len(outside) - min(len(frequent), 3)
        more = f" and {rare} more" if frequent and rare else ""
        told.append(f"{where} lacks {named}{more}")
    return "; ".join(told)
