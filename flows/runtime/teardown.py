"""The end of a process in which Prefect ran: without the pages that DuckDB prints of what was not freed."""

from __future__ import annotations

import atexit
import os
import sys

_STDERR = 2


def silence_teardown() -> None:
    """Let nothing be printed on the standard error once the process has ended all that it does.

    Prefect's daemon threads keep DuckDB's objects alive while the interpreter is taken down, and DuckDB's
    binding then lists them as leaked: forty lines in a worker's log for each run. The exit code stays.
    """
    atexit.register(_silence)


def _silence() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # closed, or without a reader
            continue
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, _STDERR)
        os.close(nowhere)
    except OSError:
        return
