"""A limit of time for work that waits for others: names to be looked up, servers, pipes."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def run_with_timeout(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises; raise TimeoutError where it takes longer.

    A time limit of a socket is one of each read, so a server that sends a byte now and then never meets it.
    This is one for all of it. What takes longer is left to end by itself, and holds no process: it runs in a
    thread of its own, so it must share nothing that needs a lock.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(carry_out,), daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise TimeoutError
