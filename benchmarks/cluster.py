"""A large table released by one process, and by a cluster of Dask one of whose workers is killed meanwhile.

    python -m benchmarks.cluster [--rows N] [--workers N] [--memory SIZE] [--write]

The table is that of `benchmarks.command` whose rows are nearly all distinct. The workers are processes of
this machine with a limit of memory each; the first one to work is killed with -9 while it does.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import yaml

from benchmarks import report
from benchmarks.child import Run, run_child
from benchmarks.command import PANEL, PERIOD, income_policy, write_incomes
from examples.cluster.certificates import write_certificates
from policy.trusted import TRUSTED_FILE
from release_store.canonical import file_digest

ROWS = 10_000_000
WORKERS = 2
MEMORY = "2GiB"
HEADER = (
    "fragments decided by",
    "CPU seconds",
    "wall seconds",
    "peak memory, MB",
    "of a worker, MB",
    "data.csv",
)
LOOK_SECONDS = 0.5


@dataclass
class Watched:
    """What became of the workers: which one was killed, and the most memory that one held, in bytes."""

    killed: int = 0
    peak: int = 0
    stop: Event = field(default_factory=Event)


@contextmanager
def cluster(workers: int, memory: str, keys: Path) -> Iterator[tuple[dict[str, str], Watched]]:
    """Run a scheduler and workers, of which the first that works is killed; give what names the cluster.

    The files of its TLS are made in the new folder `keys`.
    """
    from distributed import Client, LocalCluster, Security

    write_certificates(keys, ["127.0.0.1"])
    named = {"ca": "ca.pem", "certificate": "node.pem", "key": "node.key"}
    files = {name: str(keys / file) for name, file in named.items()}
    roles = ("scheduler", "worker", "client")
    security = Security(
        require_encryption=True,
        tls_ca_file=files["ca"],
        **{f"tls_{role}_cert": files["certificate"] for role in roles},
        **{f"tls_{role}_key": files["key"] for role in roles},
    )
    with LocalCluster(
        protocol="tls://",
        security=security,
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=memory,
        host="127.0.0.1",
        dashboard_address=None,
    ) as made:
        watched = Watched()
        with Client(made, set_as_default=False) as client:
            looking = Thread(target=_watch, args=(client, watched), daemon=True)
            looking.start()
            yield {"name": "dask", "address": made.scheduler_address, **files}, watched
            watched.stop.set()
            looking.join()


def _watch(client: Any, watched: Watched) -> None:
    """Kill the first worker that is seen at work twice, and keep the most memory that any holds."""
    busy = ""
    while not watched.stop.wait(LOOK_SECONDS):
        workers = client.scheduler_info(n_workers=-1)["workers"]
        for address, worker in workers.items():
            watched.peak = max(watched.peak, worker["metrics"].get("memory", 0))
            if watched.killed or not worker["metrics"].get("task_counts", {}).get("executing"):
                continue
            if busy == address:
                pid = client.run(os.getpid, workers=[address])[address]
                os.kill(pid, signal.SIGKILL)
                watched.killed = pid
            busy = address


def released(file: Path, folder: Path, engine: dict[str, str] | None) -> tuple[Run, dict[str, str]]:
    """Release the table into a new store in `folder`, and return the cost and the digests of its files.

    Raises RuntimeError if a command fails.
    """
    policy = folder / "policy.yaml"
    policy.write_text(yaml.safe_dump(income_policy("mondrian"), sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "cli", "--store", str(folder / "store")]
    run_child([*command, "init"])
    if engine is not None:
        trusted = folder / TRUSTED_FILE
        trusted.write_text(yaml.safe_dump({"engine": engine}))
        trusted.chmod(0o600)
    used, _ = run_child([*command, "run", str(policy), "--input", str(file), "--period", PERIOD])
    files = sorted((folder / "store" / "releases").glob("**/data.*"))
    return used, {path.name: file_digest(path) for path in files}


def row(name: str, used: Run, worker: int, digest: str) -> list[str]:
    """Return a row of the table."""
    largest = f"{worker / 1e6:,.0f}" if worker else ""
    return [name, f"{used.cpu:.1f}", f"{used.wall:.1f}", f"{used.peak / 1e6:,.0f}", largest, digest[:16]]


WORDS = """# A large table, and a cluster that decides its fragments

{rows:,} rows of the household survey (EPH, Source: INDEC), repeated, with a made-up income by which nearly
all of them differ, released with Mondrian by `releasegate run`: once by one process, once with a cluster of
{workers} Dask workers of {memory} each on the same machine. The first worker that was seen at work was killed
with -9. The files that came out are {same}. CPU seconds and peak memory are those of the
command; the workers' CPU seconds are not in them."""


def main(arguments: Sequence[str] | None = None) -> str:
    """Measure both, and return the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--memory", default=MEMORY, help="that a worker may hold")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/cluster.md")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        file = base / "income.parquet"
        write_incomes(report.datasets() / PANEL, chosen.rows, file)
        for folder in ("alone", "together"):
            (base / folder).mkdir()
        alone, files = released(file, base / "alone", None)
        print(*row("this process", alone, 0, files["data.csv"]), file=sys.stderr, flush=True)
        begun = time.monotonic()
        with cluster(chosen.workers, chosen.memory, base / "keys") as (engine, watched):
            together, found = released(file, base / "together", engine)
        print(f"{time.monotonic() - begun:.0f} s with the cluster", file=sys.stderr, flush=True)
    if not watched.killed:
        raise RuntimeError("no worker was killed: the table is too small to be cut into fragments")
    page = "\n\n".join(
        [
            WORDS.format(
                rows=chosen.rows,
                workers=chosen.workers,
                memory=chosen.memory,
                same="the same, byte by byte" if found == files else "NOT the same",
            ),
            report.measured_with("python -m benchmarks.cluster --write"),
            report.table(
                HEADER,
                [
                    row("one process", alone, 0, files["data.csv"]),
                    row("a cluster", together, watched.peak, found["data.csv"]),
                ],
            ),
        ]
    )
    print(page)
    if chosen.write:
        report.write("cluster.md", page)
    if found != files:
        raise RuntimeError("the cluster gave other files")
    return page


if __name__ == "__main__":
    main()
