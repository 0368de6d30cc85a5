"""Pairs of the small store's candidates and releases, and what the page that compares finds of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path

from release_store.canonical import plain
from release_store.store import ReleaseStore
from reports.difference_sides import SECTIONS
from services.difference import difference_document
from tests.support.pages.chromium import Chromium

# One of each kind; the nightly tests take every pair.
PAIRS = (
    ("clinic-2021-r1", "clinic-2021-r1"),
    ("clinic-2021-r1", "clinic-2022-r1"),  # which was withdrawn
    ("clinic-2022-r1", "clinic-2021-r1"),
    ("clinic-2023-r1", "clinic-2023-r2"),  # which took its place
    ("clinic-2023-r2", "clinic-2024-c1"),  # which was held back
    ("clinic-2025-c1", "clinic-2024-c1"),  # of which the first waits
    ("clinic-2025-c1", "other-2025-r1"),
    ("other-2025-r1", "odd-2025-c1"),
)
# What the page's module finds, with the values that the texts stand for.
_ROWS = """
const done = arguments[arguments.length - 1];
const value = ([, text, json]) => json === undefined ? text : JSON.parse(json);
const row = ({ name, a, b, same }) => ({ name, ...(a && { a: value(a) }), ...(b && { b: value(b) }), same });
releasegateDiff.rows(arguments[0], arguments[1]).then(
  (found) => done(Object.fromEntries(Object.entries(found).map(([name, rows]) => [name, rows.map(row)]))),
  (error) => done(String(error)));
"""


def every_pair(folder: Path, n: int) -> list[tuple[str, str]]:
    """Return each of the first `n` with each, by the names of releases where there are any."""
    store = ReleaseStore.open(folder / "store")
    released = {one.candidate_id: one.release_id for one in store.releases()}
    names = [released.get(one.candidate_id, one.candidate_id) for one in store.candidates()][:n]
    return list(product(names, names))


def agree(chromium: Chromium, folder: Path, site: Path, pairs: Iterable[tuple[str, str]]) -> None:
    """Hold what the page finds of pairs to what `releasegate diff` finds."""
    store = ReleaseStore.open(folder / "store")
    chromium.open(site / "diff.html")
    for one, other in pairs:
        told = difference_document(store, one, other)
        found = chromium.driver.execute_async_script(_ROWS, one, other)  # type: ignore[no-untyped-call]
        assert isinstance(found, dict), found
        assert found == {name: plain(told[name]) for name in SECTIONS}, (one, other)
    assert chromium.said() == []
