"""Flows in process or on one Prefect server, and stores that are empty or hold one release."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from front_desk import Desk

from flows.runtime import settings
from release_store.store import ReleaseStore
from tests.at_work import write_people
from tests.plain_prefect import plain_prefect
from tests.timeouts import HANG_TIMEOUT

LIMITS = (
    "services.observability.notice_channels.TIMEOUT",
    "services.observability.notices._PATIENCE",
    "services.observability.lineage._LIMIT",
    "services.observability.lineage._TIMEOUT",
    "services.doctor.server._TIMEOUT",
)


@pytest.fixture(autouse=True)
def flows_in_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Call flows as plain functions, but in tests marked `prefect`."""
    if request.node.get_closest_marker("prefect"):
        yield
    else:
        with plain_prefect():
            yield


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let receivers and servers take as long as a busy machine does; a test of a limit sets its own."""
    for limit in LIMITS:
        monkeypatch.setattr(limit, HANG_TIMEOUT)


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prefect in a folder of the tests' own, with the settings of the command line."""
    home = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**settings.DEFAULTS, **settings.REQUIRED, "PREFECT_HOME": str(home)}.items():
            patch.setenv(name, value)
        from prefect.context import refresh_global_settings_context
        from prefect.testing.utilities import prefect_test_harness

        refresh_global_settings_context()
        with prefect_test_harness(server_startup_timeout=int(HANG_TIMEOUT)):
            yield
    refresh_global_settings_context()


@pytest.fixture(scope="session")
def fresh_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
        ReleaseStore.create(folder / "store")
        write_people(folder / "store")
    return folder


@pytest.fixture
def desk(fresh_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty store in `tmp_path/store`, its key beside it; no server is started for it."""
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    monkeypatch.delenv("RELEASEGATE_STORE", raising=False)
    shutil.copytree(fresh_store, tmp_path, dirs_exist_ok=True)
    return Desk(tmp_path)


@pytest.fixture(scope="session")
def published_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose store has published 2026Q1 of the series `clinic`."""
    folder = tmp_path_factory.mktemp("published") / "folder"
    shutil.copytree(fresh_store, folder)
    made = Desk(folder)
    with plain_prefect():
        assert made.run(made.policy(), made.table()) == 0
    return folder


@pytest.fixture
def published(published_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A copy of the store with one release."""
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    monkeypatch.delenv("RELEASEGATE_STORE", raising=False)
    shutil.copytree(published_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)
