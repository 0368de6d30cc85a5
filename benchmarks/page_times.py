"""How soon the pages of a site open in Chromium: until the load event, and until a first picture is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import report
from tests.support.pages.chromium import Chromium, opened

LOADED = "return performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
# A page draws what comes into view: its first picture is brought there, and has a time when it is drawn.
FIRST = """
const done = arguments[arguments.length - 1];
const first = document.querySelector("[data-picture]");
const look = () => first.dataset.drawn && first.querySelector("svg, canvas")
  ? done(performance.now() / 1000) : requestAnimationFrame(look);
if (first) { first.scrollIntoView({block: "center"}); look(); } else done(null);
"""
RUNS = 5


def page_times(site: Path, places: Sequence[str]) -> str:
    """Return a table of pages, each opened `RUNS` times: the median, the least and the most."""
    with opened() as chromium:
        chromium.window(1280)
        rows = [_page_times(chromium, site, place) for place in places]
    return report.table(["page", "load event, seconds", "first picture, seconds"], rows)


def _page_times(chromium: Chromium, site: Path, place: str) -> list[str]:
    page, _, asked = place.partition("#")
    address = (site / page).resolve().as_uri() + (f"#{asked}" if asked else "")
    loads, firsts = [], []
    for _ in range(RUNS):
        chromium.driver.get("about:blank")
        chromium.driver.get(address)
        loads.append(chromium.until("the load event", lambda: chromium.run(LOADED)))
        first = chromium.driver.execute_async_script(FIRST)  # type: ignore[no-untyped-call] # selenium's
        if first is not None:
            firsts.append(first)
    return [f"`{place}`", _spread(loads), _spread(firsts) if firsts else "it has none"]


def _spread(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
