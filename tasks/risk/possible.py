"""What all releases leave possible of some attributes, and of numbers that changed by one rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.model import ReleasePolicy
from release_store.records import EquivalenceClasses
from tasks.history.questions import questions_of, subjects_by
from tasks.history.relations import check_relations
from tasks.history.rules import Change
from tasks.history.sampling import Likely, likely_values
from tasks.history.search import Limits
from tasks.history.subjects import Rows, Subjects, Unfit
from tasks.history.worlds import Possible, possible_values, values_shown
from tasks.risk.evidence import CannotTell
from tasks.types import BoolArray, IntArray


@dataclass(frozen=True)
class ChangedNumbers:
    """Of how many people too little is possible once the rule of an attribute is taken back.

    Of the people who are `failing` (p,) that is so, or a value is `likelier` than `gates.worlds.p_max`.
    `why_undecided` says which limits ended the search.
    """

    names: tuple[str, ...]
    change: Change
    failing: BoolArray
    pinned: int
    undecided: int
    likelier: int = 0
    why_undecided: str = ""

    @property
    def n_failing(self) -> int:
        """How many people fail."""
        return int(self.failing.sum())

    @property
    def name(self) -> str:
        """Return what names the question in the witness."""
        return " with ".join(self.names)

    @property
    def words(self) -> str:
        """Say in a few words what was found."""
        left = f"{self.pinned} with too few values, {self.undecided} undecided"
        if self.undecided:
            left += self.why_undecided
        if self.likelier:
            left += f", {self.likelier} with a value likelier than p_max"
        if len(self.names) > 1:
            return f"{self.name} leave {left}"
        people = f"{self.change.followed} of {self.change.people} people"
        if self.change.factor == 1 and self.change.sum == 0:
            return f"{self.name} stayed the same for {people}, which leaves {left}"
        rule = "sum" if self.change.factor == 1 else "factor and sum" if self.change.sum else "factor"
        return f"{self.name} changed by one {rule} for {people}, which leaves {left}"

    @property
    def witness(self) -> dict[str, int]:
        """Return the counts."""
        return {
            "people": self.change.people,
            "followed": self.change.followed,
            "pinned": self.pinned,
            "undecided": self.undecided,
            **({"likelier": self.likelier} if self.likelier else {}),
        }


def possible_of(
    policy: ReleasePolicy,
    releases: Sequence[Rows],
    stable: Sequence[str],
    changed: Sequence[str] = (),
    transient: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> tuple[Subjects, Possible]:
    """Return the subjects of releases by stable attributes and `changed` ones, and what is possible of them.

    The change of these must be undone; `transient` ones are looked at in each release, and of what is
    `beside` no values count. Raises CannotTell.
    """
    try:
        subjects = subjects_by(policy, releases, stable, changed, transient, beside)
    except Unfit as reason:
        raise CannotTell(str(reason)) from None
    limits = Limits(calls=policy.gates.worlds.calls)
    return subjects, possible_values(
        subjects.classes,
        subjects.value,
        subjects.attributes,
        policy.privacy.l,
        limits,
        subjects.seat,
        transient=subjects.transient,
    )


def likely_of(policy: ReleasePolicy, subjects: Subjects, found: Possible) -> Likely:
    """Return how likely the most likely values of subjects are, by as many sweeps as the policy says."""
    return likely_values(
        subjects.classes,
        subjects.value,
        subjects.attributes,
        policy.gates.worlds.sweeps,
        policy.seed,
        subjects.seat,
        found,
    )


def values_left(policy: ReleasePolicy, subjects: Subjects, found: Possible, more: int) -> IntArray:
    """Return how many values of each attribute certificates leave to each subject, (n, s).

    Up to `more` than l are looked for.
    """
    return values_shown(
        subjects.classes,
        subjects.value,
        subjects.attributes,
        policy.privacy.l + more,
        Limits(),
        subjects.seat,
        found,
    )


def further_questions(
    policy: ReleasePolicy,
    releases: Sequence[Rows],
    classes: Sequence[EquivalenceClasses],
    stable: Sequence[str],
    may_change: Sequence[str],
) -> list[ChangedNumbers]:
    """Ask about the stable attributes with each that hardly ever changed or whose numbers did by one rule.

    Kept columns are among these. And about all of them together. `classes` are those of each release. Raises
    CannotTell, also where nobody fails and columns tell what others told.
    """
    try:
        asked = questions_of(policy, releases, stable, may_change)
    except Unfit as reason:
        raise CannotTell(str(reason)) from None
    found = []
    for one in asked:
        subjects, possible = possible_of(
            policy, one.releases, [*stable, *one.stable], one.changed, one.transient(may_change), one.beside
        )
        pinned = subjects.people(possible.pinned(policy.privacy.l))
        undecided = subjects.people(possible.undecided(policy.privacy.l)) & ~pinned
        over, p_max = np.zeros(len(pinned), dtype=bool), policy.gates.worlds.p_max
        if p_max is not None and subjects.attributes:
            likely = likely_of(policy, subjects, possible)
            over = subjects.people(likely.over(p_max))
            undecided |= subjects.people(likely.unmeasured(p_max)) & ~(pinned | over)
        found.append(
            ChangedNumbers(
                (*one.names, *one.same),
                one.change,
                pinned | over,
                int(pinned.sum()),
                int(undecided.sum()),
                int(over.sum()),
                possible.why_undecided(policy.gates.worlds.calls),
            )
        )
    if not any(each.n_failing for each in found):
        try:
            check_relations(policy, releases, classes, stable, asked)
        except Unfit as reason:
            raise CannotTell(str(reason)) from None
    return found
