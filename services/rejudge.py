"""Judge a stale or expired candidate again: the same staged files, beside the history as it is now."""

from __future__ import annotations

from pathlib import Path

from policy.errors import Blocked, UsageError
from policy.load import policy_from_document
from release_store.approval.decisions import HINT_RESTORED, HINTS, RESTORED_SINCE
from release_store.audit.keys import load_key
from release_store.commitment import is_made_of
from release_store.permission import Act, Person, check_permission
from release_store.publishing.publication import recover
from release_store.records import CandidateRecord
from release_store.states import may
from release_store.store import ReleaseStore
from services.actor import resolve_actor
from services.candidate import restage_candidate
from services.candidate_run import CandidateRun
from services.observability.notice_delivery import notify_on_exit
from services.outcome import Outcome
from services.pipeline import PREPROCESSING
from services.runtime import Runtime, Stage
from tasks.intake.source import Given, recorded_name_and_digest
from tasks.preprocessing.prepare import prepare as prepare_table

RESTAGING = Stage("staging", "seal the candidate's files again", retries=1)


def rejudge(
    candidate: str,
    *,
    store: Path,
    input_path: Given | None = None,
    actor: str | None = None,
    runtime: Runtime | None = None,
) -> Outcome:
    """Judge the files of `candidate` again, as a new candidate; people decide anew.

    `input_path` is the table that it was made of, where the policy names no source. The maker stays who made
    the files. Raises UsageError for a candidate that cannot be judged again, or another table.
    """
    with notify_on_exit(store):
        return _rejudge(candidate, store, input_path, actor, runtime or Runtime())


def _rejudge(
    candidate_id: str, store_path: Path, input_path: Given | None, actor: str | None, runtime: Runtime
) -> Outcome:
    store = ReleaseStore.open_to_work(store_path)
    recover(store)
    record = store.candidate(candidate_id)
    store.check_rows(record.series)
    check_may_be_judged_again(store, record)
    by = resolve_actor(store, Act.REJUDGE, actor).name
    check_permission(Act.REJUDGE, Person(by, made_by=record.made_by), candidate_id)
    policy = policy_from_document(store.policy(record.policy_digest))
    load_key(store.root)
    run = CandidateRun("rejudge", policy, store, record.period, actor=by, runtime=runtime)
    with run.observation as observed:
        return observed.ended(_run_stages(run, record, input_path))


def check_may_be_judged_again(store: ReleaseStore, record: CandidateRecord) -> None:
    """Raise UsageError unless a candidate is stale or expired, and nothing has come of its period since."""
    name = record.candidate_id
    if not may(Act.REJUDGE, record.state):
        raise UsageError(
            f"is {record.state}; only a stale or expired candidate can be assessed again",
            where=name,
            hint=HINTS[record.state],
        )
    purge = store.purged(record.series).get(name)
    if purge is not None:
        raise UsageError(
            f"its rows were purged on {purge.at[:10]}",
            where=name,
            hint="Run the period again with `releasegate run`.",
        )
    waiting = [one.candidate_id for one in store.waiting_for(record.series, record.period)]
    if waiting:
        raise UsageError(
            f"{waiting[-1]} awaits approval for the same period",
            where=name,
            hint=f"Decide on that one; if it is rejected, assess {name} again.",
        )
    if restored := store.restored_since(record):
        finding = f"{restored}, which it revises, {RESTORED_SINCE}"
        raise UsageError(finding, where=name, hint=HINT_RESTORED)
    last = store.last_release_of(record.series, record.period)
    revised = record.summary.revision.of if record.summary.revision else None
    if last is not None and last.release_id != revised:
        raise UsageError(
            f"{last.release_id} has been published for its period since",
            where=name,
            hint="To revise it, run `releasegate run` with --revise REASON and --by NAME.",
        )


def _run_stages(run: CandidateRun, record: CandidateRecord, input_path: Given | None) -> Outcome:
    """Read the source again, and judge the candidate's files beside the history as it is now."""
    policy, store = run.policy, run.store
    file = recorded_name_and_digest(
        policy, input_path=input_path, period=run.period, base=Path(), trusted=run.trusted
    )
    if file is not None:  # told before what may be wrong with the columns of another table
        _check_digest(store, *file, record)
    source = run.read(input_path, Path())
    _check_digest(store, source.origin, source.digest, record)
    control = run.read_control(source, Path())
    table = run.stage(PREPROCESSING, lambda _: prepare_table(source, policy))
    with run.series_lock():
        now = store.candidate(record.candidate_id)
        if now != record:
            raise Blocked(
                "was changed by another run in the meantime",
                where=record.candidate_id,
                hint=f"Look at it again with `releasegate show {record.candidate_id}`.",
            )
        check_may_be_judged_again(store, now)
        before = store.figures(record.candidate_id) or {}
        shown = {name: before.get(name) for name in ("attributes", "latent")}  # of the same files
        candidate = run.stage(
            RESTAGING, lambda _: restage_candidate(record, source, policy, store, run.actor)
        )
        return run.assess_and_publish(table, candidate, record.summary.notes, control, shown)


def _check_digest(store: ReleaseStore, origin: str, digest: str, record: CandidateRecord) -> None:
    if not is_made_of(store.root, record.input_digest, digest):
        raise UsageError(
            "is not the candidate's table: its digest differs",
            where=origin,
            hint=f"Give the table of {record.candidate_id} with --input, or run the period again.",
        )
