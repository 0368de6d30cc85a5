"""What `releasegate report` writes: the site of a store, or one report as a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from flows.desk.report import page
from flows.desk.sheet import reader
from flows.desk.site.build import build
from flows.desk.site.places import places_of
from flows.desk.site.sheets import Reader
from flows.documents import Document
from flows.running import told
from policy.errors import UsageError, did_you_mean
from release_store.canonical import file_digest
from release_store.connection import connect
from release_store.guarded_files import resolved
from release_store.store import ReleaseStore
from release_store.whole import read_whole

_MARK = b'<meta name="generator" content="releasegate report">'
_HEAD = 4096  # bytes in which the mark stands


def write_site(store: ReleaseStore, out: Path | None, *, series: str | None, evidence: bool) -> Document:
    """Write the site, and return where it is, how many pages it has, and what is not as it was."""
    with told() as tell:
        built = build(store, out or Path("report"), series=series, evidence=evidence, tell=tell)
    return {
        "path": str(built.path),
        "pages": built.pages,
        "seconds": round(built.seconds, 3),
        "findings": [{"where": one.where, "what": one.what} for one in built.findings],
    }


def write_report(
    store: ReleaseStore, identifier: str, out: Path | None, *, series: str | None, evidence: bool
) -> Document:
    """Write the report of one release or candidate as one file, and return where it is.

    Raises UsageError for an id that the store does not know, and where the file cannot be written or is
    something else.
    """
    if series is not None or evidence:
        raise UsageError(
            "--series and --evidence are for the pages of the store", mend="Leave them out beside an ID."
        )
    releases = {one.release_id: one.candidate_id for one in store.releases()}
    candidates = [one.candidate_id for one in store.candidates()]
    if identifier not in releases and identifier not in candidates:
        raise UsageError(
            f"no release or candidate '{identifier}'{did_you_mean(identifier, [*releases, *candidates])}",
            mend="`releasegate history` lists them.",
        )
    path = out or Path(f"{identifier}.html")
    _check(path, store.root)
    data = _report(store, releases.get(identifier, identifier))
    try:
        _put(data, path)
    except OSError as error:
        raise UsageError(
            f"cannot be written ({type(error).__name__})", where=str(path), mend="Choose another with --out."
        ) from None
    return {"path": str(path), "sha256": file_digest(path), "findings": []}


def _report(store: ReleaseStore, candidate_id: str) -> bytes:
    """Return the report as the site has it: what became of a release since, and nothing that is withheld."""
    store.figures(candidate_id)  # raises where they were altered
    record = store.candidate(candidate_id)
    with connect(store.root) as con:
        whole = read_whole(con, record.series)
    release = next((one for one in whole.releases if one.candidate_id == candidate_id), None)
    with reader() as con:
        return page(Reader(store.root, whole, places_of(whole), con).sheet(record, release))


def _put(data: bytes, path: Path) -> None:
    """Put the file in its place whole, to be read by its owner alone."""
    handle, beside = tempfile.mkstemp(prefix=".releasegate-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def _check(path: Path, root: Path) -> None:
    """Refuse a file in the store, and one that is no page: it is not to be written over."""
    if resolved(path).is_relative_to(root.resolve()):
        raise UsageError("lies in the store", where=str(path), mend="Choose another file with --out.")
    if path.is_symlink() or (path.exists() and not (path.is_file() and _is_page(path))):
        raise UsageError(
            "is there already, and is no report", where=str(path), mend="Choose another file with --out."
        )


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return _MARK in file.read(_HEAD)
