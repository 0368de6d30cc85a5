"""Fragments of large tables decided by a Dask cluster: the same groups as in one process, sooner.

Rows travel in memory and under TLS, without identifiers and kept columns; group numbers come back. A fragment
whose worker dies is decided again by another one. Every node of the cluster is trusted as this process is:
what they send one another runs as code.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from policy.errors import ReleaseGateError, TransientFailure, UsageError
from policy.trusted import TRUSTED_FILE, Cluster
from services.sanitized import sanitize_errors
from tasks.composition import Decide, Engine, Fragment, in_this_process
from tasks.packages import trust_packages
from tasks.types import Partition, Progress

LIBRARIES = ("numpy", "pandas", "pydantic", "scikit-learn", "scipy", "torch")
"""What the groups depend on, besides our own code."""
ROOMS = ("policy", "release_store", "tasks")
"""The folders of that code."""

CONNECT_SECONDS = 15.0
PATIENCE_SECONDS = 60.0  # without any worker that takes work
LOOK_SECONDS = 1.0
AHEAD = 2  # fragments that wait for each thread of a worker

Clock = Callable[[], float]
_Bytes: TypeAlias = NDArray[np.uint8]
_one_at_a_time = Lock()  # a seed is a process's own in PyTorch


def engine_of(cluster: Cluster | None, packages: tuple[str, ...] = ()) -> Engine:
    """Return what decides fragments: the cluster that the store's owner names, or this process."""
    return in_this_process if cluster is None else partial(_by_dask, cluster, packages)


def check_engine(required: str | None, cluster: Cluster | None) -> None:
    """Raise UsageError where a run requires an engine, and the store's owner names no cluster of it."""
    if required is not None and cluster is None:
        raise UsageError(
            f"must be {required}, and the store's {TRUSTED_FILE} names no engine",
            where="engine",
            hint="Let the store's owner name the cluster there, or start manual-release instead.",
        )


@cache
def versions(packages: tuple[str, ...] = ()) -> tuple[tuple[str, str], ...]:
    """Return what this process decides with: Python, libraries, `packages`, and a digest of our own code."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for file in sorted(file for room in ROOMS for file in root.glob(f"{room}/**/*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return (
        ("Python", f"{sys.version_info.major}.{sys.version_info.minor}"),
        *((name, _version(name)) for name in (*LIBRARIES, *packages)),
        ("the code of releasegate", digest.hexdigest()[:16]),
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def carry_out(expected: tuple[tuple[str, str], ...], packages: tuple[str, ...], data: _Bytes) -> Partition:
    """Decide a fragment on a worker, one at a time. `data` are the bytes of what decides, and the fragment.

    Raises UsageError where the worker would decide otherwise than the command.
    """
    _check_versions("a worker", versions(packages), expected)
    trust_packages(packages)

    def decide_it() -> Partition:
        decide, fragment = pickle.loads(data.tobytes())  # noqa: S301 -- of the command, which is trusted here
        found: Partition = decide(fragment)
        return found

    with _one_at_a_time:
        return sanitize_errors(decide_it, "a fragment on a worker")()


def _check_versions(who: str, found: Sequence[tuple[str, str]], expected: Sequence[tuple[str, str]]) -> None:
    for (name, has), (_, wanted) in zip(found, expected, strict=True):
        if has != wanted:
            raise UsageError(
                f"{who} has {name} {has}, this command {wanted}",
                where="engine",
                hint="Install the same versions on every node, from requirements.lock.",
            )


def _check_dates(cluster: Cluster, now: datetime) -> None:
    """Raise UsageError if a certificate is not valid now: a node that refuses it looks like none at all."""
    from cryptography import x509

    for file in (cluster.ca, cluster.certificate):
        try:
            found = x509.load_pem_x509_certificates(file.read_bytes())
        except ValueError:  # TLS reads some that are not in the form of the standard
            found = []
        if not found:
            raise UsageError(
                f"no certificate can be read in {file}", where="engine", hint="Name a file in PEM form."
            )
        for one in found:
            if not one.not_valid_before_utc <= now <= one.not_valid_after_utc:
                first, last = (
                    f"{day:%Y-%m-%d}" for day in (one.not_valid_before_utc, one.not_valid_after_utc)
                )
                raise UsageError(
                    f"the certificate {file} is valid from {first} to {last} only",
                    where="engine",
                    hint="Make new certificates, and start the nodes again with them.",
                )


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
        expected = versions(packages)
        _check_nodes(client, packages, expected)
        # An array of bytes travels beside the message that Dask logs where it cannot be read.
        data = enumerate(
            np.frombuffer(pickle.dumps((decide, fragment), protocol=5), dtype=np.uint8) for fragment in each
        )
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
            for place, each_data in islice(data, max(0, AHEAD * max(threads, 1) - len(running))):
                with warnings.catch_warnings(action="ignore"):  # a fragment is larger than Dask expects
                    future = client.submit(carry_out, expected, packages, each_data, pure=False)
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


def _check_nodes(client: Any, packages: tuple[str, ...], expected: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError where the scheduler or a worker lacks our code, or has other versions."""
    found: dict[str, Any] = {}
    try:
        found["the scheduler"] = client.run_on_scheduler(versions, packages)
        workers = client.run(versions, packages, on_error="return").values()
        found["a worker"] = next((each for each in workers if each != expected), expected)
    except Exception as error:
        found["the scheduler"] = error
    for who, has in found.items():
        if isinstance(has, BaseException):
            raise UsageError(
                f"{who} cannot run releasegate ({type(has).__name__})",
                where="engine",
                hint="Install releasegate and its requirements.lock on every node.",
            )
        _check_versions(who, has, expected)


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
            hint="Install it in the version of requirements.lock.",
        ) from None
    for name in ("distributed", "distributed.client"):  # Dask gives the client's logger a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)
    security = Security(
        require_encryption=True,
        tls_ca_file=str(cluster.ca),
        tls_client_cert=str(cluster.certificate),
        tls_client_key=str(cluster.key),
    )
    finding = ""
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        finding = f"ca, certificate or key cannot be read as TLS reads them ({type(error).__name__})"
    if finding:
        raise UsageError(finding, where="engine", hint="Name files in PEM form that belong together.")
    _check_dates(cluster, datetime.now(UTC))
    try:
        with warnings.catch_warnings(action="ignore"):  # of versions, which we compare ourselves
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
