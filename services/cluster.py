"""Fragments of large tables decided by a Dask cluster: the same groups as in one process, sooner.

Rows travel in memory and under TLS, without identifiers and kept columns; group numbers come back, which are
read as numbers and checked. A fragment whose worker dies is decided again by another one. What nodes of the
cluster send one another runs as code there; what they send this process does not.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from policy.errors import ReleaseGateError, TransientFailure, UsageError
from policy.trusted import TRUSTED_FILE, Cluster
from services.dask_wire import Scheduler, Unreadable
from services.sanitized import sanitize_errors
from tasks.composition import Decide, Engine, Fragment, in_this_process, labels_problem
from tasks.packages import trust_packages
from tasks.types import Partition, Progress

LIBRARIES = ("numpy", "pandas", "pydantic", "scikit-learn", "scipy", "torch")
"""What the groups depend on, besides our own code."""
ROOMS = ("policy", "release_store", "tasks")
"""The folders of that code."""

CONNECT_SECONDS = 15.0
PATIENCE_SECONDS = 60.0  # without any worker that takes work
LOOK_SECONDS = 1.0
FRAGMENT_SECONDS = 6 * 3600.0  # without any answer
AHEAD = 2  # fragments that wait for each thread of a worker
MOST_SAID = 1 << 16  # bytes that a worker says beside its groups
MOST_NOTES = LONGEST_NAME = 100
MORE_MEMORY = "Give the workers more memory, or set a smaller method.parameters.fragment_size."

_FRAGMENT = "a fragment on a worker"
_FAILED = re.compile(
    rf"((?P<refused>the system refused {_FRAGMENT})|{_FRAGMENT} failed) "
    r"\(\w{1,60} at ([\w/]{1,100}\.py:\d{1,6}|an unknown place)\)",
    re.ASCII,
)
_VERSION = re.compile(r"[0-9A-Za-z.+_-]{1,40}")
_OTHER_NAMES = (62, 64)  # OpenSSL: the certificate is of another name, of another address

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


def told_versions(packages: tuple[str, ...]) -> bytes:
    """Return what a node decides with, as JSON."""
    return json.dumps(versions(packages)).encode()


def carry_out(expected: tuple[tuple[str, str], ...], packages: tuple[str, ...], data: _Bytes) -> bytes:
    """Decide a fragment on a worker, one at a time. `data` are the bytes of what decides, and the fragment.

    A line of JSON comes back, with the versions of a worker that would decide otherwise than the command, or
    what failed, or notes; after notes the number of each record's group, in four bytes.
    """
    if versions(packages) != expected:
        return _line(versions=versions(packages))
    trust_packages(packages)

    def decide_it() -> Partition:
        decide, fragment = pickle.loads(data.tobytes())  # noqa: S301 -- whoever calls a worker runs code there
        found: Partition = decide(fragment)
        return found

    try:
        with _one_at_a_time:
            found = sanitize_errors(decide_it, _FRAGMENT)()
    except ReleaseGateError as error:
        return _line(failed=error.message)
    notes = {name: int(note) for name, note in found.notes.items() if isinstance(note, int)}
    return _line(notes=notes) + found.labels.astype("<i4").tobytes()


def _line(**said: object) -> bytes:
    return json.dumps(said).encode() + b"\n"


def read_answer(data: bytes, fragment: Fragment, expected: Sequence[tuple[str, str]]) -> Partition:
    """Return the groups that a worker gave for a fragment, each of which holds what the policy's model asks.

    Raises what the worker says as one of our errors, and ReleaseGateError where it says anything else.
    """
    line, _, rest = data.partition(b"\n")
    try:
        said = json.loads(line) if len(line) <= MOST_SAID else None
    except (ValueError, RecursionError):
        said = None
    match said:
        case {"versions": told}:
            _check_versions("a worker", told, expected)
        case {"failed": str(message)} if found := _FAILED.fullmatch(message):
            if found["refused"]:
                raise TransientFailure(message, hint=MORE_MEMORY)
            raise ReleaseGateError(
                message, hint="This is a bug in releasegate: please report it with this line."
            )
        case {"failed": str()}:
            raise ReleaseGateError(
                f"{_FRAGMENT} failed",
                where="engine",
                hint=f"Remove `engine` from {TRUSTED_FILE} for one run: the command then says why.",
            )
        case {"notes": dict(notes)} if len(rest) == 4 * fragment.table.n_records and _are_notes(notes):
            labels = np.frombuffer(rest, dtype="<i4").astype(np.int64)
            finding = labels_problem(labels, fragment)
            if not finding:
                return Partition(labels, notes)
            raise _wrong(finding)
    raise _wrong("something else than groups of its records")


def _are_notes(notes: dict[str, Any]) -> bool:
    return len(notes) <= MOST_NOTES and all(
        name.isprintable() and len(name) <= LONGEST_NAME and type(note) is int and abs(note) < 2**53
        for name, note in notes.items()
    )


def _wrong(finding: str) -> ReleaseGateError:
    return ReleaseGateError(
        f"a worker gave {finding} for a fragment",
        where="engine",
        hint=f"Find out who controls the cluster, or remove `engine` from {TRUSTED_FILE}.",
    )


def _check_versions(who: str, found: object, expected: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError where a node has other versions than `expected`, or none that can be read."""
    pairs = found if isinstance(found, list) else []
    told = [pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    for (name, wanted), has in zip(expected, [*told, *[None] * len(expected)], strict=False):
        if has != wanted:
            shown = has if isinstance(has, str) and _VERSION.fullmatch(has) else "another version"
            raise UsageError(
                f"{who} has {name} {shown}, this command {wanted}",
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
    with _connected(cluster) as scheduler:
        expected = versions(packages)
        _check_nodes(scheduler, packages, expected)
        waiting = enumerate(each)
        running: dict[str, tuple[int, Fragment]] = {}
        ended: dict[int, Partition] = {}
        given = 0
        since = answered = clock()
        while given < number:
            threads = scheduler.threads()
            since = clock() if threads else since
            if clock() - since > PATIENCE_SECONDS:
                raise TransientFailure(
                    f"the cluster at {cluster.address} has no worker that takes work",
                    where="engine",
                    hint="Start workers, or give them more memory: a full one takes no work.",
                )
            if clock() - answered > FRAGMENT_SECONDS:
                raise TransientFailure(
                    f"no fragment came back from the cluster at {cluster.address} for "
                    f"{FRAGMENT_SECONDS / 3600:g} hours",
                    where="engine",
                    hint="Look at its workers, or set a smaller method.parameters.fragment_size.",
                )
            for place, fragment in islice(waiting, max(0, AHEAD * max(threads, 1) - len(running))):
                # An array of bytes travels beside the message that Dask logs where it cannot be read.
                data = np.frombuffer(pickle.dumps((decide, fragment), protocol=5), dtype=np.uint8)
                running[scheduler.submit(carry_out, expected, packages, data)] = place, fragment
            for key, failure in scheduler.ended(LOOK_SECONDS):
                if key not in running:
                    continue
                if failure is not None:
                    raise _broken(failure)
                place, fragment = running[key]
                answer = scheduler.fetched(key, MOST_SAID + 4 * fragment.table.n_records)
                if answer is None:
                    continue
                ended[place] = read_answer(answer, fragment, expected)
                del running[key]
                scheduler.release(key)
                answered = clock()
            while given in ended:
                yield ended.pop(given)
                given += 1
                progress(given / number, f"fragment {given} of {number}")


def _check_nodes(
    scheduler: Scheduler, packages: tuple[str, ...], expected: Sequence[tuple[str, str]]
) -> None:
    """Raise UsageError where the scheduler or a worker lacks our code, or has other versions."""
    for who, said in scheduler.told_by_all(told_versions, packages):
        if not isinstance(said, bytes):
            raise UsageError(
                f"{who} cannot run releasegate ({said})",
                where="engine",
                hint="Install releasegate and its requirements.lock on every node.",
            )
        try:
            found = json.loads(said)
        except (ValueError, RecursionError):
            found = None
        _check_versions(who, found, expected)


def _broken(failure: bytes) -> TransientFailure:
    """Return our error for a task that Dask itself ended."""
    if b"KilledWorker" in failure:
        return TransientFailure(
            "a fragment ended every worker that it was given to",
            where="engine",
            hint=MORE_MEMORY,
        )
    return TransientFailure(
        "a worker could not read a fragment, or give what came of it",
        where="engine",
        hint="Install releasegate and its requirements.lock on every node, and look at the worker's log.",
    )


@contextmanager
def _connected(cluster: Cluster) -> Iterator[Scheduler]:
    """Open a client of the cluster. Raises UsageError without Dask, TransientFailure where nobody answers.

    What uses the client raises it too, where the connection is lost or brings what no scheduler sends.
    """
    if find_spec("distributed") is None:
        raise UsageError(
            "needs the package distributed, which is not installed",
            where="engine",
            hint="Install it in the version of requirements.lock.",
        )
    context = _context(cluster)
    _check_dates(cluster, datetime.now(UTC))
    scheduler, finding, hint = None, "", f"Start it, or mend `engine` in {TRUSTED_FILE}, or remove it there."
    try:
        scheduler = Scheduler(cluster.address, context, CONNECT_SECONDS)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _OTHER_NAMES:
            finding = f"the certificate at {cluster.address} is not of this name"
            hint = "Make certificates for the names by which the scheduler is reached."
        else:
            finding = _nobody(cluster, error)
    except (OSError, ValueError) as error:  # no route, no scheduler, another protocol, another certificate
        finding = _nobody(cluster, error)
    if scheduler is None:
        raise TransientFailure(finding, where="engine", hint=hint)
    failure = None
    try:
        yield scheduler
    except Unreadable as error:
        failure = TransientFailure(
            f"the cluster at {cluster.address} sends what is not read here: {error}",
            where="engine",
            hint="Nothing was published. Install the same version of distributed on every node.",
        )
    except OSError:
        failure = TransientFailure(
            f"the connection to the cluster at {cluster.address} was lost",
            where="engine",
            hint="Nothing was published: run the period again when the scheduler is back.",
        )
    finally:
        scheduler.close()
    if failure is not None:
        raise failure


def _nobody(cluster: Cluster, error: Exception) -> str:
    return f"no Dask scheduler answers at {cluster.address} ({type(error).__name__})"


def _context(cluster: Cluster) -> ssl.SSLContext:
    """Return what both sides prove themselves by: certificates of the cluster's own authority."""
    finding = ""
    try:
        context = ssl.create_default_context(cafile=cluster.ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(cluster.certificate, cluster.key, password="")  # nobody is asked for one
    except (OSError, ValueError) as error:
        finding = f"ca, certificate or key cannot be read as TLS reads them ({type(error).__name__})"
    if finding:
        raise UsageError(finding, where="engine", hint="Name files in PEM form that belong together.")
    return context
