"""Sessions: who is logged in, in the memory of the server alone. Nothing of them outlives the process."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

_MOST = 1_000


@dataclass
class Session:
    """One person who logged in; `form_token` is in each form that the session was shown."""

    public_key: str  # hexadecimal: the person, whatever the file of people calls them now
    ends: float
    idle_from: float
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    message: str = ""  # what the last act came to, shown once


class Sessions:
    """The sessions by the digest of their id: the ids themselves are in the browsers' cookies alone."""

    def __init__(self, idle_life: float, life: float, clock: Callable[[], float]) -> None:
        self._idle_life, self._life, self._clock = idle_life, life, clock
        self._sessions: dict[str, Session] = {}
        self._lock = threading.Lock()

    def begin(self, public_key: str) -> str:
        """Begin a session, and return its id of 256 random bits. Where too many are open, the oldest ends."""
        now, name = self._clock(), secrets.token_urlsafe(32)
        with self._lock:
            for digest in [digest for digest, one in self._sessions.items() if self._is_over(one, now)]:
                del self._sessions[digest]
            if len(self._sessions) >= _MOST:
                del self._sessions[next(iter(self._sessions))]
            self._sessions[_digest(name)] = Session(public_key, now + self._life, now + self._idle_life)
        return name

    def find(self, name: str) -> Session | None:
        """Return the session of an id, which is in use again now; None if there is none or it is over."""
        now, digest = self._clock(), _digest(name)
        with self._lock:
            found = self._sessions.get(digest)
            if found is None:
                return None
            if self._is_over(found, now):
                del self._sessions[digest]
                return None
            found.idle_from = now + self._idle_life
            return found

    def end(self, name: str) -> None:
        """End a session, if there is one of that id."""
        with self._lock:
            self._sessions.pop(_digest(name), None)

    @staticmethod
    def _is_over(session: Session, now: float) -> bool:
        return now >= min(session.ends, session.idle_from)


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()
