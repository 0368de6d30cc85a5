"""A Dask cluster on this machine, and work that ends its worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from examples.cluster.certificates import write_certificates
from policy.trusted import Cluster
from tasks.composition import Fragment, decide
from tasks.types import Partition
from tests.support.timeouts import HANG_TIMEOUT

FLAG = "RELEASEGATE_TEST_FLAG"
CANARY = "zebra-4711"


@dataclass(frozen=True)
class Processes:
    """A running cluster: its address, the scheduler's process, and the file that its processes log to."""

    cluster: Cluster
    scheduler: subprocess.Popen[bytes]
    log: Path


SCHEDULER = "dask scheduler --protocol tls --port 0 --no-dashboard"
WORKER = "dask worker --nthreads 1 --no-dashboard"


@contextmanager
def dask_cluster(
    folder: Path, workers: int, scheduler: str = SCHEDULER, worker: str = WORKER, **settings: str
) -> Iterator[Processes]:
    """Run a scheduler and so many workers, each with a nanny that begins it again, until the block ends.

    `scheduler` and `worker` are their commands; those that name no file of TLS get the folder's. `settings`
    are variables of their environment.
    """
    folder.mkdir(exist_ok=True)
    keys = folder / "certificates"
    if not keys.exists():
        write_certificates(keys, ["127.0.0.1"])
    ca, certificate, key = (keys / name for name in ("ca.pem", "node.pem", "node.key"))
    file, log = folder / "scheduler.json", folder / "log"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": f"{HANG_TIMEOUT}s",
    }
    common = ["--scheduler-file", str(file)]
    tls = ["--tls-ca-file", str(ca), "--tls-cert", str(certificate), "--tls-key", str(key)]
    commands = [
        [*scheduler.split()[1:], *common, "--host", "127.0.0.1"],
        [*worker.split()[1:], *common, "--nworkers", str(workers), "--local-directory", str(folder)],
    ]
    with ExitStack() as stack:
        written = stack.enter_context(log.open("wb"))
        running = []
        for command in commands[: 2 if workers else 1]:
            made = subprocess.Popen(
                [sys.executable, "-m", "dask", *command, *([] if "--tls-key" in command else tls)],
                env={**environment, **settings},
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
            stack.callback(_end, made)
            running.append(made)
        cluster = Cluster("", ca, certificate, key)
        yield Processes(
            replace(cluster, address=_address(file, running[0], workers, cluster)), running[0], log
        )


def _address(file: Path, scheduler: subprocess.Popen[bytes], workers: int, cluster: Cluster) -> str:
    """Return the scheduler's address once all workers are there."""
    from distributed import Client, Security

    security = Security(
        require_encryption=True,
        tls_ca_file=str(cluster.ca),
        tls_client_cert=str(cluster.certificate),
        tls_client_key=str(cluster.key),
    )
    end = time.monotonic() + HANG_TIMEOUT
    while not file.exists() or not file.read_text().rstrip().endswith("}"):
        assert scheduler.poll() is None, "the scheduler ended"
        assert time.monotonic() < end, "the scheduler did not begin"
        time.sleep(0.05)
    address: str = json.loads(file.read_text())["address"]
    with Client(address, security=security, timeout=HANG_TIMEOUT, set_as_default=False) as client:
        if workers:
            client.wait_for_workers(workers, timeout=HANG_TIMEOUT)
    return address


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(HANG_TIMEOUT)


def decide_after_one_death(fragment: Fragment) -> Partition:
    """Kill the worker at once, the first time; decide the fragment every other time."""
    try:
        Path(os.environ[FLAG]).touch(exist_ok=False)
    except FileExistsError:
        return decide(fragment)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed worker goes on")


def die(_fragment: Fragment) -> Partition:
    """Kill the worker."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a killed worker goes on")


def fail(fragment: Fragment) -> Partition:
    """Fail with a message that holds a cell."""
    raise ValueError(f"{CANARY}: {fragment.table.codes}")
