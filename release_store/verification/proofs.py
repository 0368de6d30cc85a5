"""Is every word that let something out, or took it down, proven to be of a person who might say it?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from release_store.audit.log import Finding
from release_store.audit.replay import LoggedDecision
from release_store.protocol.names import ANSWERED, ASKED, CORRECTED, PURGED, RESTORED
from release_store.protocol.proofs import PROVEN, one_person, proof_error
from release_store.protocol.questions import question_errors
from release_store.verification.view import VerificationContext


def check_decision_proofs(view: VerificationContext) -> list[Finding]:
    """Every decision and withdrawal carries a proof that holds; those before people had keys need none.

    The people are those of the last `people.changed` before the word.
    """
    demanded = (view.log.first or ("", {}))[1].get("decisions") == PROVEN
    findings = []
    by_object: dict[str, list[LoggedDecision]] = {}
    own = _own_names(view)
    for word in view.log.words:
        if own is not None and word.object not in own and word.action != CORRECTED:
            continue
        people = None if word.people is None else view.log.people[word.people]
        try:
            wrong = proof_error(vars(word), view.store_id, people, demanded)
        except (KeyError, TypeError, ValueError, AttributeError):
            wrong = "lacks required fields"
        if wrong:
            findings.append(Finding(f"event {word.number}", f"the decision on {word.object} {wrong}"))
        by_object.setdefault(word.object, []).append(word)
    for name, words in by_object.items():
        if len(words) > 1:
            findings += _twice(name, words)
    hashed = ({**vars(word), "hash": view.log.hashes[word.number - 1]} for word in view.log.words)
    return findings + [Finding(f"event {number}", wrong) for number, wrong in question_errors(hashed)]


def _own_names(view: VerificationContext) -> set[str] | None:
    """Return the candidates and releases of the series that is looked at, None for all."""
    if view.series is None:
        return None
    rows = view.con.execute(
        "SELECT candidate_id FROM candidate WHERE series = ? "
        "UNION SELECT release_id FROM release WHERE series = ?",
        [view.series, view.series],
    ).fetchall()
    return {name for (name,) in rows}


def _twice(name: str, words: Sequence[LoggedDecision]) -> Iterator[Finding]:
    """One person decides once; who publishes what was interrupted may be anybody who approves.

    The clock may be wrong, and corrected, more than once; a series may be purged, and a release withdrawn and
    restored, as often.
    """
    # By one person too.
    repeated = ("decision.publish", "release.withdrawn", RESTORED, CORRECTED, ASKED, ANSWERED, PURGED)
    decided = [word for word in words if word.action not in repeated]
    for one, other in combinations(decided, 2):
        if one_person(vars(one), vars(other)):
            yield Finding(name, f"events {one.number} and {other.number} are decisions of one person")
    proofs = [word.payload.get("proof") or {} for word in words]
    signatures = [proof["signature"] for proof in proofs if "signature" in proof]
    if len(set(signatures)) < len(signatures):
        yield Finding(name, "one signature is used for two decisions")
