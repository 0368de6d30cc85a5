"""Help texts and state diagrams in the pages are those of the code."""

from __future__ import annotations

import pytest

from cli.app import COMMANDS
from tests.spec import docs_generated, docs_pages


@pytest.fixture(scope="module", autouse=True)
def _collected() -> None:
    """What takes seconds is done once, before the tests."""
    docs_generated.parts()


@pytest.mark.parametrize("page", docs_pages.PAGES, ids=lambda page: page.name)
def test_the_generated_parts_are_what_the_code_says(page) -> None:
    text = page.read_text(encoding="utf-8")
    assert docs_generated.filled(text) == text, "run `python -m tests.spec.docs_generated`"


def test_every_generated_part_stands_in_one_page() -> None:
    found = [name for page in docs_pages.PAGES for name in docs_generated.names(page.read_text("utf-8"))]
    assert sorted(found) == sorted(docs_generated.parts())


def test_a_help_text_that_is_out_of_date_is_replaced() -> None:
    text = (docs_pages.ROOT / "docs" / "commands.md").read_text("utf-8")
    spoilt = text.replace("default: from the policy and the date", "Such as 1999")
    assert spoilt != text
    assert docs_generated.filled(spoilt) == text


def test_every_command_has_a_heading_and_a_help_text() -> None:
    page = docs_pages.ROOT / "docs" / "commands.md"
    parsers = set(docs_generated.commands()) - {""}
    assert {name for name in parsers if " " not in name} == set(COMMANDS)
    assert parsers <= set(docs_pages.headings(page, "##"))
