"""Notices: what the audit log says that people want to know, delivered at least once and in order.

The log is the outbox. For each channel `notices.json` in the store keeps the number of the last event that
was told; whoever runs, decides or calls `releasegate notify` next tells what came after it. What cannot be
delivered is told in one line and stays due: it never fails a release.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from policy.errors import ReleaseGateError, StoreError
from policy.plain_file import not_read, read_bytes
from policy.text import number_of
from release_store.canonical import indented_json, iso, sha256_hex, utc_now
from release_store.publishing.public_files import replace_file
from release_store.store import ReleaseStore
from reports.text import sanitize_text
from services.observability import notice_channels
from services.observability.logs import log_event
from services.observability.notice_channels import Channel, channels, wrong_settings
from services.observability.notice_kinds import PREFIX, Notice, events_to_tell, notice_of

CURSORS = "notices.json"
_HINT = "Remove it: notices then start with the next event, and those due now are lost."
_PATIENCE = 60.0  # seconds that one call may wait for others and go on telling, so that a run ends


class CorruptCursors(StoreError):
    """It cannot be told up to where notices were delivered; waiting does not mend that."""


@dataclass(frozen=True)
class RunLink:
    """A flow run: its id, its page, and the period that it was for, from the event after `since` on."""

    id: str
    page: str
    series: str
    period: str
    since: int


@dataclass(frozen=True)
class DeliveryReport:
    """How many notices were delivered, by channel, and a line for each channel that did not take one.

    `hints` has the hint for each problem that does not end by waiting; `late` tells that time was too short.
    """

    delivered: dict[str, int]
    problems: list[str]
    hints: dict[str, str] = field(default_factory=dict)
    late: bool = False


def send_due(
    store: ReleaseStore, *, run: RunLink | None = None, patience: float | None = None
) -> DeliveryReport:
    """Deliver what is due on every channel that is set, and return what came of it; never raise for it.

    A channel that was never used begins with what comes after now.
    """
    found = channels()
    if not found:
        return DeliveryReport({}, [])
    try:
        return _send(store, found, run, _PATIENCE if patience is None else patience)
    except CorruptCursors as error:
        return _untold(error)
    except Exception as error:  # nothing that a notice stumbles over may fail a release
        if (head := _head(store)) is not None:
            _last_attempt[store.root.resolve()] = head
        told = error.message if isinstance(error, ReleaseGateError) else type(error).__name__
        return DeliveryReport({}, [f"notices wait: {told}"])


def send_all(store: ReleaseStore) -> DeliveryReport:
    """Deliver all that is due, a minute at a time, so that others who tell get their turn in between.

    The settings of a channel are looked at even where nothing is due on it, and what cannot be told to be due
    is a problem even where no channel is set.
    """
    delivered: Counter[str] = Counter()
    while True:
        sent = send_due(store)
        delivered.update(sent.delivered)
        if not (sent.late and any(sent.delivered.values())):
            break
    problems, hints = list(sent.problems), dict(sent.hints)
    try:
        left = pending_counts(store)
    except CorruptCursors as found:
        broken, left = _untold(found), {}
        problems = list(dict.fromkeys([*problems, *broken.problems]))
        hints |= broken.hints
    for name, error in wrong_settings().items():
        if not left.get(name):
            line = f"notices by {name} will wait: {error.where} {error.message}"
            problems.append(line)
            hints[line] = error.hint
    return DeliveryReport(dict(delivered), problems, hints, sent.late)


def _untold(error: CorruptCursors) -> DeliveryReport:
    line = f"notices wait: {error.where} {error.message}"
    return DeliveryReport({}, [line], {line: error.hint})


def register_channels(store: ReleaseStore) -> int:
    """Let channels that were never used begin here, and return the number of the last event.

    Raises CorruptCursors as `read_cursors`.
    """
    head = store.n_events()
    new = channels().keys() - read_cursors(store).keys()
    if new:
        with store.notices_lock():
            _keep(store, {**dict.fromkeys(new, head), **read_cursors(store)})
    return head


def pending_counts(store: ReleaseStore) -> dict[str, int]:
    """Return how many notices each channel that was ever used has yet to deliver; raises as `begin`."""
    cursors = read_cursors(store)
    if not cursors:
        return {}
    numbers = [event.number for event in events_to_tell(store, min(cursors.values()))]
    return {name: sum(number > last for number in numbers) for name, last in sorted(cursors.items())}


def verify_failed(store: ReleaseStore, n_findings: int) -> DeliveryReport:
    """Tell at once how many problems a review found; nothing of the store is looked up or written for that.

    A series that could not be reviewed is a finding, too.
    """
    moment = iso(utc_now())
    notice = Notice(
        kind=f"{PREFIX}candidate.verify-failed",
        id=sha256_hex(f"{store.store_id} {moment}".encode()),
        number=0,
        at=moment,
        text=f"The audit review found {number_of(n_findings, 'problem')}. "
        "Run `releasegate verify` and `releasegate audit SERIES` for details.",
        facts={"findings": n_findings},
        links={"folder": str(store.root.resolve())},
    )
    sent = DeliveryReport({}, [])
    for name, deliver in channels().items():
        problem, hint = _problem(name, deliver, notice, _PATIENCE)
        sent.delivered[name] = int(not problem)
        _add(sent, problem, hint)
    return sent


@contextmanager
def notify_on_exit(root: Path) -> Iterator[None]:
    """Tell what happens in the store in `root` while the block runs, at its end, however it ends.

    What cannot be told is a line on the standard error.
    """
    store = None
    if channels():
        with suppress(ReleaseGateError, OSError):  # whoever works in it says what is wrong
            store = ReleaseStore.open_to_work(root)
            _last_attempt.pop(root.resolve(), None)
            register_channels(store)
    try:
        yield
    finally:
        if store is not None and _last_attempt.get(root.resolve(), -1) != _head(store):
            tell_problems(send_due(store))


def tell_problems(sent: DeliveryReport) -> None:
    """Write a line for each channel that did not take its notices, and one for its mend, if it has one."""
    for line in sent.problems:
        print(sanitize_text(f"releasegate: {line}"), file=sys.stderr, flush=True)
        if hint := sent.hints.get(line):
            print(sanitize_text(f"  {hint}"), file=sys.stderr, flush=True)


def read_cursors(store: ReleaseStore) -> dict[str, int]:
    """Return the number of the last event that each channel told.

    Raises CorruptCursors for a file that is none, cannot be read, or names what the log does not have.
    """
    path = store.root / CURSORS
    try:
        found = json.loads(read_bytes(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CorruptCursors(not_read(error), where=str(path), hint=_HINT) from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(type(one) is int and one >= 0 for one in found.values()):
        raise CorruptCursors("is not a notices file", where=str(path), hint=_HINT)
    if found and max(found.values()) > (head := store.n_events()):
        finding = f"names event {max(found.values())}, but the log has {head}"
        raise CorruptCursors(finding, where=str(path), hint=_HINT)
    return found


def _keep(store: ReleaseStore, cursors: dict[str, int]) -> None:
    replace_file(store.root / CURSORS, (indented_json(dict(sorted(cursors.items()))) + "\n").encode())


def _send(
    store: ReleaseStore, found: dict[str, Channel], run: RunLink | None, patience: float
) -> DeliveryReport:
    """Deliver in the order of the log, under the lock; a channel that refuses one waits with all after it."""
    end = time.monotonic() + patience
    sent, late = DeliveryReport(dict.fromkeys(found, 0), []), False
    with store.notices_lock(timeout=max(patience, 0.0)):
        head = store.n_events()
        _last_attempt[store.root.resolve()] = head
        cursors = {**dict.fromkeys(found, head), **read_cursors(store)}
        events = events_to_tell(store, min(cursors[name] for name in found))
        for name, deliver in found.items():
            for event in [event for event in events if event.number > cursors[name]]:
                problem, hint = f"notices by {name} wait: time ran out", ""
                if (left := end - time.monotonic()) > 0:
                    problem, hint = _problem(name, deliver, _linked(notice_of(store, event), run), left)
                else:
                    late = True
                if problem:
                    _add(sent, problem, hint)
                    break
                sent.delivered[name] += 1
                cursors[name] = event.number
                _keep(store, cursors)  # at once: what was told is not told again
            else:
                cursors[name] = max(head, cursors[name])
        if read_cursors(store) != cursors:
            _keep(store, cursors)
    return replace(sent, late=late)


def _add(sent: DeliveryReport, problem: str, hint: str) -> None:
    if problem:
        sent.problems.append(problem)
    if hint:
        sent.hints[problem] = hint


_last_attempt: dict[Path, int] = {}
"""How long the log of a store was when this process last tried to tell what happened."""


def _head(store: ReleaseStore) -> int | None:
    try:
        return store.n_events()
    except (ReleaseGateError, OSError):
        return None  # then it is tried, and said why it cannot be told


def _problem(name: str, deliver: Channel, notice: Notice, left: float) -> tuple[str, str]:
    """Deliver one notice in the seconds that are left; return nothing, or why it waits and the mend."""
    about = {"notice": notice.kind, "channel": name, "candidate": notice.candidate}
    try:
        deliver(notice, min(left, notice_channels.TIMEOUT))
    except Exception as error:  # a channel must never fail a release
        told, hint = f"broke ({type(error).__name__})", ""
        if isinstance(error, ReleaseGateError):
            told, hint = error.message, error.hint
        log_event("notice.failed", level="error", **about)
        return f"a notice by {name} waits: {told}", hint
    log_event("notice.sent", **about)
    return "", ""


def _linked(notice: Notice, run: RunLink | None) -> Notice:
    """Add the page of the run that brought an event about; of an older event another run did."""
    if run is None or notice.number <= run.since:
        return notice
    if (notice.series, notice.period) != (run.series, run.period):
        return notice
    links: dict[str, Any] = {**notice.links, "run_id": run.id, **({"run": run.page} if run.page else {})}
    return replace(notice, links=links)
