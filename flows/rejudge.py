"""The flow that judges a stale candidate again: the same staged files, beside the history as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow

from flows.judging import Judging
from flows.last_end import remember_result
from policy.errors import Blocked, UsageError
from policy.load import policy_from_document
from release_store.approval.decisions import MENDS
from release_store.audit.keys import load_key
from release_store.permission import Act, Person, check_permission
from release_store.protocol.canonical import file_digest
from release_store.protocol.commitment import is_made_of
from release_store.publishing.publication import recover
from release_store.records import CandidateRecord
from release_store.states import may
from release_store.store import ReleaseStore
from services.actor import runner
from services.observability.notices import notify_on_exit
from tasks.intake.source import input_file
from tasks.intake.task import intake
from tasks.preprocessing.task import preprocessing
from tasks.shielded import sanitize_errors
from tasks.staging.task import restaging


@flow(
    name="rejudge",
    description="Judge a stale candidate again beside the history as it is now.",
    flow_run_name="rejudge-{candidate}",
    persist_result=False,
    retries=0,
)
def rejudge(
    candidate: str, input_path: str | None = None, store: str = "store", actor: str | None = None
) -> Any:
    """Judge the files of `candidate` again, as a new candidate; people decide anew.

    Args:
        candidate: a candidate that became stale or expired.
        input_path: the table that it was made of, where the policy names no query.
        store: folder of the release store.
        actor: who asks for it; left out, the system's account. The maker stays who made the files.
    """
    with notify_on_exit(Path(store)):
        return remember_result(sanitize_errors(_rejudge, "the rejudge flow"))(
            candidate, input_path, store, actor
        )


def _rejudge(candidate_id: str, input_path: str | None, store_path: str, actor: str | None) -> Any:
    store = ReleaseStore.open(Path(store_path))
    recover(store)
    record = store.candidate(candidate_id)
    check_may_be_judged_again(store, record)
    by = runner(store, Act.REJUDGE, actor).name
    check_permission(Act.REJUDGE, Person(by, made_by=record.made_by), candidate_id)
    policy = policy_from_document(store.policy(record.policy_digest))
    load_key(store.root)
    run = _Again(policy, store, record.period, by)
    return run.observed(run.run_pipeline, record, Path(input_path) if input_path else None)


def check_may_be_judged_again(store: ReleaseStore, record: CandidateRecord) -> None:
    """Raise UsageError unless a candidate is stale or expired, and nothing has come of its period since."""
    name = record.candidate_id
    if not may(Act.REJUDGE, record.state):
        raise UsageError(
            f"is {record.state}, and only a stale or an expired candidate is judged again",
            where=name,
            hint=MENDS[record.state],
        )
    waiting = [one.candidate_id for one in store.waiting_for(record.series, record.period)]
    if waiting:
        raise UsageError(
            f"{waiting[-1]} waits for the same period",
            where=name,
            hint=f"Decide on that one; rejected, it makes room for {name}.",
        )
    last = store.last_release_of(record.series, record.period)
    revised = record.revision.of if record.revision else None
    if last is not None and last.release_id != revised:
        raise UsageError(
            f"{last.release_id} is the last release of its period since",
            where=name,
            hint="Revise that, if it must be: `releasegate run` with --revise REASON and --by NAME.",
        )


class _Again(Judging):
    """One run of the flow."""

    flow = "rejudge"

    def run_pipeline(self, record: CandidateRecord, input_path: Path | None) -> Any:
        """Read the source again, and judge the candidate's files beside the history as it is now."""
        file = input_file(
            self.policy, input_path=input_path, period=self.period, base=Path(), trusted=self.trusted
        )
        if file is not None:  # told before what may be wrong with the columns of another table
            self._check_digest(file.name, file_digest(file), record)
        root = self.store.root
        source = self.timed(
            "intake", intake, self.policy, input_path, self.period, Path(), self.trusted, root
        )
        self._check_digest(source.origin, source.digest, record)
        control = self.control(source, Path())
        table = self.timed("preprocessing", preprocessing, source, self.policy)
        with self.series_lock():
            now = self.store.candidate(record.candidate_id)
            if now != record:
                raise Blocked(
                    "was changed by another run meanwhile",
                    where=record.candidate_id,
                    hint=f"Look at it again: `releasegate show {record.candidate_id}`.",
                )
            check_may_be_judged_again(self.store, now)
            before = self.store.figures(record.candidate_id) or {}
            shown = {name: before.get(name) for name in ("attributes", "latent")}  # of the same files
            candidate = self.timed("staging", restaging, record, source, self.policy, self.store, self.actor)
            return self.assess_and_publish(table, candidate, record.summary["notes"], control, lambda: shown)

    def _check_digest(self, origin: str, digest: str, record: CandidateRecord) -> None:
        if not is_made_of(self.store.root, record.input_digest, digest):
            raise UsageError(
                "is not the table that the candidate was made of: its digest is another",
                where=origin,
                hint=f"Give the table of {record.candidate_id} with --input, or run the period anew.",
            )
