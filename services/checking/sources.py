"""Whether the files that a policy names are there and can be read, and have its columns: cheap, and first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from policy.errors import InputError, ReleaseGateError
from policy.load import load_policy
from policy.model import ReleasePolicy
from policy.trusted import Trusted
from services.checking.columns import column_findings
from services.checking.findings import Finding, finding_of
from services.checking.period import name_finding
from tasks.intake.control_file import control_policy
from tasks.intake.database_process import DatabaseProcess
from tasks.intake.head import names_in_head
from tasks.intake.query import query_problem
from tasks.intake.source import Given, InputFile, TableSource, find_source
from tasks.intake.statement import problem_of


@dataclass(frozen=True)
class SourceCheck:
    """The source of a period, None where none is found, and what is wrong with its files.

    `control` is what is wrong with the file of people who are not in the table.
    """

    source: TableSource | None
    of_source: tuple[Finding, ...]
    control: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong, warnings too."""
        return (*self.of_source, *self.control)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What a run would end with."""
        return tuple(one for one in self.findings if not one.is_warning)

    def raise_first(self) -> None:
        """Raise the error with which a run would end, and how many more there are."""
        if self.errors:
            first, more = self.errors[0].error, ""
            if len(self.errors) > 1:
                more = f" ({len(self.errors) - 1} more; `releasegate check` lists all)"
            raise type(first)(first.message + more, where=first.where, hint=first.hint)


def checked_policy(path: Path, trusted: Trusted) -> ReleasePolicy:
    """Return a policy whose method and models are known. Raises PolicyError."""
    from tasks.methods.registry import bound_method

    policy = load_policy(path, trusted)
    bound_method(policy, str(path))
    if policy.gates.models.added:  # those of other packages alone can be unknown
        from tasks.risk.registry import check_models

        check_models(policy, str(path))
    return policy


def check_sources(
    policy: ReleasePolicy,
    *,
    input_path: Given | None,
    period: str,
    base: Path,
    trusted: Trusted,
) -> SourceCheck:
    """Look at the files of a period's table, at their columns, and at the query; no row is read.

    An object of an S3 store is only found to be allowed, and a workbook or a database to be there: each is
    read once. A table in memory is not looked at. Raises TransientFailure where
    the system lets no process for the query start, and nothing else.
    """
    findings: list[Finding] = []
    source: TableSource | None = None
    try:
        source = find_source(policy, input_path=input_path, period=period, base=base, trusted=trusted)
    except ReleaseGateError as error:
        findings.append(finding_of(error))
    if source is not None:
        findings += _own_files(source, policy, period)
        for file in source.inputs.values():
            findings += _readable(file, policy)[1]
        if source.query is not None:
            findings += _query(source, source.query)
    return SourceCheck(source, tuple(findings), tuple(_control(policy, period, base, trusted)))


def _own_files(source: TableSource, policy: ReleasePolicy, period: str) -> list[Finding]:
    """Return what is wrong with the table's files; names that several of them have are told of the first."""
    found: list[Finding] = []
    told: list[list[str]] = []
    for file in source.parts:
        names, unreadable = _readable(file, policy)
        found += unreadable
        if names is not None and source.query is None and names not in told:
            told.append(names)
            found += column_findings(names, policy, str(file.path))
        warned = name_finding(file.path.name, period, str(file.path))
        found += [] if warned is None else [warned]
    return found


def _readable(file: InputFile, policy: ReleasePolicy) -> tuple[list[str] | None, list[Finding]]:
    """Return the names of a file's columns, None where they are not known, and why it cannot be read."""
    try:
        return names_in_head(file, policy), []
    except ReleaseGateError as error:
        return None, [finding_of(error)]


def _query(source: TableSource, query: str) -> list[Finding]:
    """Return what is wrong with a query's text; it is parsed, and not run."""
    names = [*(["input"] if source.parts or source.given is not None else []), *source.inputs]
    with DatabaseProcess() as database:
        try:
            wrong = problem_of(database, query, names)
        except duckdb.Error as error:
            wrong = query_problem(error, query), "Try the query in DuckDB."
    return [] if wrong is None else [finding_of(InputError(wrong[0], where="source.query", hint=wrong[1]))]


def _control(policy: ReleasePolicy, period: str, base: Path, trusted: Trusted) -> list[Finding]:
    """Return what is wrong with the file of people who are not in the table."""
    if policy.linkage.control is None:
        return []
    try:
        source = find_source(
            control_policy(policy), input_path=None, period=period, base=base, trusted=trusted
        )
    except ReleaseGateError as error:
        where = "linkage.control" if error.where == "source.path" else error.where
        return [Finding(where, "", error.message, "Correct linkage.control, or the file.", type(error))]
    (file,) = source.parts
    names, findings = _readable(file, policy)
    return findings if names is None else column_findings(names, policy, str(file.path))
