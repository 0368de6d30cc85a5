"""How soon the pages of a site open in Chromium: until the load event, and until the first picture is drawn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from benchmarks import report
from tests.e2e.browser import CHROMIUM, DRIVER, OPTIONS

LOADED = "return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
# The pages draw what comes into view: the first picture is brought there, and its time taken when it is drawn.
FIRST = """
const done = arguments[arguments.length - 1];
const first = document.querySelector("[data-picture]");
if (!first) { done(null); } else {
  first.scrollIntoView({block: "center"});
  const look = () => first.dataset.drawn && first.querySelector("svg, canvas")
    ? done(performance.now() / 1000) : requestAnimationFrame(look);
  look();
}
"""
RUNS = 5


def page_times(site: Path, places: Sequence[str]) -> str:
    """Return a table of the pages: medians of `RUNS` openings in a fresh tab's order."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for one in OPTIONS:
        options.add_argument(one)
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    driver.set_script_timeout(60)
    rows = []
    try:
        for place in places:
            loads, firsts = [], []
            for _ in range(RUNS):
                driver.get("about:blank")
                driver.get((site / place).resolve().as_uri())
                while not (loaded := driver.execute_script(LOADED)):  # type: ignore[no-untyped-call]
                    time.sleep(0.01)
                loads.append(loaded)
                first = driver.execute_async_script(FIRST)  # type: ignore[no-untyped-call]
                if first is not None:
                    firsts.append(first)
            rows.append([f"`{place}`", _spread(loads), _spread(firsts) if firsts else "none on it"])
    finally:
        driver.quit()
    return report.table(["page", "load event, seconds", "first picture, seconds"], rows)


def _spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
