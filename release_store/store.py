"""The release store: one folder that holds the history, its audit log and what was published."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import duckdb
from filelock import FileLock, Timeout

from policy.accepted import check_whose, is_made_or_accepted, register
from policy.errors import ReleaseGateError, StoreError, UsageError
from release_store.acceptance import check_accepted
from release_store.approval.authentication import (
    credential_ids,
    decision_statement,
    least_approvers,
    maker_of,
    refuse,
)
from release_store.approval.credentials import Credential
from release_store.approval.decisions import allow_publication, decide
from release_store.approval.questions import Question, answer, ask
from release_store.approval.reviewers import load_reviewers, needed_reviewers
from release_store.audit import keys
from release_store.audit import log as audit
from release_store.audit.checkpoints import KEPT, check_can_keep, check_kept, keep, keep_head, kept_file, sign
from release_store.canonical import iso, utc_now
from release_store.db import changes, queries
from release_store.db.connection import DATABASE, connect, is_read_only, transaction
from release_store.names import check_series
from release_store.own_places import check_entries, check_file, check_folders, check_lock
from release_store.permission import Act
from release_store.person_key import make_person_key
from release_store.protocol.clock import IN_ORDER
from release_store.protocol.proofs import PROVEN
from release_store.protocol.seals import SEALED
from release_store.publishing.candidate_report import keep_report
from release_store.publishing.locks import holder, lock_name
from release_store.reading import StoreReader
from release_store.records import (
    CandidateRecord,
    CandidateState,
    Decision,
    GateResult,
    PersonHashes,
)
from release_store.verification.rows_and_log import check_rows_follow_log

_FOLDERS = ("candidates", "releases", "locks")
_BY_HAND = frozenset(
    {CandidateState.REJECTED, CandidateState.EXPIRED, CandidateState.STALE, CandidateState.FAILED}
)


class SeriesInUse(StoreError):
    """A lock that another process holds."""


class ReleaseStore(StoreReader):
    """The history of every series of releases in one folder.

    Each method opens the database, works in one transaction and closes it, so that any number of
    processes may use one store. State changes and their events are kept together or not at all.
    """

    @classmethod
    def create(cls, root: Path, *, actor: str = "releasegate") -> Self:
        """Make a store in `root`, and its keys outside it; this account may work with it from then on.

        Raises UsageError if it is one already, and for keys or folders that are another's. What was made is
        removed where the rest cannot be. A configuration that cannot be written is not told: `is_accepted`.
        """
        if (root / DATABASE).exists():
            raise UsageError(
                "is already a store", where=str(root), hint="Choose another folder with --store."
            )
        if root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise _not_empty(root)
        check_whose(root)
        with ExitStack() as undo:
            store = cls._made(root, actor, undo)
            undo.pop_all()
        with suppress(UsageError):
            register(root, store.store_id)
        return store

    @classmethod
    def _made(cls, root: Path, actor: str, undo: ExitStack) -> Self:
        """Make a store as `create` does; `undo` removes what was made of it."""
        make_person_key(root, undo)
        key = keys.make_key(root, undo)
        check_can_keep(root)
        _make_folder(root, undo)
        (root / keys.PUBLIC_KEY_FILE).write_bytes(keys.public_pem(key))
        store_id = str(uuid.uuid4())
        undo.callback(kept_file(root, store_id).unlink, missing_ok=True)
        created_at = iso(utc_now())
        with transaction(root, create=True) as con:
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
                    "assessments": SEALED,
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
                    hint=(
                        "Restore it from a backup: without it, no release can be compared with earlier ones."
                    ),
                )
            raise UsageError(
                "there is no store here", where=str(root), hint="Run `releasegate init` to make one."
            )
        with connect(root) as con:
            return cls(root, queries.store_info(con, "store_id"))

    @classmethod
    def open_to_work(cls, root: Path) -> Self:
        """Open the store in `root` to change it, or to go by its people; raises as `open`.

        Raises UsageError too where this account neither made nor accepted it.
        """
        store = cls.open(root)
        check_accepted(root, lambda: store.store_id)
        return store

    @property
    def is_accepted(self) -> bool:
        """Whether this account may work with the store; not where its configuration is of no use."""
        try:
            return is_made_or_accepted(self.root, lambda: self.store_id)
        except UsageError:
            return False

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
        staff = load_reviewers(self.root)
        with self.kept_transaction() as con:
            again = record.summary.reassessment
            maker = maker_of(con, again.of) if again else credential_ids(staff, record.made_by)
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
        each gate that was `asked` or that a field of the policy asks for (and, for approved, no approval is
        needed). One that passes takes the place of those of its period that wait: they are ended. Raises
        UsageError where the signing key, which seals the results, is not at hand.
        """
        key = keys.load_key(self.root)
        with self.kept_transaction() as con:
            changes.record_gates(
                con, candidate_id, results, to=to, actor=actor, key=key, asked=asked, figures=figures
            )

    def keep_report(self, candidate_id: str, page: bytes, *, actor: str) -> Path:
        """Write a candidate's `report.html`, whole or not at all, keep its digest, and return its path.

        Raises UsageError where the signing key, which seals the digest, is not at hand.
        """
        key = keys.load_key(self.root)
        with self.kept_transaction() as con:
            return keep_report(con, self.root, candidate_id, page, actor, key)

    def refuse(self, decision: Decision, error: ReleaseGateError) -> None:
        """Keep that somebody's decision was refused before anybody was asked to prove it, and why."""
        with transaction(self.root) as con:
            refuse(con, decision.decision, decision_statement(decision, self.store_id), error, proven=False)

    def decide(
        self, decision: Decision, *, approvers_needed: int, credential: Credential | None = None
    ) -> CandidateState:
        """Take one person's decision with what proves that it is theirs; return the candidate's new state.

        Raises Blocked if the candidate expired, is stale or is not what the person saw, UsageError if the
        person may not decide or gives no proof, VerificationFailed for an approval of files that are not
        those that the gates judged or of a report that is not the one that was written; each refusal is in
        the log by then. UsageError too, and nothing is logged, where no file of people can be read.
        """
        staff = needed_reviewers(self.root)
        name, agreed = decision.candidate_id, decision.decision in (Act.APPROVE, Act.OVERRIDE)
        altered = list(self.altered_files(name)) if agreed else []
        with self._act_on(name, harmless=not agreed) as con:
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

    def ask(self, candidate_id: str, *, by: str, text: str, credential: Credential | None = None) -> Question:
        """Return a candidate that awaits approval with a question; raises as `decide`."""
        staff = needed_reviewers(self.root)
        with self._act_on(candidate_id) as con:
            found = ask(con, self.store_id, candidate_id, staff, credential, by=by, text=text)
        if isinstance(found, ReleaseGateError):
            raise found
        return found

    def answer(
        self,
        candidate_id: str,
        *,
        by: str,
        text: str,
        number: int | None = None,
        credential: Credential | None = None,
    ) -> Question:
        """Answer a question, that of the event `number` or the only open one; raises as `decide`."""
        staff = needed_reviewers(self.root)
        with self._act_on(candidate_id) as con:
            found = answer(
                con, self.store_id, candidate_id, staff, credential, by=by, text=text, number=number
            )
        if isinstance(found, ReleaseGateError):
            raise found
        return found

    def allow_publication(self, decision: Decision, *, credential: Credential | None = None) -> None:
        """Keep who publishes an approved candidate whose publication was undone; raises as `decide`."""
        staff = needed_reviewers(self.root)
        with self._act_on(decision.candidate_id) as con:
            refused = allow_publication(con, self.store_id, decision, staff, credential)
        if refused is not None:
            raise refused

    def move(self, candidate_id: str, to: CandidateState, *, actor: str, reason: str) -> None:
        """End a candidate: rejected, expired, stale or failed. Raises StoreError for any other state."""
        if to not in _BY_HAND:
            raise StoreError(f"a candidate cannot become {to} by a change of state alone", where=candidate_id)
        with self.kept_transaction() as con:
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
    def kept_transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """One transaction, after which the log's head is kept beside the signing key, if that is at hand.

        Who writes the store can then cut nothing off that was said in it.
        """
        with self.catalog_lock():
            with transaction(self.root) as con:
                check_kept(con, self.root)
                before = audit.log_head(con)
                yield con
                keep_it = keep_head(con, self.root, before)
            keep_it()

    @contextmanager
    def _act_on(self, candidate_id: str, *, harmless: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """One transaction on a candidate. Raises VerificationFailed where rows do not follow the log.

        What is `harmless`, a rejection, can be done in a damaged store too. Raises UsageError where the
        signing key is not at hand: what is said is kept beside it.
        """
        keys.load_key(self.root)
        with self.kept_transaction() as con:
            series = queries.candidate(con, candidate_id).series
            if not harmless:
                check_rows_follow_log(con, self.root, series, compared=True)
            yield con

    @contextmanager
    def series_lock(self, series: str, timeout: float = 600.0) -> Iterator[None]:
        """Hold the one right to publish to `series`; the system frees it when a process dies.

        Raises StoreError if another holds it for longer than `timeout` seconds, VerificationFailed where a
        folder of the store, of the series, of one of its releases or of a candidate is a link.
        """
        check_series(series)
        doing, within = f"has been publishing to '{series}'", (f"releases/{series}", f"withdrawn/{series}")
        with self._file_lock(f"{series}.lock", timeout, doing, within):
            check_file(self.root / keys.PUBLIC_KEY_FILE)
            check_entries(self.root, series)
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
    def _file_lock(self, name: str, timeout: float, doing: str, within: Sequence[str] = ()) -> Iterator[None]:
        """Hold a lock; what holds it writes to the store's folders, and those `within` them."""
        path = self.root / "locks" / name
        check_folders(self.root, within)
        path.parent.mkdir(exist_ok=True, mode=0o700)
        check_lock(path)
        # A soft lock would outlive a dead process, so a file system without real locks is refused.
        lock = FileLock(path, timeout=timeout, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout:
            raise SeriesInUse(
                f"{lock_name(holder(path))} {doing} for more than {timeout:g} s",
                where=str(path),
                hint="Wait for that process to end, or stop it, and try again.",
            ) from None
        except (OSError, NotImplementedError) as error:
            raise StoreError(
                f"cannot be locked ({type(error).__name__})",
                where=str(path),
                hint="Check the permissions of that folder, and that its file system supports locks.",
            ) from None
        try:
            yield
        finally:
            lock.release()


def _make_folder(root: Path, undo: ExitStack) -> None:
    """Make the folder of a new store and those in it; `undo` empties it again.

    Raises UsageError where another process has just begun to make one there.
    """
    made = not root.exists()
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        (root / _FOLDERS[0]).mkdir(mode=0o700)
    except FileExistsError:  # a link to nothing, too
        raise _not_empty(root) from None
    except OSError as error:
        raise UsageError(
            f"cannot be made ({type(error).__name__})",
            where=str(root),
            hint="Check the permissions of its folder.",
        ) from None
    if made:
        undo.callback(shutil.rmtree, root, ignore_errors=True)
    else:
        undo.callback(_empty, root)
    for name in _FOLDERS[1:]:
        (root / name).mkdir(mode=0o700)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _not_empty(root: Path) -> UsageError:
    return UsageError("is not an empty folder", where=str(root), hint="Choose another folder with --store.")
