"""Review a series: today's gates over all that was published, and who looked at it in the log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from policy.errors import InputError, PolicyError, UsageError, VerificationFailed, did_you_mean
from policy.load import load_policy, policy_digest, policy_from_document
from policy.location import Location, location_of
from policy.model import ReleasePolicy
from policy.trusted import ObjectStore, Trusted
from release_store.canonical import digest_of
from release_store.commitment import draw_key, is_made_of
from release_store.person_key import person_key
from release_store.protocol.overrides import mark_of
from release_store.publishing.public_files import kept_folder
from release_store.records import CandidateRecord, EquivalenceClasses, Release
from release_store.store import ReleaseStore
from release_store.verification.verify import overrides
from reports.documents import Document, check_known_series, gate_document
from services.source import read_source
from services.trust import trusted_in
from tasks.intake.sealed import input_digest
from tasks.preprocessing.prepare import prepare
from tasks.risk.registry import check_models
from tasks.risk.review import Publication, Review, review
from tasks.types import PreparedTable, Progress, no_progress


def audit_series(
    store: ReleaseStore,
    series: str,
    *,
    by: str,
    policy_path: Path | None = None,
    inputs: Sequence[str] = (),
    progress: Progress = no_progress,
) -> Document:
    """Judge every release of a series again, keep in the log that it was done, and return what was found.

    `inputs` are written PERIOD=FILE. Raises UsageError for a series without releases, a policy of another
    series, or an input that is not the one that was recorded; InputError where it cannot be read;
    VerificationFailed for an altered history.
    """
    if not by.strip():
        raise UsageError("an audit needs a name", where=series, hint="Name the auditor with --by.")
    check_known_series(series, store.overview(series).known_series)
    trusted = trusted_in(store.root)
    policy = None if policy_path is None else _policy_of(series, policy_path, trusted)
    kept = {release.release_id: (release, classes) for release, classes in store.earlier_classes(series)}
    releases = [release for release, _ in kept.values()]
    if not releases:
        raise UsageError(
            f"nothing has been released in the series '{series}'", hint="`releasegate history` lists all."
        )
    records = {one.candidate_id: one for one in store.candidates(series)}
    given = _inputs(store.root, inputs, releases, records, trusted.objects)
    base = Path() if policy_path is None else policy_path.resolve().parent

    def table_of(one: Publication, judged_by: ReleasePolicy) -> PreparedTable | None:
        if one.release_id not in given:
            return None
        path, digest = given[one.release_id]
        source = read_source(judged_by, input_path=path, period=one.period, base=base, trusted=trusted)
        if source.digest != digest:
            raise UsageError("changed while it was being read", where=str(path), hint="Run again.")
        return prepare(replace(source, draw_key=draw_key(store.root)), judged_by)

    overridden, purged = overrides(store, series), store.purged(series)
    publications = [
        _publication(store, release, records[release.candidate_id], classes, overridden, purged)
        for release, classes in kept.values()
    ]
    found = review(publications, policy=policy, table_of=table_of, progress=progress)
    digest = None if policy is None else policy_digest(policy)
    told = [_told(one) for one in found]
    logged = store.record_review(series, policy_digest=digest, releases=told, actor=by)
    return {
        "series": series,
        "by": by,
        "policy_digest": digest,
        "passes": all(one.passes for one in found),
        "not_run": sum(len(one.not_run) for one in found),
        "logged": logged,
        "releases": [
            _release_document(release, one, digest or records[release.candidate_id].policy_digest, overridden)
            for release, one in zip(releases, found, strict=True)
        ],
    }


def _policy_of(series: str, path: Path, trusted: Trusted) -> ReleasePolicy:
    policy = load_policy(path, trusted)
    if policy.series != series:
        raise UsageError(
            f"is a policy of the series '{policy.series}', not of '{series}'",
            where=str(path),
            hint="Give a policy of the audited series.",
        )
    check_models(policy, str(path))
    return policy


def _publication(
    store: ReleaseStore,
    release: Release,
    record: CandidateRecord,
    classes: EquivalenceClasses,
    overridden: Mapping[str, Document],
    purged: Collection[str],
) -> Publication:
    """Return a release as the gates judge it; one whose policy this program cannot read says why."""
    document = store.policy(record.policy_digest)
    if digest_of(document) != record.policy_digest:
        raise VerificationFailed(
            "the stored policy is not the policy of the candidate",
            where=release.release_id,
            hint="Run `releasegate verify` for details.",
        )
    policy, unreadable = None, ""
    try:
        policy = policy_from_document(document)
    except PolicyError as error:
        unreadable = error.message
    return Publication(
        release.release_id,
        release.period,
        kept_folder(store.root, release),
        release.files,
        policy,
        release.summary.n_source,
        unreadable,
        classes,
        store.people(release.candidate_id),
        frozenset(overridden.get(release.release_id, {"gates": ()})["gates"]),
        person_key(store.root),
        release.release_id in purged,
    )


def _inputs(
    root: Path,
    written: Sequence[str],
    releases: Sequence[Release],
    records: dict[str, CandidateRecord],
    objects: ObjectStore,
) -> dict[str, tuple[Location, str]]:
    """Return the input of each release that is given again, and its digest, to which the record belongs."""
    found: dict[str, tuple[Location, str]] = {}
    periods = list(dict.fromkeys(release.period for release in releases))
    for text in written:
        period, equals, file = text.partition("=")
        if not (period and equals and file):
            raise UsageError(f"--input {text}: is not PERIOD=FILE", hint=f"Example: {periods[0]}=table.csv.")
        if period not in periods:
            raise UsageError(
                f"--input {text}: no release of the period '{period}'{did_you_mean(period, periods)}",
                hint=f"Periods with a release: {', '.join(periods)}.",
            )
        location = location_of(file, f"--input {period}")
        if isinstance(location, Path) and not location.exists():
            raise InputError("no such file", where=file, hint="Give the input of the period's release.")
        digest = input_digest(location, objects)
        of_period = [release for release in releases if release.period == period]
        made_of = [r for r in of_period if is_made_of(root, records[r.candidate_id].input_digest, digest)]
        if not made_of:
            names = ", ".join(release.release_id for release in of_period)
            raise UsageError(
                f"is not the input of {names}: its digest differs",
                where=file,
                hint="Give exactly the same file.",
            )
        found |= {release.release_id: (location, digest) for release in made_of}
    return found


def _told(one: Review) -> Document:
    """Return what the log keeps of one release's review: names and counts only."""
    overridden = [result.gate for result in one.overridden]
    return {
        "release": one.publication.release_id,
        "gates": len(one.results),
        "not_passed": [result.gate for result in one.not_passed],
        "not_run": [result.gate for result in one.not_run],
        **({"overridden": overridden} if overridden else {}),
    }


def _release_document(
    release: Release, one: Review, digest: str, overridden: Mapping[str, Document]
) -> Document:
    said = overridden.get(release.release_id)
    return {
        "release": release.release_id,
        "period": release.period,
        "number": release.number,
        "state": str(release.state),
        "published_at": release.published_at.isoformat(),
        "policy_digest": digest,
        "had_source": one.had_source,
        "purged": one.publication.purged,
        "passes": one.passes,
        "override": None if said is None else mark_of(said),
        "not_passed": [result.gate for result in one.not_passed],
        "not_run": [result.gate for result in one.not_run],
        "overridden": [result.gate for result in one.overridden],
        "gates": [gate_document(result) for result in one.results],
    }
