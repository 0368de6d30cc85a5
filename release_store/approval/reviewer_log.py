"""Keep in the log who is in force whenever somebody looks, so that a change is told before it is used."""

from __future__ import annotations

from policy.errors import UsageError
from release_store.approval.authentication import log_people
from release_store.approval.reviewers import load_reviewers
from release_store.audit.keys import load_key
from release_store.db.connection import connect, is_read_only
from release_store.store import ReleaseStore


def log_reviewers(store: ReleaseStore) -> None:
    """Log the people in force if they changed since they were last logged; a store that is only read is left.

    Raises UsageError for a file of people that cannot be read.
    """
    staff = load_reviewers(store.root)
    if staff is None:
        return
    with connect(store.root) as con:
        if is_read_only(con):
            return
    try:
        load_key(store.root)
    except UsageError:
        return  # whoever has the key keeps it there, and logs who is in force
    with store.kept_transaction() as con:
        log_people(con, staff)
