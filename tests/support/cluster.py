"""A Dask cluster on this machine, and work that ends its worker."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from examples.cluster.certificates import write_certificates
from policy.errors import ReleaseGateError
from policy.model import ReleasePolicy
from policy.trusted import TRUSTED_FILE, Cluster
from services.cluster import engine_of
from tasks.composition import Decide, Fragment, decide, fragments_of
from tasks.methods.registry import bound_method
from tasks.types import Partition, PreparedTable, no_progress
from tests.support.hostile_scheduler import Program
from tests.support.small import prepared, small_policy
from tests.support.timeouts import HANG_TIMEOUT

ROWS = 3_000
METHOD = {"name": "mondrian", "parameters": {"fragment_size": 1000}}

FLAG = "RELEASEGATE_TEST_FLAG"
CANARY = "zebra-4711"


def aged_policy(method: dict[str, object]) -> ReleasePolicy:
    """Return a policy for `many_people`."""
    ages = {"age": {"type": "numeric", "bounds": [0, 120]}, "city": {"type": "categorical"}}
    return small_policy(ages, method=method)


def many_people(policy: ReleasePolicy) -> PreparedTable:
    """Return a table that is cut into fragments, with texts that no message may hold."""
    draw = np.random.default_rng(1)
    columns = (
        draw.uniform(0, 120, ROWS),
        draw.choice(["Bonn 4711", "Celle 4711"], ROWS),
        draw.choice(["flu 4711", "gout 4711"], ROWS),
    )
    return prepared(policy, list(zip(*(column.tolist() for column in columns), strict=True)))


def write_large_table(folder: Path) -> Path:
    """Write a CSV file for a desk's policy, which is cut into fragments."""
    draw = np.random.default_rng(2)
    columns = {
        "age": draw.integers(18, 95, ROWS), "income": draw.integers(10, 95_000, ROWS),
        "city": draw.choice(["Aix", "Brno", "Cork"], ROWS), "disease": draw.choice(["flu", "none"], ROWS),
        "ward": draw.choice(["a", "b"], ROWS), "street": "", "name": [f"name {i}" for i in range(ROWS)],
        "person": [f"p{i}" for i in range(ROWS)],
    }  # fmt: skip
    file = folder / "large.csv"
    pd.DataFrame(columns).to_csv(file, index=False)
    return file


def trust_cluster(folder: Path, cluster: Cluster) -> None:
    """Name the cluster in the trusted.yaml of a folder."""
    files = {name: str(getattr(cluster, name)) for name in ("ca", "certificate", "key")}
    trusted = folder / TRUSTED_FILE
    trusted.write_text(json.dumps({"engine": {"name": "dask", "address": cluster.address, **files}}))
    trusted.chmod(0o600)


def decided(
    table: PreparedTable, policy: ReleasePolicy, cluster: Cluster | None, how: Decide = decide
) -> Partition:
    """Decide the table's fragments by `how`, on a cluster or here."""
    engine = engine_of(cluster)
    found = fragments_of(
        table,
        bound_method(policy),
        policy,
        lambda _, each, number, progress: engine(how, each, number, progress),
        no_progress,
    )
    assert found is not None
    return found


def refused(
    table: PreparedTable, policy: ReleasePolicy, cluster: Cluster, how: Decide = decide
) -> ReleaseGateError:
    """Return the error that a run on this cluster ends with, which has a hint and tells no cell."""
    with pytest.raises(ReleaseGateError) as caught:
        decided(table, policy, cluster, how)
    error = caught.value
    assert error.hint
    assert error.message.isprintable()
    assert not [text for text in table.sensitive_values["illness"] if text in str(error)]
    return error


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


def gives_a_program(*_: object) -> object:
    """Give what runs code where it is unpickled."""
    return Program()


def fails_with_a_program(*_: object) -> object:
    """Fail with an exception that runs code where it is unpickled."""
    raise Program


def gives_an_array_of_programs(*_: object) -> object:
    """Give an array whose cells run code where they are unpickled."""
    return np.array([Program()], dtype=object)


PROGRAMS = (gives_a_program, fails_with_a_program, gives_an_array_of_programs)


def _fragment(data: NDArray[np.uint8]) -> Fragment:
    found: Fragment = pickle.loads(data.tobytes())[1]  # noqa: S301 -- of the test
    return found


def _answer(labels: object, **said: object) -> bytes:
    return json.dumps({"notes": {}, **said}).encode() + b"\n" + np.asarray(labels).astype("<i4").tobytes()


def gives_everybody_a_group(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give groups of one record."""
    return _answer(np.arange(_fragment(data).table.n_records))


def gives_one_record_a_group(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give a group of one record, and one of all others."""
    return _answer(np.arange(_fragment(data).table.n_records) > 0)


def gives_huge_numbers(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give a number of groups that arrays cannot have."""
    return _answer(np.full(_fragment(data).table.n_records, 2**31 - 1))


def gives_negative_numbers(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give numbers below -1."""
    return _answer(np.full(_fragment(data).table.n_records, -2))


def gives_too_few(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give groups of fewer records."""
    return _answer(np.zeros(_fragment(data).table.n_records - 1))


def gives_numbers_of_eight_bytes(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give floating-point numbers, NaN among them."""
    return b'{"notes": {}}\n' + np.full(_fragment(data).table.n_records, np.nan).tobytes()


def gives_far_too_much(*_: object) -> bytes:
    """Give a hundred million bytes."""
    return bytes(100_000_000)


def gives_notes_that_are_no_numbers(_expected: object, _packages: object, data: NDArray[np.uint8]) -> bytes:
    """Give a cell as a note."""
    return _answer(np.zeros(_fragment(data).table.n_records), notes={"groups": CANARY})


def gives_brackets(*_: object) -> bytes:
    """Give JSON that nests deeper than may be read."""
    return b"[" * 60_000


def gives_a_text(*_: object) -> str:
    """Give what is no bytes."""
    return CANARY


def tells_a_cell(*_: object) -> bytes:
    """Fail with a message that holds a cell and moves the cursor."""
    return json.dumps({"failed": f"a fragment on a worker failed (\x1b[2J{CANARY} at x.py:1)"}).encode()


def tells_a_cell_as_its_version(expected: list[tuple[str, str]], *_: object) -> bytes:
    """Have a version that is a cell with a control character."""
    return json.dumps({"versions": [[name, f"{CANARY}\x1b"] for name, _ in expected]}).encode()


def tells_the_same_versions(expected: list[tuple[str, str]], *_: object) -> bytes:
    """Say that the versions are others, which they are not."""
    return json.dumps({"versions": expected}).encode()


LIES = {
    gives_everybody_a_group: "groups that break the policy's model",
    gives_one_record_a_group: "groups that break the policy's model",
    gives_huge_numbers: "numbers of groups that cannot be",
    gives_negative_numbers: "groups of other records",
    gives_too_few: "something else than groups of its records",
    gives_numbers_of_eight_bytes: "something else than groups of its records",
    gives_far_too_much: "sends what is not read here",
    gives_notes_that_are_no_numbers: "something else than groups of its records",
    gives_brackets: "something else than groups of its records",
    gives_a_text: "sends what is not read here",
    tells_a_cell: "a fragment on a worker failed",
    tells_a_cell_as_its_version: "a worker has Python another version",
    tells_the_same_versions: "something else than groups of its records",
}
"""What a worker gives that is not the groups of a fragment, and what is said of it."""
