"""Was every release that was restored such as may be, and by somebody who may restore it?"""

from __future__ import annotations

from collections.abc import Iterator

from policy.period import spellings
from release_store.audit.log import Finding, purged_in
from release_store.audit.replay import LoggedDecision
from release_store.canonical import tree_digest
from release_store.db import queries
from release_store.protocol.names import PURGED, RESTORED
from release_store.protocol.proofs import one_person
from release_store.records import Release, ReleaseState
from release_store.verification.view import VerificationContext, run_check, same


def check_restorations(view: VerificationContext) -> list[Finding]:
    """Every restoration is of the last release of its period, whose rows were there, by not its maker."""
    words = [word for word in view.log.words if word.action == RESTORED]
    releases = {one.release_id: one for one in queries.releases(view.con)} if words else {}
    findings: list[Finding] = []
    for word in words:
        release = releases.get(word.object)
        if release is not None and view.series in (None, release.series):
            findings += run_check(f"event {word.number}", _restoration, view, word, release, releases)
    return findings


def _restoration(
    view: VerificationContext, word: LoggedDecision, release: Release, releases: dict[str, Release]
) -> list[Finding]:
    return [
        Finding(f"event {word.number}", f"restores {word.object}, {what}")
        for what in _wrong(view, word, release, releases)
    ]


def _wrong(
    view: VerificationContext, word: LoggedDecision, release: Release, releases: dict[str, Release]
) -> Iterator[str]:
    bound = {"release_digest": tree_digest(release.files), "release_state": ReleaseState.WITHDRAWN.value}
    if not same(word.payload["bound"], bound):
        yield "and its person signed other files, or another state"
    made = view.log.candidates[release.candidate_id]
    maker = {"actor": made.actor, "payload": {"proof": made.staged().get("maker")}}
    if one_person(vars(word), maker):
        yield "and was said by who made it"
    of_period = [one for one in releases.values() if one.series == release.series]
    of_period = [one for one in of_period if one.period in spellings(release.period)]
    numbers = {one.release_id: view.log.releases[one.release_id].number or 0 for one in of_period}
    if any(numbers[word.object] < number < word.number for number in numbers.values()):
        yield "whose period was published again before"
    earlier = [one for one in view.log.words if one.action == PURGED and one.number < word.number]
    if any(word.object in purged_in(one.payload) for one in earlier):
        yield "whose rows were purged before"
