"""The releases of a series, as the pictures of a series take them."""

from __future__ import annotations

from release_store.db import queries
from release_store.db.changes import gate_json
from release_store.db.connection import connect
from release_store.db.figures import read_figures
from release_store.records import Release, ReleaseState
from release_store.store import ReleaseStore
from reports.series_pictures import AssessedRelease, short_name

_KINDS = {ReleaseState.PUBLISHED: "release"}


def assessed_releases(store: ReleaseStore, series: str) -> list[AssessedRelease]:
    """Return what was published of a series, withdrawn and superseded too, in that order.

    Raises VerificationFailed where the figures of one are not those that the log has the digest of.
    """
    releases = store.releases(series)
    with connect(store.root) as con:
        gates = queries.gates_of(con, [one.candidate_id for one in releases])
        figures = {one.candidate_id: read_figures(con, one.candidate_id) for one in releases}
    return [
        AssessedRelease(
            short_name(one.release_id, series),
            [gate_json(result) for result in gates.get(one.candidate_id, [])],
            figures.get(one.candidate_id),
            kind_of(one),
        )
        for one in releases
    ]


def kind_of(release: Release) -> str:
    """Return what a release is now: a release, or one that was superseded or withdrawn."""
    return _KINDS.get(release.state, str(release.state))
