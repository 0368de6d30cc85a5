from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from release_store import keys
from release_store.store import ReleaseStore
from tests.at_work import write_people


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
