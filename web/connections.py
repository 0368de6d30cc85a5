"""Connections: how long the server waits for a client, and how many clients it holds at once.

uvicorn waits for ever for the rest of a request, and for a client to read what it was sent. Here both have a
limit of time, and where there are too many connections, the one for whose client the server has waited
longest is closed. So nobody who sends slowly, or nothing, keeps others out.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from web.app import refusal_page
from web.headers import SECURITY_HEADERS
from web.refusals import BadRequest, Refused, TooManyConnections, TooSlow
from web.settings import Settings


class _Wait(Enum):
    REQUEST = auto()  # for the rest of the head or the body
    READING = auto()  # for the client to read what was written


class Connection(H11Protocol):
    """One connection, which is closed if its client takes too long; `settings` has the limits."""

    settings: Settings

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._wait: _Wait | None = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def _waits_for(self) -> _Wait | None:
        if self.flow.write_paused or self.transport.is_closing():
            return _Wait.READING
        return _Wait.REQUEST if self.conn.their_state in (h11.IDLE, h11.SEND_BODY) else None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, and make room for it if there are too many connections."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.settings.most_connections:
            waiting = [one for one in self.connections if isinstance(one, Connection) and one._wait]
            # One that is closed is cut off first, and the new one is the last to go.
            least = min(waiting, key=lambda one: (not one.transport.is_closing(), one._since, one is self))
            least._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what came. The time of a request goes on until all of it is there."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection that is not used."""
        super().timeout_keep_alive_handler()
        self._watch()

    def shutdown(self) -> None:
        """Close the connection, or let its answer be the last."""
        super().shutdown()
        self._watch()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Go on: the client has read."""
        super().resume_writing()
        self._watch()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request in HTTP."""
        del msg
        self._refuse(BadRequest())

    def _watch(self) -> None:
        """Start the time for what the client is to do now, unless it runs already."""
        wait = self._waits_for
        if wait is self._wait:
            return
        self._stop_waiting()
        if wait is None:
            return
        is_request = wait is _Wait.REQUEST
        self._wait, self._since = wait, self.loop.time()
        self._timer = self.loop.call_later(
            self.settings.request_time if is_request else self.settings.reading_time,
            self._too_late if is_request else self.transport.abort,
        )

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._wait = None

    def _too_late(self) -> None:
        if self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            self._close()  # it asked for nothing
        else:
            self._refuse(TooSlow())

    def _make_room(self) -> None:
        if self._wait is _Wait.READING:
            self.transport.abort()
        else:
            self._refuse(TooManyConnections())

    def _refuse(self, refused: Refused) -> None:
        """Answer with a page, if no answer was begun, and close the connection."""
        answer = refusal_page(refused)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            own = {name.lower(): value for name, value in answer.headers.items()}
            more = {name.lower(): value for name, value in SECURITY_HEADERS.items()}
            headers = [*{**more, **own, "connection": "close"}.items()]
            self._write(h11.Response(status_code=answer.status_code, headers=headers))
            self._write(h11.Data(data=bytes(answer.body)))
            self._write(h11.EndOfMessage())
        self._close()

    def _write(self, event: h11.Event) -> None:
        self.transport.write(self.conn.send(event) or b"")

    def _close(self) -> None:
        self.transport.close()
        self._watch()


def connection_of(settings: Settings) -> type[Connection]:
    """Return the class of the connections of a server."""

    class Limited(Connection):
        pass

    Limited.settings = settings
    return Limited
