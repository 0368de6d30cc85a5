"""HiGHS through scipy, kept from writing to the standard output of whoever asks.

HiGHS prints a line about some searches of whole numbers though it was told to be silent (seen with scipy
1.17); in between the lines of a JSON document it would break that. It goes to the error output.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from scipy import optimize
from scipy.optimize import OptimizeResult

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2


def milp(aim: Any, **asked: Any) -> OptimizeResult:
    """Return what `scipy.optimize.milp` returns."""
    with _output_elsewhere():
        return optimize.milp(aim, **asked)


@contextmanager
def _output_elsewhere() -> Iterator[None]:
    """Send to the error output what is written to the standard output meanwhile, if both are open."""
    try:
        sys.stdout.flush()
        kept = os.dup(STANDARD_OUTPUT)
    except (OSError, ValueError, AttributeError):
        yield
        return
    try:
        with suppress(OSError):
            os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)
        yield
    finally:
        ctypes.CDLL(None).fflush(None)  # what C has not written yet would come out after this
        os.dup2(kept, STANDARD_OUTPUT)
        os.close(kept)
