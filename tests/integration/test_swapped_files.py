"""A staged file that another stands in for, for a moment: it is refused, or the history knows it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from policy.load import load_policy
from release_store.publishing.public_files import release_folder
from release_store.verification.verify import verify
from tasks.risk.published import read_classes
from tests.support.front_desk import Desk
from tests.support.hostile.watch import Watch
from tests.support.plain_prefect import plain_prefect

DATA = "data.parquet"
N_MOMENTS = 15  # a run opens the file so often; held below


class Moments:
    """Calls of os.open for a staged file of that name, counted; in one of them another file has its name."""

    def __init__(self, patch: pytest.MonkeyPatch, root: Path) -> None:
        self.count = 0
        self.swap: tuple[int, Callable[[Path], None]] | None = None
        self.by_name: set[Path] = set()  # files that were opened otherwise, by the kernel's word
        self._watch: Watch | None = None
        self._root, self._open = root, os.open
        patch.setattr(os, "open", self)

    def __call__(self, path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        found = Path(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else None
        if found is None or found.name != DATA or "candidates" not in found.parts:
            return self._open(path, flags, *args, **kwargs)
        self.count += 1
        self.end_watch()
        try:
            return self._opened(found, path, flags, *args, **kwargs)
        finally:
            self._watch = Watch(found.parent)

    def end_watch(self) -> None:
        if self._watch is not None:
            self.by_name |= self._watch.close()[0]
            self._watch = None

    def _opened(self, found: Path, path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if self.swap is None or self.swap[0] != self.count:
            return self._open(path, flags, *args, **kwargs)
        kept = found.with_name("kept")
        found.rename(kept)
        self.swap[1](found)
        try:
            return self._open(path, flags, *args, **kwargs)
        finally:
            kept.replace(found)


def looks_alike(path: Path) -> None:
    """Write the file that stands beside it, with other ages in the same form."""
    kept = path.with_name("kept")
    with duckdb.connect() as con:
        con.execute(
            f"COPY (SELECT * REPLACE (age_min - 1 AS age_min) FROM '{kept}') TO '{path}' (FORMAT parquet)"
        )


@pytest.fixture(scope="module")
def plain() -> Iterator[None]:
    with plain_prefect():
        yield


def published(desk: Desk) -> int:
    return desk.run(desk.policy(), desk.table())


def test_no_library_opens_a_staged_file_by_its_name(
    desk: Desk, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel sees no more of them than Python's own, which read copies held against a digest."""
    moments = Moments(monkeypatch, desk.root)
    assert published(desk) == 0
    moments.end_watch()
    assert [path for path in moments.by_name if path.name == DATA] == []
    assert moments.count == N_MOMENTS


@pytest.mark.enemy("store writer", "changes history")
@pytest.mark.parametrize("moment", range(1, N_MOMENTS + 1))
@pytest.mark.by_day(5)
def test_a_file_swapped_for_a_moment_is_refused_or_is_no_other(
    desk: Desk, plain: None, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    moments = Moments(monkeypatch, desk.root)
    moments.swap = (moment, looks_alike)
    code = published(desk)
    assert moments.count >= moment
    releases = desk.store.releases()
    if code:
        assert releases == []
        return
    (release,) = releases
    folder = release_folder(desk.root, release.series, release.release_id)
    read = read_classes(folder / DATA, load_policy(desk.policy()))
    kept = desk.store.classes(release.release_id)
    assert kept.cells == read.cells
    assert verify(desk.store) == []
