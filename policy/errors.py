"""What can go wrong, as a tree of exceptions; the class decides the exit code of the command line.

    ReleaseGateError                1   something unforeseen, told without its details
    ├── UsageError                  2   a command that cannot be carried out as given
    │   └── PolicyError             2   a policy that says something wrong or unclear
    ├── InputError                  3   a table that cannot be read as a table
    │   └── ValidationFailed        3   a table that does not meet the policy's expectations
    ├── Blocked                     4   a candidate that a gate holds back
    ├── AwaitingApproval            5   a candidate that people have to decide on
    ├── VerificationFailed          6   a store or a bundle that is not what it was
    ├── TransientFailure            1   the system refused a file or a connection, and may not the next time
    └── StoreError                  1   a store that cannot be opened, written or understood

Every message is made of names, counts and places only: never a row, an id or a sensitive value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from policy.text import one_spelling


class ReleaseGateError(Exception):
    """An error whose text a user may read: what was found, where, and how to mend it."""

    exit_code = 1

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        self.message = message
        self.where = where
        self.hint = hint
        super().__init__(message, where, hint)

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild from the three texts, so that the error survives a process boundary."""
        return (_rebuild, (type(self), self.message, self.where, self.hint))

    def __str__(self) -> str:
        head = f"{self.where}: {self.message}" if self.where else self.message
        return f"{head}\n  {self.hint}" if self.hint else head


def _rebuild(kind: type[ReleaseGateError], message: str, where: str, hint: str) -> ReleaseGateError:
    return kind(message, where=where, hint=hint)


class UsageError(ReleaseGateError):
    """A command that cannot be carried out as given."""

    exit_code = 2


class PolicyError(UsageError):
    """A policy that says something wrong or unclear."""


class InputError(ReleaseGateError):
    """A table that cannot be read as a table."""

    exit_code = 3


class ValidationFailed(InputError):
    """A table that does not meet the policy's expectations."""


class Blocked(ReleaseGateError):
    """A candidate that a gate holds back."""

    exit_code = 4


class AwaitingApproval(ReleaseGateError):
    """A candidate that people have to decide on."""

    exit_code = 5


class VerificationFailed(ReleaseGateError):
    """A store or a bundle that is not what it was."""

    exit_code = 6


class TransientFailure(ReleaseGateError):
    """The system refused a file or a connection, and may not the next time."""


class StoreError(ReleaseGateError):
    """A store that cannot be opened, written or understood."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest known name, or an empty text."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    if near and one_spelling(near[0]) == one_spelling(name):
        return f" (which looks like '{near[0]}', written in other characters)"
    return f" (did you mean '{near[0]}'?)" if near else ""
