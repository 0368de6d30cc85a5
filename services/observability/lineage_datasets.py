"""The tables that lineage knows of: a period's input, the candidates and the releases of a series."""

from __future__ import annotations

from policy.model import ReleasePolicy
from policy.roles import Roles
from release_store.store import ReleaseStore
from services.observability.lineage import Dataset
from tasks.types import SourceTable


def source_dataset(source: SourceTable, policy: ReleasePolicy) -> Dataset:
    """Return a table that was read: by its file's name and commitment, with its columns and their roles."""
    roles = roles_of(policy.roles)
    columns = {str(name): roles.get(str(name), "") for name in source.frame.columns}
    return Dataset(f"{policy.series}/input/{source.origin}", source.commitment, columns, source.n_rows)


def candidate_dataset(store: ReleaseStore, candidate_id: str) -> Dataset:
    """Return a candidate: the series' candidates, in this version."""
    record = store.candidate(candidate_id)
    version = f"{candidate_id}:{record.candidate_digest}"
    rows = record.summary.n_published
    return Dataset(f"{record.series}/candidates", version, rows=rows, n_files=len(store.files(candidate_id)))


def release_dataset(store: ReleaseStore, release_id: str) -> Dataset:
    """Return a release: the series' releases, in this version."""
    release = store.release(release_id)
    record = store.candidate(release.candidate_id)
    version = f"{release_id}:{record.candidate_digest}"
    rows = record.summary.n_published
    return Dataset(f"{release.series}/releases", version, rows=rows, n_files=len(release.files))


def roles_of(roles: Roles) -> dict[str, str]:
    """Return what each column of a source is, by the policy."""
    single = ((roles.key, "key"), (roles.household, "household"), (roles.unpublished_weight, "weight"))
    named = {column: kind for column, kind in single if column is not None}
    kinds = (
        ("identifier", roles.identifiers),
        ("quasi-identifier", roles.quasi_identifiers),
        ("sensitive", roles.sensitive),
        ("kept", roles.kept),
        ("dropped", roles.dropped),
    )
    return named | {column: kind for kind, columns in kinds for column in columns}
