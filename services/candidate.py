"""A candidate: the files that would be public, written, sealed by their digests and kept in the store."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

from policy.load import policy_digest, policy_document
from policy.model import ReleasePolicy
from policy.text import number_of
from policy.unlimited import unlimited
from release_store.canonical import utc_now
from release_store.person_key import person_key
from release_store.publishing.public_files import candidate_folder, copy_candidate
from release_store.records import CandidateRecord, CandidateState, PersonHashes
from release_store.sealed import sealed_file
from release_store.store import ReleaseStore
from release_store.summary import DOUBTS, Revision, Summary
from services.pipeline import PublishableRows
from tasks.history.persons import known_twice
from tasks.staging.people import class_numbers, people_and_records, row_units, with_values
from tasks.staging.stage import stage
from tasks.types import Candidate, Recoded, SourceTable

TWICE = "{} another key in another form (zeros, case, blanks, `.0`): somebody may count twice"


def stage_candidate(
    made: PublishableRows, store: ReleaseStore, *, period: str, actor: str, revision: Revision | None = None
) -> Candidate:
    """Write the files that would be public, and keep the candidate in the store.

    The people of the rows are kept as keyed hashes, where there is a key, with the class of their row, and
    sealed with their values and seats where one person has one row.
    """
    rows, source, policy = made.rows, made.prepared.source, made.prepared.policy
    candidate_id = store.next_candidate_id(policy.series, period)
    head = store.history_head(policy.series)
    candidate = stage(
        rows,
        policy,
        candidate_id=candidate_id,
        period=period,
        folder=candidate_folder(store.root, candidate_id),
        n_source=source.n_rows,
    )
    people = people_of_rows(made, candidate, person_key(store.root))
    doubts = [one.kept for one in source.doubts] + [" ".join(one) for one in unlimited(policy)]
    if twice := 0 if people is None or policy.gates.person.other_forms == "accept" else known_twice(people):
        doubts.append(TWICE.format(number_of(twice, "key is", "keys are")))
    now = utc_now()
    record = CandidateRecord(
        candidate_id=candidate_id,
        series=policy.series,
        period=period,
        state=CandidateState.STAGED,
        made_by=actor,
        made_at=now,
        policy_digest=policy_digest(policy),
        input_digest=source.commitment,
        candidate_digest=candidate.digest,
        history_head=head,
        expires_at=now + timedelta(days=policy.approval.expires_days),
        summary=Summary(
            {
                "method": policy.method.name,
                "parameters": policy.method.parameters,
                "history": policy.method.history,
                "seed": policy.seed,
                "n_source": candidate.n_source,
                "n_published": candidate.n_published,
                "notes": made.notes,
                **({"revision": asdict(revision)} if revision else {}),
                **({DOUBTS: doubts} if doubts else {}),
            }
        ),
    )
    store.add_candidate(
        record,
        policy=policy_document(policy),
        n_rows=source.n_rows,
        n_columns=len(policy.roles.columns_read()),
        files=candidate.files,
        people=people,
    )
    return with_units(replace(candidate, people=people), source, rows, policy)


def with_units(candidate: Candidate, source: SourceTable, rows: Recoded, policy: ReleasePolicy) -> Candidate:
    """Return a staged candidate with whose its rows are, as far as the policy counts people or households."""
    candidate = replace(candidate, row_records=rows.records)
    key, household = policy.roles.key, policy.roles.household
    if policy.rows == "several" and key is not None:
        with _data_of(candidate) as file:
            candidate = replace(candidate, row_people=row_units(file, source, rows, key))
    if household is not None:
        with _data_of(candidate) as file:
            candidate = replace(candidate, row_households=row_units(file, source, rows, household))
    return candidate


def people_of_rows(made: PublishableRows, candidate: Candidate, key: bytes | None) -> PersonHashes | None:
    """Return the people of a staged candidate's rows as the store keeps them; None without a key."""
    rows, source, policy = made.rows, made.prepared.source, made.prepared.policy
    if key is None or policy.roles.key is None:
        return None
    with _data_of(candidate) as file:
        numbers = class_numbers(file, rows, policy, source.n_rows)
        found = people_and_records(source, numbers, policy, key)
        if found is None:
            return None
        return with_values(*found, file, source, rows, numbers, policy, key, made.groups.seats)


def _data_of(candidate: Candidate) -> AbstractContextManager[Path]:
    """Open the staged rows, if they are those that were staged."""
    return sealed_file(candidate.folder / "data.parquet", candidate.files.get("data.parquet"))


def restage_candidate(
    record: CandidateRecord, source: SourceTable, policy: ReleasePolicy, store: ReleaseStore, actor: str
) -> Candidate:
    """Keep the files of a candidate as those of a new one, to be judged beside the history as it is now.

    Who made the files stays who made the candidate, and so cannot decide on it; `actor` asked for this.
    Raises VerificationFailed where the files are no longer those that were staged.
    """
    candidate_id = store.next_candidate_id(record.series, record.period)
    head = store.history_head(record.series)
    files = store.files(record.candidate_id)
    folder = candidate_folder(store.root, candidate_id)
    copy_candidate(candidate_folder(store.root, record.candidate_id), folder, files)
    now = utc_now()
    again = replace(
        record,
        candidate_id=candidate_id,
        state=CandidateState.STAGED,
        made_at=now,
        history_head=head,
        expires_at=now + timedelta(days=policy.approval.expires_days),
        summary=record.summary.reassessed(record.candidate_id, actor),
    )
    store.add_candidate(
        again,
        policy=policy_document(policy),
        n_rows=source.n_rows,
        n_columns=source.frame.shape[1],
        files=files,
        people=store.people(record.candidate_id),
    )
    return Candidate(
        candidate_id,
        record.series,
        record.period,
        folder,
        files,
        record.candidate_digest,
        record.summary.n_source or 0,
        record.summary.n_published or 0,
    )
