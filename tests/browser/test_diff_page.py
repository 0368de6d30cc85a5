"""The page that compares, in a real Chromium: of every pair it finds what `releasegate diff` finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.support.pages.chromium import Chromium
from tests.support.pages.pairs import PAIRS, agree

_SEEN = """
const field = (id) => document.getElementById(id);
return [field("a").value, field("b").value, field("told").textContent, field("rows").dataset.shown ?? ""];
"""


@pytest.fixture(scope="module")
def site(lived_site: Path) -> Path:
    return lived_site


def _asked(chromium: Chromium, site: Path, of: str) -> list[str]:
    """Return the two that are chosen, what is told, and which two are shown."""
    chromium.open(site / "log.html")
    chromium.driver.get(f"{(site / 'diff.html').as_uri()}#{of}")
    told: list[str] = chromium.until("what is told", lambda: (seen := chromium.run(_SEEN))[2] and seen)
    return told


def test_a_candidate_that_was_published_is_known_by_its_release(chromium: Chromium, site: Path) -> None:
    a, b, told, shown = _asked(chromium, site, "a=clinic-2023-c1&b=clinic-2021-r1")
    assert (a, b, shown) == ("clinic-2023-r1", "clinic-2021-r1", "clinic-2023-r1 clinic-2021-r1")
    assert "rows differ" in told


@pytest.mark.parametrize("name", ["clinic-1999-r1", "__proto__", "odd"])
def test_what_is_not_there_is_compared_with_nothing(chromium: Chromium, site: Path, name: str) -> None:
    a, b, told, shown = _asked(chromium, site, f"a=clinic-2021-r1&b={name}")
    assert (a, b, told, shown) == ("clinic-2021-r1", "", f"{name} is not in this site.", "")
    assert chromium.run("return document.getElementById('rows').childElementCount") == 0
    Select(chromium.driver.find_element(By.ID, "b")).select_by_visible_text("clinic-2022-r1")
    chromium.until("the pair", lambda: chromium.run(_SEEN)[3] == "clinic-2021-r1 clinic-2022-r1")
    assert chromium.said() == []


def test_both_that_are_not_there_are_named(chromium: Chromium, site: Path) -> None:
    assert _asked(chromium, site, "a=one&b=%E2%80%AEtwo") == [
        "", "", "one is not in this site. \\u202etwo is not in this site.", "",
    ]  # fmt: skip


def test_pairs_are_compared_as_the_command_does(chromium: Chromium, lived: Path, site: Path) -> None:
    agree(chromium, lived, site, PAIRS)
