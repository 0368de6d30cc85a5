"""A client of a Dask scheduler that reads what comes back as data.

Dask's own client unpickles what a scheduler or a worker sends, and so runs their code in this process. This
one sends the same messages. It takes texts, numbers and bytes back, no more of them than was asked for, and
waits no longer than it says.
"""

from __future__ import annotations

import pickle
import re
import select
import socket
import ssl
import struct
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

MOST_BYTES = 4 << 20  # of a message that holds no answer: its texts and numbers may take 64 times as much
MOST_FRAMES = 1024
MOST_THREADS = 1000  # fragments wait in memory for each of them
ANSWER_SECONDS = 300.0  # numeric work can keep a worker from answering for minutes
STALL_SECONDS = 60.0
LEAST_SPEED = 100_000  # bytes a second
PEER_MILLISECONDS = 30_000  # after which a machine that acknowledges nothing is gone

_CHUNK = 1 << 20
_WORD = struct.calcsize("Q")
_NAME = re.compile(r"[A-Za-z]{1,60}")
_ENDS = ("stream-closed", "close", "restart", "error")
R = TypeVar("R")


class Unreadable(ValueError):
    """What came is no message of a scheduler, or larger than it may be."""


class Foreign(bytes):
    """What another process wrote of Python's objects. It is never loaded."""


class Connection:
    """One connection to a scheduler under TLS, whose certificate is of the name that is asked for."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, seconds: float) -> None:
        end = time.monotonic() + seconds
        plain = socket.create_connection((host, port), timeout=seconds)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PEER_MILLISECONDS // 3000)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, PEER_MILLISECONDS)
            plain.setblocking(False)
            self._socket = context.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
        except BaseException:
            plain.close()
            raise
        try:
            self._until(self._socket.do_handshake, end)
            self.send({"compression": None, "python": sys.version_info[:3], "pickle-protocol": 5})
            if not isinstance(self.receive(max(0.0, end - time.monotonic())), dict):
                raise Unreadable("no greeting")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection: the scheduler then forgets what it was asked."""
        self._socket.close()

    def send(self, message: object) -> None:
        """Send a message. Raises OSError where it is not taken in time."""
        from distributed.protocol import dumps

        frames = [memoryview(frame).cast("B") for frame in dumps(message, context={"compression": None})]
        prelude = struct.pack(f"{len(frames) + 1}Q", len(frames), *map(len, frames))
        end = time.monotonic() + STALL_SECONDS + sum(map(len, frames)) / LEAST_SPEED
        head = struct.pack("Q", len(prelude) + len(frames[0])) + prelude + bytes(frames[0])
        for part in (memoryview(head), *frames[1:]):
            left = part
            while len(left):
                left = left[self._until(partial(self._socket.send, left[:_CHUNK]), end) :]

    def receive(self, seconds: float, most: int = MOST_BYTES) -> Any:
        """Return the next message, of at most `most` bytes; None where none begins within `seconds`.

        Raises Unreadable, and OSError where the connection ends or the message is not all there in time.
        """
        head = memoryview(bytearray(_WORD))
        try:
            begun = self._some_into(head, time.monotonic() + seconds)
        except TimeoutError:
            return None
        end = time.monotonic() + STALL_SECONDS + most / LEAST_SPEED
        self._fill(head[begun:], end)
        (together,) = struct.unpack("Q", head)
        if not 2 * _WORD <= together <= most:
            raise Unreadable("a message of another size")
        first = memoryview(bytearray(together))
        self._fill(first, end)
        (number,) = struct.unpack_from("Q", first)
        start = _WORD * (1 + number)
        if not 1 <= number <= MOST_FRAMES or start > together:
            raise Unreadable("a message of another form")
        lengths = struct.unpack_from(f"{number}Q", first, _WORD)
        if not together - start <= sum(lengths) <= most:
            raise Unreadable("a message of another size")
        body = memoryview(bytearray(sum(lengths)))
        body[: together - start] = first[start:]
        self._fill(body[together - start :], end)
        frames = []
        for length in lengths:
            frames.append(body[:length])
            body = body[length:]
        return _decoded(frames)

    def _fill(self, view: memoryview, end: float) -> None:
        while len(view):
            view = view[self._some_into(view, end) :]

    def _some_into(self, view: memoryview, end: float) -> int:
        read = self._until(partial(self._socket.recv_into, view[:_CHUNK]), end)
        if not read:
            raise ConnectionError("the connection was closed")
        return read

    def _until(self, act: Callable[[], R], end: float) -> R:
        """Return what `act` does as soon as the connection lets it. Raises TimeoutError after `end`."""
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                waiting = select.POLLIN
            except ssl.SSLWantWriteError:
                waiting = select.POLLOUT
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            poll = select.poll()
            poll.register(self._socket, waiting)
            poll.poll(left * 1000)


def _decoded(frames: list[memoryview]) -> Any:
    """Return a message of texts, numbers, bytes, and what is Foreign."""

    def hook(found: dict[str, Any]) -> Any:
        for name in ("__Serialized__", "__Pickled__"):
            if name in found:
                return _carried(frames, found[name])
        return found.get("as-list") if "__Set__" in found else found

    return _unpacked(frames[0], hook)


def _carried(frames: list[memoryview], place: object) -> bytes:
    """Return what is in the frames after that at `place`, which says how they were written."""
    if type(place) is not int or not 0 < place < len(frames):
        raise Unreadable("a frame that is not there")
    header = _unpacked(frames[place], None)
    number = header.get("num-sub-frames") if isinstance(header, dict) else None
    if type(number) is not int or not 0 <= number < len(frames) - place:
        raise Unreadable("frames that are not there")
    parts = frames[place + 1 : place + 1 + number]
    packed = header.get("compression") or ()
    plain = (header.get("serializer"), header.get("type")) == ("dask", "bytes")
    if plain and isinstance(packed, tuple) and not any(packed):
        return b"".join(parts)
    return Foreign(b"".join([frames[place], *parts]))


def _unpacked(frame: memoryview, hook: Callable[[dict[str, Any]], Any] | None) -> Any:
    import msgpack

    try:
        return msgpack.unpackb(frame, use_list=False, strict_map_key=True, object_hook=hook)
    except Exception as error:  # of msgpack there are many
        raise Unreadable(f"a message that is none ({type(error).__name__})") from None


class Scheduler:
    """A Dask scheduler: which threads take work, what it is given to run, and what came of that."""

    def __init__(self, address: str, context: ssl.SSLContext, seconds: float) -> None:
        parts = urlsplit(address)
        connect = partial(Connection, parts.hostname or "", parts.port or 0, context, seconds)
        self._name = f"releasegate-{uuid4()}"
        self._events = connect()
        try:
            self._calls = connect()
        except BaseException:
            self._events.close()
            raise
        try:
            self._events.send({"op": "register-client", "client": self._name, "reply": False, "versions": {}})
            self._waiting = deque(_messages(self._events.receive(seconds)))
            if not self._waiting or self._waiting.popleft().get("op") != "stream-start":
                raise Unreadable("no beginning")
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close both connections."""
        self._events.close()
        self._calls.close()

    def threads(self) -> int:
        """Return how many threads of workers take work."""
        found = self._called("ncores_running", {})
        if not isinstance(found, dict) or not all(type(n) is int and n >= 0 for n in found.values()):
            raise Unreadable("no numbers of threads")
        return min(MOST_THREADS, sum(found.values()))

    def told_by_all(self, function: Callable[..., bytes], *arguments: object) -> Iterator[tuple[str, object]]:
        """Give what each node says to a function that is called there: bytes, or the name of its error."""
        asked = {"function": pickle.dumps(function), "args": pickle.dumps(arguments), "wait": True}
        yield "the scheduler", _said(self._called("run_function", asked))
        found = self._called("broadcast", {"msg": {"op": "run", **asked}, "on_error": "ignore"})
        if not isinstance(found, dict):
            raise Unreadable("no answers of workers")
        for one in found.values():
            yield "a worker", _said(one)

    def submit(self, function: Callable[..., bytes], *arguments: object) -> str:
        """Have a worker call the function, and return the name of this task."""
        from dask._expr import LLGExpr
        from dask._task_spec import Task
        from distributed.protocol.serialize import Serialized, ToPickle, serialize, to_serialize

        key = f"fragment-{uuid4()}"
        graph = LLGExpr({key: Task(key, function, *arguments)}, _determ_token=key)
        self._events.send(
            {
                "op": "update-graph",
                "expr_ser": Serialized(*serialize(to_serialize(graph), on_error="raise")),
                "keys": {key},
                "internal_priority": {key: 0},
                "submitting_task": None,
                "fifo_timeout": 0,
                "actors": None,
                "code": ToPickle(()),
                "annotations": ToPickle({}),
                "span_metadata": ToPickle({"collections": [{"type": "Future"}]}),
            }
        )
        return key

    def ended(self, seconds: float) -> list[tuple[str, bytes | None]]:
        """Return the tasks that have ended since, each with its failure; wait so long where there is none.

        A failure is what another process wrote, to be looked through for a word.
        """
        found = list[tuple[str, bytes | None]]()
        messages = self._waiting or _messages(self._events.receive(seconds))
        while messages:
            message = messages.popleft()
            op, key = message.get("op"), message.get("key")
            if op in _ENDS:
                raise ConnectionError("the scheduler ends")
            if op == "cancelled-keys":
                raise ConnectionError("the scheduler gives tasks up")
            if op == "key-in-memory" and isinstance(key, str):
                found.append((key, None))
            elif op == "task-erred" and isinstance(key, str):
                failure = message.get("exception")
                found.append((key, failure if isinstance(failure, bytes) else b""))
        return found

    def fetched(self, key: str, most: int) -> bytes | None:
        """Return the bytes that a task gave, at most so many. None where its worker is gone: another one
        runs the task then, and `ended` tells of it again.
        """
        found = self._called("gather", {"keys": [key]}, most + MOST_BYTES)
        if isinstance(found, dict) and found.get("status") == "error":
            self._events.send({"op": "report-key", "key": key})
            return None
        data = found.get("data") if isinstance(found, dict) else None
        given = data.get(key) if isinstance(data, dict) else None
        if not isinstance(given, bytes) or isinstance(given, Foreign) or len(given) > most:
            raise Unreadable("an answer that is not bytes")
        return given

    def release(self, key: str) -> None:
        """Let the cluster forget a task."""
        self._events.send({"op": "client-releases-keys", "keys": [key], "client": self._name})

    def _called(self, op: str, arguments: dict[str, Any], most: int = MOST_BYTES) -> Any:
        self._calls.send({"op": op, "reply": True, **arguments})
        found = self._calls.receive(ANSWER_SECONDS, most)
        if found is None:
            raise TimeoutError
        return found


def _messages(found: Any) -> deque[dict[str, Any]]:
    """Return the messages that came together; none where nothing came."""
    several = found if isinstance(found, tuple) else () if found is None else (found,)
    if not all(isinstance(one, dict) for one in several):
        raise Unreadable("messages of another form")
    return deque(several)


def _said(found: Any) -> object:
    """Return the bytes of a node's answer, or the name of its error."""
    found = found if isinstance(found, dict) else {}
    result = found.get("result")
    if found.get("status") == "OK" and isinstance(result, bytes) and not isinstance(result, Foreign):
        return result
    name = _NAME.match(str(found.get("exception_text", "")))
    return name[0] if name else "an error"
