"""The pages in a real Chromium: silent, asking for nothing, drawn, for every eye, hand and width."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from reports.report import release_report
from reports.theme import PALETTES
from tests.support.pages.chromium import VIEWS, Chromium
from tests.support.pages.kinds_of_pages import GATES, MANY, PAGES, hostile, release, violations, written
from tests.support.pages.sheets import facts, kept


@pytest.fixture(scope="module", params=PAGES)
def at(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of one page."""
    return PAGES[request.param](tmp_path_factory.mktemp("page"))


@pytest.fixture(autouse=True)
def as_it_was(chromium: Chromium) -> Iterator[None]:
    """Each test begins and ends with a wide, light window whose scripts run."""
    chromium.window(1280)
    yield
    chromium.scripts(True)
    chromium.forget()


def test_it_says_nothing_and_asks_for_nothing_while_all_is_drawn(chromium: Chromium, at: Path) -> None:
    for width, dark in ((1280, False), (390, True)):
        chromium.window(width, dark=dark)
        chromium.open(at)
        chromium.draw_all()
        asked = chromium.asked_for()
        assert asked[0] == at.as_uri()
        assert [one for one in asked if not one.startswith(("file:", "data:", "blob:"))] == []
        assert chromium.said() == []


def test_what_would_be_said_and_asked_for_is_heard(chromium: Chromium, tmp_path: Path) -> None:
    """The test above can fail."""
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><img src='http://127.0.0.1:9/x.png'><script>console.warn('so')</script>")
    chromium.open(bad)
    chromium.until("a request", lambda: "http://127.0.0.1:9/x.png" in chromium.asked_for())
    assert any("so" in line for line in chromium.said())


def test_pictures_are_drawn_again_when_it_turns_dark(chromium: Chromium, at: Path) -> None:
    chromium.open(at)
    if not chromium.draw_all():
        pytest.skip("a page without pictures")
    drawn = "return [...new Set([...document.querySelectorAll('[data-drawn]')].map((e) => e.dataset.drawn))]"
    assert chromium.run(drawn) == ["light"]
    chromium.window(1280, dark=True)
    chromium.until("the dark", lambda: chromium.run(drawn) == ["dark"])
    chromium.run("document.getElementById('theme').click()")
    chromium.until("the light again", lambda: chromium.run(drawn) == ["light"])
    assert chromium.said() == []


def _colours(pdf: bytes) -> set[str]:
    """Return the colours with which a PDF draws and writes."""
    found = set()
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        with suppress(zlib.error):
            for colour in re.findall(rb"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\b", zlib.decompress(stream)):
                found.add("#" + "".join(f"{round(255 * float(part)):02x}" for part in colour))
    return found


@pytest.mark.parametrize("seen", [False, True], ids=["never scrolled to", "seen before"])
def test_pictures_are_printed_in_light_colours(chromium: Chromium, tmp_path: Path, seen: bool) -> None:
    chromium.open(written(tmp_path, release()))
    chromium.run("document.getElementById('theme').click()")
    if seen:
        chromium.draw_all()
    colours = _colours(chromium.printed())
    light, dark = (set(PALETTES[kind].values()) for kind in ("light", "dark"))
    assert {PALETTES["light"][name] for name in ("ink", "first", "second", "line")} <= colours
    assert colours & (dark - light) == set()
    drawn = (
        "return [...new Set([...document.querySelectorAll('[data-picture]')].map((e) => e.dataset.drawn))]"
    )
    chromium.until("the dark again", lambda: chromium.run(drawn) == ["dark"])
    assert chromium.said() == []


BROKEN = """
const broken = [];
for (const cell of document.querySelectorAll("td.cell")) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const word of texts.currentNode.data.matchAll(/[^ |]+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((one) => Math.round(one.top)));
      if (lines.size > 1) broken.push(word[0]);
    }
  }
}
return broken;
"""


@pytest.mark.parametrize("width", [1280, 390])
def test_ten_rows_break_no_word_that_fits(chromium: Chromium, tmp_path: Path, width: int) -> None:
    row = ("20", "Merewick Kettering|Appledene|Chalkbourne|Gullhaven", "musculoskeletal disorder", "x" * 300)
    made = kept(columns=MANY, rows=(row * 3,) * 10)
    chromium.window(width)
    chromium.open(written(tmp_path, release_report(facts(*GATES), made)))
    chromium.run("document.querySelector('#rows + details').open = true")
    assert set(chromium.run(BROKEN)) == {"x" * 300}
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    copied = (
        "return [...document.querySelectorAll('tbody td.cell')].slice(0, 12).map((one) => one.textContent)"
    )
    assert chromium.run(copied) == [*row * 3]


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_axe_finds_nothing_serious(chromium: Chromium, at: Path, width: int, dark: bool) -> None:
    assert violations(chromium, at, width, dark) == []


def test_axe_finds_what_is_wrong(chromium: Chromium, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><html lang=en><title>x</title><main><h1>x</h1><img src='data:,'></main>")
    chromium.open(bad)
    assert [line.split()[0] for line in chromium.violations()] == ["image-alt"]


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_wider_than_a_telephone(chromium: Chromium, at: Path, width: int) -> None:
    chromium.window(width)
    chromium.open(at)
    chromium.draw_all()
    chromium.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert chromium.run("return innerWidth") == width
    assert chromium.run("return document.documentElement.scrollWidth") <= width


CONTROLS = """
const kinds = "a[href], button, input, select, textarea, summary, [tabindex]";
window.controls = [...document.querySelectorAll(kinds)]
  .filter((one) => one.checkVisibility() && one.tabIndex >= 0);
return controls.map((one) => one.outerHTML.slice(0, 120));
"""
FOCUSED = """
const one = document.activeElement, style = getComputedStyle(one);
return [controls.indexOf(one), one.matches(":focus-visible") && style.outlineStyle !== "none"
  && parseFloat(style.outlineWidth) >= 2];
"""


def test_tab_comes_to_every_control_and_shows_where_it_is(chromium: Chromium, at: Path) -> None:
    chromium.open(at)
    chromium.draw_all()
    controls = chromium.run(CONTROLS)
    assert len(controls) >= 3
    seen = []
    for _ in controls:
        chromium.press(Keys.TAB)
        place, visible = chromium.run(FOCUSED)
        assert place >= 0, "the focus is on nothing"
        assert visible, controls[place]
        seen.append(place)
    assert [controls[i] for i in range(len(controls)) if i not in seen] == []
    assert seen == sorted(seen), "the order of the keys is not that of the page"


def test_a_table_that_is_too_wide_is_moved_by_keys(chromium: Chromium, tmp_path: Path) -> None:
    chromium.window(390)
    chromium.open(written(tmp_path, release()))
    chromium.run("document.querySelector('#rows + details').open = true")
    wide = (
        "window.wide = [...document.querySelectorAll('.scroll')].find((one) => one.checkVisibility() && "
        "one.scrollWidth > one.clientWidth + 20); wide?.focus(); return wide === document.activeElement"
    )
    assert chromium.run(wide)
    chromium.press(Keys.ARROW_RIGHT)
    chromium.until("the table's move", lambda: chromium.run("return wide.scrollLeft > 0"))


def test_without_scripts_the_verdict_and_the_tables_are_there(chromium: Chromium, at: Path) -> None:
    chromium.scripts(False)
    chromium.open(at)
    assert chromium.run("return document.querySelectorAll('[data-drawn]').length") == 0
    assert chromium.run("return document.querySelector('.verdict').checkVisibility()")
    shown = "return [...document.querySelectorAll('table')].filter((one) => one.checkVisibility()).length"
    assert chromium.run(shown) >= 1
    chromium.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    tables = chromium.run("return document.querySelectorAll('figure table').length")
    assert tables == chromium.run("return document.querySelectorAll('[data-picture]').length")
    assert chromium.run("return document.getElementById('theme').checkVisibility()") is False


def test_hostile_text_stays_text(chromium: Chromium, tmp_path: Path) -> None:
    chromium.open(written(tmp_path, hostile()))
    chromium.draw_all()
    assert chromium.run("return document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
    scripts = chromium.run("return document.querySelectorAll('script:not([type])').length")
    chromium.open(written(tmp_path, release()))
    assert chromium.run("return document.querySelectorAll('script:not([type])').length") == scripts
