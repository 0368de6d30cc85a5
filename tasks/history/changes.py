"""Numbers that change by one rule for everybody: who follows it has one number, told in several ways.

Whoever knows that every salary was raised by 2% takes the raise back, and has an attribute that never
changed. The rule need not be known from elsewhere: among the people of two releases it is the factor, or the
sum, that most of them follow. Some may follow one rule and some another. The numbers of a release may be
unrelated to those of all others: rules then join the releases around it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tasks.history.dropped import fill
from tasks.history.rules import Change, change_of, count_followers
from tasks.history.spells import OTHERWISE, renamed, stays
from tasks.history.subjects import Rows, Unfit, texts_by_person, without
from tasks.types import BoolArray, FloatArray, IntArray

FIRST, PATH = " at first", " as it changed"  # after the name of an attribute whose change is undone
Rules = dict[tuple[int, int], list[Change]]  # of an earlier and a later release, the most followed first
Texts = tuple[Sequence[str], IntArray]  # what an attribute has, and the code of each row


@dataclass(frozen=True)
class NumberSpells:
    """Releases with `attributes`, each of a spell whose numbers follow rules: filled in outside of it.

    `spells` are the places of the releases of each, `otherwise` names what the releases in none tell of the
    attribute, and `change` is the rule with most who follow it, of the last release if that has one.
    `narrower` is the same by rules alone that most people follow beyond chance, where these join fewer.
    """

    releases: list[Rows]
    attributes: tuple[str, ...]
    otherwise: tuple[str, ...]
    change: Change
    spells: tuple[tuple[int, ...], ...]
    narrower: NumberSpells | None = None

    @property
    def inside(self) -> frozenset[int]:
        """Return the places of the releases of all spells."""
        return frozenset(place for each in self.spells for place in each)

    @property
    def whole(self) -> bool:
        """Whether all releases with numbers are in one spell."""
        return len(self.spells) == 1 and not self.otherwise


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


def undo_changes(
    releases: Sequence[Rows], name: str, stated: Change | None = None, *, kept: bool = False
) -> NumberSpells | None:
    """Return the releases, oldest first, with the numbers of an attribute as if they had not changed.

    Releases are in one spell if rules lead from one to the other. Somebody who follows a rule between two
    releases has one text in both: the number that it is, or would have become, in the last release of the
    spell. `FIRST` after the name is the same of what it was at first, which may be equal where that is not,
    and `PATH` tells how it went: rows with different paths are not alike, though their numbers may be.
    Everybody is laid beside the earlier release from which they follow the rule that most follow, the latest
    of several. The spell that has the last numbers keeps the name of the attribute.

    The rules of two releases are the one that most people follow; one that is `stated`, which holds from each
    period to the next, or from each release where periods are not counted, if anybody follows it; of a column
    that is `kept`, that numbers stay as they are, if that links rows; and of two releases of a spell without
    any of these the one that leads over others. A release without numbers, or outside of a spell, is filled
    in with the numbers of its people in the release of the spell next to it. None without a rule. Raises
    Unfit where somebody is in a release twice, or where an attribute has a name that this one makes.
    O(releases^2 x rows log rows).
    """
    places = [at for at, each in enumerate(releases) if name in each.texts and has_numbers(each, name)]
    with_it = [releases[at] for at in places]
    if not with_it:
        return None
    numbers = _numbers_of(with_it, name)
    rules = _rules(with_it, numbers, stated)
    if not rules:
        return None
    followed_by_most = set(rules)
    if kept:
        _add_unchanged(with_it, name, numbers, rules)
    strong = {pair for pair, found in rules.items() if any(change.beyond_chance for change in found)}
    every, narrow = (_joined(len(numbers), pairs) for pairs in (rules.keys(), strong))
    for spell in every:
        _add_composed(numbers, rules, spell)

    def made(spells: Sequence[Sequence[int]]) -> NumberSpells:
        rows, attributes = _told_by_spells(releases, name, places, numbers, rules, spells)
        inside = {place for spell in spells for place in spell}
        best = max(
            (pair for pair in rules if inside.issuperset(pair)),
            key=lambda pair: (
                pair in followed_by_most,
                pair[1] == len(numbers) - 1,
                rules[pair][0].followed,
            ),
        )
        by_place = tuple(tuple(places[one] for one in spell) for spell in spells)
        otherwise = (name + OTHERWISE,) if len(inside) < len(numbers) else ()
        return NumberSpells(rows, attributes, otherwise, rules[best][0], by_place)

    found = made(every)
    return replace(found, narrower=made(narrow)) if narrow and narrow != every else found


def has_numbers(rows: Rows, name: str) -> bool:
    """Tell whether an attribute that a release has is a number in any of its rows."""
    return bool(len(rows.place)) and not bool(np.isnan(_read(rows.texts[name])[0]).all())


def _rules(releases: Sequence[Rows], numbers: Sequence[_Numbers], stated: Change | None) -> Rules:
    """Return the rules of each two releases that have any, the one that most people follow first."""
    rules: Rules = {}
    for after in range(1, len(numbers)):
        for before in range(after):
            found = [change] if (change := _between(numbers[before], numbers[after])).common else []
            if stated is not None:
                steps = stated.repeated(_steps(releases, before, after))
                if (known := _between(numbers[before], numbers[after], steps)).followed:
                    found.append(known)
            if found:
                rules[before, after] = sorted(found, key=lambda change: change.weight, reverse=True)
    return rules


def _add_unchanged(releases: Sequence[Rows], name: str, numbers: Sequence[_Numbers], rules: Rules) -> None:
    """Add to the rules of two releases that numbers stay as they are, where that links rows."""
    told = [texts_by_person(each, name) for each in releases]
    for before, after in combinations(range(len(releases)), 2):
        if stays(told[before], told[after]):
            same = _between(numbers[before], numbers[after], Change())
            rules.setdefault((before, after), []).append(same)


def _add_composed(numbers: Sequence[_Numbers], rules: Rules, spell: Sequence[int]) -> None:
    """Add to two releases of a spell without a rule the one that leads over others, if anybody follows it."""
    links = sorted(
        (pair for pair in rules if pair[0] in spell and rules[pair][0].factor != 0),
        key=lambda pair: rules[pair][0].weight,
        reverse=True,
    )
    since = {spell[0]: Change()}  # the rule from the first release to each
    while new := next((pair for pair in links if (pair[0] in since) != (pair[1] in since)), None):
        before, after = new
        if before in since:
            since[after] = since[before].then(rules[new][0])
        else:
            since[before] = since[after].then(rules[new][0].repeated(-1))
    for before, after in combinations(sorted(since), 2):
        if (before, after) not in rules:
            rule = since[before].repeated(-1).then(since[after])
            if (found := _between(numbers[before], numbers[after], rule)).followed:
                rules[before, after] = [found]


def _joined(n: int, pairs: Collection[tuple[int, int]]) -> list[list[int]]:
    """Return which of n releases pairs join, by their first; those that none joins are left out."""
    before, after = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    _, number = connected_components(
        coo_array((np.ones(len(before)), (before, after)), (n, n)), directed=False
    )
    found = [np.flatnonzero(number == one).tolist() for one in dict.fromkeys(number.tolist())]
    return [each for each in found if len(each) > 1]


def _told_by_spells(
    releases: Sequence[Rows],
    name: str,
    places: Sequence[int],
    numbers: Sequence[_Numbers],
    rules: Rules,
    spells: Sequence[Sequence[int]],
) -> tuple[list[Rows], tuple[str, ...]]:
    """Return all releases with an attribute for each spell, and what these are called.

    `places` are those of the releases with numbers among all; a spell names some of these by their order.
    """
    last = len(numbers) - 1
    attributes = tuple(
        name if last in each else f"{name} ({number})" for number, each in enumerate(spells, 1)
    )
    added = {own + end for own in attributes for end in ("", FIRST, PATH)} | {name + OTHERWISE}
    if any(added & (each.texts.keys() - {name}) for each in releases):
        raise Unfit(f"the names of an attribute and of {name} are too similar: rename one")
    outside = {places[one] for one in range(len(numbers)) if not any(one in each for each in spells)}
    rows = [
        renamed(each, name, name + OTHERWISE) if at in outside else without(each, name)
        for at, each in enumerate(releases)
    ]
    for own, spell in zip(attributes, spells, strict=True):
        within = {
            (spell.index(before), spell.index(after)): found
            for (before, after), found in rules.items()
            if before in spell and after in spell
        }
        told = _undone([numbers[one] for one in spell], within)
        members = [places[one] for one in spell]
        for at, texts in zip(members, told, strict=True):
            rows[at] = _with(rows[at], own, texts)
        by_place = {at: rows[at] for at in members}
        rows = [one if at in by_place else _filled(one, own, at, by_place) for at, one in enumerate(rows)]
    return rows, attributes


def _undone(numbers: Sequence[_Numbers], rules: Rules) -> list[dict[str, Texts]]:
    """Return what each release of a spell tells: the number at last, and `FIRST` and `PATH` of it."""
    paths = _paths(numbers, rules)
    at_first, at_last = _told(numbers, paths, rules)
    told = []
    for path in paths:
        there, codes = np.unique(path, return_inverse=True)
        texts: dict[str, Texts] = {}
        for end, said in (("", at_last), (FIRST, at_first), (PATH, None)):
            words = [str(one) if said is None else said[one] for one in there.tolist()]
            distinct, place = np.unique(words, return_inverse=True)
            texts[end] = distinct.tolist(), place.reshape(-1)[codes.reshape(-1)]
        told.append(texts)
    return told


def _with(rows: Rows, own: str, told: Mapping[str, Texts]) -> Rows:
    """Return the rows with what a spell tells, after the name of its attribute."""
    texts = {**rows.texts, **{own + end: each for end, (each, _) in told.items()}}
    return replace(
        rows, texts=texts, codes=np.column_stack([rows.codes, *(each for _, each in told.values())])
    )


def _filled(rows: Rows, own: str, at: int, members: Mapping[int, Rows]) -> Rows:
    """Return the rows of a release with the numbers of its people in the release of a spell next to it."""
    nearest = sorted(members, key=lambda other: (abs(other - at), other > at))
    for made in (own, own + FIRST, own + PATH):
        known = pd.concat([texts_by_person(members[other], made) for other in nearest])
        rows = fill(rows, made, known[~known.index.duplicated()])
    return rows


def _steps(releases: Sequence[Rows], before: int, after: int) -> int:
    """Return how many periods, or releases, lie between two releases."""
    earlier, later = releases[before].ago, releases[after].ago
    return after - before if earlier is None or later is None else earlier - later


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


def _between(before: _Numbers, after: _Numbers, rule: Change | None = None) -> Change:
    """Return the rule among those with a number in both releases, or how many of them follow this one."""
    _, ours, theirs = np.intersect1d(after.person, before.person, assume_unique=True, return_indices=True)
    old, new = before.number[theirs], after.number[ours]
    both = ~(np.isnan(old) | np.isnan(new))
    # In the order of the numbers, so that nothing follows from the key under which people are hashed.
    order = np.lexsort((new[both], old[both]))
    old, new = old[both][order], new[both][order]
    if rule is not None:
        return count_followers(rule, old, new, before.half, after.half)
    return change_of(old, new, before.half, after.half)


def _paths(numbers: Sequence[_Numbers], rules: Mapping[tuple[int, int], list[Change]]) -> list[IntArray]:
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
        for earlier in sorted(known, key=lambda earlier: (rules[earlier, after][0].weight[0], earlier)):
            row = rows[earlier, each.person]
            old = np.where(row >= 0, numbers[earlier].number[row], np.nan)
            for rule in rules[earlier, after]:
                follows = rule.follows(old, each.number)
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
    numbers: Sequence[_Numbers], paths: Sequence[IntArray], rules: Mapping[tuple[int, int], list[Change]]
) -> tuple[dict[int, str], dict[int, str]]:
    """Return the texts of each path, at first and at last: what its number would have become since."""
    last = len(numbers) - 1
    worth: dict[int, tuple[float, float]] = {}
    for before in range(last, -1, -1):
        steps = [after for after in range(last, before, -1) if (before, after) in rules]
        worth[before] = 1.0, 0.0
        if steps:
            (factor, added), change = worth[steps[0]], rules[before, steps[0]][0]
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
