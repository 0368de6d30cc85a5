"""What is not as it was written, by the series, candidates and releases that it names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from policy.text import number_of
from release_store.audit.log import Finding
from reports.site.places import Places
from reports.site.timeline import Timeline

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def of_series(findings: Sequence[Finding], series: str | None, places: Places) -> list[Finding]:
    """Return what was found of one series and of the store as a whole, and that there is more of others."""
    if series is None:
        return list(findings)
    own = [one for one in findings if _named(f"{one.where} {one.what}", places) <= {series}]
    n_others = len(findings) - len(own)
    more = f"{number_of(n_others, 'more problem')} in other series: run `releasegate verify`"
    return [*own, *([Finding("the store", more)] if n_others else [])]


def by_name(findings: Sequence[Finding], stories: Timeline, places: Places) -> dict[str, list[str]]:
    """Return the findings by the candidate or release that each is of; an event's by its candidate."""
    by_event = {event.number: name for name, events in stories.events.items() for event in events}
    found: dict[str, list[str]] = defaultdict(list)
    for one in findings:
        for token in _TOKEN.findall(one.where):
            name = token
            if one.where.startswith("event ") and token.isdigit():
                name = by_event.get(int(token), "")
            while name and name not in places.series:  # a file beside it: <release>.checkpoint.json
                name = name.rpartition(".")[0]
            if name:
                found[name].append(f"{one.where}: {one.what}")
    return found


def _named(text: str, places: Places) -> set[str]:
    """Return the series that a text names, by themselves or by their candidates and releases."""
    found, known = set(), set(places.everywhere.values())
    for token in _TOKEN.findall(text):
        name = token
        while name and name not in places.everywhere and name not in known:
            name = name.rpartition(".")[0]
        if name:
            found.add(places.everywhere.get(name, name))
    return found
