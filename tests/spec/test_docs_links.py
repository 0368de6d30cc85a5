"""Every link in the pages leads somewhere."""

from __future__ import annotations

import re

import pytest

from tests.spec import docs_pages

LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def test_every_page_is_linked_from_the_readme() -> None:
    linked = set(LINK.findall((docs_pages.ROOT / "README.md").read_text("utf-8")))
    assert {f"docs/{page.name}" for page in (docs_pages.ROOT / "docs").glob("*.md")} <= linked


@pytest.mark.parametrize("page", docs_pages.PAGES, ids=lambda page: page.name)
def test_the_links_of_the_page_resolve(page) -> None:
    for link in LINK.findall(docs_pages.without_code(page.read_text(encoding="utf-8"))):
        if link.startswith("https://"):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(docs_pages.ROOT), link
        if fragment:
            assert fragment in {docs_pages.anchor(heading) for heading in docs_pages.headings(target)}, link


def test_no_page_names_a_folder_of_somebody_s_machine() -> None:
    for page in docs_pages.PAGES:
        assert not re.search(r"(?<![\w.])/(?:work|tmp|home|root|Users)/", page.read_text(encoding="utf-8")), (
            page
        )
