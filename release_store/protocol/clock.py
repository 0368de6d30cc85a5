"""The order of the times in the log, and corrections of the clock."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

IN_ORDER = "in order"  # what it says of the times of its events, likewise
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", re.ASCII)
CLOCK_TOLERANCE = 60.0  # seconds by which an event may be before the last: clocks are set by a little


def out_of_order(before: str, after: str, steps: int = 1) -> str | None:
    """Return what is wrong with the time of an event that follows another by `steps`, None if nothing is."""
    try:
        back = _seconds_back(before, after)
    except (ValueError, TypeError):
        return "its time, or that of the event before it, cannot be read"
    if back <= CLOCK_TOLERANCE * steps:
        return None
    return f"is {back:,.0f} s earlier than a previous event, and no correction of the clock is logged"


def correction_error(event: dict[str, Any], before: str | None) -> str | None:
    """Return what is wrong with an event by which the clock was corrected, None if nothing is.

    `before` is the time of the event before it, None where that is not at hand.
    """
    said = event["payload"]
    bound, told = said["bound"], said["bound"]["last_event_at"]
    if said["at"] != event["at"] or bound["log_head"] != event["previous"] or before not in (None, told):
        return "corrects the clock of a different log"
    if _seconds_back(told, event["at"]) <= CLOCK_TOLERANCE:
        return "corrects a clock that was not ahead"
    return None


def _seconds_back(before: str, after: str) -> float:
    return (_moment(before) - _moment(after)).total_seconds()


def _moment(text: str) -> datetime:
    if not _TIME.fullmatch(text):
        raise ValueError("a time is written as 2026-01-31T12:00:00.000000+00:00")
    return datetime.fromisoformat(text)


def corrected_in_words(event: dict[str, Any]) -> str:
    """Return what a reader must know of an event by which the clock was corrected."""
    before, now = (
        str(one)[:16].replace("T", " ") for one in (event["payload"]["bound"]["last_event_at"], event["at"])
    )
    return f"{event['actor']} corrected the clock from {before} to {now} UTC; the times just before are wrong"
