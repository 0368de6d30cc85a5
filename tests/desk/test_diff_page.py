"""The page that compares, in a real Chromium: of every pair it finds what `releasegate diff` finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from policy.rounding import limit_text, measured_text
from tests.desk.chromium import Chromium
from tests.desk.pairs import PAIRS, agree
from tests.desk.random_edits import seeded

pytestmark = pytest.mark.browser
CORNERS = (0.0, -0.0, 1.0, 2.9999999999999996, 123456.00000000001, 1e-4, 9.9999e-5, 0.99995, 12345.0)
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
    assert (a, b, told, shown) == ("clinic-2021-r1", "", f"{name} is not among them.", "")
    assert chromium.run("return document.getElementById('rows').childElementCount") == 0
    Select(chromium.driver.find_element(By.ID, "b")).select_by_visible_text("clinic-2022-r1")
    chromium.until("the pair", lambda: chromium.run(_SEEN)[3] == "clinic-2021-r1 clinic-2022-r1")
    assert chromium.said() == []


def test_both_that_are_not_there_are_named(chromium: Chromium, site: Path) -> None:
    assert _asked(chromium, site, "a=one&b=%E2%80%AEtwo") == [
        "", "", "one is not among them. \\u202etwo is not among them.", "",
    ]  # fmt: skip


def _numbers() -> list[tuple[float, str, float | None]]:
    """Return what may be measured, with relation and limit: of all sizes, and beside the limit."""
    random = seeded(7)
    found: list[tuple[float, str, float | None]] = []
    for relation in ("<=", "<", ">=", ">"):
        found += [(value, relation, None) for value in CORNERS]
        for _ in range(100):
            value = random.choice((1, -1)) * 10 ** random.uniform(-8, 11)
            value = random.choice((value, round(value), round(value, 2)))
            found.append((value, relation, random.choice((None, 0.0, value, 0.6, float(round(value, 3))))))
            limit = round(random.uniform(0, 100), random.choice((0, 1, 2, 3)))
            beside = limit * (1 + random.choice((1, -1)) * 10 ** random.uniform(-16, -3))
            found.append((beside, relation, limit))
    return found


def test_numbers_are_told_as_everywhere_else(chromium: Chromium, site: Path) -> None:
    chromium.open(site / "diff.html")
    numbers = _numbers()
    told = chromium.run("return arguments[0].map((one) => releasegateDiff.measured(...one))", numbers)
    assert dict(zip(numbers, told, strict=True)) == {one: measured_text(*one) for one in numbers}
    limits = [one for _, _, one in numbers if one is not None]
    told = chromium.run("return arguments[0].map(releasegateDiff.limited)", limits)
    assert dict(zip(limits, told, strict=True)) == {one: limit_text(one) for one in limits}


def test_pairs_are_compared_as_the_command_does(chromium: Chromium, lived: Path, site: Path) -> None:
    agree(chromium, lived, site, PAIRS)
