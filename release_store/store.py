"""The release store: one folder that holds the history, its audit log and what was published."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from policy.errors import ReleaseGateError, StoreError, UsageError, VerificationFailed
from release_store.approval.authentication import (
    known_least_approvers,
    least_approvers,
    maker_of,
    marks_of,
    refuse,
    statement_of,
)
from release_store.approval.credentials import Credential
from release_store.approval.decisions import allow_publication, decide
from release_store.approval.reviewers import load_staff, needed_staff
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.checkpoints import KEPT, check_can_keep, keep, kept_file, sign
from release_store.canonical import iso, utc_now
from release_store.db import changes, queries
from release_store.db.classes import classes_digest, read_classes
from release_store.db.connection import DATABASE, connect, is_read_only, transaction
from release_store.db.figures import all_figures, read_figures
from release_store.db.people import people_in_common, read_people
from release_store.names import check_series
from release_store.permission import Act
from release_store.person_key import make_person_key
from release_store.protocol.clock import IN_ORDER
from release_store.protocol.proofs import PROVEN
from release_store.publishing.locks import called, holder
from release_store.publishing.public_files import candidate_folder, differing_files, kept_folder
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    CandidateState,
    Decision,
    EquivalenceClasses,
    GateResult,
    PeopleInCommon,
    PersonHashes,
    Release,
    Validation,
)

_FOLDERS = ("candidates", "releases", "locks")
_BY_HAND = frozenset(
    {CandidateState.REJECTED, CandidateState.EXPIRED, CandidateState.STALE, CandidateState.FAILED}
)


class SeriesInUse(StoreError):
    """A lock that another process holds."""


class ReleaseStore:
    """The history of every series of releases in one folder.

    Each method opens the database, works in one transaction and closes it, so that any number of
    processes may use one store. State changes and their events are kept together or not at all.
    """

    def __init__(self, root: Path, store_id: str) -> None:
        self.root = root
        self.store_id = store_id

    @classmethod
    def create(cls, root: Path, *, actor: str = "releasegate") -> Self:
        """Make a store in `root`, and its signing key outside it. Raises UsageError if it is one already."""
        if (root / DATABASE).exists():
            raise UsageError(
                "is a store already", where=str(root), hint="Choose another folder with --store."
            )
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise UsageError(
                "is not an empty folder", where=str(root), hint="Choose another folder with --store."
            )
        make_person_key(root)
        key = keys.make_key(root)
        check_can_keep(root)
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in _FOLDERS:
            (root / name).mkdir(exist_ok=True, mode=0o700)
        (root / keys.PUBLIC_KEY_FILE).write_bytes(keys.public_pem(key))
        store_id = str(uuid.uuid4())
        with connect(root, create=True):
            pass
        created_at = iso(utc_now())
        with transaction(root) as con:
            con.execute(
                "INSERT INTO store_info VALUES ('store_id', ?), ('created_at', ?)", [store_id, created_at]
            )
            audit.append(
                con,
                actor,
                "store.created",
                store_id,
                "",
                {
                    "store_id": store_id,
                    "public_key": keys.public_hex(key),
                    "created_at": created_at,
                    "decisions": PROVEN,
                    "times": IN_ORDER,
                    "checkpoint": KEPT,
                },
            )
            keep(kept_file(root, store_id), sign(con, key, [store_id]))
        return cls(root, store_id)

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open the store in `root`. Raises UsageError if there is none, StoreError if it cannot be read.

        A folder that was a store and has lost its database is not taken for one that holds no store.
        """
        if not (root / DATABASE).is_file():
            if (root / keys.PUBLIC_KEY_FILE).exists() or (root / "releases").exists():
                raise StoreError(
                    "the store's database is missing",
                    where=str(root / DATABASE),
                    hint="Restore it from a backup: the releases beside it cannot be judged without it.",
                )
            raise UsageError("there is no store here", where=str(root), hint="`releasegate init` makes one.")
        with connect(root) as con:
            return cls(root, queries.store_info(con, "store_id"))

    # Writing ---------------------------------------------------------------------------------------

    def next_candidate_id(self, series: str, period: str) -> str:
        """Return `<series>-<period>-c<n>`, reserved: nobody else is given the same."""
        with transaction(self.root) as con:
            return changes.reserve_candidate_id(con, series, period)

    def record_validation(
        self,
        *,
        series: str,
        period: str,
        input_digest: str,
        n_rows: int,
        n_columns: int,
        passed: bool,
        results: Sequence[Mapping[str, Any]],
        actor: str,
    ) -> None:
        """Keep how an input met its expectations: names and counts only, never a value."""
        with transaction(self.root) as con:
            changes.record_validation(
                con,
                series=series,
                period=period,
                input_digest=input_digest,
                n_rows=n_rows,
                n_columns=n_columns,
                passed=passed,
                results=results,
                actor=actor,
            )

    def record_unread_input(self, series: str, period: str, *, actor: str) -> None:
        """Keep that the input of a period could not be read: no more than that, since it may quote itself."""
        with transaction(self.root) as con:
            changes.record_unread_input(con, series, period, actor=actor)

    def record_missing_input(
        self, series: str, period: str, *, reason: str, n_looks: int, deadline: datetime, actor: str
    ) -> None:
        """Keep that the input of a period did not come in time."""
        with transaction(self.root) as con:
            changes.record_missing_input(
                con, series, period, reason=reason, n_looks=n_looks, deadline=deadline, actor=actor
            )

    def add_candidate(
        self,
        record: CandidateRecord,
        *,
        policy: Mapping[str, Any],
        n_rows: int,
        n_columns: int,
        files: Mapping[str, str],
        people: PersonHashes | None = None,
    ) -> CandidateRecord:
        """Keep a staged candidate, its policy, input and files (name to SHA-256), and hashes of its people.

        Returns what is kept: its summary says how many people must agree, and why (`approvals`).

        Raises StoreError if its digests are not those of `files` (`tree_digest`) and `policy`, or if
        its id is taken.
        """
        staff = load_staff(self.root)
        with transaction(self.root) as con:
            again = record.summary.get("judged_again")
            maker = maker_of(con, str(again["of"])) if again else marks_of(staff, record.made_by)
            return changes.add_candidate(
                con,
                record,
                policy=policy,
                n_rows=n_rows,
                n_columns=n_columns,
                files=files,
                people=people,
                maker=maker,
                at_least=least_approvers(con, staff),
            )

    def record_gates(
        self,
        candidate_id: str,
        results: Sequence[GateResult],
        *,
        to: CandidateState,
        actor: str,
        asked: Collection[str] = (),
        figures: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the gate results of a staged candidate and its `figures`, if any, and take it to `to`.

        Raises StoreError unless `to` is blocked, or every result is a pass, there is at least one, and one of
        each gate that was `asked` or has a limit in the policy (and, for approved, the policy asks for
        nobody's approval). One that passes takes the place of those of its period that wait: they are ended.
        """
        with transaction(self.root) as con:
            changes.record_gates(con, candidate_id, results, to=to, actor=actor, asked=asked, figures=figures)

    def refuse(self, decision: Decision, error: ReleaseGateError) -> None:
        """Keep that somebody's decision was refused before anybody was asked to prove it, and why."""
        with transaction(self.root) as con:
            refuse(con, decision.decision, statement_of(decision, self.store_id), error, proven=False)

    def decide(
        self, decision: Decision, *, approvers_needed: int, credential: Credential | None = None
    ) -> CandidateState:
        """Take one person's decision with what proves that it is theirs; return the candidate's new state.

        Raises Blocked if the candidate expired, is stale or is not what the person saw, UsageError if
        the person may not decide or gives no proof, VerificationFailed for an approval of files that are not
        those that the gates judged; each refusal is in the log by then. UsageError too, and nothing is
        logged, where there is no file of people that can be read.
        """
        staff = needed_staff(self.root)
        name, agreed = decision.candidate_id, decision.decision in (Act.APPROVE, Act.OVERRIDE)
        altered = differing_files(candidate_folder(self.root, name), self.files(name)) if agreed else []
        with transaction(self.root) as con:
            outcome = decide(
                con,
                self.store_id,
                decision,
                staff,
                credential,
                approvers_needed=approvers_needed,
                altered=altered,
            )
        if isinstance(outcome, ReleaseGateError):
            raise outcome
        return outcome

    def allow_publication(self, decision: Decision, *, credential: Credential | None = None) -> None:
        """Keep who publishes an approved candidate whose publication was undone; raises as `decide`."""
        staff = needed_staff(self.root)
        with transaction(self.root) as con:
            refused = allow_publication(con, self.store_id, decision, staff, credential)
        if refused is not None:
            raise refused

    def move(self, candidate_id: str, to: CandidateState, *, actor: str, reason: str) -> None:
        """End a candidate: rejected, expired, stale or failed. Raises StoreError for any other state."""
        if to not in _BY_HAND:
            raise StoreError(f"a candidate does not become {to} by a mere move", where=candidate_id)
        with transaction(self.root) as con:
            changes.set_state(con, candidate_id, to, actor=actor, reason=reason)

    def record_review(
        self,
        series: str,
        *,
        policy_digest: str | None,
        releases: Sequence[Mapping[str, Any]],
        actor: str,
    ) -> bool:
        """Keep that the releases of a series were judged again: names of gates and counts only.

        `policy_digest` is that of the one policy that all were judged by, None where each was by its own.
        Returns False, and keeps nothing, where the store can only be read.
        """
        with connect(self.root) as con:
            if is_read_only(con):
                return False
        with transaction(self.root) as con:
            changes.record_review(con, series, policy_digest=policy_digest, releases=releases, actor=actor)
        return True

    @contextmanager
    def series_lock(self, series: str, timeout: float = 600.0) -> Iterator[None]:
        """Hold the one right to publish to `series`; the system frees it when a process dies.

        Raises StoreError if another holds it for longer than `timeout` seconds.
        """
        check_series(series)
        with self._file_lock(f"{series}.lock", timeout, f"has been publishing to '{series}'"):
            yield

    @contextmanager
    def catalog_lock(self, timeout: float = 60.0) -> Iterator[None]:
        """Hold the right to sign checkpoints and to rewrite the catalog, which all series share."""
        with self._file_lock(".catalog", timeout, "has been writing the catalog"):
            yield

    @contextmanager
    def notices_lock(self, timeout: float = 60.0) -> Iterator[None]:
        """Hold the right to tell people what happened: each notice goes out in its turn."""
        with self._file_lock(".notices", timeout, "has been sending notices"):
            yield

    @contextmanager
    def _file_lock(self, name: str, timeout: float, doing: str) -> Iterator[None]:
        path = self.root / "locks" / name
        path.parent.mkdir(exist_ok=True, mode=0o700)
        # A soft lock would outlive a dead process, so a file system without real locks is refused.
        lock = FileLock(path, timeout=timeout, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise SeriesInUse(
                f"{called(holder(path))} {doing} for more than {timeout:g} s",
                where=str(path),
                hint="Wait for that process to end, or end it, and try again.",
            ) from None
        except (OSError, NotImplementedError) as error:
            raise StoreError(
                f"cannot be locked ({type(error).__name__})",
                where=str(path),
                hint="Look at the rights of that folder, and whether its file system has locks.",
            ) from None
        try:
            yield
        finally:
            lock.release()

    # Reading ---------------------------------------------------------------------------------------

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
        staff = load_staff(self.root)
        with connect(self.root) as con:
            least = known_least_approvers(con) if staff is None else staff.approvers_at_least
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
            logged = queries.logged_publications(con)
        missing = sorted(
            name
            for name, (of, _) in logged.items()
            if of == series and name not in {r.release_id for r, _ in found}
        )
        if missing:
            raise VerificationFailed(
                f"the log tells of {', '.join(missing)}, which the history does not hold",
                where=series,
                hint="`releasegate verify` says more; nothing is released until the history is restored.",
            )
        for release, classes in found:
            altered = differing_files(kept_folder(self.root, release), release.files)
            if logged.get(release.release_id) != (series, classes_digest(classes)):
                altered = ["its equivalence classes in the history", *altered]
            if altered:
                raise VerificationFailed(
                    f"altered since it was published: {', '.join(altered)}",
                    where=release.release_id,
                    hint="`releasegate verify` says more; nothing is released until the history is restored.",
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
                "the history that a candidate was judged against cannot be found again",
                where=series,
                hint="Run `releasegate verify`.",
            )
        return self.earlier_classes(series)[:n_releases]

    def first_judged(self, record: CandidateRecord) -> CandidateRecord:
        """Return the candidate for which the files of `record` were made, if they were judged again.

        Raises VerificationFailed where candidates name each other in a circle: the history was altered.
        """
        seen = {record.candidate_id}
        while "judged_again" in record.summary:
            record = self.candidate(str(record.summary["judged_again"]["of"]))
            if record.candidate_id in seen:
                raise VerificationFailed(
                    "was judged again for itself, which no candidate can be",
                    where=record.candidate_id,
                    hint="Run `releasegate verify`.",
                )
            seen.add(record.candidate_id)
        return record

    def people(self, candidate_id: str) -> PersonHashes | None:
        """Return the keyed hashes of a candidate's people, or None where none are kept.

        Raises VerificationFailed if they are not those that it was staged with.
        """
        with connect(self.root) as con:
            return read_people(con, candidate_id)

    def earlier_people(self, series: str) -> list[PersonHashes | None]:
        """Return the people of every release of a series, in the order of `earlier_classes`.

        None where none are kept. Raises VerificationFailed if some are not those that it was staged with.
        """
        with connect(self.root) as con:
            return [read_people(con, one.candidate_id) for one in queries.releases(con, series)]

    def people_in_common(self, candidate_id: str) -> PeopleInCommon | None:
        """Return how many of a candidate's people were in each earlier release; None if they are not kept."""
        with connect(self.root) as con:
            return people_in_common(con, candidate_id)

    def n_events(self) -> int:
        """Return the number of the last event."""
        with connect(self.root) as con:
            return audit.log_head(con)[0]

    def events_about(self, name: str) -> list[AuditEvent]:
        """Return the events whose object is `name`."""
        with connect(self.root) as con:
            return audit.read_events_about(con, [], [name], [])

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
