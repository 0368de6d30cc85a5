from __future__ import annotations

import pytest

from release_store.store import ReleaseStore
from tests.support.store.hand_made import awaiting
from tests.support.web_clients import Clock, WebClient, application


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def waiting(store: ReleaseStore) -> str:
    """The id of a candidate that ann made and that waits for two approvals."""
    return awaiting(store, approvers=2).candidate_id


@pytest.fixture
def web(store: ReleaseStore, waiting: str, clock: Clock) -> WebClient:
    """A browser before a server of a store with a candidate that waits; nobody is logged in."""
    return WebClient(application(store.root, clock), store.store_id)
