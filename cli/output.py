"""What a command writes for programs, and the exit codes of outcomes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from release_store.audit.log import Finding
from release_store.canonical import indented_json
from services.outcome import Outcome


def write_json(document: object) -> None:
    """Write a document to the standard output as indented JSON."""
    sys.stdout.write(indented_json(document, default=_plain) + "\n")


def exit_code(outcome: Outcome) -> int:
    """Return the exit code of a run."""
    return {"published": 0, "blocked": 4, "awaiting_approval": 5}.get(outcome.state, 1)


def finding_rows(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return findings as JSON values."""
    return [{"where": one.where, "what": one.what} for one in findings]


def _plain(value: object) -> object:
    return str(value) if isinstance(value, Path) else getattr(value, "isoformat", lambda: str(value))()
