"""What the system lets this process have: open files, memory, no core dump."""

from __future__ import annotations

import resource
from contextlib import suppress

from policy.errors import TransientFailure

FILES_WANTED = 1024
FEWEST_FILES = 128  # measured: a run of 400 rows ends well with 32; its server waits for ever with 16
LEAST_MEMORY = 2 * 2**30  # bytes of address space; measured: the imports of a run take 1.5 GiB of it


def apply_process_limits() -> None:
    """Allow no core dump, which would hold the table, and as many open files as this account may have."""
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _below(soft, FILES_WANTED):
        with suppress(OSError, ValueError):
            most = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def check() -> None:
    """Raise TransientFailure where a command could only end half way for want of open files or memory."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _below(files, FEWEST_FILES):
        raise TransientFailure(
            f"the limit of open files is {files}; releasegate needs {FEWEST_FILES}",
            hint=f"Raise it (`ulimit -n {FEWEST_FILES}`, or LimitNOFILE= of a service), and try again.",
        )
    memory, _ = resource.getrlimit(resource.RLIMIT_AS)
    if _below(memory, LEAST_MEMORY):
        raise TransientFailure(
            f"the limit is {memory // 2**20} MiB of memory; releasegate needs {LEAST_MEMORY // 2**20} MiB",
            hint="Raise it (`ulimit -v`, or LimitAS= of a service), and try again.",
        )


def _below(limit: int, wanted: int) -> bool:
    return limit != resource.RLIM_INFINITY and limit < wanted
