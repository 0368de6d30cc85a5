"""A store whose releases have figures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from release_store.keys import KEY_VARIABLE
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.desk import sheets
from tests.desk.chromium import chromium  # noqa: F401 -- a fixture
from tests.desk.lived import make_lived
from tests.release_store import hand_made


@pytest.fixture(scope="session")
def clinic_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic") / "folder"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        for period in ("2024", "2025"):
            found = hand_made.stage(store, period=period).candidate_id
            passes = [hand_made.K_PASSES]
            store.record_gates(
                found, passes, to=CandidateState.APPROVED, actor="ann", figures=sheets.figures()
            )
            hand_made.publish_one(store, found)
        record = hand_made.stage(store, period="2026")
        store.record_gates(record.candidate_id, [hand_made.K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return folder


@pytest.fixture
def clinic(clinic_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    """Two releases of the series `clinic`, with figures, and a candidate that was held back."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    shutil.copytree(clinic_folder, tmp_path / "clinic")
    return ReleaseStore.open(tmp_path / "clinic" / "store")


@pytest.fixture(scope="session")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with a bit of everything, which tests copy or only read."""
    folder = tmp_path_factory.mktemp("lived")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        make_lived(folder)
    return folder


@pytest.fixture
def copied(lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of that folder."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    shutil.copytree(lived, tmp_path / "lived", symlinks=True, ignore=shutil.ignore_patterns("site"))
    return tmp_path / "lived"
