"""Fragments of large tables decided by a Dask cluster: the same groups as in one process, sooner.

Rows travel in memory and under TLS, without identifiers and kept columns; group numbers come back. A fragment
whose worker dies is decided again by another one. Nothing of a row is in a message of Dask's.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from policy.errors import ReleaseGateError, TransientFailure, UsageError
from policy.trusted import Cluster
from services.sanitized import sanitize_errors
from tasks.composition import Decide, Engine, Fragment, in_this_process
from tasks.methods.registry import trust_packages
from tasks.types import Partition, Progress

LIBRARIES = ("numpy", "pandas", "pydantic", "scikit-learn", "scipy", "torch")
"""What the groups depend on, besides our own code."""

CONNECT_SECONDS = 15.0
PATIENCE_SECONDS = 60.0  # without any worker that takes work
LOOK_SECONDS = 1.0
AHEAD = 2  # fragments that wait for each thread of a worker

Clock = Callable[[], float]


@dataclass(frozen=True, repr=False)  # Dask writes the arguments of what fails into its logs
class Order:
    """A fragment, the versions that must decide it, and the packages whose methods may run."""

    decide: Decide
    fragment: Fragment
    versions: tuple[tuple[str, str], ...]
    packages: tuple[str, ...]


def engine_of(cluster: Cluster | None, packages: tuple[str, ...] = ()) -> Engine:
    """Return what decides fragments: the cluster that the store's owner names, or this process."""
    return in_this_process if cluster is None else partial(_by_dask, cluster, packages)


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return what this process decides with: Python, the libraries, and a digest of our own code."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for file in sorted([*root.glob("policy/**/*.py"), *root.glob("tasks/**/*.py")]):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return (
        ("Python", f"{sys.version_info.major}.{sys.version_info.minor}"),
        *((name, _version(name)) for name in LIBRARIES),
        ("the code of releasegate", digest.hexdigest()[:16]),
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def carry_out(order: Order) -> Partition:
    """Decide a fragment on a worker. Raises UsageError where the worker would decide otherwise than we do."""
    for (name, wanted), (_, found) in zip(order.versions, versions(), strict=True):
        if wanted != found:
            raise UsageError(
                f"a worker has {name} {found}, this command {wanted}",
                where="engine",
                hint="Install the same versions on every worker, from requirements.lock.",
            )
    trust_packages(order.packages)
    return sanitize_errors(order.decide, "a fragment on a worker")(order.fragment)


def _by_dask(
    cluster: Cluster,
    packages: tuple[str, ...],
    decide: Decide,
    each: Iterator[Fragment],
    number: int,
    progress: Progress,
    clock: Clock = time.monotonic,
) -> Iterator[Partition]:
    """Give the partitions of all fragments, in their order. A few more travel than there are threads."""
    with _connected(cluster) as client:
        orders = enumerate(Order(decide, fragment, versions(), packages) for fragment in each)
        running: dict[Any, int] = {}
        done: Queue[Any] = Queue()
        ended: dict[int, Partition] = {}
        given = 0
        since = clock()
        while given < number:
            threads = _threads(client, cluster)
            since = clock() if threads else since
            if clock() - since > PATIENCE_SECONDS:
                raise TransientFailure(
                    f"the cluster at {cluster.address} has no worker that takes work",
                    where="engine",
                    hint="Start workers, or give them more memory: a full one takes no work.",
                )
            for place, order in islice(orders, max(0, AHEAD * max(threads, 1) - len(running))):
                future = client.submit(carry_out, order, pure=False)
                running[future] = place
                future.add_done_callback(done.put)
            try:
                future = done.get(timeout=LOOK_SECONDS)
            except Empty:
                continue
            ended[running.pop(future)] = _result(future, cluster)
            while given in ended:
                yield ended.pop(given)
                given += 1
                progress(given / number, f"fragment {given} of {number}")


def _threads(client: Any, cluster: Cluster) -> int:
    """Return how many threads take work. Raises TransientFailure where the scheduler is gone."""
    if client.status != "running":
        raise _lost(cluster)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    return sum(worker["nthreads"] for worker in workers if worker["status"] == "running")


def _result(future: Any, cluster: Cluster) -> Partition:
    """Return what a worker gave, or raise what it says as one of our errors."""
    from distributed import KilledWorker

    failure: ReleaseGateError
    try:
        found: Partition = future.result()
        return found
    except ReleaseGateError as error:
        failure = error
    except KilledWorker:
        failure = TransientFailure(
            "a fragment ended every worker that it was given to",
            where="engine",
            hint="Give the workers more memory, or set a smaller method.parameters.fragment_size.",
        )
    except (ImportError, AttributeError) as error:
        failure = UsageError(
            f"a worker cannot read a fragment ({type(error).__name__})",
            where="engine",
            hint="Install releasegate and its requirements.lock on every worker.",
        )
    except Exception:  # what Dask raises where the scheduler goes away has many names
        failure = _lost(cluster)
    raise failure


def _lost(cluster: Cluster) -> TransientFailure:
    return TransientFailure(
        f"the connection to the cluster at {cluster.address} was lost",
        where="engine",
        hint="Nothing was published: run the period again when the scheduler is back.",
    )


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Any]:
    """Open a client of the cluster. Raises UsageError without Dask, TransientFailure where nobody answers."""
    try:
        from distributed import Client, Security
    except ImportError:
        raise UsageError(
            "needs the package distributed, which is not installed",
            where="engine",
            hint="Run `pip install 'releasegate[dask]'`.",
        ) from None
    for name in ("distributed", "distributed.client"):  # Dask gives the client's logger a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = None
    if cluster.ca is not None:
        security = Security(
            require_encryption=True,
            tls_ca_file=str(cluster.ca),
            tls_client_cert=str(cluster.certificate),
            tls_client_key=str(cluster.key),
        )
    finding = ""
    try:
        client = Client(
            cluster.address,
            security=security,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            asynchronous=False,
        )
    except Exception as error:  # no route, no scheduler, another protocol, another certificate
        finding = f"no Dask scheduler answers at {cluster.address} ({type(error).__name__})"
    if finding:
        raise TransientFailure(
            finding, where="engine", hint="Start it, or mend `engine` in trusted.yaml, or remove it there."
        )
    try:
        yield client
    finally:
        client.close(timeout=CONNECT_SECONDS)
