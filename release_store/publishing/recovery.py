"""What a run that died before publication leaves: a candidate without gates, or files without a candidate.

From repair to publication a run holds the lock of its series. So where the lock is free, nobody is at work on
what was staged and not judged, and nobody will be.
"""

from __future__ import annotations

from release_store.db import queries
from release_store.db.changes import set_state
from release_store.db.connection import connect, transaction
from release_store.publishing.public_files import candidate_folder, remove_folder
from release_store.records import CandidateState
from release_store.store import ReleaseStore, SeriesInUse

ACTOR = "releasegate"  # it is nobody's word
REASON = "its run ended before the results of its gates were stored"
_UNJUDGED = (CandidateState.STAGED, CandidateState.ASSESSED)


def leftovers(store: ReleaseStore) -> dict[str, list[str]]:
    """Return by series the candidates without gates, and the names of folders that were to become one.

    Some may be a living run's: only under the lock of the series are they certain to be left.
    """
    folders = _folders(store)  # before the names: what is made from now on is not looked at
    with connect(store.root) as con:
        unjudged = {one.candidate_id: one.series for one in queries.candidates(con) if one.state in _UNJUDGED}
        series_of = queries.reserved_names(con)
        known = queries.places(con).keys()
    strays = {name: series_of[name] for name in folders if name in series_of and name not in known}
    found: dict[str, list[str]] = {}
    for name, series in sorted({**unjudged, **strays}.items()):
        found.setdefault(series, []).append(name)
    return found


def foreign_folders(store: ReleaseStore) -> list[str]:
    """Return the names in `candidates/` that the store never gave to a candidate."""
    folders = _folders(store)
    with connect(store.root) as con:
        series_of = queries.reserved_names(con)
        known = queries.places(con).keys()
    return [name for name in folders if name not in series_of and name not in known]


def settle_leftovers(store: ReleaseStore) -> list[str]:
    """End what dead runs left in series where nobody is at work, and say so in one line each."""
    said = []
    for series in leftovers(store):
        try:
            with store.series_lock(series, 0):
                # Looked at anew: until now a run may have been at work.
                said += [_settle(store, name) for name in leftovers(store).get(series, [])]
        except SeriesInUse:
            continue
    return said


def _settle(store: ReleaseStore, name: str) -> str:
    with transaction(store.root) as con:
        if name in queries.places(con):
            set_state(con, name, CandidateState.FAILED, actor=ACTOR, reason=REASON)
            return f"{name}: failed, {REASON}"
    remove_folder(candidate_folder(store.root, name))
    return f"candidates/{name}: removed, it was never assessed"


def _folders(store: ReleaseStore) -> list[str]:
    folder = store.root / "candidates"
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
