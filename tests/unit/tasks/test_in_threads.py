"""Parts of the work in several threads: each result once, in its place, however many there are."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from tasks import threads
from tasks.types import IntArray


@pytest.mark.parametrize(("n", "parts"), [(0, 1), (127, 1), (128, 2), (191, 2), (192, 3), (5_000, 3)])
def test_each_number_is_worked_on_once_in_its_order(
    monkeypatch: pytest.MonkeyPatch, n: int, parts: int
) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: 3)
    seen: list[IntArray] = []

    def work(part: IntArray) -> list[int]:
        seen.append(part)
        return (part * part).tolist()

    assert threads.in_threads(work, n) == [i * i for i in range(n)]
    assert len(seen) == parts
    assert np.array_equal(np.sort(np.concatenate(seen)), np.arange(n))


def test_the_parts_are_worked_on_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: 2)
    both = threading.Barrier(2, timeout=60)

    def work(part: IntArray) -> list[int]:
        both.wait()
        return part.tolist()

    assert len(threads.in_threads(work, 2 * threads.LEAST)) == 2 * threads.LEAST


def test_what_fails_in_one_thread_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_processors", lambda: 2)

    def work(part: IntArray) -> list[int]:
        if 100 in part:
            raise MemoryError
        return part.tolist()

    with pytest.raises(MemoryError):
        threads.in_threads(work, 200)
