"""What is read of a release store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from policy.errors import VerificationFailed
from release_store.approval.authentication import (
    least_approvers_in_log,
)
from release_store.approval.questions import Question, questions_in
from release_store.approval.reviewers import load_reviewers
from release_store.audit import log as audit
from release_store.audit.replay import ReplayedLog
from release_store.db import changes, queries
from release_store.db.classes import classes_digest, read_classes
from release_store.db.connection import connect
from release_store.db.figures import all_figures, read_figures
from release_store.db.people import people_in_common, read_people
from release_store.publishing.candidate_report import logged_report, shown_errors
from release_store.publishing.public_files import (
    candidate_folder,
    differing_files,
    kept_folder,
    without_rows,
)
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    Decision,
    EquivalenceClasses,
    GateResult,
    PeopleInCommon,
    PersonHashes,
    Release,
    Validation,
)
from release_store.verification.rows_and_log import check_rows_follow_log, trusted_log


class StoreReader:
    """Reads the store in `root`. Each method opens the database, reads, and closes it."""

    def __init__(self, root: Path, store_id: str) -> None:
        self.root = root
        self.store_id = store_id

    def check_rows(self, series: str) -> None:
        """Raise VerificationFailed unless the rows of a series follow the log: told before a run's work."""
        with connect(self.root) as con:
            check_rows_follow_log(con, self.root, series, compared=True)

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """Return one candidate. Raises UsageError if there is none of that id."""
        with connect(self.root) as con:
            return queries.candidate(con, candidate_id)

    def candidates(self, series: str | None = None) -> list[CandidateRecord]:
        """Return the candidates of one series or of all, oldest first."""
        with connect(self.root) as con:
            return queries.candidates(con, series)

    def waiting_for(self, series: str, period: str) -> list[CandidateRecord]:
        """Return the candidates of one period that wait for approval or for publication, oldest first."""
        with connect(self.root) as con:
            return queries.waiting_for(con, series, period)

    def approvers_needed(self, candidate_id: str) -> int:
        """Return how many people must agree to a candidate: as staged, and by the store's least today."""
        staff = load_reviewers(self.root)
        with connect(self.root) as con:
            least = least_approvers_in_log(con) if staff is None else staff.approvers_at_least
            return max(changes.approvers_demanded(con, candidate_id), least)

    def gates(self, candidate_id: str) -> list[GateResult]:
        """Return a candidate's gate results in the order in which they were taken."""
        with connect(self.root) as con:
            return queries.gates(con, candidate_id)

    def figures(self, candidate_id: str) -> dict[str, Any] | None:
        """Return the figures of a candidate, or None where none are kept.

        Raises VerificationFailed if they are not those that the log has the digest of.
        """
        with connect(self.root) as con:
            return read_figures(con, candidate_id)

    def all_figures(self, series: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the figures of every candidate that has some, by one query, oldest first.

        Unlike those of `figures`, these are not held against the log: `verify` does that.
        """
        with connect(self.root) as con:
            return all_figures(con, series)

    def decisions(self, candidate_id: str) -> list[Decision]:
        """Return the accepted decisions on a candidate, oldest first."""
        with connect(self.root) as con:
            return queries.decisions(con, candidate_id)

    def files(self, candidate_id: str) -> dict[str, str]:
        """Return a candidate's staged files, name to SHA-256."""
        with connect(self.root) as con:
            return queries.files(con, candidate_id)

    def logged_report(self, candidate_id: str) -> dict[str, str]:
        """Return the name of a candidate's report with its SHA-256 in the log; nothing where none is."""
        with connect(self.root) as con:
            return logged_report(con, candidate_id)

    def altered_files(self, candidate_id: str) -> dict[str, str]:
        """Return what is wrong with what people see of a candidate, its files and its report, by file."""
        folder = candidate_folder(self.root, candidate_id)
        return shown_errors(folder, self.files(candidate_id), self.logged_report(candidate_id))

    def validations(self, series: str | None = None) -> list[Validation]:
        """Return how the inputs of one series or of all met their expectations, oldest first."""
        with connect(self.root) as con:
            return queries.validations(con, series)

    def overview(self, series: str | None = None) -> queries.Overview:
        """Return what there is to list of one series or of all, with their gates in short."""
        with connect(self.root) as con:
            return queries.overview(con, series)

    def policy(self, digest: str) -> dict[str, Any]:
        """Return the policy document of that digest. Raises UsageError if none is kept."""
        with connect(self.root) as con:
            return queries.policy(con, digest)

    def release(self, release_id: str) -> Release:
        """Return one release. Raises UsageError if there is none of that id."""
        with connect(self.root) as con:
            return queries.release(con, release_id)

    def releases(self, series: str | None = None) -> list[Release]:
        """Return the releases of one series or of all, in every state, oldest first."""
        with connect(self.root) as con:
            return queries.releases(con, series)

    def last_release_of(self, series: str, period: str) -> Release | None:
        """Return the last release of one period, in whatever state it is, if there is one."""
        with connect(self.root) as con:
            return queries.last_release_of(con, series, period)

    def restored_since(self, record: CandidateRecord) -> str:
        """Return the release that a candidate revises, if it was restored after that was staged, else ""."""
        with connect(self.root) as con:
            return queries.restored_since(con, record)

    def history_head(self, series: str) -> str:
        """Return the digest of all releases of a series, withdrawn ones too, and of their files."""
        with connect(self.root) as con:
            return queries.history_head(con, series)

    def classes(self, release_id: str) -> EquivalenceClasses:
        """Return the equivalence classes of a release."""
        with connect(self.root) as con:
            return read_classes(con, queries.release(con, release_id).candidate_id)

    def earlier_classes(self, series: str) -> list[tuple[Release, EquivalenceClasses]]:
        """Return every release of a series with its classes, withdrawn ones too, oldest first.

        Raises VerificationFailed where the classes or the published files are not those that were
        judged: a comparison with an altered history would say nothing.
        """
        with connect(self.root) as con:
            found = [(one, read_classes(con, one.candidate_id)) for one in queries.releases(con, series)]
            logged = _published(trusted_log(con, self.root), {one.candidate_id: series for one, _ in found})
            purged = queries.purged(con, series)
        missing = sorted(
            name
            for name, (of, _) in logged.items()
            if of == series and name not in {r.release_id for r, _ in found}
        )
        if missing:
            raise VerificationFailed(
                f"the log has {', '.join(missing)}, which the history lacks",
                where=series,
                hint=(
                    "Run `releasegate verify` for details; nothing is released until the history is restored."
                ),
            )
        for release, classes in found:
            files = without_rows(release) if release.release_id in purged else release.files
            altered = differing_files(kept_folder(self.root, release), files)
            if logged.get(release.release_id) != (series, classes_digest(classes)):
                altered = ["its equivalence classes in the history", *altered]
            if altered:
                raise VerificationFailed(
                    f"altered since it was published: {', '.join(altered)}",
                    where=release.release_id,
                    hint=(
                        "Run `releasegate verify` for details; nothing is released until the history is "
                        "restored."
                    ),
                )
        return found

    def classes_at(self, series: str, head: str) -> list[tuple[Release, EquivalenceClasses]]:
        """Return the releases of a series with their classes as they were when `head` was its history.

        Raises VerificationFailed where the history never had that head, or is altered.
        """
        with connect(self.root) as con:
            n_releases = queries.n_releases_at(con, series, head)
        if n_releases is None:
            raise VerificationFailed(
                "the history that the candidate was assessed against cannot be found",
                where=series,
                hint="Run `releasegate verify`.",
            )
        return self.earlier_classes(series)[:n_releases]

    def first_judged(self, record: CandidateRecord) -> CandidateRecord:
        """Return the candidate for which the files of `record` were made, if they were judged again.

        Raises VerificationFailed where candidates name each other in a circle: the history was altered.
        """
        seen = {record.candidate_id}
        while again := record.summary.reassessment:
            record = self.candidate(again.of)
            if record.candidate_id in seen:
                raise VerificationFailed(
                    "is its own predecessor",
                    where=record.candidate_id,
                    hint="Run `releasegate verify`.",
                )
            seen.add(record.candidate_id)
        return record

    def people(self, candidate_id: str) -> PersonHashes | None:
        """Return the keyed hashes of a candidate's people, or None where none are kept.

        Raises VerificationFailed if they differ from the staged ones.
        """
        with connect(self.root) as con:
            return read_people(con, candidate_id)

    def earlier_people(self, series: str) -> list[PersonHashes | None]:
        """Return the people of every release of a series, in the order of `earlier_classes`.

        None where none are kept. Raises VerificationFailed if some differ from the staged ones.
        """
        with connect(self.root) as con:
            log = trusted_log(con, self.root)
            return [read_people(con, one.candidate_id, log) for one in queries.releases(con, series)]

    def people_in_common(self, candidate_id: str) -> PeopleInCommon | None:
        """Return how many of a candidate's people were in each earlier release; None if they are not kept."""
        with connect(self.root) as con:
            return people_in_common(con, candidate_id)

    def purged(self, series: str | None = None) -> dict[str, AuditEvent]:
        """Return the candidates and releases whose rows were purged, with the event that says so."""
        with connect(self.root) as con:
            return queries.purged(con, series)

    def n_events(self) -> int:
        """Return the number of the last event."""
        with connect(self.root) as con:
            return audit.log_head(con)[0]

    def events_about(self, *names: str) -> list[AuditEvent]:
        """Return the events whose object is one of `names`, oldest first."""
        with connect(self.root) as con:
            return audit.read_events_about(con, [], list(names), [])

    def questions(self, candidate_id: str) -> list[Question]:
        """Return the questions on a candidate with their answers, oldest first."""
        return questions_in(self.events_about(candidate_id))

    def input_given_up(self, series: str, period: str) -> bool:
        """Tell whether a period's input did not come in time, and has not come since."""
        events = self.events_about(f"{series}/{period}")
        return bool(events) and events[-1].action == changes.INPUT_MISSING

    def events(self, after: int = 0) -> list[AuditEvent]:
        """Return the audit log from the event that follows number `after`."""
        with connect(self.root) as con:
            return audit.read_events(con, after)

    def events_of(self, actions: Collection[str], after: int = 0) -> list[AuditEvent]:
        """Return the events of those actions that follow number `after`, in order."""
        with connect(self.root) as con:
            return audit.read_events_of(con, actions, after)


def _published(log: ReplayedLog, made: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each release that the log tells of its series and the digest of its classes.

    The first stores did not log the series: it is that of the candidate, by `made`.
    """
    said = {name: one.publications()[0] for name, one in log.releases.items() if one.published}
    return {
        name: (str(one.get("series") or made.get(one.get("candidate", ""), "")), str(one.get("classes")))
        for name, one in said.items()
    }
