"""A scheduler of Dask that belongs to an enemy: it has the certificates, and answers what a test says."""

from __future__ import annotations

import os
import pickle
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from examples.cluster.certificates import write_certificates
from policy.trusted import Cluster
from services.cluster import told_versions

CALLER, CANARY_FILE = "RELEASEGATE_TEST_CALLER", "RELEASEGATE_TEST_CANARY"
Answer = Callable[[dict[str, Any]], object]


def run_in_the_caller() -> str:
    """Leave a file behind, in the process that is attacked alone: a worker unpickles what it sends itself."""
    if os.environ.get(CALLER) == str(os.getpid()):
        Path(os.environ[CANARY_FILE]).touch()
    return "code ran"


class Program(Exception):
    """What runs where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return run_in_the_caller, ()


def pickled() -> bytes:
    """Return the bytes of a program."""
    return pickle.dumps(Program())


@contextmanager
def hostile_scheduler(
    folder: Path, answers: Mapping[str, Answer], names: tuple[str, ...] = ("127.0.0.1",)
) -> Iterator[Cluster]:
    """Run the scheduler until the block ends, with certificates of `names` in `folder`.

    `answers` are what it says to each message, by its `op`; to any other one it says what an honest scheduler
    with one worker does, which has lost what the worker made. `handshake` is the first message of a
    connection. An answer of bytes is sent as it is; none is sent where it is None.
    """
    folder.mkdir(exist_ok=True)
    keys = folder / "certificates"
    write_certificates(keys, names)
    cluster = Cluster("", *(keys / name for name in ("ca.pem", "node.pem", "node.key")))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=cluster.ca)
    context.load_cert_chain(cluster.certificate, cluster.key)
    context.verify_mode = ssl.CERT_REQUIRED
    ended = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def accept() -> None:
            with suppress(OSError):
                while True:
                    plain, _ = server.accept()
                    Thread(target=serve, args=(plain,), daemon=True).start()

        def serve(plain: socket.socket) -> None:
            with suppress(OSError), plain, context.wrap_socket(plain, server_side=True) as connection:
                _talk(connection, answers)
                ended.wait()

        Thread(target=accept, daemon=True).start()
        try:
            yield Cluster(f"tls://127.0.0.1:{port}", cluster.ca, cluster.certificate, cluster.key)
        finally:
            ended.set()


def _talk(connection: ssl.SSLSocket, answers: Mapping[str, Answer]) -> None:
    message: Any = _read(connection)
    _say(connection, answers.get("handshake", _greeting)(message))
    while (message := _read(connection)) is not None:
        for one in message if isinstance(message, tuple) else (message,):
            op = one.get("op", "")
            answer = answers.get(op) or _HONEST.get(op)
            if answer is not None:
                _say(connection, answer(one))


def _greeting(_: dict[str, Any]) -> object:
    return {"compression": None, "python": (3, 11, 0), "pickle-protocol": 5}


def _ended(message: dict[str, Any]) -> object:
    (key,) = message["keys"]
    return ({"op": "key-in-memory", "key": key, "type": None},)


def _versions(_: dict[str, Any]) -> object:
    from distributed.protocol import to_serialize

    return {"status": "OK", "result": to_serialize(told_versions(()))}


_HONEST: dict[str, Answer] = {
    "identity": lambda _: {"type": "Scheduler", "id": "x", "address": "x", "workers": {}, "services": {}},
    "register-client": lambda _: ({"op": "stream-start"},),
    "run_function": _versions,
    "broadcast": lambda _: {},
    "ncores_running": lambda _: {"tls://127.0.0.1:1": 1},
    "update-graph": _ended,
    "gather": lambda _: {"status": "error", "keys": []},
}


def _say(connection: ssl.SSLSocket, answer: object) -> None:
    if isinstance(answer, bytes):
        connection.sendall(answer)
    elif answer is not None:
        connection.sendall(framed(answer))


def framed(answer: object) -> bytes:
    """Return the bytes of a message, as Dask writes it: `ToPickle` in it is pickled."""
    from distributed.protocol import dumps

    return in_frames([bytes(frame) for frame in dumps(answer, context={"compression": None})])


def in_frames(frames: list[bytes]) -> bytes:
    """Return what holds these frames, all together."""
    prelude = struct.pack(f"{len(frames) + 1}Q", len(frames), *map(len, frames))
    body = b"".join([prelude, *frames])
    return struct.pack("Q", len(body)) + body


def _read(connection: ssl.SSLSocket) -> Any:
    """Return the next message, with what its pickles hold; None where the connection ends."""
    from distributed.protocol import loads
    from distributed.protocol.utils import unpack_frames

    head = _exactly(connection, 8)
    if head is None:
        return None
    first = _exactly(connection, *struct.unpack("Q", head))
    if first is None:
        return None
    frames, missing = unpack_frames(first, partial=True)
    for length in missing:
        part = _exactly(connection, length)
        if part is None:
            return None
        frames.append(memoryview(part))
    return loads(frames, deserialize=False)


def _exactly(connection: ssl.SSLSocket, number: int) -> bytes | None:
    found = b""
    while len(found) < number:
        part = connection.recv(min(1 << 16, number - len(found)))
        if not part:
            return None
        found += part
    return found
