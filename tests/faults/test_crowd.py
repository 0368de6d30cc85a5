"""Several processes publish to one store at once: every attempt is published or refused with a reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from release_store.audit import keys
from release_store.audit.log import check_chain
from release_store.canonical import digest_of, tree_digest
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.crowd import attempts
from tests.support.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[2]


def crowd(store: ReleaseStore, processes: int, periods: int) -> list[dict[str, str | None]]:
    """Let the processes start together, and return how their attempts ended."""
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.crowd", str(store.root), *map(str, (n, processes, periods))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    told = [child.communicate(timeout=HANG_TIMEOUT)[0] for child in children]
    assert [child.returncode for child in children] == [0] * processes
    return [json.loads(line) for text in told for line in text.splitlines()]


@pytest.mark.parametrize(
    ("processes", "periods"),
    [
        pytest.param(2, 1, marks=pytest.mark.faults, id="8 attempts of 2 processes"),
        pytest.param(8, 10, marks=pytest.mark.nightly, id="80 attempts of 8 processes"),
    ],
)
def test_attempts_of_several_processes_are_published_or_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int, periods: int
) -> None:
    monkeypatch.setenv(keys.KEY_VARIABLE, str(tmp_path / "signing.key"))
    store = ReleaseStore.create(tmp_path / "store")
    ended = crowd(store, processes, periods)

    assert len(ended) == len(attempts(periods)) == 8 * periods
    assert all((one["release"] is None) != (one["refused"] is None) for one in ended)
    assert all("stale" in one["refused"] for one in ended if one["refused"] is not None)
    published = {one["release"] for one in ended if one["release"] is not None}
    assert published == {release.release_id for release in store.releases()}
    assert verify(store) == []
    assert check_chain(store.events()) == []

    for series in ("east", "north", "south", "west"):
        releases = store.releases(series)
        assert releases, "no attempt of a series got through"
        assert [one.number for one in releases] == list(range(1, len(releases) + 1))
        # Each was judged against exactly those that came before it.
        heads = [store.candidate(one.candidate_id).history_head for one in releases]
        listed = [[one.release_id, tree_digest(one.files)] for one in releases]
        assert heads == [digest_of(listed[:n]) for n in range(len(releases))]
    states = Counter(one.state for one in store.candidates())
    stale = len(ended) - len(published)
    assert states == Counter({CandidateState.PUBLISHED: len(published), CandidateState.STALE: stale})
