"""What somebody does with the pages of a small site: choose, leave, come back, sort, search and print."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from reports.site import build as building
from reports.site.overview import Overview
from reports.theme import PALETTES
from tests.support.pages.chromium import A4, Chromium
from tests.support.pages.lived import built_from

LOG = """
const value = (id) => document.getElementById(id).value;
const rows = [...document.querySelectorAll("#log tbody tr")].map((one) => one.cells[0].textContent);
const told = document.getElementById("found").textContent;
return [value("words"), value("action"), value("of-series"), told, rows];
"""
TIMELINE = """
const rows = [...document.querySelectorAll("#entries tbody tr")].filter((one) => !one.hidden);
return [document.getElementById("find-entry").value, document.getElementById("found-entry").textContent,
  rows.map((one) => one.textContent)];
"""
DIFF = """
const field = (id) => document.getElementById(id);
return [field("a").value, field("b").value, field("only").checked, field("told").textContent,
  field("rows").textContent];
"""


@pytest.fixture(scope="module")
def site(lived_site: Path) -> Path:
    return lived_site


@pytest.fixture(autouse=True)
def as_it_was(chromium: Chromium) -> Iterator[None]:
    chromium.window(1280)
    yield
    chromium.window(1280)
    chromium.forget()


def _log(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "log.html")
    chromium.until("the log", lambda: chromium.run("return document.getElementById('log').dataset.ready"))


def _there_and_back(chromium: Chromium, seen: Callable[[], object], link: str) -> None:
    """Open what a link leads to, come back, and see the same as before."""
    before = seen()
    chromium.driver.find_element(By.CSS_SELECTOR, link).click()
    chromium.driver.back()
    chromium.until(f"what was there before, {before}", lambda: seen() == before)


@pytest.mark.parametrize(("field", "value"), [("action", "candidate.blocked"), ("of-series", "odd")])
def test_the_log_shows_after_coming_back_what_its_fields_say(
    chromium: Chromium, site: Path, field: str, value: str
) -> None:
    _log(chromium, site)
    select = Select(chromium.driver.find_element(By.ID, field))
    select.select_by_value(value)
    n = select.first_selected_option.text.partition("(")[2].rstrip(")")  # how many there are, in brackets
    chromium.until("what was chosen", lambda: chromium.run(LOG)[3].startswith(f"{n} of "))
    _there_and_back(chromium, lambda: chromium.run(LOG), "#log tbody a")
    seen = chromium.run(LOG)
    assert value in seen
    assert len(seen[4]) == int(n)


def test_what_was_typed_goes_before_what_the_address_asks(chromium: Chromium, site: Path) -> None:
    _log(chromium, site)
    chromium.driver.get(f"{(site / 'log.html').as_uri()}#event=2")
    chromium.until("the event", lambda: chromium.run(LOG)[4] == ["2"])
    field = chromium.driver.find_element(By.ID, "words")
    field.clear()
    field.send_keys("withdrawn")
    chromium.until(
        "what was typed", lambda: "2" not in chromium.run(LOG)[4] and len(chromium.run(LOG)[4]) < 10
    )
    _there_and_back(chromium, lambda: chromium.run(LOG), "#log tbody a")
    assert chromium.run(LOG)[0] == "withdrawn"


def test_a_number_finds_its_event_alone(chromium: Chromium, site: Path, tmp_path: Path) -> None:
    shutil.copytree(site, tmp_path / "site")
    piece = tmp_path / "site" / "data" / "log-0.js"
    text = piece.read_text(encoding="utf-8")
    assert "long long" in text
    piece.write_text(text.replace("long long", "see #1 and #12", 1), encoding="utf-8")
    _log(chromium, tmp_path / "site")
    field = chromium.driver.find_element(By.ID, "words")
    field.send_keys("#1")
    chromium.until("the event", lambda: chromium.run(LOG)[4] == ["1"])
    field.send_keys(" created")
    chromium.until("both", lambda: chromium.run(LOG)[0] == "#1 created" and chromium.run(LOG)[4] == ["1"])


def test_a_series_shows_after_coming_back_what_was_searched(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "series" / "clinic" / "index.html")
    everything = len(chromium.run(TIMELINE)[2])
    chromium.driver.find_element(By.ID, "find-entry").send_keys("withdrawn")
    _there_and_back(chromium, lambda: chromium.run(TIMELINE), "#entries tbody tr:not([hidden]) a")
    value, told, rows = chromium.run(TIMELINE)
    assert value == "withdrawn"
    assert told == f"{len(rows)} of {everything} rows"
    assert 0 < len(rows) < everything
    assert all("withdrawn" in row for row in rows)


def test_the_comparison_shows_after_coming_back_what_was_chosen(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "diff.html")
    Select(chromium.driver.find_element(By.ID, "a")).select_by_visible_text("clinic-2021-r1")
    chromium.driver.find_element(By.ID, "only").click()
    chromium.until("the pair", lambda: "clinic-2021-r1" in chromium.run(DIFF)[4])
    _there_and_back(chromium, lambda: chromium.run(DIFF), "header a[href='log.html']")
    a, _, only, _, rows = chromium.run(DIFF)
    assert (a, only) == ("clinic-2021-r1", True)
    assert "series" not in rows  # which is the same of both


def test_numbers_are_sorted_as_numbers(
    chromium: Chromium, lived: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, numbers = building.overview_of, cycle([1000, 2, 900, 30])

    def many(*given: object) -> Overview:
        found = real(*given)  # type: ignore[arg-type]
        lines = [(one, next(numbers)) for one in found.lines]
        return replace(
            found, lines=tuple(replace(one, waiting=n, held_back=n, refused=n) for one, n in lines)
        )

    monkeypatch.setattr(building, "overview_of", many)
    built_from(lived, tmp_path / "site")
    chromium.open(tmp_path / "site" / "index.html")
    for column in ("waiting", "blocked", "inputs refused or missing"):
        head = f"//table[@id='series-table']//th/button[.='{column}']"
        chromium.run("arguments[0].click()", chromium.driver.find_element(By.XPATH, head))
        place = chromium.run("return document.querySelector('#series-table th[aria-sort]').cellIndex")
        cells = chromium.run(
            "return [...document.querySelectorAll('#series-table tbody tr')]"
            ".map((one) => one.cells[arguments[0]].textContent)",
            place,
        )
        assert cells == ["2", "30", "900", "1,000"], column


APART = """
return [...document.querySelectorAll(".find label[for]")].filter((one) => {
  const [label, field] = [one, document.getElementById(one.htmlFor)].map((e) => e.getBoundingClientRect());
  const beside = label.bottom > field.top && field.bottom > label.top && label.right <= field.left;
  return !beside || field.right > innerWidth || label.height > 40;
}).map((one) => one.textContent);
"""


@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("page", ["log.html", "diff.html"])
def test_a_field_stands_beside_its_name(chromium: Chromium, site: Path, page: str, width: int) -> None:
    chromium.window(width)
    chromium.open(site / page)
    field = "words" if page == "log.html" else "a"
    shown = f"return document.getElementById('{field}').checkVisibility()"
    chromium.until("the fields", lambda: chromium.run(shown))
    assert chromium.run("return document.querySelectorAll('.find label[for]').length") >= 2
    assert chromium.run(APART) == []
    assert chromium.run("return document.documentElement.scrollWidth") <= width


def test_the_two_that_are_compared_have_names(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "diff.html")
    names = "return ['a', 'b'].map((id) => document.getElementById(id).labels[0].textContent)"
    assert chromium.run(names) == ["First", "Second"]


PAGES = (
    "index.html",
    "log.html",
    "diff.html",
    "series/clinic/index.html",
    "series/clinic/clinic-2021-r1.html",
    "series/clinic/clinic-2024-c1.html",
)
ON_PAPER = """
const hidden = [...document.querySelectorAll("details > :not(summary)")].filter(
  (one) => !one.closest("figure details:not([open])") && !one.checkVisibility({contentVisibilityAuto: true}));
const cut = [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth);
const wide = cut.map((one) => `${one.ariaLabel}: ${one.scrollWidth}`);
return [hidden.length, wide, getComputedStyle(document.body).color];
"""


@pytest.mark.parametrize("page", PAGES)
def test_paper_shows_all_but_unopened_numbers_of_pictures_on_white(
    chromium: Chromium, site: Path, page: str
) -> None:
    chromium.open(site / page)
    chromium.run("document.getElementById('theme').click()")
    assert chromium.run("return document.documentElement.dataset.theme") == "dark"
    chromium.paper()
    chromium.until("all to be shown", lambda: chromium.run(ON_PAPER)[0] == 0)
    _, cut, ink = chromium.run(ON_PAPER)
    assert cut == []
    light = PALETTES["light"]["ink"].lstrip("#")
    assert ink == f"rgb({', '.join(str(byte) for byte in bytes.fromhex(light))})"
    assert chromium.run("return document.documentElement.scrollWidth") <= A4


NUMBERS = """
return [...document.querySelectorAll("figure details > :not(summary)")].map(
  (one) => one.checkVisibility({contentVisibilityAuto: true}));
"""


def test_the_numbers_of_a_picture_are_on_paper_if_they_were_opened(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "series/clinic/index.html")
    chromium.paper()
    assert chromium.run(NUMBERS) == [False]
    chromium.run("document.querySelector('figure details').open = true")
    chromium.until("the numbers to be shown", lambda: chromium.run(NUMBERS) == [True])
