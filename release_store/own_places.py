"""The store's own files and folders, of the kind that it made: nothing is written through anything else.

A link in the place of one leads where its maker wishes, and a hard link is somebody else's file too.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from policy.errors import VerificationFailed

FOLDERS = ("candidates", "releases", "withdrawn", "locks")
LATEST = "latest"
LINK, HARD_LINK = "is a symbolic link", "has another name elsewhere, as a hard link"


def file_error(path: Path) -> str | None:
    """Return why a file is not one that the store made; None if it is, or if there is none."""
    status = _status(path)
    if status is None:
        return None
    if stat.S_ISLNK(status.st_mode):
        return LINK
    if stat.S_ISDIR(status.st_mode):
        return "is a folder"
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    return HARD_LINK if status.st_nlink > 1 else None


def folder_error(path: Path) -> str | None:
    """Return why a folder is not one that the store made; None if it is, or if there is none."""
    status = _status(path)
    if status is None or stat.S_ISDIR(status.st_mode):
        return None
    return LINK if stat.S_ISLNK(status.st_mode) else "is not a folder"


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def database_errors(database: Path) -> Iterator[tuple[Path, str]]:
    """Yield what DuckDB would read or write as its own, and is not of the kind that it makes, and why."""
    for path in (database, log_of(database)):
        if wrong := file_error(path):
            yield path, wrong
    spill = spill_of(database)
    if wrong := folder_error(spill):
        yield spill, wrong
        return
    with suppress(FileNotFoundError):  # another process may be done with it
        yield from ((path, wrong) for path in sorted(spill.iterdir()) if (wrong := file_error(path)))


def log_of(database: Path) -> Path:
    """Return where DuckDB keeps what it has not yet written into a database."""
    return database.with_name(f"{database.name}.wal")


def spill_of(database: Path) -> Path:
    """Return where DuckDB puts what its memory does not hold."""
    return database.with_name(f"{database.name}.tmp")


def check_database_files(database: Path) -> None:
    """Raise VerificationFailed where DuckDB would read or write something else than the store's own files."""
    for path, wrong in database_errors(database):
        raise _refused(path, f"{wrong}, which is not the store's own file")


def check_lock(path: Path) -> None:
    """Raise VerificationFailed where something else has the place of a lock, or of the locks' folder."""
    if wrong := folder_error(path.parent):
        raise _refused(path.parent, f"{wrong}, which is not the store's own folder")
    check_file(path)


def check_file(path: Path) -> None:
    """Raise VerificationFailed where something else has the place of one of the store's files."""
    if wrong := file_error(path):
        raise _refused(path, f"{wrong}, which is not the store's own file")


def check_folders(root: Path, within: Sequence[str] = ()) -> None:
    """Raise VerificationFailed where a folder of the store, or one `within` it, is a link or no folder."""
    for name in (*FOLDERS, *within):
        if wrong := folder_error(root / name):
            raise _refused(root / name, f"{wrong}, which is not the store's own folder")


def check_entries(root: Path, series: str) -> None:
    """Raise VerificationFailed where a link stands in the place of a folder of a candidate or a release.

    Only the series' `latest` is one; files beside releases are replaced, never written through.
    O(candidates + releases of the series).
    """
    known = (LATEST, f".{LATEST}.new")
    for folder in (root / "candidates", root / "releases" / series, root / "withdrawn" / series):
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink() and entry.name not in known and not entry.name.endswith(".json"):
                    raise _refused(Path(entry.path), f"{LINK}, which is not the store's own folder")


def _refused(path: Path, wrong: str) -> VerificationFailed:
    return VerificationFailed(
        f"{wrong}; nothing is written through it",
        where=str(path),
        hint="Find out who put it there, restore what was there, and run `releasegate verify`.",
    )
