"""Check a policy and its table before any work: what can be known in seconds, all at once.

    from pathlib import Path
    from services.checking.check import check

    found = check(Path("clinic.yaml"), store=Path("store"), period="2026Q1")

Nothing is written, and no store is needed.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import duckdb

from policy.errors import InputError, UsageError
from policy.location import Location
from policy.model import ReleasePolicy
from policy.period import current_period, day_at, has_ended
from release_store.canonical import utc_now
from release_store.names import check_period
from services.checking.columns import column_findings
from services.checking.doubts import doubt_findings
from services.checking.findings import Finding, exit_code_of, finding_of
from services.checking.model import model_findings
from services.checking.people import people_findings, repeated_findings
from services.checking.period import date_findings, period_in_name
from services.checking.readers import reader_lines
from services.checking.same_rows import same_rows_findings
from services.checking.sources import check_sources, checked_policy
from services.checking.values import value_findings
from services.trust import trusted_in
from tasks.intake import lengths
from tasks.intake.cell_table import Cells, cells_of
from tasks.intake.database import allowed_memory, memory_hint
from tasks.intake.source import TableSource


@dataclass(frozen=True)
class CheckResult:
    """What a check found; `rows` and `columns` are None where the table could not be read.

    `readers` says what a reader of the releases could do in spite of the policy.
    """

    policy: Path
    period: str
    input: str
    rows: int | None
    columns: int | None
    findings: tuple[Finding, ...]
    readers: tuple[str, ...]
    next_command: str  # empty where something is wrong

    @property
    def exit_code(self) -> int:
        """0 where nothing holds a run up, else that of the error with which it would end."""
        return exit_code_of(self.findings)


def check(
    policy_path: Path,
    *,
    store: Path,
    period: str | None = None,
    input_path: Location | None = None,
) -> CheckResult:
    """Check the policy, the files that it names, the columns, and the cells of a period's table.

    `store` need not be there; beside it stands what its owner trusts. Raises PolicyError for the policy
    itself, UsageError for a period that is none, and TransientFailure; all else is found. O(bytes).
    """
    trusted = trusted_in(store)
    policy = checked_policy(policy_path, trusted)
    chosen = current_period(policy.period, policy.timezone, period, utc_now())
    check_period(chosen)
    has_ended(chosen, policy.period, day_at(utc_now(), policy.timezone))
    base = policy_path.resolve().parent
    sources = check_sources(policy, input_path=input_path, period=chosen, base=base, trusted=trusted)
    source, findings = sources.source, list(sources.findings)
    named = period is not None or policy.period != "given"
    if not named:  # the day of today, which no file has to know
        findings = [one for one in findings if one.field != "--period"]
    counted: tuple[int | None, int | None] = None, None
    if source is not None and not _is_unreadable(source, findings):
        counted, more = _table(source, policy, chosen if named else "", store)
        findings += [one for one in more if one not in findings]
    next_command = ""
    if not exit_code_of(findings):
        next_command = _run_command(policy_path, store, period or _period_in_name(source, named), input_path)
    shown = "" if source is None else source.shown
    readers = tuple(reader_lines(policy))
    return CheckResult(policy_path, chosen, shown, *counted, tuple(findings), readers, next_command)


def _is_unreadable(source: TableSource, findings: list[Finding]) -> bool:
    """Tell whether a file or the query cannot be read, or no column of the table is known.

    Nor can a table be whose parts have different columns.
    """
    first = [str(file.path) for file in source.parts[:1]]
    others = [str(file.path) for file in (*source.parts[1:], *source.inputs.values())]
    about_columns = ("the column ",)
    return any(
        not one.is_warning
        and (
            one.where in (*others, "source.query")
            or (one.where in first and not one.message.startswith(about_columns))
        )
        for one in findings
    )


def _table(
    source: TableSource, policy: ReleasePolicy, period: str, store: Path
) -> tuple[tuple[int | None, int | None], list[Finding]]:
    """Return the table's rows and columns, and what is wrong with its cells."""
    try:
        with cells_of(source, policy) as cells:
            _check_rows(cells, policy)
            found = _of_cells(cells, policy, period, _first_place(source))
            if cells.rows:
                found += [*people_findings(cells, policy, store), *repeated_findings(cells)]
                found += same_rows_findings(cells, policy, store, period)
            return (cells.rows, len(cells.names)), found
    except duckdb.OutOfMemoryException:
        problem = InputError(f"needs more than {allowed_memory()}", where=source.where, hint=memory_hint())
    except duckdb.Error as error:  # its text may quote a cell
        said = f"cannot be checked ({type(error).__name__})"
        problem = InputError(said, where=source.where, hint="The file may be damaged: export it again.")
    except (InputError, UsageError) as error:
        return (None, None), [finding_of(error)]
    return (None, None), [finding_of(problem)]


def _check_rows(cells: Cells, policy: ReleasePolicy) -> None:
    """Raise InputError for more rows than a run reads one by one, where it would have to."""
    if cells.rows > lengths.MOST_ROWS:
        from services.source import needs_no_rows  # it imports the methods

        lengths.check_rows(
            cells.rows, cells.where, lengths.MOST_REPEATED_ROWS if needs_no_rows(policy) else None
        )


def _first_place(source: TableSource) -> str:
    """Return where the names of the columns stand: in the query, else in the first file."""
    return str(source.parts[0].path) if source.query is None and source.parts else source.where


def _of_cells(cells: Cells, policy: ReleasePolicy, period: str, place: str) -> list[Finding]:
    findings = column_findings(cells.names, policy, place)
    if not cells.rows:
        hint = "Check the period and the table's rows."
        return [*findings, Finding(cells.where, "", "gives no rows", hint)]
    findings += value_findings(cells, policy)
    if all(cells.has(name) for name in policy.roles.columns_read()):
        findings += model_findings(cells, policy)
        findings += doubt_findings(cells, policy)
    return findings + (date_findings(cells, policy, period) if period else [])


def _period_in_name(source: TableSource | None, named: bool) -> str | None:
    """Return the period in the name of the only file, where no period was named or follows from the day."""
    if named or source is None or len(source.parts) != 1:
        return None
    return period_in_name(source.parts[0].path.name)


def _run_command(policy: Path, store: Path, period: str | None, input_path: Location | None) -> str:
    """Return the command that releases the table that was checked."""
    words = ["releasegate", *([] if store == Path("store") else ["--store", str(store)]), "run", str(policy)]
    words += [] if period is None else ["--period", period]
    words += [] if input_path is None else ["--input", str(input_path)]
    return shlex.join(words)
