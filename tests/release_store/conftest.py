from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from release_store.audit import keys
from release_store.store import ReleaseStore
from tests.at_work import write_people
from tests.release_store.hand_made import approved, publish_one


@pytest.fixture(scope="session")
def fresh_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fresh") / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(keys.KEY_VARIABLE, raising=False)
        ReleaseStore.create(folder / "store")
        write_people(folder / "store")
    return folder


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
