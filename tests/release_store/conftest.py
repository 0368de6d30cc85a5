from __future__ import annotations

from pathlib import Path

import pytest

from release_store.store import ReleaseStore


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    return ReleaseStore.create(tmp_path / "store")
