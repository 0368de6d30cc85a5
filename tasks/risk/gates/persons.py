"""Gates on people who can be followed over the releases, by the keyed hash of the policy's key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from policy.text import number_of
from release_store.records import EquivalenceClasses, GateResult, PersonHashes, Verdict
from tasks.geometry.bitsets import packed
from tasks.geometry.space import Boxes, Space, boxes_of, space_of
from tasks.history.intersection import (
    UNCONSTRAINED,
    Allowed,
    History,
    history_of,
    least_left,
    one_apart,
)
from tasks.history.person_nesting import disclosed_by, find_disclosures
from tasks.history.persons import (
    Followed,
    allowed_by_person,
    follow,
    joinable,
    known_by_another_key,
    shares_followed,
    why_not_joined,
)
from tasks.history.required import Required, least_of_each, nearest_to_its_limit, required_of
from tasks.history.selection import SAME_PERIOD
from tasks.risk.evidence import CannotTell, Evidence, LeftByPerson
from tasks.types import BoolArray, IntArray

FOLLOWER = "has all earlier releases and knows everybody's class"
COVERAGE = "coverage"
LEAST_SHARE = 0.5
FIRST_SHARE = 0.25  # of the first period's people: in a second one, fewer may be a register with other keys
LEAST_FOLLOWED = 0.02  # of the people, in any earlier release, unless the policy calls them independent
LAST_PERIODS = 4  # of which the shares of people who were followed are compared
OF_THEIR_LEAST = 0.5  # the share that is asked for, of the least of theirs
SEVERAL = (
    "people may have several rows, for which differences of releases cannot be compared: publish one row "
    "per person (by a query), or set `gates.person.compare: false`"
)
NO_KEY = (
    "the candidate has no hashes of people: restore the key of people, or make one if there was none "
    "(docs/store.md), or set `gates.person.compare: false`"
)


def person_gate(evidence: Evidence) -> GateResult:
    """Nobody's sensitive value is narrowed to under l values by the classes that the person was in."""
    return _over_people("person", evidence, _narrowed)


def person_difference_gate(evidence: Evidence) -> GateResult:
    """Nobody is left with under l values by what two classes that share known people differ in."""
    return _over_people("person_difference", evidence, _undone)


def in_other_forms(evidence: Evidence, own: PersonHashes) -> int:
    """Count people who may be somebody of before by a key in another form; 0 if the policy accepts it."""
    if evidence.policy.gates.person.other_forms == "accept":
        return 0
    return known_by_another_key(own, joinable(own.fingerprint, evidence.earlier_people))


@dataclass(frozen=True)
class _People:
    """The candidate's people in every earlier release, whatever the policy's population is."""

    evidence: Evidence
    own: PersonHashes
    earlier: list[PersonHashes | None]  # those that can be joined
    not_joined: dict[str, str]

    @cached_property
    def number(self) -> IntArray:
        """The candidate class of each row of somebody known."""
        return np.array(self.own.classes, dtype=np.int64)

    @cached_property
    def space(self) -> Space:
        """The space of the candidate and all earlier releases."""
        return space_of([self.evidence.classes, *(classes for _, classes in self.evidence.earlier)])

    @cached_property
    def boxes(self) -> Boxes:
        """The candidate's classes in it."""
        return boxes_of(self.evidence.classes, self.space)

    @cached_property
    def history(self) -> History:
        """All earlier releases in it; there is one at least."""
        history = history_of(self.evidence.earlier, self.space, self.evidence.policy)
        if history is None:
            raise ValueError("there is no earlier release")
        return history

    @cached_property
    def followed(self) -> Followed:
        """Where the people were before."""
        return follow(self.own.hashes, self.earlier, self.history)

    @cached_property
    def columns(self) -> list[int]:
        """The places of the compared attributes."""
        return [list(self.space.sensitive).index(name) for name in self.evidence.compared]

    @cached_property
    def required(self) -> dict[str, Required]:
        """How many values of each compared attribute have to be left, and which count as one."""
        return required_of(self.evidence.policy, self.space, self.evidence.compared)

    @cached_property
    def allowed(self) -> Allowed:
        """The sensitive values of the earlier classes that each row's person was in."""
        return allowed_by_person(self.followed, self.history, self.columns)

    def doubts(self) -> list[str]:
        """Say why people, or the policy's words about them, cannot be what they are taken for."""
        evidence = self.evidence
        said = [f"cannot follow people into {name}: {why}" for name, why in self._open().items()]
        shared = self._in_two_periods()
        if shared:
            said.append("not independent: people of the candidate are in " + ", ".join(shared))
        accepted = {*self.not_joined, *evidence.policy.gates.person.without}
        joined = [name for name, _ in evidence.earlier if name not in accepted]
        alike = evidence.policy.population != "independent" and bool(joined)
        n_known, n = int(self.followed.anywhere.sum()), len(self.followed.anywhere)
        if alike and n_known < LEAST_FOLLOWED * n:
            who = f"only {n_known:,} of {n:,} people are" if n_known else "nobody is"
            said.append(
                f"{who} in common with any earlier release: check that the key is the same. If it is, "
                "list them in `gates.person.without`"
            )
        said += [*self._other_forms(), *self._too_few_followed()]
        if evidence.policy.population == "cumulative":
            gone = self._gone()
            said += [
                number_of(n, f"person of {name} is", f"people of {name} are") + " missing: not cumulative"
                for name, n in gone.items()
            ]
        return said + self._changed()

    def _other_forms(self) -> list[str]:
        """Say how many people are known by a key in another form, as one that lost its leading zeros."""
        n = in_other_forms(self.evidence, self.own)
        said = (
            f"{n:,} of {number_of(len(set(self.own.hashes)), 'person', 'people')} are new by their key, but "
            "have the key of somebody before in another form (zeros, case, blanks, `.0`, cut digits): write "
            "keys as before, or set `gates.person.other_forms: accept` if they are different people"
        )
        return [said] if n else []

    def _too_few_followed(self) -> list[str]:
        """Say if fewer people of the period before are in the candidate than the policy or the past asks."""
        before = self._last_of_each_period()
        if not before or self.evidence.policy.population == "independent":
            return []
        *shares, share = shares_followed([*before, self.own])
        asked = self.evidence.policy.gates.person.followed
        least = OF_THEIR_LEAST * min(shares) if shares else FIRST_SHARE
        least = least if asked is None else asked
        if share >= least:
            return []
        why = (
            f"at least {min(shares):.1%} between the periods before"
            if shares
            else f"{least:.0%} in a second period"
        )
        why = why if asked is None else f"{asked:.1%} asked"
        said = f"only {share:.1%} of the people of the period before are in the candidate ({why})"
        return [f"{said}: check that keys are written as before, or set `gates.person.followed`"]

    def _last_of_each_period(self) -> list[PersonHashes]:
        """Return the people of the last release of each of the last periods before the candidate's."""
        evidence = self.evidence
        apart = evidence.apart or one_apart(len(evidence.earlier))
        accepted = evidence.policy.gates.person.without
        last = {
            periods: people
            for (name, _), people, periods in zip(evidence.earlier, self.earlier, apart, strict=True)
            if people is not None and name not in accepted and tuple(periods) != SAME_PERIOD
        }
        return list(last.values())[-LAST_PERIODS:]

    def _open(self) -> dict[str, str]:
        accepted = self.evidence.policy.gates.person.without
        return {name: why for name, why in self.not_joined.items() if name not in accepted}

    def _in_two_periods(self) -> list[str]:
        """Return the releases of other periods with people of the candidate, if the policy says none are.

        What the policy's `independent` leaves out of the comparison by cells is left out wrongly then.
        """
        here = set(self.own.hashes)
        left_out = {name for name, _ in self.evidence.selected_history.left_out}
        return [
            name
            for (name, _), people in zip(self.evidence.earlier, self.earlier, strict=True)
            if name in left_out and people is not None and not here.isdisjoint(people.hashes)
        ]

    def _gone(self) -> dict[str, int]:
        """Return the releases with more people who are not in the candidate than it has suppressed."""
        here = set(self.own.hashes)
        suppressed = 0
        if self.evidence.table is not None or self.evidence.recorded_rows is not None:
            suppressed = self.evidence.n_source - self.evidence.n_published
        found = {}
        for (name, _), people in zip(self.evidence.earlier, self.earlier, strict=True):
            gone = 0 if people is None else len(set(people.hashes) - here)
            if gone > suppressed:
                found[name] = gone
        return found

    def _changed(self) -> list[str]:
        """Say which stable attributes have changed for most people, by the classes that they are in."""
        said = []
        rows = np.flatnonzero(self.followed.anywhere)
        for name, c in zip(self.evidence.compared, self.columns, strict=True):
            seen = self.allowed.seen[c][rows]
            own = packed(self.boxes.present[c])[self.number[rows]]
            none_left = ~(own[:, None, :] & self.allowed.masks[c][rows]).any(axis=2) & seen
            n_seen, n_changed = int(seen.any(axis=1).sum()), int(none_left.any(axis=1).sum())
            stable = self.evidence.policy.roles.sensitive[name].stability == "stable"
            if stable and n_changed > LEAST_SHARE * n_seen:
                said.append(f"{name} is stable in the policy, but changed for {n_changed} of {n_seen} people")
        return said


@dataclass(frozen=True)
class _Found:
    """What a check found: failing classes, witnesses by attribute, and how much was looked at."""

    failing: BoolArray
    witness: dict[str, Any]
    looked_at: str
    coverage: dict[str, Any]
    doubts: tuple[str, ...] = ()
    fewest: Mapping[str, int] = field(default_factory=dict)  # values of each attribute that are left


def _over_people(gate: str, evidence: Evidence, check: Callable[[_People], _Found]) -> GateResult:
    own = evidence.people
    if own is None or own.classes is None:
        raise CannotTell(NO_KEY)
    policy = evidence.policy
    one_row_each = policy.rows == "one_per_person" and policy.expectations.unique_key
    wrong = misplaced(own, evidence.classes, one_row_each=one_row_each)
    if wrong:
        raise CannotTell(wrong)
    if not evidence.earlier:
        said = "first release of the series: nothing to compare with"
        return GateResult(gate, Verdict.PASS, 0.0, 0.0, "<=", FOLLOWER, 0.0, said)
    people = _people_of(evidence, own)
    found = check(people)
    n_failing = int(found.failing.sum())
    doubts = [*people.doubts(), *found.doubts]
    accepted = [name for name in people.not_joined if name in evidence.policy.gates.person.without]
    n_joined = len(evidence.earlier) - len(people.not_joined)
    releases = number_of(len(evidence.earlier), "earlier release")
    if n_joined != len(evidence.earlier):
        releases = f"{n_joined} of {releases}"
    detail = f"failing classes; compared {found.looked_at} from {releases} ({least_of_each(evidence.policy)})"
    detail += nearest_to_its_limit(policy, found.fewest)
    unnamed = evidence.n_published - len(own.hashes)
    if unnamed:
        detail += f"; {number_of(unnamed, 'row has', 'rows have')} no person key or a duplicate one"
    detail += "".join(f"; {doubt}" for doubt in doubts)
    if accepted:
        detail += f"; not compared by person, as the policy says: {', '.join(accepted)}"
    coverage = {
        "releases": n_joined,
        "classes": evidence.classes.n_classes,
        "people": len(own.hashes),
        "followed": int(people.followed.anywhere.sum()),
        **found.coverage,
        "not_run": [{"what": name, "why": why} for name, why in people.not_joined.items()],
    }
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if doubts else Verdict.PASS
    key = COVERAGE
    while key in found.witness:
        key += "_"
    witness = {**found.witness, key: coverage}
    return GateResult(gate, verdict, float(n_failing), 0.0, "<=", FOLLOWER, 0.0, detail, witness)


def misplaced(own: PersonHashes, classes: EquivalenceClasses, *, one_row_each: bool) -> str | None:
    """Say why people cannot be in the classes that were read from the staged files; None where they can."""
    number = np.array(own.classes, dtype=np.int64)
    if len(number) and not 0 <= number.min() <= number.max() < classes.n_classes:
        return "people are in classes that are not in the staged files"
    if (np.bincount(number, minlength=classes.n_classes) > classes.size).any():
        return "a class has more people than rows in the staged files"
    n_rows = int(classes.size.sum())
    if (one_row_each and len(number) < LEAST_SHARE * n_rows) or (n_rows and not len(number)):
        return "most rows have no known person"
    return None


def _people_of(evidence: Evidence, own: PersonHashes) -> _People:
    earlier = evidence.earlier_people or [None] * len(evidence.earlier)
    reasons = {
        name: why_not_joined(own.fingerprint, people)
        for (name, _), people in zip(evidence.earlier, earlier, strict=True)
    }
    not_joined = {name: why for name, why in reasons.items() if why is not None}
    return _People(evidence, own, joinable(own.fingerprint, earlier), not_joined)


def _narrowed(people: _People) -> _Found:
    rows = np.flatnonzero(people.followed.anywhere)
    number, person = people.number[rows], people.followed.person
    failing = np.zeros(len(people.boxes), dtype=bool)
    witness: dict[str, Any] = {}
    n_joined = len(people.earlier) - len(people.not_joined)
    for (name, required), c in zip(people.required.items(), people.columns, strict=True):
        own = packed(people.boxes.present[c])
        allowed, seen = people.allowed.masks[c][rows], people.allowed.seen[c][rows]
        taken = least_left(own[number], allowed, seen, alike=required.alike)
        left = required.sizes(own)[people.number]
        left[rows] = np.minimum(left[rows], taken)
        worst = np.full(int(person.max(initial=-1)) + 1, UNCONSTRAINED)
        np.minimum.at(worst, person, left)
        people.evidence.left_by_person[name] = LeftByPerson(worst, n_joined)
        bad = taken < required.least
        failing[number[bad]] = True
        if bad.any():
            witness[name] = {
                "failing_classes": len(np.unique(number[bad])),
                "failures": int(bad.sum()),
                "candidate_class": int(number[bad][0]),
            }
    looked_at = f"{len(rows):,} of {number_of(len(people.own.hashes), 'person', 'people')} with their classes"
    measured = people.evidence.left_by_person
    fewest = {name: int(each.left.min()) for name, each in measured.items() if len(each.left)}
    coverage = {"fewest": fewest} if people.evidence.policy.privacy.own_least() else {}
    return _Found(failing, witness, looked_at, coverage, fewest=fewest)


def _undone(people: _People) -> _Found:
    evidence, history = people.evidence, people.history
    attributes = evidence.compared
    own = disclosed_by([(evidence.classes, people.own)], people.space, attributes)
    known = [(classes, who) for (_, classes), who in zip(evidence.earlier, people.earlier, strict=True)]
    earlier = disclosed_by(known, people.space, attributes)
    failing = np.zeros(evidence.classes.n_classes, dtype=bool)
    witness: dict[str, Any] = {}
    pairs = together = 0
    for place, (name, required) in enumerate(people.required.items()):
        found = find_disclosures(
            people.number, people.followed, own, earlier, history.release, place, required
        )
        failing |= found.failing
        pairs, together = found.compared, found.together
        if found.first is not None:
            release = int(history.release[found.first[1]])
            witness[name] = {
                "failing_classes": int(found.failing.sum()),
                "failures": found.failed,
                "candidate_class": found.first[0],
                "earlier_release": history.names[release],
                "earlier_class": found.first[1] - int(np.searchsorted(history.release, release)),
            }
    looked_at = (
        number_of(pairs, "pair of classes that share people", "pairs of classes that share people")
        + f" and {number_of(together, 'larger set')}"
    )
    n_told = int(own.told.sum()), int(earlier.told.sum())
    coverage = {"pairs": pairs, "together": together, "known_classes": n_told[0], "known_earlier": n_told[1]}
    several = evidence.policy.rows == "several" and bool(people.followed.anywhere.any())
    return _Found(failing, witness, looked_at, coverage, (SEVERAL,) if several else ())
