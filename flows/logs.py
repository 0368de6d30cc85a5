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
from logging.handlers import WatchedFileHandler
from typing import Any, TextIO

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


class _OwnFile(WatchedFileHandler):
    """Opens to its owner only, and tells in one line that it cannot be written: no run fails for its log."""

    def _open(self) -> Any:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(descriptor, "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 -- logging's own name
        _complain(sys.exc_info()[0])


class _OwnStream(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 -- logging's own name
        pass  # there is nowhere left to tell it


def log_event(event: str, *, level: str = "info", **fields: Any) -> None:
    """Write one line, where a log is asked for. Fields that are not in `FIELDS` raise KeyError."""
    for name in fields:
        FIELDS[name]
    if _handler() is not None:
        _LOGGER.log(logging.getLevelNamesMapping()[level.upper()], event, extra={"fields": fields})


def _handler() -> logging.Handler | None:
    """Return the handler for what the environment asks now; None where no log is asked for or can be."""
    wanted = os.environ.get(VARIABLE, "")
    for handler in list(_LOGGER.handlers):
        if handler.name == wanted and wanted not in ("", "-"):
            return handler
        _LOGGER.removeHandler(handler)
        handler.close()
    if not wanted:
        return None
    try:
        made: logging.Handler = _OwnStream(sys.stderr) if wanted == "-" else _OwnFile(wanted, delay=False)
    except OSError as error:
        _complain(type(error))
        return None
    made.set_name(wanted)
    made.setFormatter(JsonLines())
    _LOGGER.addHandler(made)
    return made


def _complain(kind: type[BaseException] | None) -> None:
    if _told.get(os.environ.get(VARIABLE, "")) is not kind:
        _told[os.environ.get(VARIABLE, "")] = kind
        name = kind.__name__ if kind else "unknown"
        print(f"releasegate: the log of {VARIABLE} cannot be written ({name})", file=sys.stderr, flush=True)


_told: dict[str, type[BaseException] | None] = {}
