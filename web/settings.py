"""What a server is told when it starts: its store, the addresses that browsers call it by, and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from web.rate_limit import Rate

Clock = Callable[[], float]  # seconds that only go forward
LOGINS = Rate(20, 60.0)  # of one client: pages to log in, and attempts
POSTS = Rate(30, 60.0)
READS = Rate(300, 60.0)


@dataclass(frozen=True)
class Settings:
    """A server's settings; all times are in seconds."""

    root: Path
    origins: tuple[str, ...]  # such as http://127.0.0.1:8765
    clock: Clock = time.monotonic
    challenge_life: float = 120.0
    idle_life: float = 30 * 60.0
    session_life: float = 8 * 3600.0
    largest_body: int = 64 * 1024  # bytes
    largest_head: int = 16 * 1024  # bytes of a request's line and headers
    request_time: float = 10.0  # for a whole request, from when the server waits for it
    reading_time: float = 30.0  # for the client to read, before more is sent or the connection ends
    most_connections: int = 100
    logins: Rate = LOGINS
    posts: Rate = POSTS
    reads: Rate = READS

    @property
    def hosts(self) -> frozenset[str]:
        """The values of the header Host that name this server."""
        return frozenset(urlsplit(origin).netloc for origin in self.origins)

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by TLS alone."""
        return all(origin.startswith("https://") for origin in self.origins)

    @property
    def cookie(self) -> str:
        """The name of the session's cookie. Cookies know no ports, so the name has it."""
        if self.is_secure:
            return "__Host-releasegate"
        return f"releasegate-{urlsplit(self.origins[0]).port or 80}"
