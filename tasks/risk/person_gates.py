"""Gates on people who can be followed over the releases, by the keyed hash of the policy's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from release_store.records import EquivalenceClasses, GateResult, PersonHashes, Verdict
from tasks.risk.bitsets import packed
from tasks.risk.comparison import History, history_of, narrowed
from tasks.risk.evidence import Evidence
from tasks.risk.person_nesting import nested_by_people, undone
from tasks.risk.persons import allowed_by_person, follow, joinable, why_not_joined
from tasks.risk.space import Boxes, boxes_of, space_of
from tasks.types import BoolArray

FOLLOWER = "holds every earlier release of the series and knows the class of everybody in each"
NO_KEY = (
    "no hashes of the candidate's people are kept: make a key of people (docs/store.md), "
    "or say `gates.person.compare: false`"
)


def person_gate(evidence: Evidence) -> GateResult:
    """Nobody's sensitive value is narrowed to under l values by the classes that the person was in."""
    return _over_people("person", evidence, _narrowed)


def person_difference_gate(evidence: Evidence) -> GateResult:
    """Classes nested in their people leave no values behind, or at least l different ones (Riyana, 2025)."""
    return _over_people("person_difference", evidence, _nested)


@dataclass(frozen=True)
class _Found:
    """What a check found for all attributes together: failing classes, and how much was looked at."""

    failing: BoolArray
    looked_at: str
    witness: dict[str, Any]


def _over_people(gate: str, evidence: Evidence, check: Any) -> GateResult:
    own = evidence.people
    if own is None or own.classes is None:
        return _result(gate, Verdict.UNKNOWN, None, NO_KEY)
    wrong = misplaced(own, evidence.classes)
    if wrong:
        return _result(gate, Verdict.UNKNOWN, None, wrong)
    if not evidence.earlier:
        return _result(gate, Verdict.PASS, 0.0, "first release of the series: nothing to compare with")
    found: _Found = check(evidence, own)
    n_failing = int(found.failing.sum())
    blind = _not_joined(evidence, own)
    accepted = {name: why for name, why in blind.items() if name in evidence.policy.gates.person.without}
    open_ones = {name: why for name, why in blind.items() if name not in accepted}
    n_joined = len(evidence.earlier) - len(blind)
    detail = (
        f"classes that fail; {found.looked_at} over {n_joined} of {len(evidence.earlier)} earlier releases; "
        f"l = {evidence.policy.privacy.l}"
    )
    shared = _in_two_periods(evidence, own)
    unnamed = evidence.n_published - len(own.hashes)
    if unnamed:
        detail += f"; {unnamed} rows are of nobody known, or of somebody with another row in their class"
    if shared:
        detail += "; not independent: people of the candidate are in " + ", ".join(shared)
    if open_ones:
        detail += "; cannot follow people into " + "; ".join(f"{n}: {why}" for n, why in open_ones.items())
    if accepted:
        detail += f"; not compared by person, as the policy says: {', '.join(accepted)}"
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if open_ones or shared else Verdict.PASS
    return _result(gate, verdict, float(n_failing), detail, found.witness)


def misplaced(own: PersonHashes, classes: EquivalenceClasses) -> str | None:
    """Say why people cannot be in the classes that were read from the staged files; None where they can."""
    number = np.array(own.classes, dtype=np.int64)
    if len(number) and not 0 <= number.min() <= number.max() < classes.n_classes:
        return "people are in classes that the staged files do not hold"
    if (np.bincount(number, minlength=classes.n_classes) > classes.size).any():
        return "more people are in a class than the staged files have rows of it"
    return None


def _not_joined(evidence: Evidence, own: PersonHashes) -> dict[str, str]:
    """Return the earlier releases whose people cannot be followed, and why."""
    earlier = evidence.earlier_people or [None] * len(evidence.earlier)
    reasons = {
        name: why_not_joined(own.fingerprint, people)
        for (name, _), people in zip(evidence.earlier, earlier, strict=True)
    }
    return {name: why for name, why in reasons.items() if why is not None}


def _in_two_periods(evidence: Evidence, own: PersonHashes) -> list[str]:
    """Return the releases of other periods with people of the candidate, if the policy says that none are.

    What the policy's `independent` leaves out of the comparison by cells is left out wrongly then.
    """
    here = set(own.hashes)
    left_out = {name for name, _ in evidence.beside.left_out}
    earlier = joinable(own.fingerprint, evidence.earlier_people or [None] * len(evidence.earlier))
    return [
        name
        for (name, _), people in zip(evidence.earlier, earlier, strict=True)
        if name in left_out and people is not None and not here.isdisjoint(people.hashes)
    ]


def _narrowed(evidence: Evidence, own: PersonHashes) -> _Found:
    history, boxes, names = _in_all(evidence)
    assert own.classes is not None  # noqa: S101 -- the caller looked
    columns = [names.index(name) for name in evidence.compared]
    earlier = joinable(own.fingerprint, evidence.earlier_people or [None] * len(evidence.earlier))
    followed = follow(own.hashes, earlier, history)
    rows = np.flatnonzero(followed.anywhere)
    allowed = allowed_by_person(followed.take(rows), history, columns)
    number = np.array(own.classes, dtype=np.int64)[rows]
    failing = np.zeros(len(boxes), dtype=bool)
    witness: dict[str, Any] = {}
    for c in columns:
        mine = packed(boxes.present[c])[number]
        bad = narrowed(mine, allowed.masks[c], allowed.seen[c], evidence.policy.privacy.l)
        failing[number[bad]] = True
        if bad.any():
            witness[names[c]] = {
                "failing_classes": len(np.unique(number[bad])),
                "failures": int(bad.sum()),
                "candidate_class": int(number[bad][0]),
            }
    return _Found(failing, f"{len(rows)} of {len(own.hashes)} people", witness)


def _in_all(evidence: Evidence) -> tuple[History, Boxes, list[str]]:
    """Return all earlier releases, whatever the population, the candidate, and the sensitive attributes."""
    space = space_of([evidence.classes, *(classes for _, classes in evidence.earlier)])
    history = history_of(evidence.earlier, space, evidence.policy)
    if history is None:
        raise ValueError("there is no earlier release")
    return history, boxes_of(evidence.classes, space), list(space.sensitive)


def _nested(evidence: Evidence, own: PersonHashes) -> _Found:
    assert own.classes is not None  # noqa: S101 -- the caller looked
    earlier = joinable(own.fingerprint, evidence.earlier_people or [None] * len(evidence.earlier))
    failing = np.zeros(evidence.classes.n_classes, dtype=bool)
    failing_by: dict[str, set[int]] = {}
    witness: dict[str, Any] = {}
    n_pairs = 0
    for (name, classes), people in zip(evidence.earlier, earlier, strict=True):
        if people is None:
            continue
        pairs = nested_by_people(own, evidence.classes, people, classes)
        n_pairs += len(pairs)
        for attribute in evidence.compared:
            if attribute not in classes.counts:
                continue
            bad = undone(pairs, evidence.classes, classes, attribute, evidence.policy.privacy.l)
            failing[pairs[bad, 0]] = True
            if bad.any():
                seen = witness.setdefault(attribute, {"failing_classes": 0, "failures": 0})
                failing_by.setdefault(attribute, set()).update(pairs[bad, 0].tolist())
                seen["failing_classes"] = len(failing_by[attribute])
                seen["failures"] += int(bad.sum())
                seen.setdefault("candidate_class", int(pairs[bad][0, 0]))
                seen.setdefault("earlier_release", name)
                seen.setdefault("earlier_class", int(pairs[bad][0, 1]))
    return _Found(failing, f"{n_pairs} pairs of classes of which one holds all people of the other", witness)


def _result(
    gate: str, verdict: Verdict, value: float | None, detail: str, witness: dict[str, Any] | None = None
) -> GateResult:
    return GateResult(gate, verdict, value, 0.0, "<=", FOLLOWER, 0.0, detail, witness or {})
