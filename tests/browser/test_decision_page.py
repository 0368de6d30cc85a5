"""The page of the demo's blocked candidate in a real Chromium: what somebody sees who decides on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages.chromium import VIEWS, Chromium
from tests.support.pages.kinds_of_pages import violations

SERIES = "regional-health-register"
HIGHEST = 4000  # pixels before the appendix at 1280
FOLD = "document.querySelectorAll('details:has([data-picture])').forEach((one) => { one.open = false; })"


@pytest.fixture(scope="module")
def blocked(demo: Path) -> Path:
    return demo / "store" / "candidates" / f"{SERIES}-2026Q2-c1" / "report.html"


@pytest.fixture
def page(chromium: Chromium, blocked: Path) -> Iterator[Chromium]:
    """The page at 1280 pixels with its pictures drawn, folded as it opens."""
    chromium.window(1280)
    chromium.open(blocked)
    chromium.draw_all()
    chromium.run(FOLD)
    yield chromium
    chromium.window(1280)
    chromium.scripts(True)
    chromium.forget()


def test_it_is_short_before_its_appendix(page: Chromium) -> None:
    top = "return document.getElementById('appendix').getBoundingClientRect().top + scrollY"
    assert 1000 < page.run(top) <= HIGHEST


def test_the_first_screen_tells_the_decision_the_failures_and_the_changes(page: Chromium) -> None:
    bottom = "return document.querySelector(arguments[0]).getBoundingClientRect().bottom + scrollY"
    assert page.run(bottom, ".verdict .fails") < page.run(bottom, "#changes + .scroll table") <= 1000
    said = page.run("return document.querySelector('.verdict').innerText")
    assert "Blocked by person, person_difference, worlds, known" in said
    rows = page.run("return document.querySelector('#changes + .scroll').innerText")
    for about in ("rows", "roles", "policy", "risk", "detail"):
        assert f"\n{about}\t" in rows
    assert "method.history\tsticky\tblind\tchanged" in rows
    released = page.run("return document.querySelector('#released').parentElement.innerText")
    assert "Generalized: age, sex," in released
    assert "Unchanged: diagnosis, care_cost." in released


def test_failing_gates_are_first_and_what_passes_is_folded(page: Chromium) -> None:
    groups = page.run(
        "return [...document.querySelectorAll('details.group')].map((one) => "
        "[one.id, one.open, [...one.querySelectorAll('.chip')].map((chip) => chip.textContent.slice(2))])"
    )
    assert [(name, is_open) for name, is_open, _ in groups] == [
        ("gates-history", True),
        ("gates-files", False),
        ("gates-model", False),
        ("gates-attackers", False),
        ("gates-utility", False),
    ]
    assert groups[0][2] == ["fail", "fail", "fail", "fail", "pass", "pass"]
    assert {verdict for _, _, verdicts in groups[1:] for verdict in verdicts} == {"pass"}


def test_no_row_is_clipped(page: Chromium) -> None:
    page.run(
        "document.querySelectorAll('details:not(figure details)').forEach((one) => { one.open = true; })"
    )
    clipped = page.run(
        "return [...document.querySelectorAll('.scroll, tr, td, dd, li, summary')].filter((one) => "
        "one.checkVisibility() && !one.closest('figure') && one.scrollWidth > one.clientWidth + 1 "
        "&& one.clientWidth > 0).map((one) => one.outerHTML.slice(0, 150))"
    )
    assert clipped == []


def test_every_link_of_the_contents_leads_to_its_part(page: Chromium) -> None:
    names = page.run(
        "return [...document.querySelectorAll('nav.contents a')].map((one) => one.getAttribute('href'))"
    )
    assert names == ["#changes", "#gates", "#protected", "#risk", "#columns", "#rows", "#policy", "#appendix"]
    for name in names:
        page.run(
            "scrollTo(0, 0); document.querySelector(`nav.contents a[href='${arguments[0]}']`).click()", name
        )
        seen = "const at = document.querySelector(arguments[0]).getBoundingClientRect();"
        seen += "return at.top >= -1 && at.top < innerHeight"
        page.until(f"the way to {name}", lambda name=name, seen=seen: page.run(seen, name))


def test_no_label_of_a_picture_lies_on_another(page: Chromium) -> None:
    page.draw_all()
    colliding = page.run(
        """
        const found = [];
        for (const picture of document.querySelectorAll("[data-picture] svg")) {
          const labels = [...picture.querySelectorAll("text")].filter((one) => one.textContent.trim()
            && getComputedStyle(one).opacity !== "0" && one.getAttribute("opacity") !== "0");
          const boxes = labels.map((one) => one.getBoundingClientRect());
          for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
            const [a, b] = [boxes[i], boxes[j]];
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 4) found.push([labels[i].textContent, labels[j].textContent]);
          }
        }
        return found;
        """
    )
    assert colliding == []


@pytest.mark.parametrize("width", [390, 320])
def test_a_telephone_shows_it_without_scrolling_sideways(page: Chromium, width: int) -> None:
    page.window(width)
    assert page.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("width", "dark"), VIEWS)
def test_axe_finds_nothing_serious(page: Chromium, blocked: Path, width: int, dark: bool) -> None:
    assert violations(page, blocked, width, dark) == []


def test_all_is_printed_unfolded(page: Chromium) -> None:
    hidden = (
        "return [...document.querySelectorAll('table, dl, h2, [data-picture]')].filter((one) => "
        "!one.closest('figure details') && !one.checkVisibility({contentVisibilityAuto: true}))"
        ".map((one) => one.outerHTML.slice(0, 80))"
    )
    assert len(page.run(hidden)) > 4  # on the screen
    page.paper()
    assert page.run(hidden) == []


def test_without_scripts_it_folds_and_opens(chromium: Chromium, page: Chromium, blocked: Path) -> None:
    chromium.scripts(False)
    chromium.open(blocked)
    visible = "return document.getElementById('values').checkVisibility()"
    assert chromium.run(visible) is False
    chromium.driver.find_element("css selector", "#appendix > summary").click()
    assert chromium.run(visible) is True
