"""A small HTTP server on this machine that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


@dataclass
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Listener:
    url: str
    requests: list[Request] = field(default_factory=list)
    answer: Callable[[Request], Answer] = lambda _request: (204, None)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def bodies(self) -> list[Any]:
        return [request.body for request in self.requests]


@contextmanager
def listening() -> Iterator[Listener]:
    """Listen on a free port of the loopback while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            text = self.rfile.read(length)
            request = Request(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(text) if text else None,
            )
            listener.requests.append(request)
            status, body = listener.answer(request)
            content = b"" if body is None else json.dumps(body).encode()
            self.send_response(status)
            for name, value in listener.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST  # noqa: N815 -- the server's own name

        def log_message(self, *_arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener = Listener(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield listener
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
