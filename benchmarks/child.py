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


def run_child(command: Sequence[str], exit_code: int = 0) -> tuple[Run, str]:
    """Run a command to its end, and return what it cost and what it printed.

    The peak is at least what this process ever held, as Linux counts it: what takes memory runs `apart`.
    Raises RuntimeError if the command ends with another exit code.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        begun = perf_counter()
        child = subprocess.Popen(command, stdout=output, stderr=errors, cwd=report.ROOT)
        _, status, used = os.wait4(child.pid, 0)
        wall = perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read().decode()
        if child.returncode != exit_code:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(command)}: {(printed + errors.read().decode())[-1000:]}")
    return Run(wall, used.ru_utime + used.ru_stime, _bytes(used)), printed


def apart(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return `work(*args, **kwargs)` of a process of its own; the function is one of a module."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(work, *args, **kwargs).result()


def _bytes(used: resource.struct_rusage) -> int:
    return used.ru_maxrss if sys.platform == "darwin" else used.ru_maxrss * 1024
