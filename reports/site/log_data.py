"""The audit log in pieces that its page loads one by one: fields in one file, payloads in another."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from typing import Any

from reports.site.places import Places
from reports.site.scripts import write_data
from reports.site.timeline import series_of

PIECE = 2_000  # events a file
PAGE = 200  # rows that are shown at once


class LogData:
    """Writes the events as they come; of one series only those about it, and of the store as a whole."""

    def __init__(self, folder: Path, places: Places, series: str | None = None) -> None:
        self.folder, self.places, self.series = folder, places, series
        self.newest: deque[tuple[Any, ...]] = deque(maxlen=PAGE)
        self.actions: Counter[str] = Counter()
        self.of_series: Counter[str] = Counter()
        self.n_events = self.n_pieces = self.last_number = 0
        self.last_at = self.last_hash = ""
        self._fields: list[list[Any]] = []
        self._payloads: list[str] = []

    def take(self, rows: list[tuple[Any, ...]]) -> None:
        """Take the next events, in order."""
        for row in rows:
            number, at, actor, action, subject, reason, payload, previous, own = row
            self.last_number, self.last_at, linked = number, at, previous == self.last_hash
            self.last_hash = own
            of = series_of(row, self.places)
            if self.series is not None and of not in (self.series, ""):
                continue
            self.n_events += 1
            self.actions[action] += 1
            self.of_series[of or ""] += 1
            self.newest.append(row)
            # The hash before is that of the event before, wherever that is so and the event is here.
            known = linked and self.series is None and bool(self._fields)
            self._fields.append([number, at, actor, action, subject, reason, 0 if known else previous, own])
            self._payloads.append(payload)
            if len(self._fields) == PIECE:
                self._write()

    def close(self) -> None:
        """Write what is left."""
        if self._fields:
            self._write()

    def _write(self) -> None:
        write_data(self.folder, f"log-{self.n_pieces}", self._fields)
        write_data(self.folder, f"payloads-{self.n_pieces}", self._payloads)
        self.n_pieces += 1
        self._fields, self._payloads = [], []
