"""The report of one release or candidate, as the store knows it now, on one page."""

from __future__ import annotations

from contextlib import suppress

from policy.errors import StoreError, UsageError, did_you_mean
from release_store.db import queries
from release_store.db.connection import connect
from release_store.db.figures import read_figures
from release_store.snapshot import read_snapshot
from release_store.store import ReleaseStore
from reports.report import page
from reports.report_model import reader
from reports.site.places import places_of
from reports.site.reading import refusing_alterations
from reports.site.release_pages import ReleasePage, ReleasePageReader
from reports.withheld import WAITS


def read_report(store: ReleaseStore, identifier: str) -> tuple[bytes, ReleasePage]:
    """Return the report of a release or candidate, and what it is made of.

    The rules are those of the site, which shows no rows of some. Raises UsageError for an id that the store
    does not know, VerificationFailed for figures that are not those of the log.
    """
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
        waits = record.state in WAITS and record.candidate_id not in became
        altered = store.altered_files(record.candidate_id) if waits else {}
        problems = [f"{file} {what}" for file, what in altered.items()]
        for leaf in read.leaves(record, became.get(record.candidate_id), (), problems):
            if leaf.sheet is None:
                raise StoreError(leaf.gaps[-1].rstrip("."), where=leaf.identifier)
            with suppress(Exception):  # what is kept may be any JSON: the next leaf has less of it
                return page(leaf.sheet), leaf
    raise AssertionError("the last leaf has no sheet")
