"""Take the pictures of docs/operations.md from Prefect's own pages, in a real browser.

    python -m tests.e2e.screenshots [FOLDER]

A server, a worker and a store are made for it, as docs/operations.md says, and a candidate that waits.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from tests.e2e.browser import Browser, browser
from tests.e2e.site import Site
from tests.e2e.story import APPROVERS, SERIES, Story
from tests.spec import docs_pages
from tests.support.prefect_site import one_artifact

FOLDER = docs_pages.ROOT / "docs" / "images"
SETTLED = 10  # seconds until a page moves no more
COLOURS, WIDEST, LARGEST = 64, 1200, 150_000


def main(folder: Path) -> None:
    """Write `run.png`, `gates.png` and `form.png`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        site = Site(Path(place) / "site")
        try:
            story = Story(site)
            story.set_up()
            story.wait_for_approval()
            with browser(site.address, site.environment["PREFECT_API_AUTH_STRING"], folder) as page:
                _run(page, story, folder)
                _form(page, story, folder / "form.png")
        finally:
            site.close()


def _run(page: Browser, story: Story, folder: Path) -> None:
    """The run's page, and its gates in a table."""
    run = story.facts.runs["first"]["id"]
    gates = one_artifact(story.artifacts(f"gates-{SERIES}", run))
    page.open_run(run)
    time.sleep(SETTLED)
    small(page, folder / "run.png")
    page.open_artifact(gates["id"])
    time.sleep(SETTLED)
    small(page, folder / "gates.png")


def _form(page: Browser, story: Story, path: Path) -> None:
    texts = story.signed(APPROVERS[0])
    choice = {"decision": texts.pop("decision")}
    page.open_form(story.facts.deployments["decide-release"]["id"])
    page.fill_in(texts, choice)
    time.sleep(SETTLED)
    small(page, path)


def small(page: Browser, path: Path) -> None:
    """Write what the page shows with few colours, no wider and no larger than the docs take it."""
    page.picture(path)
    with Image.open(path) as seen:
        seen.thumbnail((WIDEST, 10 * WIDEST))
        seen.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, f"{path} has {path.stat().st_size} bytes"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
