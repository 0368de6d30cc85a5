"""Numbers that change by one rule for everybody: who follows it has one number, told in several ways.

Whoever knows that every salary was raised by 2% takes the raise back, and has an attribute that never
changed. The rule need not be known from elsewhere: among the people of two releases it is the factor, or the
sum, that most of them follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from tasks.history.dropped import with_dropped
from tasks.history.spells import Spells, spells_of
from tasks.history.subjects import Rows, Subjects, Unfit, subjects_of
from tasks.types import BoolArray, FloatArray, IntArray

LEAST_FOLLOWED = 3  # people who follow a rule; two numbers follow some rule always
RELATIVE = 1e-9  # of a number: what arithmetic with floating point loses
FIRST, PATH = " at first", " as it changed"  # after the name of an attribute whose change is undone


@dataclass(frozen=True)
class Change:
    """The rule that most of `people` follow from one release to a later one: after = factor * before + sum.

    `followed` is how many of them do; of people who are put together at random a share of `by_chance` does.
    `half_before` and `half_after`: how far off the numbers of either release may be; 0 if they are exact.
    """

    factor: float = 1.0
    sum: float = 0.0
    people: int = 0
    followed: int = 0
    by_chance: float = 0.0
    half_before: float = 0.0
    half_after: float = 0.0

    @property
    def common(self) -> bool:
        """Whether more than half of the people, and three at least, follow it."""
        return self.followed >= LEAST_FOLLOWED and 2 * self.followed > self.people

    @property
    def weight(self) -> tuple[float, int]:
        """How rules compare: the share who follow one beyond those who would by chance, and how many do."""
        return round(self.followed / max(self.people, 1) - self.by_chance, 9), self.followed

    def expected(self, before: FloatArray) -> FloatArray:
        """Return the numbers after the change."""
        return self.factor * before + self.sum

    def follows(self, before: FloatArray, after: FloatArray) -> BoolArray:
        """Tell whose numbers, (n,) before and after, follow the rule; none that are missing."""
        off = self.half_after + abs(self.factor) * self.half_before + 2 * RELATIVE * np.abs(after)
        return np.asarray(np.abs(self.expected(before) - after) <= off)


@dataclass(frozen=True)
class _Numbers:
    """The numbers of one release: each row's person and number (m,), NaN for what is none, and its text.

    `half` is half of the unit that half of the numbers at least are multiples of.
    """

    person: IntArray
    number: FloatArray
    code: IntArray
    texts: Sequence[str]
    half: float


def followed_attributes(policy: ReleasePolicy) -> tuple[list[str], list[str]]:
    """Return the stable attributes, and those that may change.

    Nothing is asked of what may change where the policy ignores it (`gates.transient`).
    """
    sensitive = policy.roles.sensitive
    ignored = policy.gates.transient == "ignore"
    stable = [name for name, each in sensitive.items() if each.stability == "stable"]
    return stable, [] if ignored else [name for name in sensitive if name not in stable]


def undone(releases: Sequence[Rows], name: str) -> tuple[list[Rows], Change] | None:
    """Return the releases, oldest first, with the numbers of an attribute as if they had not changed.

    Somebody who follows the rule between two releases has one text in both: the number that it is, or would
    have become, in the last release. `name + FIRST` is the same of what it was at first, which may be equal
    where that is not, and `name + PATH` tells how it went: rows with different paths are not alike, though
    their numbers may be. Everybody is laid beside the earlier release from which they follow the rule that
    most follow, the latest of several. Releases without the attribute are left out. The rule is the last
    release's, with most who follow it; None if it has none. Raises Unfit where somebody is in a release
    twice, or where an attribute has a name that this one makes. O(releases^2 x rows log rows).
    """
    if any(name + made in each.texts for each in releases for made in (FIRST, PATH)):
        raise Unfit(f"an attribute has the name of {name} and some words more: name it otherwise")
    with_it = [each for each in releases if name in each.texts]
    if not with_it or with_it[-1] is not releases[-1]:
        return None
    numbers = _numbers_of(with_it, name)
    last = len(numbers) - 1
    rules: dict[tuple[int, int], Change] = {}
    for after in range(1, last + 1):
        for before in range(after):
            change = _between(numbers[before], numbers[after])
            if change.common:
                rules[before, after] = change
    own = [change for (_, after), change in rules.items() if after == last]
    if not own:
        return None
    paths = _paths(numbers, rules)
    at_first, at_last = _told(numbers, paths, rules)
    told = []
    for each, path in zip(with_it, paths, strict=True):
        there, codes = np.unique(path, return_inverse=True)
        texts: dict[str, Sequence[str]] = dict(each.texts)
        columns = [each.of(one) for one in each.texts if one != name]
        del texts[name]
        for key, said in ((name, at_last), (name + FIRST, at_first), (name + PATH, None)):
            words = [str(one) if said is None else said[one] for one in there.tolist()]
            distinct, place = np.unique(words, return_inverse=True)
            texts[key] = distinct.tolist()
            columns.append(place.reshape(-1)[codes.reshape(-1)])
        told.append(replace(each, texts=texts, codes=np.column_stack(columns)))
    return told, max(own, key=lambda change: change.followed)


@dataclass(frozen=True)
class Question:
    """The `releases` in which the change of the attributes `names` is undone, and the rule of the first.

    `same` are categories that are taken as they are, though they may change: they hardly ever do in the
    releases of a spell. `stable` are the attributes that their spells make, and `otherwise` what releases
    outside of all spells tell.
    """

    names: tuple[str, ...]
    releases: list[Rows]
    change: Change
    same: tuple[str, ...] = ()
    stable: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()

    def transient(self, may_change: Sequence[str]) -> list[str]:
        """Return the attributes that the question leaves to change."""
        asked = (*self.names, *self.same)
        return [*(name for name in may_change if name not in asked), *self.otherwise]


def questions(
    releases: Sequence[Rows], numbers: Sequence[str], categories: Sequence[str] = ()
) -> list[Question]:
    """Return what is to be asked of what may have changed: of each attribute, and of all at once.

    Raises Unfit as `undone` does.
    """
    alone = [Question((name,), *found) for name in numbers if (found := undone(releases, name)) is not None]
    alone += [
        _of_spells(kept, name) for name in categories if (kept := spells_of(releases, name)) is not None
    ]
    if len(alone) < 2:
        return alone
    names = tuple(name for one in alone for name in one.names)
    together = list(releases)
    for name in (name for one in alone for name in one.same):
        kept = spells_of(together, name)
        if kept is not None:
            together = kept.releases
    for name in names:
        by_rule = undone(together, name)
        if by_rule is None:
            return alone
        together = by_rule[0]
    same, stable, otherwise = (
        tuple(name for one in alone for name in getattr(one, field))
        for field in ("same", "stable", "otherwise")
    )
    return [*alone, Question(names, together, alone[0].change, same, stable, otherwise)]


def _of_spells(spells: Spells, name: str) -> Question:
    change = Change(people=spells.people, followed=spells.kept)
    return Question((), spells.releases, change, (name,), spells.attributes, spells.otherwise)


def known_attributes(
    policy: ReleasePolicy, releases: Sequence[Rows]
) -> tuple[list[Rows], list[str], list[str]]:
    """Return the releases as they are asked about, and the attributes that never change and that may.

    Among them are those that an earlier release published and the policy no longer knows.
    """
    stable, may_change = followed_attributes(policy)
    found, never_changed, changed = with_dropped(releases, policy.roles.sensitive)
    ignored = policy.gates.transient == "ignore"
    return found, [*stable, *never_changed], [*may_change, *([] if ignored else changed)]


def questions_of(
    policy: ReleasePolicy, releases: Sequence[Rows], may_change: Sequence[str]
) -> list[Question]:
    """Return what is to be asked of the attributes that may change, by their types. Raises Unfit."""
    sensitive = policy.roles.sensitive
    numbers = [name for name in may_change if name in sensitive and sensitive[name].type == "numeric"]
    return questions(releases, numbers, [name for name in may_change if name not in numbers])


def subjects_by(
    policy: ReleasePolicy,
    releases: Sequence[Rows],
    stable: Sequence[str],
    changed: Sequence[str] = (),
    transient: Sequence[str] = (),
) -> Subjects:
    """Return the subjects by stable attributes and `changed` ones, whose change is undone. Raises Unfit.

    `transient` attributes are those of each release.
    """
    sensitive = policy.roles.sensitive
    widths = {name: sensitive[name].width for name in [*stable, *changed, *transient] if name in sensitive}
    widths |= {name + FIRST: widths[name] for name in changed}
    counted = [*stable, *changed, *(name + FIRST for name in changed)]
    return subjects_of(releases, counted, widths, [name + PATH for name in changed], transient)


def change_of(
    before: FloatArray, after: FloatArray, half_before: float = 0.0, half_after: float = 0.5
) -> Change:
    """Return the factor, or the sum, that most of n people follow; their numbers (n,), none missing.

    Numbers were rounded to twice `half_after`, or those before to twice `half_before` as well, or both are as
    they are. Of these the one is taken that most people follow beyond as many as would by chance, of several
    the closest. O(n log n).
    """
    best = Change(people=len(before))
    for tolerance in ((0.0, 0.0), (0.0, half_after), (half_before, half_after)):
        for found in (_best_sum(before, after, *tolerance), _best_factor(before, after, *tolerance)):
            if found is not None and found.weight > best.weight:
                best = found
    return best


def _best_sum(before: FloatArray, after: FloatArray, half_before: float, half_after: float) -> Change | None:
    off = half_before + half_after + RELATIVE * np.abs(after)
    added = _most_covered(after - before - off, after - before + off)
    return None if added is None else _counted(1.0, added, before, after, half_before, half_after)


def _best_factor(
    before: FloatArray, after: FloatArray, half_before: float, half_after: float
) -> Change | None:
    """Return the best factor: how far the numbers before are off grows with it."""
    some = before != 0
    off, size = half_after + RELATIVE * np.abs(after[some]), np.abs(before[some])
    sign = np.sign(before[some]) * after[some]
    with np.errstate(all="ignore"):
        ends = [(sign - off) / size, (sign + off) / size]
        if half_before:
            over, under = size + half_before, np.maximum(size - half_before, RELATIVE)
            ends = [
                np.minimum((sign - off) / over, (sign - off) / under),
                np.maximum((sign + off) / over, (sign + off) / under),
            ]
    known = np.isfinite(ends[0]) & np.isfinite(ends[1])
    factor = _most_covered(ends[0][known], ends[1][known])
    return None if factor is None else _counted(factor, 0.0, before, after, half_before, half_after)


def _counted(
    factor: float,
    added: float,
    before: FloatArray,
    after: FloatArray,
    half_before: float,
    half_after: float,
) -> Change:
    change = Change(factor, added, len(before), 0, 0.0, half_before, half_after)
    expected, ordered = change.expected(before), np.sort(after)
    off = half_after + abs(factor) * half_before + 2 * RELATIVE * np.abs(expected)
    near = np.searchsorted(ordered, expected + off, side="right") - np.searchsorted(ordered, expected - off)
    return replace(
        change,
        followed=int(change.follows(before, after).sum()),
        by_chance=float(near.mean() / max(len(after), 1)) if len(after) else 0.0,
    )


def _most_covered(low: FloatArray, high: FloatArray) -> float | None:
    """Return a point that most of the closed intervals hold, in their middle; None without any."""
    if not len(low):
        return None
    ends = np.concatenate([low, high])
    order = np.lexsort((np.repeat([0, 1], len(low)), ends))
    open_ = np.cumsum(np.where(order < len(low), 1, -1))
    best = int(open_.argmax())
    # Up to the next end, which closes one, the same intervals are open.
    return float((ends[order[best]] + ends[order[best + 1]]) / 2)


def _numbers_of(releases: Sequence[Rows], name: str) -> list[_Numbers]:
    """Return the numbers of each release, its people numbered over all; nobody known is somebody else."""
    hashes = pd.Series([one for each in releases for one in each.person], dtype=object)
    person = pd.factorize(hashes)[0].astype(np.int64)
    strange = person < 0
    person[strange] = person.max(initial=-1) + 1 + np.arange(int(strange.sum()))
    found = []
    for each, own in zip(
        releases, np.split(person, np.cumsum([len(each.place) for each in releases])[:-1]), strict=True
    ):
        if len(np.unique(own)) < len(own):
            raise Unfit("somebody has several rows in one release")
        numbers, exponents = _read(each.texts[name])
        code = each.of(name)
        number = numbers[code]
        shown = np.sort(exponents[code][~np.isnan(number) & (number != 0)])
        half = 0.5 * 10.0 ** int(shown[len(shown) // 2]) if len(shown) else 0.5
        found.append(_Numbers(own, number, code, each.texts[name], half))
    return found


def _read(texts: Sequence[str]) -> tuple[FloatArray, IntArray]:
    """Return the numbers of texts, NaN for what is none, and the power of ten that each is a multiple of."""
    numbers, exponents = np.full(len(texts), np.nan), np.zeros(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        try:
            value = Decimal(text).normalize()
        except ArithmeticError:  # no number, or one that nothing can hold
            continue
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and np.isfinite(float(value)):
            numbers[i], exponents[i] = float(value), exponent
    return numbers, exponents


def _between(before: _Numbers, after: _Numbers) -> Change:
    """Return the rule among those with a number in both releases."""
    _, ours, theirs = np.intersect1d(after.person, before.person, assume_unique=True, return_indices=True)
    old, new = before.number[theirs], after.number[ours]
    both = ~(np.isnan(old) | np.isnan(new))
    # In the order of the numbers, so that nothing follows from the key under which people are hashed.
    order = np.lexsort((new[both], old[both]))
    return change_of(old[both][order], new[both][order], before.half, after.half)


def _paths(numbers: Sequence[_Numbers], rules: dict[tuple[int, int], Change]) -> list[IntArray]:
    """Return how the number of each row went, (m,) for each release, numbered over all.

    Rows with one path have one number in each release. Everybody with an equal number in a release has one
    path, unless some of them had other numbers before, or will have.
    """
    n_people = 1 + max(int(each.person.max(initial=-1)) for each in numbers)
    rows = np.full((len(numbers), n_people), -1, dtype=np.int64)
    words: dict[str, int] = {}
    paths: list[IntArray] = []
    n_paths = 0
    for after, each in enumerate(numbers):
        rows[after, each.person] = np.arange(len(each.person))
        before = np.full(len(each.person), -1, dtype=np.int64)  # the path that the row's person comes along
        known = [earlier for earlier in range(after) if (earlier, after) in rules]
        for earlier in sorted(known, key=lambda earlier: (rules[earlier, after].weight[0], earlier)):
            row = rows[earlier, each.person]
            old = np.where(row >= 0, numbers[earlier].number[row], np.nan)
            follows = rules[earlier, after].follows(old, each.number)
            before[follows] = paths[earlier][row[follows]]
        come = np.flatnonzero(before >= 0)
        pairs, where = np.unique(
            np.column_stack([before[come], each.code[come]]), axis=0, return_inverse=True
        )
        once = np.ones(len(pairs), dtype=bool)
        for column in pairs.T:
            _, place, count = np.unique(column, return_inverse=True, return_counts=True)
            once &= count[place.reshape(-1)] == 1
        of_code = np.arange(len(each.texts)) + n_paths  # numbers that nobody brings are new
        n_paths += len(each.texts)
        of_code[pairs[once, 1]] = pairs[once, 0]
        for code in np.flatnonzero(_none(each)).tolist():
            of_code[code] = words.setdefault(each.texts[code], of_code[code])
        path = of_code[each.code].astype(np.int64)
        # Where several became one, or one several, each way is a path of its own, from its beginning on.
        split = come[~once[where.reshape(-1)]]
        own = n_paths + where.reshape(-1)[~once[where.reshape(-1)]]
        n_paths += len(pairs)
        for earlier in range(after):
            row = rows[earlier, each.person[split]]
            same = (row >= 0) & (paths[earlier][row] == before[split])
            paths[earlier][row[same]] = own[same]
        path[split] = own
        paths.append(path)
    return paths


def _none(each: _Numbers) -> BoolArray:
    """Tell which texts of a release are no numbers."""
    found = np.zeros(len(each.texts), dtype=bool)
    found[each.code[np.isnan(each.number)]] = True
    return found


def _told(
    numbers: Sequence[_Numbers], paths: Sequence[IntArray], rules: dict[tuple[int, int], Change]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the texts of each path, at first and at last: what its number would have become since."""
    last = len(numbers) - 1
    worth: dict[int, tuple[float, float]] = {}
    for before in range(last, -1, -1):
        steps = [after for after in range(last, before, -1) if (before, after) in rules]
        worth[before] = 1.0, 0.0
        if steps:
            (factor, added), change = worth[steps[0]], rules[before, steps[0]]
            worth[before] = factor * change.factor, factor * change.sum + added
    at_first: dict[int, str] = {}
    at_last: dict[int, str] = {}
    for place, (each, path) in enumerate(zip(numbers, paths, strict=True)):
        factor, added = worth[place]
        for one, row in zip(*(found.tolist() for found in np.unique(path, return_index=True)), strict=True):
            number = each.number[row]
            text = each.texts[each.code[row]] if np.isnan(number) else repr(float(factor * number + added))
            at_first.setdefault(one, text)
            at_last[one] = text
    return at_first, at_last
