"""Take the pictures of docs/reports.md from the demo's own pages, in a real browser.

    make demo
    python -m tests.support.pages.screenshots demo/store [FOLDER]

Each is taken at 1280 and at 390 pixels, with few colours and no larger than the docs take it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.spec.docs_pages import ROOT
from tests.support.pages.chromium import Chromium, opened

FOLDER = ROOT / "docs" / "images"
SERIES = "regional-health-register"
PAGES = {
    "report": f"series/{SERIES}/{SERIES}-2026Q2-c1.html",
    "series": f"series/{SERIES}/index.html",
    "compare": f"diff.html#a={SERIES}-2026Q1-r1&b={SERIES}-2026Q2-r1",
}
COLOURS, LARGEST = 32, 150_000
HEIGHTS = {1280: 2100, 390: 1700}  # what is seen of a page, from its top


def main(store: Path, folder: Path) -> None:
    """Write `<page>-<width>.png` for each page and width."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, opened() as chromium:
        site = Path(place) / "site"
        command = [sys.executable, "-m", "cli", "--store", str(store), "report", "--out", str(site)]
        subprocess.run(command, cwd=ROOT, check=True)
        for name, page in PAGES.items():
            for width in HEIGHTS:
                _take(chromium, site, page, width, folder / f"{name}-{width}.png")


def _take(chromium: Chromium, site: Path, page: str, width: int, path: Path) -> None:
    chromium.window(width)
    file, _, asked = page.partition("#")
    chromium.open(site / file)
    if asked:
        chromium.driver.get(f"{(site / file).as_uri()}#{asked}")
        chromium.until(
            "the comparison", lambda: chromium.run("return document.body.innerText.includes('umr')")
        )
    chromium.draw_all()
    seen_width = chromium.run("return document.documentElement.clientWidth")
    chromium.whole_page(path)
    with Image.open(path) as seen:
        shown = seen.crop((0, 0, seen_width, min(seen.height, HEIGHTS[width])))
        if width > 1000:
            shown.thumbnail((900, 10_000))
        shown.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, f"{path} has {path.stat().st_size} bytes"


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER)
