"""Are the store's files and folders of the kind that it made: no links, no pipes, no foreign log?"""

from __future__ import annotations

from pathlib import Path

from release_store.audit import keys
from release_store.audit.log import Finding
from release_store.db.connection import foreign_log
from release_store.own_places import FOLDERS, file_error, folder_error
from release_store.verification.view import VerificationContext


def check_places(view: VerificationContext) -> list[Finding]:
    """The database, locks and folders are the store's own, not links to others; so are candidates' folders.

    What DuckDB would write through is refused before it is opened (`own_places.check_database_files`).
    """
    root = view.root
    key = root / keys.PUBLIC_KEY_FILE
    found = [(key, file_error(key))] if view.public_key else []  # one that cannot be read is told already
    found += [(root / name, folder_error(root / name)) for name in FOLDERS]
    if folder_error(root / "locks") is None:
        found += [(path, file_error(path)) for path in _entries(root / "locks")]
    if folder_error(root / "candidates") is None:
        found += [(path, folder_error(path)) for path in _entries(root / "candidates")]
    findings = [Finding(str(path.relative_to(root)), wrong) for path, wrong in found if wrong]
    return findings + _foreign_log(view)


def _foreign_log(view: VerificationContext) -> list[Finding]:
    log = foreign_log(view.con, view.root)
    return (
        [Finding(log.name, "is no log that the database can read; what it held may be lost")] if log else []
    )


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []
