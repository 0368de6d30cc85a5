"""What a command costs that runs in a process of its own, from its start to its end."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from time import perf_counter
from typing import ParamSpec, TypeVar

from benchmarks import report

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Run:
    """One command: wall and CPU seconds, and peak resident memory in bytes."""

    wall: float
    cpu: float
    peak: int


@dataclass(frozen=True)
class Ended:
    """What a command cost, its exit code, and what it printed."""

    cost: Run
    exit_code: int
    printed: str
    errors: str


def end_of(command: Sequence[str]) -> Ended:
    """Run a command to its end, whatever that is.

    The peak is at least what this process ever held, as Linux counts it: what takes memory runs `apart`.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begun = perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=errors, cwd=report.ROOT)
        _, status, used = os.wait4(child.pid, 0)
        wall = perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        cost = Run(wall, used.ru_utime + used.ru_stime, _bytes(used))
        return Ended(cost, child.returncode, output.read().decode(), errors.read().decode())


def run_child(command: Sequence[str], exit_code: int = 0) -> tuple[Run, str]:
    """Run a command to its end, and return what it cost (as `end_of`) and what it printed.

    Raises RuntimeError if the command ends with another exit code.
    """
    ended = end_of(command)
    if ended.exit_code != exit_code:
        raise RuntimeError(f"{' '.join(command)}: {(ended.printed + ended.errors)[-1000:]}")
    return ended.cost, ended.printed


def apart(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return `work(*args, **kwargs)` of a process of its own; the function is one of a module."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *args, **kwargs).result()


def _bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
