"""A table checked against its expectations; the store keeps the results, whatever they are."""

from __future__ import annotations

from policy.model import ReleasePolicy
from release_store.store import ReleaseStore
from tasks.types import SourceTable
from tasks.validation.check import as_records, raise_if_failed, validate
from tasks.validation.feasible import feasible
from tasks.validation.hierarchies import lacking
from tasks.validation.last import last_release


def validate_source(
    table: SourceTable, policy: ReleasePolicy, store: ReleaseStore, period: str, actor: str
) -> int:
    """Run the expectations and keep their results; return how many there were.

    Raises ValidationFailed, which ends the run before any training.
    """
    results = validate(table, policy, last_release(store, policy.series))
    results += feasible(table, policy)
    store.record_validation(
        series=policy.series,
        period=period,
        input_digest=table.commitment,
        n_rows=table.n_rows,
        n_columns=table.frame.shape[1],
        passed=all(result.passed for result in results),
        results=as_records(results),
        actor=actor,
    )
    raise_if_failed(results, table.origin, lacking(table, policy))
    return len(results)
