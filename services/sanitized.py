"""No foreign exception leaves a stage: it can carry rows in its message, its attributes or its cause."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import duckdb
from cryptography.exceptions import InternalError

from policy.errors import ReleaseGateError, TransientFailure
from policy.fault import place

P = ParamSpec("P")
R = TypeVar("R")

REFUSALS = (
    OSError,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    MemoryError,
    InternalError,  # OpenSSL where no memory is left
)


def sanitize_errors(function: Callable[P, R], what: str) -> Callable[P, R]:
    """Replace any exception but ours by one that tells its kind and the place in our code, and no more.

    It is raised after the `except` has ended, so that nothing is chained to it.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except ReleaseGateError as error:
            failure = type(error)(error.message, where=error.where, hint=error.hint)
        except REFUSALS as error:
            failure = TransientFailure(
                f"the system refused {what} ({_system_word(error)} at {place(error)})",
                hint="Check disk space, memory, permissions and the network, and run it again.",
            )
        except Exception as error:  # nothing foreign may pass
            failure = ReleaseGateError(
                f"{what} failed ({type(error).__name__} at {place(error)})",
                hint="This is a bug in releasegate: please report it with this line.",
            )
        raise failure

    return call


def _system_word(error: BaseException) -> str:
    """Return the system's name for the error; its text can name files, so it is left out."""
    number = error.errno if isinstance(error, OSError) else None
    return errno.errorcode.get(number or 0, type(error).__name__)
