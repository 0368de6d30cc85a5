"""What `releasegate report` writes: the site of a store, or one report as a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from cli.page_files import write_page
from cli.progress import progress_reporter
from policy.errors import StoreError, UsageError, did_you_mean
from release_store.canonical import file_digest
from release_store.db import queries
from release_store.db.connection import connect
from release_store.db.figures import read_figures
from release_store.snapshot import read_snapshot
from release_store.store import ReleaseStore
from reports.documents import Document
from reports.report import page
from reports.report_model import reader
from reports.site.build import build
from reports.site.findings import of_waiting
from reports.site.places import places_of
from reports.site.reading import refusing_alterations
from reports.site.release_pages import ReleasePage, ReleasePageReader
from services.trust import use_memory_of


def write_site(store: ReleaseStore, out: Path | None, *, series: str | None, evidence: bool) -> Document:
    """Write the site, and return where it is, how many pages it has, and what is not as it was."""
    use_memory_of(store.root, reads_only=True)
    with progress_reporter() as tell:
        built = build(store, out or Path("report"), series=series, evidence=evidence, tell=tell)
    return {
        "path": str(built.path),
        "pages": built.pages,
        "seconds": round(built.seconds, 3),
        "findings": [{"where": one.where, "what": one.what} for one in built.findings],
        "not_shown": [{"where": one.where, "what": one.what} for one in built.gaps],
    }


def write_report(
    store: ReleaseStore, identifier: str, out: Path | None, *, series: str | None, evidence: bool
) -> Document:
    """Write the report of one release or candidate as one file, and return where it is.

    Only its owner can read it. Raises UsageError for an id that the store does not know, and where the file
    cannot be written or is something else; VerificationFailed for figures that are not those of the log.
    """
    if series is not None or evidence:
        raise UsageError(
            "--series and --evidence are for the pages of the store", hint="Leave them out beside an ID."
        )
    use_memory_of(store.root, reads_only=True)
    data, leaf = _report(store, identifier)
    path = out or Path(f"{identifier}.html")
    write_page(data, path, "--out", store.root)
    return {
        "path": str(path),
        "sha256": file_digest(path),
        "findings": [{"where": leaf.identifier, "what": one} for one in leaf.problems],
        "not_shown": [{"where": leaf.identifier, "what": one} for one in leaf.gaps],
    }


def _report(store: ReleaseStore, identifier: str) -> tuple[bytes, ReleasePage]:
    """Return the report, and what it is made of: by the rules of the site, which shows no rows of some."""
    with connect(store.root) as con, refusing_alterations():
        releases = {one.release_id: one for one in queries.releases(con)}
        candidates = {one.candidate_id: one for one in queries.candidates(con)}
        release = releases.get(identifier)
        record = candidates.get(release.candidate_id if release else identifier)
        if record is None:
            raise UsageError(
                f"no release or candidate '{identifier}'{did_you_mean(identifier, [*releases, *candidates])}",
                hint="Run `releasegate history` to list them.",
            )
        read_figures(con, record.candidate_id)  # refuses those that are not what was logged
        whole = read_snapshot(con, record.series)
        places = places_of(whole)
    became = {one.candidate_id: one for one in whole.releases}
    with reader() as files:
        read = ReleasePageReader(store.root, whole, places, files)
        altered = [one.what for one in of_waiting(store.root, whole) if one.where == record.candidate_id]
        for leaf in read.leaves(record, became.get(record.candidate_id), (), altered):
            if leaf.sheet is None:
                raise StoreError(leaf.gaps[-1].rstrip("."), where=leaf.identifier)
            with suppress(Exception):  # what is kept may be any JSON: the next leaf has less of it
                return page(leaf.sheet), leaf
    raise AssertionError("the last leaf has no sheet")
