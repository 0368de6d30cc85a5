"""Releases as an agency would run them: a real server with a password, a real worker, a real browser."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.browser import lacking
from tests.e2e.site import Site
from tests.e2e.story import Facts, Story


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("e2e") / "site")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def facts(site: Site) -> Facts:
    return Story(site).tell()


def test_try(facts: Facts) -> None:
    print(facts)
