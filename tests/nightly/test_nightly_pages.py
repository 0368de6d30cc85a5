"""Pages in a real Chromium in every view, every pair and many bundles, and within the time promised."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from benchmarks import site as site_benchmark
from release_store.audit import keys
from release_store.audit.keys import KEY_VARIABLE
from tests.spec.docs_pages import ROOT
from tests.support.pages import pairs, verify_page
from tests.support.pages.chromium import EVERY_VIEW, Chromium
from tests.support.pages.kinds_of_pages import PAGES, violations
from tests.support.pages.large_bundles import large_bundle
from tests.support.pages.random_edits import KINDS, flipped_bits, random_edits
from tests.support.pages.verify_page import element, result
from tests.support.store.bundles import Members
from tests.support.timeouts import LONG_TIMEOUT

OPENS_WITHIN = 8.0  # seconds, whatever else the machine does; benchmarks.site measures the 2 s of a quiet one


@pytest.fixture(autouse=True)
def as_it_was(chromium: Chromium) -> Iterator[None]:
    chromium.window(1280)
    yield
    chromium.window(1280)
    chromium.forget()


# A page of each kind ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=PAGES)
def at(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of one page."""
    return PAGES[request.param](tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize(("width", "dark"), EVERY_VIEW)
def test_axe_finds_nothing_serious(chromium: Chromium, at: Path, width: int, dark: bool) -> None:
    assert violations(chromium, at, width, dark) == []


def test_it_is_not_slow_to_open(
    chromium: Chromium, at: Path, record_property: Callable[[str, Any], None]
) -> None:
    """Until the load event, and until the first picture that is near the window is drawn."""
    took = []
    for _ in range(5):
        chromium.open(at)
        took.append(
            chromium.until(
                "the load event",
                lambda: chromium.run(
                    "const load = performance.getEntriesByType('navigation')[0].loadEventEnd;"
                    "if (!load || !document.querySelector('[data-picture]')) return load;"
                    "document.querySelector('[data-picture]').scrollIntoView();"
                    "return document.querySelector('[data-drawn]') && performance.now()"
                ),
            )
            / 1000
        )
    record_property("opens_in_seconds", statistics.median(took))
    print(f"{at.parent.name}: opens in {statistics.median(took):.2f} s")
    assert statistics.median(took) < OPENS_WITHIN


# The demo ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make demo` and the commands after it leave behind."""
    folder = tmp_path_factory.mktemp("whole_demo") / "demo"
    report = ["--store", str(folder / "store"), "report", "--out", str(folder / "site")]
    for words in (["examples.register.demo", str(folder)], ["cli", *report]):
        made = [sys.executable, "-m", *words]
        done = subprocess.run(
            made, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LONG_TIMEOUT
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_demo_s_pages_have_nothing_serious_in_any_view(chromium: Chromium, whole_demo: Path) -> None:
    pages = sorted((whole_demo / "site").rglob("*.html"))
    assert len(pages) == 9
    for at in pages:
        for width, dark in EVERY_VIEW:
            chromium.window(width, dark=dark)
            chromium.open(at)
            chromium.draw_all()
            assert chromium.violations() == [], at
            assert chromium.run("return document.documentElement.scrollWidth") <= width, at


def test_the_demo_s_reports_have_nothing_serious(chromium: Chromium, whole_demo: Path) -> None:
    reports = sorted((whole_demo / "store").rglob("report.html"))
    assert len(reports) == 7
    for at in reports:
        chromium.open(at)
        assert chromium.draw_all() >= 12
        assert chromium.violations() == []


def test_no_page_of_the_demo_is_slow_to_open(chromium: Chromium, whole_demo: Path) -> None:
    for at in sorted((whole_demo / "site").rglob("*.html")):
        took = []
        for _ in range(3):
            chromium.open(at)
            took.append(
                chromium.until(
                    "the load event",
                    lambda: chromium.run("return performance.getEntriesByType('navigation')[0].loadEventEnd"),
                )
                / 1000
            )
        print(f"{at.name}: opens in {sorted(took)[1]:.2f} s")
        assert sorted(took)[1] < OPENS_WITHIN, at


# Every pair, and many bundles -------------------------------------------------------------------------------


def test_every_pair_is_compared_as_the_command_does(
    chromium: Chromium, lived: Path, lived_site: Path
) -> None:
    every = pairs.every_pair(lived, 7)
    assert len(every) == 49
    pairs.agree(chromium, lived, lived_site, every)


def test_many_flipped_bits_are_judged_as_by_the_script(
    opened: webdriver.Chrome, bundle: Path, tmp_path: Path
) -> None:
    cases = flipped_bits(bundle.read_bytes(), range(300))
    told = [one["verified"] for one in verify_page.agree(opened, cases, tmp_path)]
    assert 30 < sum(told) < 270


def test_many_random_edits_are_judged_as_by_the_script(
    opened: webdriver.Chrome, history: Path, tmp_path: Path
) -> None:
    cases = random_edits(history, range(300), tmp_path, kinds := set())
    assert kinds == KINDS
    told = [one["verified"] for one in verify_page.agree(opened, cases, tmp_path)]
    assert 10 < sum(told) < 290


_WATCHED = """
window.longest = 0;
let last = performance.now();
const watch = () => {
  const now = performance.now();
  window.longest = Math.max(window.longest, now - last);
  last = now;
  setTimeout(watch, 0);
};
watch();
"""


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_large_bundle_does_not_hold_up_the_page(
    chromium: Chromium, page: Path, members: Members, three_releases: Path, tmp_path: Path, method: int
) -> None:
    """A busy machine holds the page up now and then; what the page itself does would each time."""
    large = large_bundle(members, keys.load_key(three_releases / "store"), 200_000_000, method, tmp_path)
    held_up = []
    for _ in range(3):
        driver = verify_page.opened(chromium.driver, page)
        driver.execute_script(_WATCHED)
        begun = time.monotonic()
        element(driver, "file").send_keys(str(large))
        told = result(driver)
        seconds, longest = time.monotonic() - begun, driver.execute_script("return window.longest")
        print(f"{method}: {seconds:.1f} s, the page was held up for {longest:.0f} ms at the longest")
        assert told.startswith("Verified by"), told
        held_up.append(longest)
        if longest < 1000:
            break
    assert min(held_up) < 1000


# The benchmark of the site ----------------------------------------------------------------------------------


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
    text = site_benchmark.main(small)
    assert "`python -m benchmarks.site --per-series 4 --write`" in text
    first, *pages = re.findall(r"^\| `(.+?)` +\|(.+)\|$", text, re.MULTILINE)
    assert first[0] == "report"
    assert first[1].split("|")[-1].strip() == "30"
    times = {name: [cell.strip() for cell in cells.split("|")] for name, cells in pages}
    assert len(times) == 5
    assert all(0 < float(loaded.split()[0]) < 60 for loaded, _ in times.values())
    drawn = [name for name, (_, first) in times.items() if first != "it has none"]
    assert drawn == ["series/series000/index.html", "series/series000/series000-p001-r1.html"]
