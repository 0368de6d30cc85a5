"""What a check finds: one line each, in names and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from policy.errors import InputError, ReleaseGateError
from policy.text import number_of
from tasks.intake.columns import display_column


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: in which file, in which column or field, what it is, and how to correct it.

    `kind` is the error with which a run would end; None marks a warning, which holds nothing up.
    """

    where: str
    field: str
    message: str
    hint: str
    kind: type[ReleaseGateError] | None = InputError

    @property
    def is_warning(self) -> bool:
        """Whether it holds nothing up."""
        return self.kind is None

    @property
    def exit_code(self) -> int:
        """The exit code of a run that ends with it; 0 for a warning."""
        return 0 if self.kind is None else self.kind.exit_code

    @property
    def line(self) -> str:
        """The finding in one line."""
        place = ": ".join(part for part in (self.where, self.field) if part)
        said = f"{place}: {self.message}" if place else self.message
        text = f"{said}. {self.hint}" if self.hint else said
        return f"warning: {text}" if self.is_warning else text

    @property
    def document(self) -> dict[str, object]:
        """The finding as JSON values."""
        return {
            "severity": "warning" if self.is_warning else "error",
            "where": self.where,
            "field": self.field,
            "what": self.message,
            "hint": self.hint,
        }

    @property
    def error(self) -> ReleaseGateError:
        """The error that ends a run for it."""
        where = ": ".join(part for part in (self.where, self.field) if part)
        return (self.kind or InputError)(self.message, where=where, hint=self.hint)


def finding_of(error: ReleaseGateError) -> Finding:
    """Return what an error says as a finding."""
    return Finding(error.where, "", error.message, error.hint, type(error))


def hidden_finding(where: str, column: str, n_rows: int) -> Finding:
    """Return the warning of a column in whose cells are characters that are not shown."""
    holds = number_of(n_rows, "row holds", "rows hold")
    said = (
        f"{holds} characters that are not shown, such as U+200B, or a letter and its accent apart: texts "
        "that look alike differ"
    )
    hint = "Correct the file, or, in a policy, set source.invisible: removed."
    return Finding(where, f"column {display_column(column)}", said, hint, None)


def exit_code_of(findings: Sequence[Finding]) -> int:
    """Return the exit code of a check: the least of what holds a run up, 0 where nothing does."""
    return min((one.exit_code for one in findings if not one.is_warning), default=0)
