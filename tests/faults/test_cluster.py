"""A Dask cluster decides the fragments: the same bytes, whatever dies, and one line for whatever is wrong."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import yaml

import services.cluster as by_cluster
from examples.cluster import certificates
from policy.errors import TransientFailure, UsageError
from policy.model import ReleasePolicy
from policy.trusted import Cluster
from services import dask_wire
from services.cluster import engine_of
from services.release import release
from services.reproduction import reproduce
from services.runtime import Runtime
from tasks.composition import Decide, decide, fragments_of, in_this_process
from tasks.methods.registry import bound_method
from tasks.types import Partition, PreparedTable, no_progress
from tests.support import cluster as work
from tests.support.cluster import (
    CANARY,
    METHOD,
    Processes,
    aged_policy,
    dask_cluster,
    decided,
    many_people,
    refused,
    trust_cluster,
    write_large_table,
)
from tests.support.front_desk import Desk
from tests.support.timeouts import HANG_TIMEOUT

HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition('.')[0] in ('policy', 'services', 'tasks', 'release_store'):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""
EXAMPLE = Path(certificates.__file__).parent


@pytest.fixture(scope="module")
def flag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file that a worker makes before it dies, as the cluster's processes know it."""
    path = tmp_path_factory.mktemp("flag") / "died"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(work.FLAG, str(path))
        yield path


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes long to answer: a test that wants no answer sets a time of its own."""
    monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", HANG_TIMEOUT)
    monkeypatch.setattr(dask_wire, "ANSWER_SECONDS", HANG_TIMEOUT)


@pytest.fixture(scope="module")
def processes(flag: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    del flag  # its variable is set before the workers begin
    with dask_cluster(tmp_path_factory.mktemp("dask"), 2) as made:
        yield made


@pytest.fixture
def cluster(processes: Processes) -> Cluster:
    return processes.cluster


@pytest.fixture(scope="module")
def policy() -> ReleasePolicy:
    return aged_policy(METHOD)


@pytest.fixture(scope="module")
def table(policy: ReleasePolicy) -> PreparedTable:
    return many_people(policy)


def test_a_worker_that_is_killed_costs_its_fragment_and_nothing_else(
    table: PreparedTable, policy: ReleasePolicy, cluster: Cluster, flag: Path
) -> None:
    alone = decided(table, policy, None)
    found = decided(table, policy, cluster, work.decide_after_one_death)
    assert flag.exists()
    assert np.array_equal(found.labels, alone.labels)
    assert found.notes == alone.notes


def test_the_release_of_a_cluster_has_the_bytes_of_one_process(
    desk: Desk, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, policy = write_large_table(desk.folder), desk.policy(method=METHOD)
    trust_cluster(desk.folder, cluster)
    asked: list[str] = []
    check = by_cluster._check_nodes
    monkeypatch.setattr(by_cluster, "_check_nodes", lambda *given: asked.append("nodes") or check(*given))
    stages: list[str] = []
    runtime = Runtime(lambda _, words: stages.append(words.partition(" (step")[0]))
    made = release(policy, store=desk.root, period="2026Q1", input_path=file, runtime=runtime)
    assert made.state == "published", made.message
    assert made.release_id is not None
    assert "fragments" in stages
    assert asked == ["nodes"]
    assert reproduce(desk.store, made.release_id, file).same  # in one process
    assert cluster.address not in policy.read_text()


@pytest.mark.enemy("other account", "reads a file")
def test_what_fails_on_a_worker_says_nothing_of_a_row_here_or_in_its_log(
    table: PreparedTable, policy: ReleasePolicy, processes: Processes, capfd: pytest.CaptureFixture[str]
) -> None:
    error = refused(table, policy, processes.cluster, work.fail)
    assert error.message.startswith("a fragment on a worker failed (ValueError at ")
    log = processes.log.read_text()
    printed = "".join([*capfd.readouterr(), log])
    assert CANARY not in f"{error} {printed}"
    assert "array" not in printed
    assert error.__cause__ is error.__context__ is None


@pytest.mark.parametrize("checked", [True, False], ids=["at first", "a worker that joins later"])
def test_nodes_of_another_version_are_told(
    table: PreparedTable,
    policy: ReleasePolicy,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    checked: bool,
) -> None:
    ours = by_cluster.versions()
    other = tuple((name, "1.26.0" if name == "numpy" else has) for name, has in ours)
    monkeypatch.setattr(by_cluster, "versions", lambda _: other)
    if not checked:
        monkeypatch.setattr(by_cluster, "_check_nodes", lambda *_: None)
    error = refused(table, policy, cluster, decide)
    who = "the scheduler" if checked else "a worker"
    assert error.message == f"{who} has numpy {dict(ours)['numpy']}, this command 1.26.0"
    assert (error.where, type(error)) == ("engine", UsageError)


def test_an_address_that_nobody_answers_is_told(
    table: PreparedTable, policy: ReleasePolicy, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", 0.5)
    with socket.socket() as bound:  # a port that is taken, and at which nobody listens
        bound.bind(("127.0.0.1", 0))
        address = f"tls://127.0.0.1:{bound.getsockname()[1]}"
        error = refused(table, policy, replace(cluster, address=address), decide)
    assert error.message.startswith(f"no Dask scheduler answers at {address}")
    assert isinstance(error, TransientFailure)


def test_a_cluster_without_workers_is_told(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path
) -> None:
    ticks = count(step=40)
    with dask_cluster(tmp_path, 0) as made:
        empty = made.cluster

        def engine(how: Decide, each: object, number: int, progress: object) -> Iterator[Partition]:
            return by_cluster._by_dask(empty, (), how, each, number, progress, lambda: float(next(ticks)))  # type: ignore[arg-type]

        with pytest.raises(TransientFailure) as caught:
            fragments_of(table, bound_method(policy), policy, engine, no_progress)
    assert caught.value.message == f"the cluster at {empty.address} has no worker that takes work"


def test_a_fragment_that_ends_every_worker_is_told(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path
) -> None:
    with dask_cluster(tmp_path, 1, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as made:
        error = refused(table, policy, made.cluster, work.die)
    assert error.message == "a fragment ended every worker that it was given to"
    assert "fragment_size" in error.hint


def test_a_scheduler_that_goes_away_is_told(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with dask_cluster(tmp_path, 1) as made:
        engine = engine_of(made.cluster)

        def interrupted(how: Decide, each: object, number: int, progress: object) -> Iterator[Partition]:
            parts = engine(how, each, number, progress)  # type: ignore[arg-type]
            yield next(parts)
            made.scheduler.kill()
            yield from parts

        with pytest.raises(TransientFailure) as caught:
            fragments_of(table, bound_method(policy), policy, interrupted, no_progress)
    assert "was lost" in caught.value.message
    assert "Traceback" not in capfd.readouterr().err


def test_the_commands_of_the_example_make_a_cluster_that_nobody_joins_without_its_certificate(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "dask" / "certificates"
    folder.parent.mkdir()
    certificates.main([str(folder), "scheduler", "127.0.0.1"])
    services = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())["services"]
    scheduler, worker = (
        services[name]["command"].replace("/certificates", str(folder)) for name in ("scheduler", "worker")
    )
    assert scheduler.count(" --port 8786") == worker.count(" tls://scheduler:8786") == 1
    with dask_cluster(
        folder.parent,
        1,
        scheduler.replace(" --port 8786", " --port 0"),
        worker.replace(" tls://scheduler:8786", "").replace(" --local-directory /tmp", ""),
    ) as made:
        inside = made.cluster
        assert inside.address.startswith("tls://127.0.0.1:")
        assert np.array_equal(decided(table, policy, inside).labels, decided(table, policy, None).labels)
        monkeypatch.setattr(by_cluster, "CONNECT_SECONDS", 2.0)
        certificates.main([str(tmp_path / "others"), "127.0.0.1"])
        others = (tmp_path / "others" / name for name in ("ca.pem", "node.pem", "node.key"))
        error = refused(table, policy, Cluster(inside.address, *others), decide)
        assert error.message.startswith(f"no Dask scheduler answers at {inside.address}")
        error = refused(table, policy, replace(inside, key=inside.ca), decide)
        assert error.message.startswith("ca, certificate or key cannot be read as TLS reads them")
        assert isinstance(error, UsageError)


@pytest.mark.enemy("other account", "reads a file")
def test_nodes_that_lack_our_code_are_told_and_their_logs_hold_no_value(
    table: PreparedTable, policy: ReleasePolicy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that joins after the check cannot read what it gets, and logs the message."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(HIDE)
    path = os.pathsep.join([str(hidden), *filter(None, sys.path)])
    with dask_cluster(tmp_path / "dask", 1, PYTHONPATH=path) as made:
        error = refused(table, policy, made.cluster, decide)
        assert error.message.startswith("the scheduler cannot run releasegate (")
        monkeypatch.setattr(by_cluster, "_check_nodes", lambda *_: None)
        monkeypatch.setattr(by_cluster, "PATIENCE_SECONDS", 1.0)
        refused(table, policy, made.cluster, decide)
        log = made.log.read_text()
    assert "services" in log
    told = [*table.sensitive_values["illness"], *table.domains["city"]]
    assert [text for text in told if text in log] == []


def test_methods_that_learn_are_the_same_on_a_worker_of_many_threads(
    table: PreparedTable, tmp_path: Path
) -> None:
    policy = aged_policy({"name": "ae-lrhma", "parameters": {"fragment_size": 1000, "epochs": 2}})
    alone = decided(table, policy, None)
    with dask_cluster(tmp_path, 1, worker="dask worker --nthreads 4 --no-dashboard") as made:
        for _ in range(5):
            assert np.array_equal(decided(table, policy, made.cluster).labels, alone.labels)


def test_without_an_engine_this_process_decides() -> None:
    assert engine_of(None) is in_this_process
