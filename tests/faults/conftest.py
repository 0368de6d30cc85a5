"""A server that all tests share, one for a test that kills it, and a desk for each test, with a new store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from release_store.audit import keys
from release_store.store import ReleaseStore
from tests.faults.site import Site
from tests.support.front_desk import Desk


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """A server in processes of its own: only what a test does to the store, or to it, is a fault."""
    made = Site(folder)
    try:
        made.start_server()
        yield made
    finally:
        made.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server that goes on: no test kills it."""
    with running(tmp_path_factory.mktemp("site")) as made:
        yield made


@pytest.fixture
def own_site(tmp_path: Path) -> Iterator[Site]:
    """A server to be killed."""
    with running(tmp_path / "site") as made:
        yield made


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    ReleaseStore.create(tmp_path / "store")
    return Desk(tmp_path)
