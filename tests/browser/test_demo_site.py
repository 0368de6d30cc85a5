"""The site of the demo's store in a real Chromium: every page, every link, sorting, searching, verifying."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

import pytest
from selenium.webdriver.common.by import By

from tests.support.pages.chromium import VIEWS, Chromium

SERIES = "regional-health-register"
RELEASE = f"{SERIES}-2026Q2-r1"
LINKS = "return [...document.querySelectorAll('a[href]')].map((one) => one.href)"


@pytest.fixture(scope="module")
def site(demo: Path) -> Path:
    return demo / "site"


@pytest.fixture(autouse=True)
def as_it_was(chromium: Chromium) -> Iterator[None]:
    chromium.window(1280)
    yield
    chromium.forget()


def _pages(site: Path) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert (
        len(found) == 4 + 1 + 4
    )  # overview, comparison, log, verification; the series; releases and candidate
    return found


def test_every_page_is_silent_asks_for_nothing_and_is_drawn(chromium: Chromium, site: Path) -> None:
    for at in _pages(site):
        chromium.open(at)
        chromium.draw_all()
        asked = chromium.asked_for()
        assert [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == [], at
        assert chromium.said() == [], at


def test_every_link_leads_somewhere(chromium: Chromium, site: Path) -> None:
    anchors: dict[Path, set[str]] = {}
    links: set[tuple[Path, str]] = set()
    for at in _pages(site):
        chromium.open(at)
        anchors[at.resolve()] = set(
            chromium.run("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
        )
        links |= {(at, one) for one in chromium.run(LINKS)}
    assert len(links) > 50
    for at, link in links:
        address, anchor = urldefrag(link)
        parts = urlparse(address)
        assert parts.scheme == "file", (at, link)
        target = Path(unquote(parts.path)).resolve()
        assert target.is_relative_to(site.resolve()), (at, link)
        assert target.is_file(), (at, link)
        if anchor and "=" not in anchor:  # what the comparison is asked, is no place on a page
            assert anchor in anchors[target], (at, link)
    reached = {Path(unquote(urlparse(urldefrag(link)[0]).path)).resolve() for _, link in links}
    assert set(anchors) <= reached, "a page to which no link leads"


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_axe_finds_nothing_serious(chromium: Chromium, site: Path, width: int, dark: bool) -> None:
    chromium.window(width, dark=dark)
    for at in _pages(site):
        chromium.open(at)
        chromium.draw_all()
        assert chromium.violations() == [], at
        assert chromium.run("return document.documentElement.scrollWidth") <= width, at


def _column(chromium: Chromium, table: str, heading: str) -> list[str]:
    """Return the cells of a column, of the rows that are shown."""
    return chromium.run(
        "const table = document.getElementById(arguments[0]);"
        "const heads = [...table.tHead.rows[0].cells];"
        "const at = heads.findIndex((one) => one.textContent.startsWith(arguments[1]));"
        "const shown = [...table.tBodies[0].rows].filter((one) => !one.hidden);"
        "return shown.map((one) => one.cells[at].textContent.trim())",
        table,
        heading,
    )


def test_the_timeline_is_sorted_and_searched(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "series" / SERIES / "index.html")
    table = chromium.run("return document.querySelector('table.sortable[id]').id")
    events = _column(chromium, table, "event")
    assert len(events) >= 11
    assert events == sorted(events, key=int, reverse=True)
    head = chromium.driver.find_element(By.XPATH, f"//*[@id='{table}']//th//button[starts-with(., 'event')]")
    chromium.run("arguments[0].click()", head)  # pictures are drawn meanwhile, and move it
    assert _column(chromium, table, "event") == sorted(events, key=int)
    assert chromium.run("return document.querySelectorAll('[aria-sort=ascending]').length") == 1
    field = chromium.driver.find_element(By.CSS_SELECTOR, f"input[data-searches='{table}']")
    field.send_keys("blocked by gates")
    shown = _column(chromium, table, "what happened")
    assert len(shown) == 1
    assert "blocked by gates" in shown[0]
    field.clear()
    field.send_keys("no such word anywhere")
    assert _column(chromium, table, "event") == []


def test_the_log_is_searched_and_its_chain_checked(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "log.html")
    rows = "return [...document.querySelectorAll('#log tbody tr')].map((one) => one.textContent)"
    chromium.until(
        "the search", lambda: not chromium.run("return document.getElementById('log-find').hidden")
    )
    everything = chromium.run(rows)
    chromium.driver.find_element(By.ID, "words").send_keys("worlds")
    chromium.until("what is found", lambda: 0 < len(chromium.run(rows)) < len(everything))
    assert all("worlds" in text for text in chromium.run(rows))
    chromium.driver.find_element(By.ID, "check").click()
    checked = chromium.until("the check", lambda: _told(chromium, "checked", str(len(everything))))
    assert "does not hold" not in checked


def _told(chromium: Chromium, place: str, word: str) -> str:
    text = str(chromium.run("return document.getElementById(arguments[0]).textContent", place))
    return text if word in text else ""


def test_a_broken_chain_is_told(chromium: Chromium, demo: Path, tmp_path: Path) -> None:
    shutil.copytree(demo / "site", tmp_path / "site")
    piece = tmp_path / "site" / "data" / "payloads-0.js"
    text = piece.read_text(encoding="utf-8")
    assert "n_source" in text
    piece.write_text(text.replace("n_source", "n_sauce", 1), encoding="utf-8")
    chromium.open(tmp_path / "site" / "log.html")
    chromium.until(
        "the button", lambda: not chromium.run("return document.getElementById('log-check').hidden")
    )
    chromium.driver.find_element(By.ID, "check").click()
    chromium.until("the finding", lambda: _told(chromium, "checked", "does not hold: event 3"))


def test_two_releases_are_compared(chromium: Chromium, site: Path) -> None:
    other = f"{SERIES}-2026Q3-r1"
    chromium.open(site / "diff.html")
    chromium.driver.get(f"{(site / 'diff.html').as_uri()}#a={RELEASE}&b={other}")
    rows = (
        "return [...document.querySelectorAll('#rows tr')]"
        ".map((row) => [...row.cells].map((one) => one.textContent))"
    )
    chromium.until("the comparison", lambda: chromium.run(rows))
    shown = chromium.run(rows)
    assert shown[0] == ["differs", "what", RELEASE, other]
    assert ["\u2260 differs", "period", "2026Q2", "2026Q3"] in shown
    (umr,) = [row for row in shown if row[1] == "umr"]
    assert all(cell.startswith("pass ") and "must be at most " in cell for cell in umr[2:])


def _body(chromium: Chromium, word: str) -> str:
    text = str(chromium.run("return document.querySelector('main').textContent"))
    return text if word in text else ""


@pytest.mark.parametrize("altered", [False, True])
def test_the_evidence_of_a_release_is_verified(
    chromium: Chromium, demo: Path, tmp_path: Path, altered: bool
) -> None:
    bundle = next(demo.rglob(f"{RELEASE}.evidence.zip"))
    given = tmp_path / "given.zip"
    data = bytearray(bundle.read_bytes())
    if altered:
        data[len(data) // 2] ^= 1
    given.write_bytes(data)
    chromium.open(demo / "site" / "verify.html")
    chromium.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(given))
    chromium.run(
        "document.querySelector('textarea').value = arguments[0]",
        (demo / "store" / "public-key.pem").read_text(encoding="utf-8"),
    )
    chromium.driver.find_element(By.XPATH, "//button[.='Verify']").click()
    chromium.until("the verdict", lambda: _body(chromium, "Not verified" if altered else "Verified"))
    assert chromium.said() == []
    assert [one for one in chromium.asked_for() if not one.startswith(("file:", "data:", "blob:"))] == []


def test_reports_of_the_store_open_alone(chromium: Chromium, demo: Path) -> None:
    reports = sorted((demo / "store").rglob("report.html"))
    assert len(reports) == 3 + 4  # of releases and of candidates
    # One of each kind: a release, a candidate that became it, and one that was held back.
    examined = {f"{SERIES}-2026Q2-{name}" for name in ("r1", "c2", "c1")}
    for at in reports:
        chromium.open(at)
        assert chromium.draw_all() >= 12
        assert chromium.said() == []
        assert [one for one in chromium.asked_for() if not one.startswith(("file:", "data:", "blob:"))] == []
        if at.parent.name in examined:
            examined.remove(at.parent.name)
            assert chromium.violations() == []
    assert examined == set()
