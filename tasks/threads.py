"""Work on arrays in several threads: numpy lets other threads run while it computes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from tasks.types import IntArray

T = TypeVar("T")

MOST = 4  # threads; each needs memory of its own
LEAST = 64  # items for which a thread is worth it


def in_threads(work: Callable[[IntArray], Sequence[T]], n: int) -> list[T]:
    """Return what `work` gives for 0 to n - 1, one result each: it gets parts of these numbers, ascending.

    `work` reads what the threads share and changes none of it, and a result does not depend on the part that
    its number is in: so it is the same with any number of processors.
    """
    parts = np.array_split(np.arange(n), max(1, min(MOST, _processors(), n // LEAST)))
    if len(parts) == 1:
        return list(work(parts[0]))
    with ThreadPoolExecutor(len(parts)) as threads:
        return [one for found in threads.map(work, parts) for one in found]


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
