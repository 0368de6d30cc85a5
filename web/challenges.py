"""Challenges: random texts that a person signs to log in, each good once and for a short time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable

_MOST = 1_000


class Challenges:
    """The challenges that were given and not used yet."""

    def __init__(self, life: float, clock: Callable[[], float]) -> None:
        self._life, self._clock = life, clock
        self._ends: dict[str, float] = {}  # in the order in which they were given
        self._lock = threading.Lock()

    def give(self) -> str:
        """Return a new challenge of 256 random bits. Where too many wait, the oldest is void."""
        made = secrets.token_hex(32)
        with self._lock:
            if len(self._ends) >= _MOST:
                del self._ends[next(iter(self._ends))]
            self._ends[made] = self._clock() + self._life
        return made

    def use(self, challenge: str) -> bool:
        """Use up a challenge, and tell whether it was given here, is in time and was not used before."""
        with self._lock:
            end = self._ends.pop(challenge, None)
        return end is not None and self._clock() < end
