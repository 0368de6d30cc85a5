"""The gate `known`: how many others lose their protection once one person's values are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from policy.model import ReleasePolicy
from policy.text import number_of
from release_store.records import EquivalenceClasses, GateResult, Verdict
from tasks.history.following import follows_people
from tasks.history.known import unlocked_by_one
from tasks.history.questions import counting_of, followed_attributes
from tasks.history.required import least_of_each
from tasks.history.search import Limits
from tasks.history.subjects import Subjects, values_of_classes
from tasks.history.worlds import short_of
from tasks.risk.evidence import CannotTell, Evidence
from tasks.risk.gates.worlds import solved_worlds

KNOWS = "has every release, knows the class of everybody in each, and one person's values, such as their own"
COLLUDERS = 0.05  # of the people, who tell one another their values


def known_gate(evidence: Evidence) -> GateResult:
    """Nobody's values, once known, leave fewer than l possible ones to more others than the policy allows.

    Of all people in all releases, by their stable attributes; what may change is looked at in the candidate's
    classes by itself. An upper bound, by the worlds that were found. Raises CannotTell and NotAtHand as
    `worlds_gate` does.
    """
    policy, limit = evidence.policy, evidence.policy.gates.known
    if limit is None:
        raise CannotTell("the policy sets no limit")
    if policy.rows == "several":
        raise CannotTell("people may have several rows, which is not looked at")
    stable, may_change = followed_attributes(policy)
    followed = bool(stable) and follows_people(policy)
    alone = may_change if followed else [*stable, *may_change]
    most, total = _in_classes(evidence.classes, policy, alone)
    n, witness, more = evidence.n_published, {}, ""
    if followed:
        subjects, found = solved_worlds(evidence)
        told = unlocked_by_one(
            subjects.classes,
            subjects.value,
            subjects.attributes,
            policy.privacy.l,
            subjects.person,
            subjects.seat,
            subjects.unit,
            found.kept,
        )
        n, most = subjects.n_people, max(most, int(told.people.max(initial=0)))
        total += int(told.people.sum())
        alone_share, share = float(told.alone.mean()), _of_colluders(subjects, policy)
        witness = {"alone": alone_share, "open": int(told.open.sum()), "colluders": share}
        more = (
            f"; {alone_share:.1%} of them depend on no single other person; if {COLLUDERS:.0%} tell one "
            f"another their values, at most {share:.1%} of the others have too few"
        )
        more += "; a limit ended the search for exchanges" if told.spent else ""
    mean = total / max(n, 1)
    detail = (
        f"one person's values, once known, leave fewer than {least_of_each(policy)} possible values to "
        f"{most:,} others at most and {mean:.3g} on average, of {number_of(n, 'person', 'people')}, by the "
        f"worlds that were found{more}"
    )
    passed = most <= limit.max and (limit.mean is None or mean <= limit.mean)
    if limit.mean is not None:
        detail += f"; on average at most {limit.mean:g} are allowed"
    witness = {"people": n, "mean": mean, **witness}
    verdict = Verdict.PASS if passed else Verdict.FAIL
    return GateResult("known", verdict, float(most), float(limit.max), "<=", KNOWS, 0.0, detail, witness)


def _in_classes(classes: EquivalenceClasses, policy: ReleasePolicy, names: Sequence[str]) -> tuple[int, int]:
    """Return how many others one member of a class unlocks at most by an attribute, and all members together.

    Whoever alone has one of l values of a class takes it from the others.
    """
    most = total = 0
    for name in names:
        counts, texts = classes.counts[name], classes.sensitive_values[name]
        few = values_of_classes(counts, texts, counting_of(policy, name)) <= policy.privacy.of(name).l
        single = (counts == 1).sum(axis=1) * few
        most = max(most, int(((classes.size - 1) * (single > 0)).max(initial=0)))
        total += int(((classes.size - 1) * single).sum())
    return most, total


def _of_colluders(subjects: Subjects, policy: ReleasePolicy) -> float:
    """Return what share of the people has too few values at most where drawn others know theirs."""
    draw = np.random.default_rng(policy.seed)
    told = draw.random(subjects.n_people) < COLLUDERS
    rest = ~told[subjects.person]
    short = short_of(
        subjects.classes[rest],
        subjects.value[rest],
        subjects.attributes,
        policy.privacy.l,
        Limits(),
        subjects.seat[rest],
    )
    n_short = len(np.unique(subjects.person[rest][short]))
    return n_short / max(int((~told).sum()), 1)
