"""The page that people read before they decide on a candidate: beside its files, its digest in the log.

It is none of the files that gates judge, and never becomes public: a release has a report of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from release_store.audit import log as audit
from release_store.audit.checkpoints import seal
from release_store.canonical import sha256_hex
from release_store.protocol.names import REPORT
from release_store.publishing.public_files import candidate_folder, file_errors, replace_file

REPORTED = "candidate.reported"


def keep_report(
    con: duckdb.DuckDBPyConnection,
    root: Path,
    candidate_id: str,
    page: bytes,
    actor: str,
    key: Ed25519PrivateKey,
) -> Path:
    """Write a candidate's `report.html`, readable by the store's owner alone, and its digest to the log.

    To be called in a transaction: if it is not kept, neither is the event, which `key`, the store's, seals.
    The same page again is no event.
    """
    files = {REPORT: sha256_hex(page)}
    if logged_report(con, candidate_id) != files:
        told = {"candidate": candidate_id, "files": files}
        seal(con, key, audit.append(con, actor, REPORTED, candidate_id, "", told))
    path = candidate_folder(root, candidate_id) / REPORT
    replace_file(path, page, mode=0o600)
    return path


def logged_report(con: duckdb.DuckDBPyConnection, candidate_id: str) -> dict[str, str]:
    """Return the name of a candidate's report with its SHA-256 in the log; nothing where none was logged."""
    written = [
        event for event in audit.read_events_about(con, [], [candidate_id], []) if event.action == REPORTED
    ]
    return reported_files(written[-1].payload) if written else {}


def reported_files(payload: dict[str, Any]) -> dict[str, str]:
    """Return what an event says of a report; nothing where it was damaged, which the log's hashes tell."""
    files = payload.get("files")
    return {REPORT: str(files[REPORT])} if isinstance(files, dict) and REPORT in files else {}


def shown_errors(folder: Path, staged: Mapping[str, str], report: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong with what people see of a candidate, by file: `staged` and `report` by SHA-256."""
    return file_errors(folder, staged, than="the assessed file") | file_errors(
        folder, report, than="the report that was written"
    )
