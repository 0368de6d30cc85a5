"""The page that compares, in a real Chromium: of every pair it finds what `releasegate diff` finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from flows.difference import difference_document
from flows.difference_sides import SECTIONS
from release_store.canonical import plain
from release_store.store import ReleaseStore
from tests.desk.chromium import Chromium
from tests.desk.lived import built_from

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# The names of a row in the order of the document; of the page's module, the one thing that others may ask.
_ROWS = """
const done = arguments[arguments.length - 1];
releasegateDiff.rows(arguments[0], arguments[1]).then(done, (error) => done(String(error)));
"""


def test_every_pair_is_compared_as_the_command_does(chromium: Chromium, lived: Path, tmp_path: Path) -> None:
    built_from(lived, tmp_path / "site")
    store = ReleaseStore.open(lived / "store")
    released = {one.candidate_id: one.release_id for one in store.releases()}
    names = [released.get(one.candidate_id, one.candidate_id) for one in store.candidates()][:7]
    chromium.open(tmp_path / "site" / "diff.html")
    n_compared = 0
    for one in names:
        for other in names:
            told = difference_document(store, one, other)
            found = chromium.driver.execute_async_script(_ROWS, one, other)
            assert isinstance(found, dict), found
            assert found == {name: plain(told[name]) for name in SECTIONS}, (one, other)
            n_compared += 1
    assert n_compared == 49
    assert chromium.said() == []
