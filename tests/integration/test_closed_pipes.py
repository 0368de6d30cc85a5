"""A command whose reader has gone (`| head`) ends quietly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "words", [("assess", "t.csv", "--qi", "age"), ("draft", "t.csv"), ("methods", "--json")]
)
def test_a_command_without_a_reader_says_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    rows = "".join(f"p{i},{20 + i % 40},flu\n" for i in range(100))
    (tmp_path / "t.csv").write_text("id,age,disease\n" + rows, encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    root = Path(__file__).resolve().parents[2]
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(
            [sys.executable, "-m", "cli", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=closed,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (0, b"")
