"""Make a release again from its recorded policy, seed and method, and compare it byte by byte."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from policy.errors import StoreError, UsageError, VerificationFailed, did_you_mean
from policy.load import policy_from_document
from policy.model import ReleasePolicy
from policy.plain_file import read_bytes
from policy.recoding import Form
from policy.trusted import Trusted
from release_store.commitment import draw_key, is_made_of
from release_store.person_key import PERSON_KEY_VARIABLE, fingerprint_of, person_key
from release_store.publishing.manifest import software_versions
from release_store.publishing.public_files import MANIFEST, differing_files, kept_folder
from release_store.records import CandidateRecord, Release
from release_store.store import ReleaseStore
from services.pipeline import PersonHistory, make_rows
from services.reuse import cells_reused
from services.runtime import Runtime
from services.source import read_source
from services.trust import trusted_in
from tasks.history.following import may_follow_nobody
from tasks.intake.source import Given, recorded_name_and_digest
from tasks.methods.registry import bound_method
from tasks.staging.stage import stage
from tasks.types import Progress, SourceTable, no_progress


@dataclass(frozen=True)
class Reproduction:
    """What came out: `files` holds for each staged file the recorded and the new SHA-256.

    `software` holds what the release was made with and what is here, where these differ.
    """

    release_id: str
    files: dict[str, tuple[str, str | None]]
    software: dict[str, tuple[str | None, str | None]]

    @property
    def same(self) -> bool:
        """Whether every file came out the same."""
        return bool(self.files) and all(recorded == made for recorded, made in self.files.values())

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "release": self.release_id,
            "same": self.same,
            "files": {
                name: {"recorded": recorded, "made": made, "same": recorded == made}
                for name, (recorded, made) in self.files.items()
            },
            "software": {name: {"then": then, "now": now} for name, (then, now) in self.software.items()},
        }


def reproduce(
    store: ReleaseStore, release_id: str, input_path: Given | None = None, progress: Progress = no_progress
) -> Reproduction:
    """Run the recorded policy over the same input beside the history of then, and compare the files.

    Raises UsageError for an unknown release or another input, VerificationFailed where the history that the
    release was made beside cannot be found again. Nothing is written to the store.
    """
    releases = {one.release_id: one for one in store.releases()}
    if release_id not in releases:
        raise UsageError(
            f"there is no release '{release_id}'{did_you_mean(release_id, releases)}",
            hint="Run `releasegate history` to list them.",
        )
    release = releases[release_id]
    record = store.candidate(release.candidate_id)
    policy = policy_from_document(store.policy(record.policy_digest))
    source = _source(policy, record, release_id, input_path, trusted_in(store.root), store.root)
    made = _made(store, policy, record, source, progress)
    recorded = store.files(record.candidate_id)
    if made != recorded and source.draw_key:  # perhaps it was made when seeds were drawn without a key
        before = _made(store, policy, record, replace(source, draw_key=b""), progress)
        made = before if before == recorded else made
    files = {name: (digest, made.get(name)) for name, digest in recorded.items()}
    return Reproduction(release_id, files, _changed_software(store, release))


def _source(
    policy: ReleasePolicy,
    record: CandidateRecord,
    release_id: str,
    input_path: Given | None,
    trusted: Trusted,
    root: Path,
) -> SourceTable:
    file = recorded_name_and_digest(
        policy, input_path=input_path, period=record.period, base=Path(), trusted=trusted
    )
    if file is not None:  # told before what may be wrong with the columns of another table
        _check_digest(root, *file, record, release_id)
    source = read_source(policy, input_path=input_path, period=record.period, base=Path(), trusted=trusted)
    _check_digest(root, source.origin, source.digest, record, release_id)
    drawn = {policy.form(name) for name in policy.roles.quasi_identifiers} & {Form.REPLACED, Form.NOISED}
    return replace(source, draw_key=draw_key(root)) if drawn or may_follow_nobody(policy) else source


def _check_digest(root: Path, origin: str, digest: str, record: CandidateRecord, release_id: str) -> None:
    if not is_made_of(root, record.input_digest, digest):
        raise UsageError(
            f"is not the table of {release_id}: its digest differs",
            where=origin,
            hint="Give that table with --input.",
        )


def _made(
    store: ReleaseStore,
    policy: ReleasePolicy,
    record: CandidateRecord,
    source: SourceTable,
    progress: Progress,
) -> dict[str, str]:
    """Return the digests of the files that come out now."""
    history = store.classes_at(record.series, store.first_judged(record).history_head)
    people = _people(store, policy, record, len(history))
    stages = Runtime(progress)
    rows = make_rows(
        source,
        policy,
        bound_method(policy),
        history,
        record.period,
        people,
        stages,
        lambda: cells_reused(record, policy, history),
    ).rows
    progress(0.0, "staging")
    try:
        with tempfile.TemporaryDirectory(prefix="releasegate-") as folder:
            candidate = stage(
                rows,
                policy,
                candidate_id=record.candidate_id,
                period=record.period,
                folder=Path(folder) / "files",
                n_source=source.n_rows,
            )
    except OSError as error:
        raise StoreError(
            f"the files could not be reproduced ({type(error).__name__})",
            where=tempfile.gettempdir(),
            hint="Free the disk, or name another folder in TMPDIR.",
        ) from None
    return candidate.files


def _people(
    store: ReleaseStore, policy: ReleasePolicy, record: CandidateRecord, n_earlier: int
) -> PersonHistory | None:
    """Return the people of then, where the release was made with a key of people, which must be at hand."""
    own = store.people(record.candidate_id)
    if own is None or own.classes is None or policy.roles.key is None:
        return None
    key = person_key(store.root)
    if key is None or fingerprint_of(key, policy.roles.key) != own.fingerprint:
        raise UsageError(
            "was made with a key of people that is missing",
            where=record.candidate_id,
            hint=f"Restore it, or name it in {PERSON_KEY_VARIABLE}.",
        )
    return PersonHistory(key, store.earlier_people(record.series)[:n_earlier])


def _changed_software(store: ReleaseStore, release: Release) -> dict[str, tuple[str | None, str | None]]:
    """Return what the release was made with and what is here, where these differ."""
    path = kept_folder(store.root, release) / MANIFEST
    then = _software_of(path, release.files[MANIFEST])
    now = software_versions()
    names = sorted(then.keys() | now.keys())
    return {name: (then.get(name), now.get(name)) for name in names if then.get(name) != now.get(name)}


def _software_of(path: Path, digest: str) -> Mapping[str, str]:
    try:
        if not differing_files(path.parent, {path.name: digest}):
            found: Mapping[str, str] = json.loads(read_bytes(path))["software"]
            return found
    except OSError:
        pass
    raise VerificationFailed(
        "differs from the published manifest", where=str(path), hint="Run `releasegate verify`."
    )
