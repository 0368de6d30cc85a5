"""Where in our own code an unforeseen exception came from: all that may be told of it beside its kind."""

from __future__ import annotations

from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_OURS = (
    "policy",
    "release_store",
    "expectations",
    "tasks",
    "reports",
    "services",
    "flows",
    "cli",
)  # beside them lie others' packages


def place(error: BaseException) -> str:
    """Return the innermost line of our own code that the exception passed."""
    found = "an unknown place"
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        own = file.relative_to(_ROOT) if file.is_relative_to(_ROOT) else Path()
        if own.parts[:1] and own.parts[0] in _OURS and own.name != "shielded.py":
            found = f"{own}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found
