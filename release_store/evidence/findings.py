"""What verification found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that is not as it was written: where, and what."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class Report:
    """What was found; `notes` are what a reader must know and is no fault of the bundle."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    summary: str = ""
