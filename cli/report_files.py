"""What `releasegate report` writes: the site of a store, or one report as a file."""

from __future__ import annotations

from pathlib import Path

from cli.page_files import write_page
from cli.progress import progress_reporter
from policy.errors import UsageError
from release_store.canonical import file_digest
from release_store.store import ReleaseStore
from reports.documents import Document
from reports.single_report import read_report
from reports.site.build import build
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
    data, leaf = read_report(store, identifier)
    path = out or Path(f"{identifier}.html")
    write_page(data, path, "--out", store.root)
    return {
        "path": str(path),
        "sha256": file_digest(path),
        "findings": [{"where": leaf.identifier, "what": one} for one in leaf.problems],
        "not_shown": [{"where": leaf.identifier, "what": one} for one in leaf.gaps],
    }
