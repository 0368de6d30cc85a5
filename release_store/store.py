"""The release store: one folder that holds the history, its audit log and what was published."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from policy.errors import ReleaseGateError, StoreError, UsageError, VerificationFailed
from release_store import audit, changes, keys, queries
from release_store.canonical import iso, utc_now
from release_store.classes import classes_digest, read_classes
from release_store.connection import DATABASE, connect, transaction
from release_store.decisions import decide
from release_store.names import check_series
from release_store.public_files import differing_files, kept_folder
from release_store.records import (
    AuditEvent,
    CandidateRecord,
    CandidateState,
    Decision,
    EquivalenceClasses,
    GateResult,
    Release,
    Validation,
)

_FOLDERS = ("candidates", "releases", "locks")
_BY_HAND = frozenset(
    {CandidateState.REJECTED, CandidateState.EXPIRED, CandidateState.STALE, CandidateState.FAILED}
)


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
                "is a store already", where=str(root), mend="Choose another folder with --store."
            )
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise UsageError(
                "is not an empty folder", where=str(root), mend="Choose another folder with --store."
            )
        key = keys.make_key(root)
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
                {"store_id": store_id, "public_key": keys.public_hex(key), "created_at": created_at},
            )
        return cls(root, store_id)

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open the store in `root`. Raises UsageError if there is none, StoreError if it cannot be read."""
        if not (root / DATABASE).is_file():
            raise UsageError("there is no store here", where=str(root), mend="`releasegate init` makes one.")
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

    def add_candidate(
        self,
        record: CandidateRecord,
        *,
        policy: Mapping[str, Any],
        n_rows: int,
        n_columns: int,
        files: Mapping[str, str],
    ) -> None:
        """Keep a staged candidate, its policy, input and files (name to SHA-256).

        Raises StoreError if its digests are not those of `files` (`tree_digest`) and `policy`, or if
        its id is taken.
        """
        with transaction(self.root) as con:
            changes.add_candidate(con, record, policy=policy, n_rows=n_rows, n_columns=n_columns, files=files)

    def record_gates(
        self, candidate_id: str, results: Sequence[GateResult], *, to: CandidateState, actor: str
    ) -> None:
        """Keep the gate results of a staged candidate, and take it to `to`.

        Raises StoreError unless `to` is blocked, or every result is a pass and there is at least one
        (and, for approved, the policy asks for nobody's approval).
        """
        with transaction(self.root) as con:
            changes.record_gates(con, candidate_id, results, to=to, actor=actor)

    def decide(self, decision: Decision, *, approvers_needed: int) -> CandidateState:
        """Take one person's decision, and return the candidate's new state.

        Raises Blocked if the candidate expired, is stale or is not what the person saw, UsageError if
        the person may not decide; both refusals are in the log by then.
        """
        with transaction(self.root) as con:
            outcome = decide(con, decision, approvers_needed=approvers_needed)
        if isinstance(outcome, ReleaseGateError):
            raise outcome
        return outcome

    def move(self, candidate_id: str, to: CandidateState, *, actor: str, reason: str) -> None:
        """End a candidate: rejected, expired, stale or failed. Raises StoreError for any other state."""
        if to not in _BY_HAND:
            raise StoreError(f"a candidate does not become {to} by a mere move", where=candidate_id)
        with transaction(self.root) as con:
            changes.set_state(con, candidate_id, to, actor=actor, reason=reason)

    @contextmanager
    def series_lock(self, series: str, timeout: float = 600.0) -> Iterator[None]:
        """Hold the one right to publish to `series`; the system frees it when a process dies.

        Raises StoreError if another holds it for longer than `timeout` seconds.
        """
        check_series(series)
        with self._file_lock(f"{series}.lock", timeout, f"another run has been publishing to '{series}'"):
            yield

    @contextmanager
    def catalog_lock(self, timeout: float = 60.0) -> Iterator[None]:
        """Hold the right to rewrite the catalog, which all series share."""
        with self._file_lock(".catalog", timeout, "another run has been writing the catalog"):
            yield

    @contextmanager
    def _file_lock(self, name: str, timeout: float, finding: str) -> Iterator[None]:
        path = self.root / "locks" / name
        path.parent.mkdir(exist_ok=True, mode=0o700)
        # A soft lock would outlive a dead process, so a file system without real locks is refused.
        lock = FileLock(path, timeout=timeout, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise StoreError(
                f"{finding} for more than {timeout:g} s", where=str(path), mend="Try again later."
            ) from None
        except (OSError, NotImplementedError) as error:
            raise StoreError(f"cannot be locked ({type(error).__name__})", where=str(path)) from None
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

    def gates(self, candidate_id: str) -> list[GateResult]:
        """Return a candidate's gate results in the order in which they were taken."""
        with connect(self.root) as con:
            return queries.gates(con, candidate_id)

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

    def release_of(self, series: str, period: str) -> Release | None:
        """Return the published release of one period, if there is one."""
        with connect(self.root) as con:
            return queries.release_of(con, series, period)

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
                mend="`releasegate verify` says more; nothing is released until the history is restored.",
            )
        for release, classes in found:
            altered = differing_files(kept_folder(self.root, release), release.files)
            if logged.get(release.release_id) != (series, classes_digest(classes)):
                altered = ["its equivalence classes in the history", *altered]
            if altered:
                raise VerificationFailed(
                    f"altered since it was published: {', '.join(altered)}",
                    where=release.release_id,
                    mend="`releasegate verify` says more; nothing is released until the history is restored.",
                )
        return found

    def n_events(self) -> int:
        """Return the number of the last event."""
        with connect(self.root) as con:
            return audit.log_head(con)[0]

    def events_about(self, name: str) -> list[AuditEvent]:
        """Return the events whose object is `name`."""
        with connect(self.root) as con:
            return audit.read_events_about(con, [], [name], [])

    def events(self, after: int = 0) -> list[AuditEvent]:
        """Return the audit log from the event that follows number `after`."""
        with connect(self.root) as con:
            return audit.read_events(con, after)
