"""Untidy files lead to three right releases by a draft as it is written, as the benchmark's page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import untidy_releases


@pytest.mark.parametrize("name", ["clinic", "pupils"])
def test_an_untidy_series_is_published_three_times_and_right(tmp_path: Path, name: str) -> None:
    page = untidy_releases.main([str(tmp_path / "series"), "--series", name])
    head, _, row = [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in page.splitlines()
        if line.startswith("|")
    ]
    told = dict(zip(head, row, strict=True))
    assert told["decided"] == "nothing"
    assert told["periods"] == "published, published, published"
    assert told["checked"].startswith("right: rows ")
