"""What the last release of a series looked like, for the expectations on drift."""

from __future__ import annotations

from expectations.suite import LastRelease
from release_store.store import ReleaseStore


def last_release(store: ReleaseStore, series: str) -> LastRelease | None:
    """Return the source's row count and the published sensitive counts of the newest release, or None."""
    releases = store.releases(series)
    if not releases:
        return None
    newest = releases[-1]
    classes = store.classes(newest.release_id)
    sensitive = {
        name: dict(zip(classes.sensitive_values[name], (int(n) for n in counts.sum(axis=0)), strict=True))
        for name, counts in classes.counts.items()
    }
    return LastRelease(newest.summary.n_source or 0, sensitive)
