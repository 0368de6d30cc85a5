"""A store whose releases have figures."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from release_store.keys import KEY_VARIABLE
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from tests.desk import sheets
from tests.release_store import hand_made


@pytest.fixture
def kept_figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The figures that stores give back, by candidate: a test puts them there."""
    told: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(ReleaseStore, "figures", lambda _, candidate: told.get(candidate), raising=False)
    monkeypatch.setattr(ReleaseStore, "all_figures", lambda _, __=None: told, raising=False)
    return told


@pytest.fixture(scope="session")
def clinic_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic") / "folder"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(KEY_VARIABLE, raising=False)
        store = ReleaseStore.create(folder / "store")
        for period in ("2024", "2025"):
            hand_made.publish_one(store, hand_made.approved(store, period=period))
        record = hand_made.stage(store, period="2026")
        store.record_gates(record.candidate_id, [hand_made.K_FAILS], to=CandidateState.BLOCKED, actor="ann")
    return folder


@pytest.fixture
def clinic(
    clinic_folder: Path,
    tmp_path: Path,
    kept_figures: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> ReleaseStore:
    """Two releases of the series `clinic`, with figures, and a candidate that was held back."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    shutil.copytree(clinic_folder, tmp_path / "clinic")
    store = ReleaseStore.open(tmp_path / "clinic" / "store")
    kept_figures |= {one.candidate_id: sheets.figures() for one in store.releases()}
    return store
