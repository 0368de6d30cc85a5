"""docs/utility.md names the measures, their figures and the columns that `evaluate` writes."""

from __future__ import annotations

import re

from services.evaluation.files import BEFORE, GATES, HOLDS, TIMES, WHO
from services.evaluation.search.files import WHO as SEARCH_WHO
from services.evaluation.search.goal import WORST
from services.evaluation.search.ranking import Standing
from tasks.utility.measures import CHEAP, MEASURES
from tasks.utility.queries import N_QUERIES, NEAR, WIDEST_RANGE
from tests.spec import docs_pages

PAGE = docs_pages.ROOT / "docs" / "utility.md"


def test_every_measure_is_described_with_its_figures_and_needs() -> None:
    rows = docs_pages.table(docs_pages.section(PAGE, "The measures"))
    told = {docs_pages.code(name): (re.findall(r"`(\w+)`", figures), needs) for name, figures, needs in rows}
    assert told == {
        name: (list(measure.figures), " ".join(measure.needs.split())) for name, measure in MEASURES.items()
    }
    assert set(MEASURES) - set(CHEAP) == {"forest"}
    assert docs_pages.headings(PAGE, "###") == ["Levels", *MEASURES]


def test_every_column_is_named() -> None:
    rows = docs_pages.table(docs_pages.section(PAGE, "What evaluate writes"))
    named = {name for row in rows for name in re.findall(r"`([\w:]+)`", row[0])}
    assert named == {*WHO, *GATES, *BEFORE, *HOLDS, *TIMES, "ncp:NAME", "err_F", "umr_F", "sadr"}


def test_every_column_of_a_search_is_named() -> None:
    rows = docs_pages.table(docs_pages.section(PAGE, "What a search writes"))
    named = {name for row in rows for name in re.findall(r"`([\w:]+)`", row[0])}
    assert named == {*SEARCH_WHO, *WORST, "cpu_seconds"}


def test_every_standing_of_a_trial_is_named() -> None:
    text = docs_pages.section(PAGE, "What a search writes")
    assert all(f"`{standing.name.lower()}`" in text for standing in Standing)


def test_the_queries_are_those_that_the_page_says() -> None:
    assert (N_QUERIES, NEAR, WIDEST_RANGE) == (100, 0.025, 0.5)
    text = PAGE.read_text(encoding="utf-8")
    assert "A hundred random queries of each kind" in text
    assert "within 2.5% of its span" in text
