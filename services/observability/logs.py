"""Structured logs: one line of JSON for each thing that happens in a run, with names, counts and times only.

`RELEASEGATE_LOG` names a file, or is `-` for the standard error. What may be written is a fixed list of
fields; an exception, a message and whatever else a record carries are never written.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any

VARIABLE = "RELEASEGATE_LOG"
FIELDS: dict[str, type | tuple[type, ...]] = {
    "run": str,
    "flow": str,
    "series": str,
    "period": str,
    "stage": str,
    "state": str,
    "candidate": str,
    "release": str,
    "seconds": (int, float),
    "rows": int,
    "columns": int,
    "classes": int,
    "bytes": int,
    "peak_memory_bytes": int,
    "error": str,  # the name of its type
    "status": int,  # of an answer of `releasegate serve`
    "notice": str,
    "channel": str,
}
_LOGGER = logging.getLogger("releasegate")
_LOGGER.propagate = False  # Prefect's own handlers send records to its server
_LOGGER.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """Write a record as one line of JSON: time, level, event, and the fields that are listed."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line. A field that is not listed, or not of its type, is left out."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] | None = getattr(record, "fields", None)
        event = "unknown" if fields is None else record.msg  # a text of somebody else's may hold anything
        line: dict[str, Any] = {"time": moment, "level": record.levelname.lower(), "event": event}
        fields = fields or {}
        for name, kind in FIELDS.items():
            value = fields.get(name)
            if isinstance(value, kind) and value != "" and not isinstance(value, bool):
                line[name] = round(value, 4) if isinstance(value, float) else value
        return json.dumps(line, ensure_ascii=True)


class _Lines(logging.Handler):
    """Add each line by one write: processes share a file, and one that is turned over is begun anew."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line; what cannot be written is told once, and fails no run."""
        line = f"{self.format(record)}\n"
        try:
            if self.target == "-":
                sys.stderr.write(line)
                sys.stderr.flush()
                return
            file = os.open(self.target, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, line.encode())
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            _complain(self.target, type(error))


def log_event(event: str, *, level: str = "info", **fields: Any) -> None:
    """Write one line, where a log is asked for. Fields that are not in `FIELDS` raise KeyError."""
    for name in fields:
        FIELDS[name]
    if _handler() is not None:
        _LOGGER.log(logging.getLevelNamesMapping()[level.upper()], event, extra={"fields": fields})


def _handler() -> logging.Handler | None:
    """Return the handler for what the environment asks now; None where no log is asked for."""
    wanted = os.environ.get(VARIABLE, "")
    for handler in list(_LOGGER.handlers):
        if isinstance(handler, _Lines) and handler.target == wanted:
            return handler
        _LOGGER.removeHandler(handler)
    if not wanted:
        return None
    made = _Lines(wanted)
    made.setFormatter(JsonLines())
    _LOGGER.addHandler(made)
    return made


def _complain(target: str, kind: type[Exception]) -> None:
    if target in _told or target == "-":
        return
    _told.add(target)
    told = f"releasegate: the log of {VARIABLE} cannot be written ({kind.__name__})"
    print(told, file=sys.stderr, flush=True)


_told: set[str] = set()
