"""Where each page of the site stands, and what leads to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from policy.errors import VerificationFailed
from release_store.names import check_series
from release_store.snapshot import StoreSnapshot

INDEX, DIFF, LOG, VERIFY = "index.html", "diff.html", "log.html", "verify.html"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True)
class Places:
    """The pages by id, from the site's root: that of a published candidate is its release's.

    `series` is by id too, and holds every candidate and release that has a page; `everywhere` all others too.
    """

    pages: dict[str, str] = field(default_factory=dict)
    series: dict[str, str] = field(default_factory=dict)
    everywhere: dict[str, str] = field(default_factory=dict)


def series_place(series: str) -> str:
    """Return the page of a series, from the site's root."""
    return f"series/{series}/index.html"


def places_of(whole: StoreSnapshot) -> Places:
    """Return the places of all. Raises VerificationFailed for a name that the store never gave."""
    found = Places(everywhere=whole.everywhere)
    for series in whole.known_series:
        check_series(series)
    for one in whole.releases:
        page = f"series/{one.series}/{_checked(one.release_id)}.html"
        for name in (one.release_id, one.candidate_id):
            found.pages[name], found.series[name] = page, one.series
    for record in whole.candidates:
        name = _checked(record.candidate_id)
        found.pages.setdefault(name, f"series/{record.series}/{name}.html")
        found.series.setdefault(name, record.series)
    return found


def up(page: str) -> str:
    """Return what leads from a page to the site's root, such as `../../`."""
    return "../" * page.count("/")


def _checked(name: str) -> str:
    if not _ID.fullmatch(name):
        raise VerificationFailed(
            "the history has an invalid name", hint="Run `releasegate verify` for details."
        )
    return name
