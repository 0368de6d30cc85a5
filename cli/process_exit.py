"""Leave the process after a flow has run in it."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


def exit_process(code: int) -> NoReturn:
    """Run what must run at exit (Prefect stops its server there), flush, and end.

    The interpreter's own teardown is left out: Prefect's daemon threads keep DuckDB's objects alive through
    it, and DuckDB then prints pages about leaked instances that tell a user nothing.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            code = code or 1
    os._exit(code)
