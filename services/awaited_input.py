"""An input that is late: why it is, and how a command waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from policy.errors import InputError, ReleaseGateError, UsageError
from policy.location import Location, ObjectAddress
from policy.model import ReleasePolicy, Wait
from policy.postgres_address import PostgresTable
from policy.trusted import ObjectStore, Trusted
from release_store.canonical import utc_now
from release_store.store import ReleaseStore
from tasks.intake.object_store import object_status
from tasks.intake.postgres import table_exists
from tasks.intake.source import source_paths

_NAP = 30.0  # seconds that a waiting command sleeps at most before it looks at the clock: machines sleep too


@dataclass(frozen=True)
class ExpectedInput:
    """The input of one period, of which a run must know where it would be."""

    policy: ReleasePolicy
    period: str
    input_path: Location | None
    base: Path
    trusted: Trusted | None = None

    @property
    def wait(self) -> Wait:
        """How long the policy lets it be late. Raises UsageError where it says nothing of that."""
        wait = self.policy.source.wait
        if wait is None:
            raise UsageError(
                "the policy does not say how long to wait", where="source.wait", hint="Write it there."
            )
        return wait

    @property
    def paths(self) -> tuple[Location, ...]:
        """The files or objects. Raises UsageError where a query reads the table without one."""
        found = source_paths(
            self.policy,
            input_path=self.input_path,
            period=self.period,
            base=self.base,
            trusted=self.trusted,
        )
        if not found:
            raise UsageError(
                "only a file can be awaited, and none is named",
                where="source.wait",
                hint="Write source.path, give --input FILE, or leave source.wait out.",
            )
        return found


@dataclass(frozen=True)
class InputCheck:
    """What was found where the input should be: why it is late, and what to compare the next look with."""

    late: str = ""  # nothing where it is there and has settled
    seen: str = ""  # size and time, of each file
    which: int = 0  # of the files


def look(expected: ExpectedInput, before: str = "") -> InputCheck:
    """Look for the files or objects; `before` is what the last look saw. The first that is late is told."""
    paths = expected.paths
    seen_before = before.split(" ", len(paths) - 1) if before else [""] * len(paths)
    if len(seen_before) != len(paths):  # the policy names others now
        seen_before = [""] * len(paths)
    found = [_look_at(expected, path, one) for path, one in zip(paths, seen_before, strict=True)]
    seen = " ".join(one.seen for one in found) if any(one.seen for one in found) else ""
    late = next((number for number, one in enumerate(found) if one.late), None)
    return InputCheck("", seen) if late is None else InputCheck(found[late].late, seen, late)


def _look_at(expected: ExpectedInput, path: Location, before: str) -> InputCheck:
    """Look for one of them. What cannot be looked at is not late: intake tells what is wrong with it."""
    try:
        if isinstance(path, PostgresTable):  # which tells nobody when it was written
            return InputCheck("" if table_exists(path) else "is not there")
        if isinstance(path, ObjectAddress):
            state = _object_state(path, expected.trusted)
        else:
            status = path.stat()
            state = f"{status.st_size}-{status.st_mtime_ns}", status.st_mtime
    except FileNotFoundError:
        return InputCheck("is not there")
    except (OSError, ReleaseGateError):
        return InputCheck()
    seen, modified = state
    if before and seen != before:
        return InputCheck("has changed since the last check", seen)
    age = time.time() - modified
    if abs(age) < expected.wait.settled_seconds:
        return InputCheck(f"changed {max(age, 0):.0f} s ago and may be incomplete", seen)
    return InputCheck("", seen)


def _object_state(address: ObjectAddress, trusted: Trusted | None) -> tuple[str, float]:
    """Return what tells one version of an object from another, and when it was written."""
    found = object_status(address, ObjectStore() if trusted is None else trusted.objects)
    if found is None:
        raise FileNotFoundError
    return f"{found.size}-{found.tag}", found.modified.timestamp()


def check_not_late(expected: ExpectedInput) -> None:
    """Raise InputError for a late input that nothing will look for again.

    Only where the policy has `source.wait` is an input late; elsewhere intake tells that it is not there.
    """
    if expected.policy.source.wait is not None:
        found = look(expected)
        if found.late:
            raise late_error(expected, found, "Run it again when the file has arrived, or with --wait.")


def wait_here(
    expected: ExpectedInput,
    store: ReleaseStore,
    *,
    actor: str,
    say: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look again and again in this process until the file is there. Raises InputError once it is given up."""
    deadline = utc_now() + timedelta(hours=expected.wait.hours)
    found, number = look(expected), 1
    while found.late:
        now = utc_now()
        if now >= deadline:
            raise give_up_input(expected, store, found, actor, number, deadline)
        at = min(now + timedelta(minutes=expected.wait.every_minutes), deadline)
        say(f"waits: {next_look_text(expected, found, at, deadline)}; Ctrl-C ends it")
        while (left := (at - utc_now()).total_seconds()) > 0:
            sleep(min(left, _NAP))
        found, number = look(expected, found.seen), number + 1


def give_up_input(
    expected: ExpectedInput,
    store: ReleaseStore,
    found: InputCheck,
    actor: str,
    n_looks: int,
    deadline: datetime,
) -> InputError:
    """Keep in the audit log that the input of a period is given up, once; return the error to raise."""
    series = expected.policy.series
    reason = f"the input {found.late}; it was due by {deadline:%Y-%m-%d %H:%M} UTC"
    if not store.input_given_up(series, expected.period):
        store.record_missing_input(
            series, expected.period, reason=reason, n_looks=n_looks, deadline=deadline, actor=actor
        )
    hint = f"Stopped after {n_looks} checks; run the period again when the file has arrived."
    return late_error(expected, found, hint)


def late_error(expected: ExpectedInput, found: InputCheck, hint: str) -> InputError:
    """Return the error that tells why the input is late."""
    return InputError(found.late, where=str(expected.paths[found.which]), hint=hint)


def next_look_text(expected: ExpectedInput, found: InputCheck, at: datetime, deadline: datetime) -> str:
    """Return why the input is late, and when the next and the last look for it are."""
    return (
        f"{expected.paths[found.which].name} {found.late}; next check at {at:%Y-%m-%d %H:%M:%S} UTC, last at "
        f"{deadline:%Y-%m-%d %H:%M:%S}"
    )
