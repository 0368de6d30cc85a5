"""The gate over possible worlds: what all releases of a series together leave possible for each subject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.records import EquivalenceClasses, GateResult, PersonHashes, Verdict
from tasks.history.following import follows_people
from tasks.history.persons import why_not_joined
from tasks.history.questions import counting_of, followed_attributes, known_attributes, lacking
from tasks.history.required import least_of_each, nearest_to_its_limit
from tasks.history.sampling import ROUNDING, Likely
from tasks.history.subjects import (
    Rows,
    Subjects,
    Unfit,
    most_of_classes,
    periods_ago,
    rows_of,
    values_of_classes,
)
from tasks.history.transient import NOT_ASKED
from tasks.history.worlds import Possible
from tasks.risk.evidence import CannotTell, Evidence, LeftByPerson, NotAtHand
from tasks.risk.gates.persons import NO_KEY, in_other_forms
from tasks.risk.possible import ChangedNumbers, further_questions, likely_of, possible_of, values_left
from tasks.risk.several_rows import (
    WHOSE_ROWS,
    Answer,
    Members,
    answer_of,
    everybody_has_one_row,
    members_of,
    short_by_sets,
)
from tasks.types import BoolArray, IntArray

SOLVER = "has every release, knows the class of everybody in each, and solves for all at once"
KEY_NOT_AT_HAND = "the key of people is missing, under which their values are sealed"
NOT_FOLLOWED = (
    "people are not followed, so what all releases together leave possible is unknown: set roles.key, or "
    "accept it by `gates.worlds.unfollowed: accept`"
)
UNFOLLOWED = "people are not followed, which the policy accepts: no other release is considered"
NO_VALUES = (
    "the values of its people are not stored, because an older version made it: list it in "
    "`gates.person.without` to leave it out of this gate"
)
NO_KEPT = (
    "the kept columns of its people are not stored, because an older version made it: list it in "
    "`gates.person.without`, or accept by `gates.worlds.kept: accept` that they may link its rows"
)
NO_EARLIER = "nothing but their class is known of people"
HEADROOM = 3  # values above l that are looked for, once everybody has l
SURE = 0.95  # is reported where the policy asks for no limit
UNMEASURED = "of whom samples disagree: raise `gates.worlds.sweeps`, or leave its `p_max` out"
CHANGED = "people have another value than before in an attribute that the policy calls stable"
CHANGES = (
    "raise `gates.worlds.changes` to {share:g} if attackers must allow for so many changes, publish the "
    "values of before, or call the attribute `transient`"
)
LEFT_OUT = "leave out {names}, which not every release published: signatures know nothing of it"


def worlds_gate(evidence: Evidence) -> GateResult:
    """Everybody in any release keeps l possible values by all releases together, and none is too likely."""
    policy = evidence.policy
    if not (evidence.earlier if follows_people(policy) else evidence.selected_history.earlier):
        return _of_classes(evidence, NO_EARLIER)
    if not follows_people(policy):
        if policy.gates.worlds.unfollowed == "block":
            raise CannotTell(NOT_FOLLOWED)
        return _of_classes(evidence, UNFOLLOWED)
    if policy.rows == "several":
        return _of_several_rows(evidence, _hashed_people(evidence))
    rows, classes = zip(*_releases(evidence), strict=True)
    releases, stable, may_change = known_attributes(policy, rows)
    numbers = further_questions(policy, releases, classes, stable, may_change)
    if not stable:
        return _of_numbers_alone(evidence, numbers, len(releases))
    subjects, found = evidence.solved["all"] = possible_of(policy, releases, stable, (), may_change)
    likely = None
    if policy.gates.worlds.sweeps:
        likely = likely_of(policy, subjects, found)
    dropped = [name for name in [*stable, *may_change] if name not in policy.roles.sensitive]
    result = _judged(evidence, subjects, found, likely, numbers, releases)
    if dropped:
        told = f"; {', '.join(dropped)} of earlier releases, which the policy no longer has, with the others"
        result = replace(result, detail=result.detail + told)
    if result.verdict is Verdict.PASS:
        left = values_left(policy, subjects, found, HEADROOM)[subjects.rows[-1]]
        for name, values in zip(stable, left.T, strict=True):
            if name in policy.roles.sensitive:
                evidence.left_by_worlds[name] = LeftByPerson(values, len(releases) - 1)
    return _with_fewest(result, evidence, stable, found)


def solved_worlds(evidence: Evidence) -> tuple[Subjects, Possible]:
    """Return the people of all releases with a stable attribute, and what is possible of them.

    As `worlds_gate` found it, if it was asked. Raises CannotTell and NotAtHand as it does.
    """
    if "all" not in evidence.solved:
        rows, _ = zip(*_releases(evidence), strict=True)
        releases, stable, may_change = known_attributes(evidence.policy, rows)
        evidence.solved["all"] = possible_of(evidence.policy, releases, stable, (), may_change)
    return evidence.solved["all"]


def _hashed_people(evidence: Evidence) -> PersonHashes:
    own = evidence.people
    if own is None or own.classes is None:
        raise CannotTell(NO_KEY)
    if evidence.key is None:
        raise NotAtHand(KEY_NOT_AT_HAND)
    return own


def _with_fewest(
    result: GateResult, evidence: Evidence, stable: Sequence[str], found: Possible
) -> GateResult:
    """Add how many values of each attribute anybody is left with at least, where one has its own l."""
    policy, shown = evidence.policy, found.least.min(axis=0, initial=NOT_ASKED)
    fewest = {
        name: int(least)
        for name, least in zip(stable, shown.tolist(), strict=False)
        if name in policy.roles.sensitive and least < NOT_ASKED
    }
    left = {name: each.left for name, each in evidence.left_by_worlds.items() if len(each.left)}
    fewest |= {name: int(values.min()) for name, values in left.items()}
    if not policy.privacy.own_least():
        return result
    said = nearest_to_its_limit(policy, fewest)
    return replace(result, detail=result.detail + said, witness={**(result.witness or {}), "fewest": fewest})


def _of_classes(evidence: Evidence, why: str) -> GateResult:
    """Assess a release by itself: what somebody may have is what their class has.

    Where people may have several rows, what all of their classes together leave is asked besides. People
    are counted, and rows where whose they are is not known.
    """
    policy, several = evidence.policy, evidence.policy.rows == "several"
    classes = evidence.classes if several and evidence.row_people is None else evidence.counted
    members = members_of(evidence) if several else None
    stable, may_change = followed_attributes(policy)
    few = np.zeros(classes.n_classes, dtype=bool)
    for name in [*stable, *may_change]:
        counts, texts = classes.counts[name], classes.sensitive_values[name]
        values = values_of_classes(counts, texts, counting_of(policy, name))
        few |= values < policy.privacy.of(name).l
    sure = _sure_classes(policy, classes, [*stable, *may_change])

    def n_in(chosen: BoolArray) -> int:
        return int(classes.size[chosen].sum()) if members is None else len(members.in_any(chosen))

    by_rows = policy.roles.key is None or (several and members is None)
    n = number_of(n_in(np.ones_like(few)), *(("row", "rows") if by_rows else ("person", "people")))
    detail = f"{why}; of {n}, {n_in(few)} with fewer than {least_of_each(policy)} values in their class"
    if policy.gates.worlds.p_max is not None:
        detail += f", {n_in(sure)} with a value likelier than p_max = {policy.gates.worlds.p_max:g}"
    failing = n_in(few | sure)
    if several and stable:
        return _of_rows(evidence, members, stable, few | sure, detail)
    return _result(Verdict.FAIL if failing else Verdict.PASS, float(failing), detail)


def _of_rows(
    evidence: Evidence, members: Members | None, stable: Sequence[str], failing: BoolArray, detail: str
) -> GateResult:
    """Assess what all rows of a release leave possible of stable attributes, besides `failing` classes (c,).

    Raises CannotTell where nothing fails and whose rows they are is not known.
    """
    if members is None:
        raise CannotTell(NO_KEY)
    if evidence.row_people is None:
        failing_people = np.union1d(members.in_any(failing), short_by_sets(evidence, members, stable))
        if not len(failing_people) and not everybody_has_one_row(evidence, members):
            raise NotAtHand(WHOSE_ROWS)
        verdict = Verdict.FAIL if len(failing_people) else Verdict.PASS
        return _result(verdict, float(len(failing_people)), detail)
    answer = answer_of(evidence, members, stable)
    n_failing = len(np.union1d(members.in_any(failing), answer.pinned))
    open_ = len(answer.undecided) or not answer.allowed(evidence.policy)
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if open_ else Verdict.PASS
    return _result(
        verdict, float(n_failing), f"{detail}, {answer.words(evidence.policy)}", _witness(members, answer)
    )


def _witness(members: Members, answer: Answer) -> dict[str, Any]:
    """Return the counts of a release that was solved by itself."""
    found, person = answer.possible, np.unique(answer.people.person, return_inverse=True)[1]
    return {
        "people": members.n_people,
        "releases": 1,
        "cohorts": len(found.cohorts.size),
        "pinned": len(answer.pinned),
        "pinned_here": len(answer.pinned),
        "undecided": len(answer.undecided),
        "changed": answer.several,
        "solver_calls": found.calls,
        "by_sets": _counts(found.by_sets, found, person),
        "by_worlds": _counts(found.least, found, person),
    }


def _sure_classes(policy: ReleasePolicy, classes: EquivalenceClasses, names: Sequence[str]) -> BoolArray:
    """Tell of which of the candidate's classes (c,) more than `p_max` have one value of an attribute."""
    p_max = policy.gates.worlds.p_max
    found = np.zeros(classes.n_classes, dtype=bool)
    if p_max is not None:
        for name in names:
            counts, texts = classes.counts[name], classes.sensitive_values[name]
            most = most_of_classes(counts, texts, counting_of(policy, name))
            found |= most > (p_max + ROUNDING) * classes.size
    return found


def _of_numbers_alone(evidence: Evidence, numbers: Sequence[ChangedNumbers], n_releases: int) -> GateResult:
    """Judge a series in which no attribute is stable."""
    alone = _of_classes(evidence, NO_EARLIER)
    if alone.verdict is Verdict.FAIL:
        return alone
    if not numbers:
        without = (
            "no attribute is stable, and no number changed by one rule: releases tell nothing of each other"
        )
        return _result(Verdict.PASS, 0.0, without)
    failing = np.any([each.failing for each in numbers], axis=0)
    pinned, undecided = int(failing.sum()), max(each.undecided for each in numbers)
    releases = number_of(n_releases, "release")
    detail = f"of the people in {releases}, " + "; ".join(each.words for each in numbers)
    verdict = Verdict.FAIL if pinned else Verdict.UNKNOWN if undecided else Verdict.PASS
    witness = {
        "people": len(failing),
        "releases": n_releases,
        "changed_numbers": _changed_numbers(numbers),
    }
    return _result(verdict, float(pinned), detail + _without(evidence), witness)


def _changed_numbers(numbers: Sequence[ChangedNumbers]) -> dict[str, dict[str, int]]:
    """Return the counts by attribute, of several questions about one those by which most people fail."""
    worst = {each.name: each for each in numbers}
    for each in reversed(numbers):
        if each.n_failing >= worst[each.name].n_failing:
            worst[each.name] = each
    return {name: each.witness for name, each in worst.items()}


def _without(evidence: Evidence) -> str:
    without = [name for name, _ in evidence.earlier if name in evidence.policy.gates.person.without]
    return f"; left out, as the policy says: {', '.join(without)}" if without else ""


def _of_several_rows(evidence: Evidence, own: PersonHashes) -> GateResult:
    """Assess the release by itself where nobody is in two; worlds are of people with one row in each."""
    without = evidence.policy.gates.person.without
    here = set(own.hashes)
    for (name, _), people in zip(evidence.earlier, evidence.earlier_people, strict=True):
        if name in without:
            continue
        why = why_not_joined(own.fingerprint, people)
        if why is not None or people is None:
            raise CannotTell(f"cannot follow people into {name}: {why}")
        if not here.isdisjoint(people.hashes):
            raise CannotTell(f"people may have several rows, and people of {name} are in the candidate")
    return _of_classes(evidence, "nobody is in an earlier release")


def _releases(evidence: Evidence) -> list[tuple[Rows, EquivalenceClasses]]:
    """Return the rows and the classes of the earlier releases, oldest first, and of the candidate."""
    own = _hashed_people(evidence)
    without = evidence.policy.gates.person.without
    known = evidence.earlier_people or [None] * len(evidence.earlier)
    found = []
    periods = periods_ago(evidence.apart, len(evidence.earlier))
    for (name, classes), people, ago in zip(evidence.earlier, known, periods, strict=True):
        if name in without:
            continue
        why = why_not_joined(own.fingerprint, people)
        if why is not None or people is None:
            raise CannotTell(f"cannot follow people into {name}: {why}")
        found.append((replace(_rows(evidence, name, people, classes), ago=ago), classes))
    own_rows = _rows(evidence, "the candidate", own, evidence.classes)
    return [*found, (replace(own_rows, ago=0), evidence.classes)]


def _rows(evidence: Evidence, name: str, people: PersonHashes, classes: EquivalenceClasses) -> Rows:
    policy = evidence.policy
    if people.values is None:
        raise NotAtHand(f"{name}: {NO_VALUES}")
    try:
        rows = rows_of(evidence.key or b"", people, classes)
    except Unfit as reason:
        raise CannotTell(f"{name}: {reason}") from None
    if rows.kept is None and policy.roles.kept and policy.gates.worlds.kept == "ask":
        raise NotAtHand(f"{name}: {NO_KEPT}")
    return rows


def _judged(
    evidence: Evidence,
    subjects: Subjects,
    found: Possible,
    likely: Likely | None,
    numbers: Sequence[ChangedNumbers],
    releases: Sequence[Rows],
) -> GateResult:
    policy = evidence.policy
    least, p_max = policy.privacy.l, policy.gates.worlds.p_max
    pinned = subjects.people(found.pinned(least))
    undecided = subjects.people(found.undecided(least)) & ~pinned
    here = np.zeros(len(pinned), dtype=bool)
    here[subjects.person[subjects.rows[-1]]] = True
    n_pinned, n_undecided = int(pinned.sum()), int(undecided.sum())
    failing, few = pinned.copy(), f"{n_pinned} with fewer than {least_of_each(policy)} possible values"
    n_unmeasured = 0
    if likely is not None and p_max is not None:
        over = subjects.people(likely.over(p_max))
        failing |= over
        n_unmeasured = int((subjects.people(likely.unmeasured(p_max)) & ~over).sum())
        few = f"{few}, {int(over.sum())} with a value likelier than p_max = {p_max:g}"
        if n_unmeasured:
            few += f" and {n_unmeasured} {UNMEASURED}"
    stable, may_change = followed_attributes(policy)
    added = lacking(releases, stable)
    alone = [name for name in added if not any(name in each.texts for each in releases[:-1])]
    likely_classes = _sure_classes(policy, evidence.classes, [*may_change, *alone])
    sure = likely_classes[releases[-1].place]
    if sure.any():
        few = f"{few}, {int(sure.sum())} by what may change, in their class"
        failing[subjects.person[subjects.rows[-1][sure]]] = True
    twice = in_other_forms(evidence, _hashed_people(evidence))
    people = number_of(len(pinned), "person", "people") + f" in {number_of(len(releases), 'release')}"
    if twice:
        people += f" (of {len(pinned) - twice:,}, if {twice:,} keys are earlier ones in another form)"
    detail = (
        f"of {people}, {few}; {n_undecided} undecided after {number_of(found.calls, 'call')} of the solver"
    )
    if n_undecided:
        detail += found.why_undecided(policy.gates.worlds.calls)
    allowed = subjects.changed <= policy.gates.worlds.changes * subjects.followed
    if subjects.changed:
        detail += f"; {subjects.changed} of {subjects.followed} {CHANGED}"
        share = math.ceil(1000 * subjects.changed / subjects.followed) / 1000
        none_fits = f" ({CHANGES.format(share=share)}): no world fits"
        detail += ", and nobody else in any world" if allowed else none_fits
    detail += _otherwise_looked_at(policy, numbers, added, alone)
    detail += "".join(f"; {each.words}" for each in numbers) + _without(evidence)
    witness: dict[str, Any] = {
        "people": len(pinned),
        "releases": len(releases),
        "cohorts": len(found.cohorts.size),
        "pinned": n_pinned,
        "pinned_here": int((pinned & here).sum()),
        "undecided": n_undecided,
        "changed": subjects.changed,
        "solver_calls": found.calls,
        "by_sets": _counts(found.by_sets, found, subjects.person),
        "by_worlds": _counts(found.least, found, subjects.person),
    }
    if likely is not None:
        witness["sure"] = _sure(likely, SURE if p_max is None else p_max, subjects)
    if numbers:
        witness["changed_numbers"] = _changed_numbers(numbers)
    failing = np.any([failing, *(each.failing for each in numbers)], axis=0)
    n_failing = int(failing.sum())
    open_ = any([n_undecided, n_unmeasured, *(each.undecided for each in numbers), not allowed, twice])
    verdict = Verdict.FAIL if n_failing else Verdict.UNKNOWN if open_ else Verdict.PASS
    if verdict is Verdict.FAIL and added:
        detail += f"; {LEFT_OUT.format(names=', '.join(added))}"
    return _result(verdict, float(n_failing), detail, witness)


def _otherwise_looked_at(
    policy: ReleasePolicy, numbers: Sequence[ChangedNumbers], added: Sequence[str], alone: Sequence[str]
) -> str:
    """Say which attributes were not looked at in all releases together, and how each was."""
    stable, may_change = followed_attributes(policy)
    looked_at = [*stable, *(name for each in numbers for name in each.names)]
    told = (
        (
            [name for name in may_change if name not in looked_at],
            "may change and is checked in each release by itself",
        ),
        (
            [name for name in policy.roles.sensitive if name not in [*stable, *may_change]],
            "may change and is not looked at",
        ),
        (alone, "was not published before and is checked in this release by itself"),
        (
            [name for name in added if name not in alone],
            "was not published by every release and is known of the people of those that did",
        ),
    )
    return "".join(f"; {', '.join(names)} {how}" for names, how in told if names)


def _sure(likely: Likely, limit: float, subjects: Subjects) -> dict[str, float | int]:
    """Return how many people have a value likelier than the limit, or may have, and how it was sampled."""
    over = subjects.people(likely.over(limit))
    open_ = subjects.people(likely.unmeasured(limit)) & ~over
    return {
        "limit": limit,
        "people": int(over.sum()),
        "share": float(over.mean()) if len(over) else 0.0,
        "unmeasured": int(open_.sum()),
        "unmeasured_share": float(open_.mean()) if len(over) else 0.0,
        "sweeps": likely.sweeps,
        "moved": likely.moved,
    }


def _counts(values: IntArray, found: Possible, person: IntArray) -> dict[str, int]:
    """Return how many people have one possible value, two, or more in the attribute that has the fewest.

    `person` (n,): who each subject is, numbered from 0.
    """
    fewest = np.full(int(person.max(initial=-1)) + 1, np.iinfo(values.dtype).max)
    np.minimum.at(fewest, person, values.min(axis=1)[found.cohorts.number])
    return {str(n): int((fewest == n).sum()) for n in (1, 2)} | {"more": int((fewest > 2).sum())}


def _result(verdict: Verdict, value: float, detail: str, witness: dict[str, Any] | None = None) -> GateResult:
    return GateResult("worlds", verdict, value, 0.0, "<=", SOLVER, 0.0, detail, witness or {})
