"""Two releases or candidates side by side, and what differs between them."""

from __future__ import annotations

import numpy as np

from policy.errors import ReleaseGateError, TransientFailure
from policy.load import policy_from_document
from release_store.publishing.public_files import candidate_folder, differing_files
from release_store.records import EquivalenceClasses
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from reports.difference_sides import rows_of, side_of
from reports.documents import Document, record_document
from services.trust import use_memory_of
from tasks.geometry.space import equal_cells
from tasks.risk.published import read_classes


def difference_document(store: ReleaseStore, one: str, other: str) -> Document:
    """Return two releases or candidates row by row: `name`, `a`, `b` and whether they are the `same`.

    `a` or `b` is left out of a row where that one has no such field, parameter or gate. Raises UsageError
    for an id that the store does not know.
    """
    use_memory_of(store.root, reads_only=True)
    found = [record_document(store, name) for name in (one, other)]
    classes = [_classes(store, each) for each in found]
    policies = [store.policy(each["policy_digest"]) for each in found]
    both = [each for each in classes if each is not None]
    sizes = [{} if each is None or not each.n_classes else _of_sizes(each.size) for each in classes]
    rows = rows_of(*(side_of(*each) for each in zip(found, policies, sizes, strict=True)))
    utility = rows.pop("utility")
    return {
        "a": one,
        "b": other,
        **{name: rows[name] for name in ("facts", "policy", "method", "gates", "classes")},
        "equal_classes": equal_cells(*both) if len(both) == len(found) else None,
        "utility": utility,
    }


def _of_sizes(size: np.ndarray) -> Document:
    return {
        "number": len(size),
        "smallest": int(size.min()),
        "median": float(np.median(size)),
        "largest": int(size.max()),
    }


def _classes(store: ReleaseStore, record: Document) -> EquivalenceClasses | None:
    """Return a release's classes from the history, a candidate's from its staged files; None without."""
    if record["release"]:
        return store.classes(record["release"])
    folder = candidate_folder(store.root, record["candidate"])
    if differing_files(folder, record["files"]):
        return None
    try:
        policy = policy_from_document(store.policy(record["policy_digest"]))
        with sealed_file(folder / "data.parquet", record["files"].get("data.parquet")) as file:
            return read_classes(file, policy)
    except TransientFailure:  # memory or the disk ended: the classes are there
        raise
    except ReleaseGateError:
        return None
