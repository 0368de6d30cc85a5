"""How often one client may ask: a window that slides over its last requests."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

_MOST_CLIENTS = 10_000


@dataclass(frozen=True)
class Rate:
    """At most `n` requests in any `seconds`."""

    n: int
    seconds: float


class RateLimit:
    """Counts requests by client; one that is refused does not count."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self.rate, self._clock = rate, clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def allows(self, client: str) -> bool:
        """Count a request of a client and return True, or return False if it has asked too often."""
        now = self._clock()
        with self._lock:
            times = self._times.get(client)
            if times is None:
                self._forget(now)
                if len(self._times) >= _MOST_CLIENTS:
                    return False
                times = self._times[client] = deque()
            while times and times[0] <= now - self.rate.seconds:
                times.popleft()
            if len(times) >= self.rate.n:
                return False
            times.append(now)
            return True

    def _forget(self, now: float) -> None:
        """Forget clients that have not asked for a whole window, once there are many."""
        if len(self._times) < _MOST_CLIENTS:
            return
        for client in [one for one, times in self._times.items() if times[-1] <= now - self.rate.seconds]:
            del self._times[client]
