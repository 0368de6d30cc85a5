"""The key of people that docs/store.md makes is one that the store takes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from release_store.person_key import PERSON_KEY_VARIABLE, person_key
from tests.spec import docs_pages


def test_the_key_that_the_page_makes_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = [
        block
        for block in docs_pages.blocks(docs_pages.ROOT / "docs" / "store.md")
        if PERSON_KEY_VARIABLE in block.text
    ]
    told = subprocess.run(
        ["sh", "-ec", f'{block.text}printf %s "${PERSON_KEY_VARIABLE}"'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    monkeypatch.setenv(PERSON_KEY_VARIABLE, told)
    key = person_key(tmp_path / "store")
    assert key == (tmp_path / "people.key").read_bytes()
    assert len(key) == 32
