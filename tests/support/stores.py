"""Fixtures of all tests: stores that are empty or hold releases, and one Prefect server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flows.runtime import settings
from release_store.audit import keys
from release_store.store import ReleaseStore
from tests.support.at_work import write_people
from tests.support.front_desk import Desk
from tests.support.plain_prefect import plain_prefect
from tests.support.store.hand_made import approved, publish_one
from tests.support.timeouts import HANG_TIMEOUT

Build = Callable[[ReleaseStore], object]
BuiltOnce = Callable[[Path, Build], ReleaseStore]


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


@pytest.fixture
def store(fresh_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    """An empty store in `tmp_path/store` with its key beside it."""
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    shutil.copytree(fresh_store, tmp_path, dirs_exist_ok=True)
    return ReleaseStore.open(tmp_path / "store")


@pytest.fixture(scope="session")
def two_releases_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two_releases") / "folder"
    shutil.copytree(fresh_store, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(keys.KEY_VARIABLE, raising=False)
        store = ReleaseStore.open(folder / "store")
        for period in ("2024", "2025"):
            publish_one(store, approved(store, period=period))
    return folder


@pytest.fixture
def two(two_releases_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    """A store whose series `clinic` has a release of 2024 and one of 2025."""
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    shutil.copytree(two_releases_folder, tmp_path / "two", symlinks=True)
    return ReleaseStore.open(tmp_path / "two" / "store")


@pytest.fixture(scope="session")
def built_folders() -> dict[tuple[Path, Build], Path]:
    """Folders that `built_once` made, by the folder that each began as and what was done in it."""
    return {}


@pytest.fixture
def built_once(
    built_folders: dict[tuple[Path, Build], Path],
    tmp_path_factory: pytest.TempPathFactory,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> BuiltOnce:
    """Return a copy, in `tmp_path/built`, of a store to which something was done once."""
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)

    def copy_of(folder: Path, build: Build) -> ReleaseStore:
        if (folder, build) not in built_folders:
            made = tmp_path_factory.mktemp("built") / "folder"
            shutil.copytree(folder, made, symlinks=True)
            build(ReleaseStore.open(made / "store"))
            built_folders[folder, build] = made
        shutil.copytree(built_folders[folder, build], tmp_path / "built", symlinks=True)
        return ReleaseStore.open(tmp_path / "built" / "store")

    return copy_of
