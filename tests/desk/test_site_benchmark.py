"""The benchmark of the site builds it and opens its pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import site
from release_store.keys import KEY_VARIABLE

pytestmark = pytest.mark.browser


@pytest.mark.usefixtures("chromium")
def test_the_benchmark_builds_the_site_and_times_its_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    small = [
        "--releases",
        "4",
        "--events",
        "80",
        "--per-series",
        "4",
        "--runs",
        "1",
        "--folder",
        str(tmp_path),
    ]
    text = site.main(small)
    assert "`python -m benchmarks.site --per-series 4 --write`" in text
    first, *pages = re.findall(r"^\| `(.+?)` +\|(.+)\|$", text, re.MULTILINE)
    assert first[0] == "report"
    assert first[1].split("|")[-1].strip() == "30"
    times = {name: [cell.strip() for cell in cells.split("|")] for name, cells in pages}
    assert len(times) == 5
    assert all(0 < float(loaded.split()[0]) < 60 for loaded, _ in times.values())
    drawn = [name for name, (_, first) in times.items() if first != "it has none"]
    assert drawn == ["series/series000/index.html", "series/series000/series000-p001-r1.html"]
