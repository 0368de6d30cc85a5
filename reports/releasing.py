"""The report that goes out with a release, and the one that is written beside a candidate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError
from policy.fault import place
from release_store.protocol.names import REPORT
from release_store.publishing.public_files import candidate_folder, release_folder
from release_store.store import ReleaseStore
from reports.report import candidate_report, release_report
from reports.report_model import read_sheet_data

_HINT = (
    "The decisions are stored; please report this bug. After the fix, run the period or approve the "
    "candidate again to publish it."
)


def report_factory(store: ReleaseStore, candidate_id: str) -> Callable[[Mapping[str, Any]], bytes]:
    """Return what makes the report of the release that a candidate becomes, as `publish` calls it.

    What the store keeps is read here, before the publication begins. The report is given what the manifest
    says but for its files; of the same facts it makes the same bytes. ReleaseGateError tells where it broke,
    and that all else is kept.
    """
    of = read_sheet_data(store, candidate_id)

    def made(facts: Mapping[str, Any]) -> bytes:
        try:
            return release_report(facts, of)
        except Exception as error:  # its words may be those of a row
            broke = f"its report cannot be written ({type(error).__name__} at {place(error)})"
        raise ReleaseGateError(f"{broke}; nothing is public", where=candidate_id, hint=_HINT)

    return made


def write_candidate_report(store: ReleaseStore, candidate_id: str, *, actor: str) -> Path:
    """Write `report.html` beside the files of a candidate that was judged, and return its path."""
    return store.keep_report(candidate_id, candidate_report(store, candidate_id), actor=actor)


def report_path(store: ReleaseStore, series: str, candidate_id: str, release_id: str = "") -> str:
    """Return where the report of a release lies, or that of a candidate; empty where it has none."""
    if release_id:
        folder = release_folder(store.root, series, release_id)
    else:
        folder = candidate_folder(store.root, candidate_id)
    path = folder / REPORT
    return str(path) if candidate_id and path.is_file() else ""
