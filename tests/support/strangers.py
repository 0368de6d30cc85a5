"""An account that accepts nothing yet, and files that belong to somebody else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

STRANGER = 4711
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")


@pytest.fixture
def accepts_nothing(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account that accepts nothing: the file in which its configuration will be."""
    home = tmp_path_factory.mktemp("account")
    monkeypatch.delenv("RELEASEGATE_TRUST")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return home / "config" / "releasegate" / "trust.json"


def give_away(*paths: Path) -> None:
    """Give files, and all that is below folders, to a stranger."""
    for path in paths:
        for one in (path, *path.rglob("*")):
            os.chown(one, STRANGER, -1, follow_symlinks=False)
