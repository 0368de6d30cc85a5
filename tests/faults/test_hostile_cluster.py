"""A scheduler and workers that belong to an enemy: none of their code runs here, nothing grows or hangs."""

from __future__ import annotations

import os
import pickle
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Thread

import msgpack
import numpy as np
import pytest
from distributed.protocol.serialize import ToPickle, to_serialize

import services.cluster as by_cluster
from policy.errors import TransientFailure
from policy.model import ReleasePolicy
from policy.trusted import Cluster
from services import dask_wire
from tasks.types import PreparedTable
from tests.support import cluster as work
from tests.support.cluster import (
    METHOD,
    aged_policy,
    dask_cluster,
    many_people,
    refused,
    trust_cluster,
    write_large_table,
)
from tests.support.front_desk import Desk
from tests.support.hostile_scheduler import (
    CALLER,
    CANARY_FILE,
    Answer,
    Program,
    framed,
    hostile_scheduler,
    in_frames,
    pickled,
)
from tests.support.timeouts import HANG_TIMEOUT


@pytest.fixture(scope="module")
def canary_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file that is there if a program ran in this process, as the workers know it."""
    path = tmp_path_factory.mktemp("canary") / "ran"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CALLER, str(os.getpid()))
        patch.setenv(CANARY_FILE, str(path))
        yield path


@pytest.fixture
def canary(canary_of_all: Path) -> Path:
    """The same file, which is not there yet."""
    canary_of_all.unlink(missing_ok=True)
    return canary_of_all


@pytest.fixture(scope="module")
def cluster(canary_of_all: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """An honest scheduler with a worker, which carries out what a test makes of `carry_out`."""
    del canary_of_all  # its variables are set before the worker begins
    with dask_cluster(tmp_path_factory.mktemp("dask"), 1) as made:
        yield made.cluster


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to answer: a test that wants no answer sets a time of its own."""
    monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", HANG_TIMEOUT)
    monkeypatch.setattr(by_cluster, "LOOK_SECONDS", 0.1)


@pytest.fixture(scope="module")
def policy() -> ReleasePolicy:
    return aged_policy(METHOD)


@pytest.fixture(scope="module")
def table(policy: ReleasePolicy) -> PreparedTable:
    return many_people(policy)


def in_a_hurry(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let 20 seconds pass each time that a clock is read, and wait so long for a fragment."""
    ticks = count(step=20)
    by_dask = by_cluster._by_dask
    monkeypatch.setattr(by_cluster, "FRAGMENT_SECONDS", seconds)
    monkeypatch.setattr(by_cluster, "_by_dask", lambda *given: by_dask(*given, lambda: float(next(ticks))))


def gathered(given: object) -> dict[str, Answer]:
    """Answer with this as what a task gave."""
    return {"gather": lambda said: {"status": "OK", "data": {said["keys"][0]: given}}}


def told(**message: object) -> dict[str, Answer]:
    """Answer with this message about a task, in place of its end."""
    return {"update-graph": lambda said: ({"key": next(iter(said["keys"])), **message},)}


PROGRAMS: dict[str, dict[str, Answer]] = {
    "as its greeting": {"handshake": lambda _: ToPickle(Program())},
    "in its greeting": {"handshake": lambda _: {"compression": ToPickle(Program()), "pickle-protocol": 5}},
    "as what it is": {"identity": lambda _: ToPickle(Program())},
    "as its workers": {"ncores_running": lambda _: ToPickle(Program())},
    "as the beginning": {"register-client": lambda _: ({"op": "stream-start", "x": ToPickle(Program())},)},
    "as its versions": {"run_function": lambda _: {"status": "OK", "result": to_serialize(Program())}},
    "as an error of its own": {
        "run_function": lambda _: {"status": "error", "exception": to_serialize(pickled())}
    },
    "as an error that it failed on": {
        "run_function": lambda _: {"status": "uncaught-error", "exception": ToPickle(Program())}
    },
    "as a worker's versions": {
        "broadcast": lambda _: {"tls://a": {"status": "OK", "result": to_serialize(Program())}}
    },
    "as a worker's error": {"broadcast": lambda _: {"tls://a": to_serialize(Program())}},
    "as the type of what came": told(op="key-in-memory", type=pickled()),
    "as a task's exception": told(op="task-erred", exception=pickled(), traceback=pickled()),
    "as a task's exception, loaded": told(op="task-erred", exception=to_serialize(Program()), traceback=None),
    "as an event": told(op="event", topic="warn", event=(0.0, {"message": pickled(), "category": pickled()})),
    "as an error in the stream": told(op="error", exception=to_serialize(Program())),
    "as a message that is an error": told(status="error", exception=to_serialize(pickled())),
    "as an answer": gathered(to_serialize(Program())),
    "as a pickle for an answer": gathered(ToPickle(Program())),
    "as the type of an answer": gathered(to_serialize(np.array([Program()], dtype=object))),
}  # fmt: skip


@pytest.mark.enemy("node of the cluster", "runs code")
@pytest.mark.parametrize("where", PROGRAMS)
def test_no_program_that_a_scheduler_sends_is_run(
    where: str,
    table: PreparedTable,
    policy: ReleasePolicy,
    canary: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_a_hurry(monkeypatch, 1200.0)
    with hostile_scheduler(tmp_path, PROGRAMS[where]) as hostile:
        refused(table, policy, hostile)
    assert not canary.exists()


def test_the_program_runs_where_it_is_unpickled(canary: Path) -> None:
    with suppress(AttributeError):  # where Dask was imported, it wants an exception of it
        pickle.loads(pickled())  # noqa: S301 -- of the test
    assert canary.exists()


@pytest.mark.enemy("node of the cluster", "runs code")
def test_a_command_whose_cluster_sends_a_program_ends_in_one_line_and_publishes_nothing(
    desk: Desk, canary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, policy = write_large_table(desk.folder), desk.policy(method=METHOD)
    with hostile_scheduler(tmp_path / "cluster", PROGRAMS["as an answer"]) as hostile:
        trust_cluster(desk.folder, hostile)
        code = desk.say("run", policy, "--input", file, "--period", "2026Q1", "--by", "ann")
    shown = capsys.readouterr().err
    assert code == TransientFailure.exit_code
    assert f"engine: the cluster at {hostile.address} sends what is not read here" in shown
    assert "Traceback" not in shown
    assert not desk.store.releases()
    assert not canary.exists()


PLACES = ["handshake", "register-client", "ncores_running", "run_function", "gather"]
SHAPES: dict[str, bytes] = {
    "a message of a tebibyte": struct.pack("Q", 1 << 40),
    "no frame": in_frames([]),
    "frames without end": struct.pack("QQ", 16, 1 << 60) + bytes(8),
    "a frame of a tebibyte": struct.pack("QQQ", 16, 1, 1 << 40),
    "frames that are longer together": struct.pack("QQQQ", 24, 2, (1 << 64) - 1, 1),
    "lists in lists": in_frames([b"\x91" * 3000 + b"\xc0"]),
    "a list of a billion": in_frames([b"\xdd\x3b\x9a\xca\x00"]),
    "a map of numbers": in_frames([b"\x81\x01\x01"]),
    "no msgpack": in_frames([b"\xc1"]),
    "a frame that is not there": in_frames([msgpack.packb({"__Serialized__": 7})]),
    "a frame before the first": in_frames([msgpack.packb({"__Pickled__": -1})]),
    "a frame that is a text": in_frames([msgpack.packb({"__Serialized__": "x"}), b"\x80"]),
    "too many parts": in_frames([msgpack.packb({"__Serialized__": 1}), msgpack.packb({"num-sub-frames": 9})]),
    "a number": framed(1),
    "a text": framed("OK"),
    "an enumeration": in_frames([msgpack.packb({"__Enum__": 1, "__module__": "os", "name": "y"})]),
    "nothing": framed(None),
}  # fmt: skip


@pytest.mark.enemy("node of the cluster", "stops the work")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "place", ["handshake", "register-client", "ncores_running", "run_function", "gather"]
)
def test_what_is_no_message_ends_in_one_line(
    shape: str, place: str, table: PreparedTable, policy: ReleasePolicy, tmp_path: Path
) -> None:
    if (shape, place) == ("an enumeration", "handshake"):
        place = "ncores_running"  # a greeting may hold what it likes
    with hostile_scheduler(tmp_path, {place: lambda _: SHAPES[shape]}) as hostile:
        refused(table, policy, hostile)


@pytest.mark.enemy("node of the cluster", "stops the work")
@pytest.mark.parametrize(
    "place", ["handshake", "register-client", "ncores_running", "run_function", "gather"]
)
@pytest.mark.parametrize(
    "said", [b"", b"\x20", struct.pack("QQ", 64, 1)], ids=["nothing", "a byte", "a part"]
)
def test_an_answer_that_never_ends_is_waited_for_no_longer_than_it_may(
    said: bytes,
    place: str,
    table: PreparedTable,
    policy: ReleasePolicy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", 2.0)
    for name in ("ANSWER_SECONDS", "STALL_SECONDS"):
        monkeypatch.setattr(dask_wire, name, 1.0)
    monkeypatch.setattr(dask_wire, "LEAST_SPEED", 1e9)
    with hostile_scheduler(tmp_path, {place: lambda _: said}) as hostile:
        refused(table, policy, hostile)


@pytest.mark.enemy("node of the cluster", "stops the work")
@pytest.mark.parametrize("said", [b"", b"\x16\x03\x03", b"SSH-2.0\r\n"], ids=["nothing", "a part", "another"])
def test_a_handshake_that_never_ends_is_left(
    said: bytes, table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", 1.0)
    with hostile_scheduler(tmp_path, {}) as other, socket.create_server(("127.0.0.1", 0)) as server:
        silent = replace(other, address=f"tls://127.0.0.1:{server.getsockname()[1]}")

        def answer() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(said)
                while connection.recv(1 << 16):
                    pass

        answering = Thread(target=answer)
        answering.start()
        error = refused(table, policy, silent)
        answering.join()
    assert error.message.startswith(f"no Dask scheduler answers at {silent.address}")


@pytest.mark.enemy("node of the cluster", "stops the work")
def test_fragments_that_never_come_back_end_the_run(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_hurry(monkeypatch, 3600.0)
    with hostile_scheduler(tmp_path, {"update-graph": lambda _: None}) as hostile:
        error = refused(table, policy, hostile)
    assert error.message == f"no fragment came back from the cluster at {hostile.address} for 1 hours"


@pytest.mark.enemy("node of the cluster", "stops the work")
def test_threads_without_number_keep_no_more_fragments_than_the_most(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_wire, "MOST_THREADS", 1)
    asked: list[str] = []

    def one_more(said: dict[str, object]) -> object:
        asked.append("fragment")
        return None if len(asked) < 2 else framed(1)

    answers: dict[str, Answer] = {"ncores_running": lambda _: {"tls://a": 10**18}, "update-graph": one_more}
    with hostile_scheduler(tmp_path, answers) as hostile:
        refused(table, policy, hostile)
    assert len(asked) == by_cluster.AHEAD


@pytest.mark.enemy("node of the cluster", "learns a value")
def test_no_row_is_sent_to_a_host_that_the_certificate_does_not_name(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path
) -> None:
    asked: list[str] = []
    answers: dict[str, Answer] = {"handshake": lambda _: asked.append("greeted")}
    for names in (("node7.example.org",), ("127.0.0.2",)):
        with hostile_scheduler(tmp_path / names[0], answers, names) as hostile:
            error = refused(table, policy, hostile)
        assert error.message == f"the certificate at {hostile.address} is not of this name"
    assert asked == []


@pytest.mark.enemy("node of the cluster", "runs code")
@pytest.mark.parametrize("lie", work.PROGRAMS, ids=[lie.__name__ for lie in work.PROGRAMS])
def test_no_program_that_a_worker_gives_is_run(
    lie: object,
    table: PreparedTable,
    policy: ReleasePolicy,
    cluster: Cluster,
    canary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(by_cluster, "carry_out", lie)
    refused(table, policy, cluster)
    assert not canary.exists()


@pytest.mark.enemy("node of the cluster", "publishes a person")
@pytest.mark.parametrize(("lie", "finding"), work.LIES.items(), ids=[lie.__name__ for lie in work.LIES])
def test_what_a_worker_gives_is_checked(
    lie: object,
    finding: str,
    table: PreparedTable,
    policy: ReleasePolicy,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(by_cluster, "carry_out", lie)
    error = refused(table, policy, cluster)
    assert finding in error.message
    assert work.CANARY not in str(error)
