"""The benchmark of the site times pages; the nightly tests run it whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import page_times


@pytest.mark.usefixtures("chromium")
def test_pages_are_timed_until_they_are_there_and_until_a_first_picture(
    lived_site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_times, "RUNS", 1)
    text = page_times.page_times(lived_site, ("index.html", "series/clinic/index.html"))
    rows = re.findall(r"^\| `(.+?)` +\|(.+)\|$", text, re.MULTILINE)
    times = {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}
    assert list(times) == ["index.html", "series/clinic/index.html"]
    assert all(float(loaded.split()[0]) > 0 for loaded, _ in times.values())
    assert [first != "it has none" for _, first in times.values()] == [False, True]
