"""What a candidate by itself leaves possible for people who may have several rows in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from policy.text import number_of
from tasks.history.questions import counting_of
from tasks.history.search import Limits
from tasks.history.several_rows import QUESTIONS, People, people_of_rows, possible_by_rows
from tasks.history.signatures import NONE
from tasks.history.subjects import Rows, Unfit, tuples_of, values_of_classes
from tasks.history.worlds import Possible
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.published import row_classes, row_values
from tasks.types import BoolArray, IntArray

ROWS_AT_ONCE = 100_000  # whose classes are compared, for memory
WHOSE_ROWS = (
    "only the run that made the rows knows how many rows a person has in a class: run the period again"
)
ADVICE = (
    "publish one row a person, make the classes larger (`privacy.k`), or set `stability: transient` for an "
    "attribute that may change from row to row"
)
SEVERAL_VALUES = "several values of an attribute that the policy calls stable: set `stability: transient`"


@dataclass(frozen=True)
class Members:
    """The people of a release and their classes: `person` (m,) from 0 on and `place` (m,), in any order."""

    person: IntArray
    place: IntArray

    @property
    def n_people(self) -> int:
        """Return how many people there are."""
        return len(np.unique(self.person))

    def in_any(self, chosen: BoolArray) -> IntArray:
        """Return the people with a row in any of the chosen classes (c,), each once and in order."""
        return np.unique(self.person[chosen[self.place]])


def members_of(evidence: Evidence) -> Members | None:
    """Return the people of the candidate's rows, or of its classes where whose rows they are is not known.

    None where neither is known.
    """
    own = evidence.people
    if evidence.row_people is not None:
        with evidence.sealed_data() as file:
            return Members(_each_somebody(evidence.row_people), row_classes(file, evidence.policy))
    if own is None or own.classes is None:
        return None
    whose = _each_somebody(pd.factorize(np.array(own.hashes, dtype=object))[0].astype(np.int64))
    return Members(whose, np.array(own.classes, dtype=np.int64))


def _each_somebody(person: IntArray) -> IntArray:
    """Return the numbers of people; a row of nobody known is somebody else's."""
    numbers, strange = person.copy(), np.flatnonzero(person < 0)
    numbers[strange] = person.max(initial=-1) + 1 + np.arange(len(strange))
    return numbers


@dataclass(frozen=True)
class Answer:
    """What was found of the `people`: how many values each keeps is in `possible`.

    `several` of those with several rows have more than one value of a stable attribute.
    """

    people: People
    possible: Possible
    several: int
    followed: int
    least: int

    @property
    def pinned(self) -> IntArray:
        """Return the people who keep too few values for certain."""
        return self.people.of_subjects(self.possible.pinned(self.least))

    @property
    def undecided(self) -> IntArray:
        """Return the people of whom it is not known whether they keep enough."""
        return self.people.of_subjects(self.possible.undecided(self.least))

    def allowed(self, policy: ReleasePolicy) -> bool:
        """Tell whether the policy allows for as many people with several values of a stable attribute."""
        return self.several <= policy.gates.worlds.changes * self.followed

    def words(self, policy: ReleasePolicy) -> str:
        """Say what was found, and what to do where somebody is not shown to keep enough."""
        n, open_ = len(self.pinned), len(self.undecided)
        found = (
            f"{n} by all rows of the release together, "
            f"{open_} undecided after {number_of(self.possible.calls, 'call')} of the solver"
        )
        if open_:
            found += self.possible.why_undecided(policy.gates.worlds.calls)
        if self.several:
            followed = number_of(self.followed, "person", "people")
            found += f"; of {followed} with several rows {self.several} have {SEVERAL_VALUES}"
        return f"{found}; {ADVICE}" if n or open_ else found


def answer_of(evidence: Evidence, members: Members, stable: Sequence[str]) -> Answer:
    """Return what the candidate's rows leave possible of the `stable` attributes, as tuples.

    Kept columns that say the same in all rows of each person tell rows apart, unless the policy accepts it.
    Raises NotAtHand where whose rows they are is not known, and CannotTell.
    """
    policy = evidence.policy
    if evidence.row_people is None:
        raise NotAtHand(WHOSE_ROWS)
    with evidence.sealed_data() as file:
        texts, codes = row_values(file, policy)
    n_rows = np.unique(members.person, return_counts=True)[1]
    own = [name for name in policy.roles.kept if policy.gates.worlds.kept == "ask"]
    names = list(texts)
    beside = [name for name in own if _same_for_each(members.person, codes[:, names.index(name)])]
    none = np.full((len(codes), 2), NONE, dtype=np.int64)
    rows = Rows([None] * len(codes), members.place, texts, codes, none)
    counting = {name: counting_of(policy, name) for name in stable}
    value, attributes = tuples_of([rows], stable, counting, beside)
    try:
        people = people_of_rows(members.person, members.place, value)
    except Unfit as reason:
        raise CannotTell(f"{reason}: {ADVICE}") from None
    limits = Limits(calls=policy.gates.worlds.calls, questions=QUESTIONS)
    possible = possible_by_rows(people, attributes, policy.privacy.l, limits)
    return Answer(people, possible, people.n_several, int((n_rows > 1).sum()), policy.privacy.l)


def _same_for_each(person: IntArray, code: IntArray) -> bool:
    """Tell whether all rows of each person have one code."""
    order = np.lexsort((code, person))
    same = np.diff(person[order]) == 0
    return not (np.diff(code[order])[same] != 0).any()


def everybody_has_one_row(evidence: Evidence, members: Members) -> bool:
    """Tell whether each published row is another person's: then a class tells all there is."""
    return len(members.person) == evidence.n_published and members.n_people == evidence.n_published


def short_by_sets(evidence: Evidence, members: Members, stable: Sequence[str]) -> IntArray:
    """Return the people with fewer than l values that all of their classes have, each once and in order.

    Others may keep too few as well. O(rows log rows + rows x values of a class).
    """
    classes, policy = evidence.classes, evidence.policy
    pairs = np.unique(np.column_stack([members.person, members.place]), axis=0)
    person, n_own = np.unique(pairs[:, 0], return_counts=True)
    first = np.cumsum(n_own) - n_own
    few = np.zeros(len(person), dtype=bool)
    for name in stable:
        counts, texts = classes.counts[name], classes.sensitive_values[name]
        for some in np.array_split(np.arange(len(person)), 1 + len(pairs) // ROWS_AT_ONCE):
            if len(some):
                begin, end = first[some[0]], first[some[-1]] + n_own[some[-1]]
                present = counts[pairs[begin:end, 1]] > 0
                left = np.logical_and.reduceat(present, first[some] - begin, axis=0)
                few[some] |= (
                    values_of_classes(left, texts, counting_of(policy, name)) < policy.privacy.of(name).l
                )
    return np.asarray(person[few])
