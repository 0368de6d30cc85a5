"""What a run that died before publication leaves is ended by recovery; a living run is left alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from release_store.audit import keys
from release_store.publishing.publication import recover
from release_store.publishing.recovery import REASON, foreign_folders, leftovers
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.dead_run import POINTS
from tests.faults.small_work import assessed, published

ROOT = Path(__file__).parents[2]
CANDIDATE = "clinic-2025-c1"
LEFT = {
    "reserved": [],
    "written": [f"candidates/{CANDIDATE}: removed, it was never assessed"],
    "staged": [f"{CANDIDATE}: failed, {REASON}"],
    "assessed": [],
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReleaseStore:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    made = ReleaseStore.create(tmp_path / "store")
    published(made, assessed(made, "clinic", "2024").candidate_id)
    return made


@contextmanager
def run_at(store: ReleaseStore, point: str) -> Iterator[subprocess.Popen[str]]:
    """A run that stands at a point while the block runs, and is killed at its end."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.dead_run", str(store.root), "clinic", point],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "there\n"
            yield child
        finally:
            child.kill()


def points(*one_case: str) -> list[object]:
    """All points of a run: those that are the one case of their kind, and the others."""
    kinds = {point: pytest.mark.faults if point in one_case else pytest.mark.nightly for point in POINTS}
    return [pytest.param(point, marks=kind) for point, kind in kinds.items()]


@pytest.mark.parametrize("point", points("written", "staged"))
def test_a_run_killed_before_publication_is_ended(store: ReleaseStore, point: str) -> None:
    with run_at(store, point):
        pass
    before = store.events()
    assert recover(store) == LEFT[point]
    assert recover(store) == []
    assert leftovers(store) == {}
    records = {one.candidate_id: one.state for one in store.candidates()}
    ended = {"staged": CandidateState.FAILED, "assessed": CandidateState.APPROVED}.get(point)
    assert records.get(CANDIDATE) is ended
    # The files of a candidate that was staged are kept, as those of every other.
    assert (store.root / "candidates" / CANDIDATE).exists() is (ended is not None)
    new = store.events()[len(before) :]
    assert [(one.action, one.actor, one.reason) for one in new] == (
        [("candidate.failed", "releasegate", REASON)] if point == "staged" else []
    )
    assert verify(store) == []
    made = published(store, assessed(store, "clinic", "2025").candidate_id)
    assert made.release_id == "clinic-2025-r1"
    assert verify(store) == []


def test_the_people_of_a_candidate_that_died_are_forgotten(store: ReleaseStore) -> None:
    with run_at(store, "staged"):
        assert store.people_in_common(CANDIDATE) is not None
    recover(store)
    assert store.people_in_common(CANDIDATE) is None


@pytest.mark.parametrize("point", points("staged")[1:3])
def test_a_living_run_is_left_alone_and_not_waited_for(
    store: ReleaseStore, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    lock, waits = store.series_lock, []

    def told_lock(series: str, timeout: float) -> AbstractContextManager[None]:
        waits.append((series, timeout))
        return lock(series, timeout)

    with run_at(store, point):
        logged = store.events()
        with monkeypatch.context() as patch:
            patch.setattr(store, "series_lock", told_lock)
            assert recover(store, timeout=30) == []
        assert waits == [("clinic", 0)]
        assert leftovers(store) == {"clinic": [CANDIDATE]}
        assert (store.root / "candidates" / CANDIDATE).is_dir()
        assert store.events() == logged
    assert recover(store) == LEFT[point]


def test_a_run_of_another_series_does_not_keep_recovery_from_a_dead_one(store: ReleaseStore) -> None:
    with run_at(store, "staged"):
        pass
    with store.series_lock("ward"):
        assert recover(store) == LEFT["staged"]


def test_a_folder_that_no_candidate_was_given_is_nobodys_to_remove(store: ReleaseStore) -> None:
    (store.root / "candidates/notes").mkdir()
    (store.root / "candidates/clinic-2025-c9").symlink_to(store.root)
    assert recover(store) == []
    assert foreign_folders(store) == ["notes"]
    assert (store.root / "candidates/notes").is_dir()
