"""How often one client may ask: a window that slides over its last requests."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

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
        self._times: dict[str, deque[float]] = {}  # the one that asked last at the end
        self._lock = threading.Lock()

    def allows(self, client: str) -> bool:
        """Count a request of a client and return True, or return False if it has asked too often.

        Where there are too many clients, the one that has asked for nothing longest is forgotten: whoever has
        very many addresses shuts nobody else out.
        """
        now = self._clock()
        with self._lock:
            times = self._times[client] = self._times.pop(client, deque())  # now the last in order
            if len(self._times) > _MOST_CLIENTS:
                del self._times[next(iter(self._times))]
            while times and times[0] <= now - self.rate.seconds:
                times.popleft()
            if len(times) >= self.rate.n:
                return False
            times.append(now)
            return True


def client_of(address: str) -> str:
    """Return who is behind an address: this machine by whichever of its own, or a network of IPv6.

    Each account of a machine has all of 127.0.0.0/8, and each customer of IPv6 2^64 addresses or more.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        found = found.ipv4_mapped or found
    if found.is_loopback:
        return "this machine"
    return str(found) if isinstance(found, IPv4Address) else f"{int(found) >> 64:x}::/64"
