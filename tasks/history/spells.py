"""Categories that may change, and hardly ever do: releases among which most people keep theirs.

Two releases of one period tell the same of somebody, whatever came between; a duty roster moves everybody on
by one. So every pair of releases is looked at, not the last ones alone, and values may have other names in
one release than in another, if for everybody alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from tasks.history.dropped import fill
from tasks.history.subjects import Rows, Unfit, texts_by_person, without
from tasks.types import IntArray

LEAST_KEPT = 3  # people who keep their category, besides one for each name that may be another
RARE = (4, 2, 1)  # pairs of people, one in either release, with a category that counts as rare
MOST_NAMES = 64  # of a category that can be another in a later release; the cost is their cube
OTHERS = "\x00"  # stands for all categories that are not rare
OTHERWISE = " otherwise"  # after the name of a category: what releases outside of all spells tell


@dataclass(frozen=True)
class Spells:
    """Releases with `attributes`, each of a spell: filled in where a release is not in it.

    `inside` are the places of the releases of a spell; `otherwise` names what the others tell of the
    category. Of `people` in two releases of a spell `kept` have the same category, in the pair of releases
    with most of them.
    """

    releases: list[Rows]
    attributes: tuple[str, ...]
    otherwise: tuple[str, ...]
    people: int
    kept: int
    inside: frozenset[int]


def spells_of(
    releases: Sequence[Rows],
    name: str,
    *,
    precise: bool = False,
    coarser: bool = False,
    rare: bool = False,
) -> Spells | None:
    """Return the spells of a category; None where no two releases tell the same of most people.

    Or, if it is `precise`, where most rows of two releases with the same category are not one person's. If it
    is `coarser`, several categories of one release may be one in another: then all are called by that one.
    If it is `rare`, only categories of few people count, which these keep. Raises Unfit where somebody has
    several rows in one release, or an attribute a name that this one makes. O(releases^2 x rows log rows).
    """
    if any(is_made_of(key, name) for each in releases for key in each.texts if key != name):
        raise Unfit(f"the names of an attribute and of {name} are too similar: rename one")
    told = {at: texts_by_person(each, name) for at, each in enumerate(releases) if name in each.texts}
    if any(each.index.has_duplicates for each in told.values()):
        raise Unfit("somebody has several rows in one release")
    names = {at: {text: text for text in releases[at].texts[name]} for at in told}
    spell = {at: at for at in told}
    best = (0, 0)
    for before, after in combinations(told, 2):
        if spell[before] == spell[after]:
            continue
        pair = told[before], told[after]
        found = _kept_rare(*pair) if rare else _kept(*pair, precise, coarser)
        if found is None:
            continue
        people, kept, same = found
        best = max(best, (kept, people))
        taken: set[str] = set()
        for at_first, called in zip((before, after), same or (), strict=False):
            others = [at for at in told if spell[at] == spell[at_first]]
            now = _now({text for at in others for text in names[at].values()}, called, taken)
            taken |= {*now.values()}
            for at in others:
                names[at] = {text: now[name_then] for text, name_then in names[at].items()}
                told[at] = told[at].map(now)
        joined = spell[after]
        spell |= {at: spell[before] for at in told if spell[at] == joined}
    members = [[at for at in told if spell[at] == number] for number in dict.fromkeys(spell.values())]
    members = [each for each in members if len(each) > 1]
    if not members:
        return None
    inside = {at for each in members for at in each}
    rows = [
        without(each, name) if at in inside else renamed(each, name, name + OTHERWISE)
        for at, each in enumerate(releases)
    ]
    attributes = [
        name if max(told) in each else f"{name} ({number})" for number, each in enumerate(members, 1)
    ]
    for own, each in zip(attributes, members, strict=True):
        known = pd.concat([told[at] for at in each])
        known = known[~known.index.duplicated()]
        rows = [
            _called(one, own, releases[at], name, names[at]) if at in each else fill(one, own, known)
            for at, one in enumerate(rows)
        ]
    otherwise = (name + OTHERWISE,) if len(inside) < len(told) else ()
    return Spells(rows, tuple(attributes), otherwise, best[1], best[0], frozenset(inside))


def stays(before: pd.Series[str], after: pd.Series[str]) -> bool:
    """Tell whether equal texts of people in two releases link their rows."""
    found = _kept(before, after, precise=True)
    return found is not None and found[2] is None


def is_made_of(attribute: str, name: str) -> bool:
    """Tell whether an attribute is one that spells make of the attribute `name`."""
    return re.fullmatch(rf"{re.escape(name)}(| \(\d+\)|{OTHERWISE})", attribute) is not None


def _now(texts: AbstractSet[str], same: Mapping[str, str], taken: Collection[str]) -> dict[str, str]:
    """Return what the categories of a spell are called with those of another: each otherwise, no two alike.

    `same` are those that the other has, whose names are `taken`.
    """
    now, used = dict(same), {*taken, *same.values()}
    for text in sorted(texts - same.keys()):
        name = text
        while name in used:
            name += " later"
        used.add(name)
        now[text] = name
    return now


def _kept(
    before: pd.Series[str], after: pd.Series[str], precise: bool, coarser: bool = False
) -> tuple[int, int, tuple[dict[str, str], dict[str, str]] | None] | None:
    """Return how many people are in both, how many keep their category, and what both releases call it.

    None where these are under three, or not more than half, or not more than half of those who would not by
    chance (Cohen's kappa), unless nobody's category changed. The names, of the categories before and after,
    are None where they are the same in both, and else those by which most people keep their category.
    """
    both = after.index[after.index.isin(before.index)]
    if not len(both):
        return None
    old, old_texts = pd.factorize(before.loc[both].to_numpy(dtype=object), sort=True)
    new, new_texts = pd.factorize(after.loc[both].to_numpy(dtype=object), sort=True)
    place = pd.Index(old_texts).get_indexer(pd.Index(new_texts))
    same = old == place[new]
    if same.all() or _is_kept(old, place[new], 0) or (precise and _links(old, place[new])):
        return len(both), int(same.sum()), None
    if max(len(old_texts), len(new_texts)) > MOST_NAMES:
        return None
    found = _names(old, new, (len(old_texts), len(new_texts)), coarser)
    if found is None:
        return None
    was, now, joint = found
    texts = new_texts if joint else old_texts
    names = (
        {str(text): str(texts[i]) for text, i in zip(old_texts, was.tolist(), strict=True)},
        {str(text): str(texts[i]) for text, i in zip(new_texts, now.tolist(), strict=True) if i >= 0},
    )
    return len(both), int((was[old] == now[new]).sum()), names


def _kept_rare(
    before: pd.Series[str], after: pd.Series[str]
) -> tuple[int, int, tuple[dict[str, str], dict[str, str]]] | None:
    """Return the same as `_kept` where only rare categories count."""
    both = after.index[after.index.isin(before.index)]
    old, old_texts = pd.factorize(before.loc[both].to_numpy(dtype=object), sort=True)
    new, new_texts = pd.factorize(after.loc[both].to_numpy(dtype=object), sort=True)
    found = _rare_names(old, new, list(old_texts), list(new_texts))
    return None if found is None else (len(both), *found)


def _names(
    old: IntArray, new: IntArray, n: tuple[int, int], coarser: bool
) -> tuple[IntArray, IntArray, bool] | None:
    """Return the name by which most people, (m,) codes before and after, keep their category.

    It is that of a category before, or, if the last is true, of one after, for each of the `n` before and
    after; -1 for none. Each has one of its own, unless several may be one: the `coarser` of the two. None
    if no names keep enough.
    """
    counts = np.zeros(n, dtype=np.int64)
    np.add.at(counts, (old, new), 1)
    before, after = (np.arange(each) for each in n)
    was, now = linear_sum_assignment(counts, maximize=True)
    place = np.full(n[1], -1, dtype=np.int64)
    place[now] = was
    if _is_kept(old, place[new], len(was)):
        return before, place, False
    if coarser and _is_kept(old, (place := counts.argmax(axis=0))[new], n[1]):
        return before, place, False
    if coarser and _is_kept((place := counts.argmax(axis=1))[old], new, n[0]):
        return place, after, True
    return None


def _rare_names(
    old: IntArray, new: IntArray, old_texts: Sequence[str], new_texts: Sequence[str]
) -> tuple[int, tuple[dict[str, str], dict[str, str]]] | None:
    """Return how many people keep a rare category, and the names of all: rare ones their own, or `OTHERS`.

    `old` and `new` (n,) are codes of the same people's texts before and after. A category is rare by how many
    pairs of people have it, one in either release; of several limits the first is taken at which most pairs
    are one person. None if there is none.
    """
    place = pd.Index(old_texts).get_indexer(pd.Index(new_texts))
    before = np.bincount(old, minlength=len(old_texts))
    after = np.bincount(place[new] + 1, minlength=len(old_texts) + 1)[1:]
    pairs, kept = before * after, np.bincount(old[old == place[new]], minlength=len(old_texts))
    for most in RARE:
        rare = (pairs > 0) & (pairs <= most)
        n_kept, n_pairs = int(kept[rare].sum()), int(pairs[rare].sum())
        if n_kept - n_pairs / max(len(old), 1) >= LEAST_KEPT and 2 * n_kept > n_pairs:
            own = {text for text, one in zip(old_texts, rare.tolist(), strict=True) if one}
            was, now = (
                {text: text if text in own else OTHERS for text in each} for each in (old_texts, new_texts)
            )
            return n_kept, (was, now)
    return None


def _links(old: IntArray, new: IntArray) -> bool:
    """Tell whether most pairs of people with one category, (n,) codes before and after, are one person."""
    width = int(max(old.max(initial=0), new.max(initial=0))) + 1
    pairs = np.bincount(old, minlength=width) @ np.bincount(new[new >= 0], minlength=width)
    kept = int((old == new).sum())
    return kept >= LEAST_KEPT and bool(2 * kept > pairs)


def _is_kept(old: IntArray, new: IntArray, chosen: int) -> bool:
    """Tell whether most keep their category, (n,) codes, beyond chance and as many names as were `chosen`."""
    n, kept = len(old), int((old == new).sum())
    known = new[new >= 0]
    width = int(max(old.max(initial=0), new.max(initial=0))) + 1
    by_chance = float(np.bincount(old, minlength=width) @ np.bincount(known, minlength=width)) / n**2
    return kept - chosen >= LEAST_KEPT and 2 * kept > n and 2 * (kept / n - by_chance) > 1 - by_chance


def renamed(rows: Rows, name: str, other: str) -> Rows:
    """Return the rows with an attribute, if they have it, under another name."""
    return replace(rows, texts={(other if key == name else key): each for key, each in rows.texts.items()})


def _called(rows: Rows, own: str, release: Rows, name: str, names: Mapping[str, str]) -> Rows:
    """Return the rows with an attribute `own`: the category of the release under its names of the spell."""
    texts = [names[text] for text in release.texts[name]]
    codes = np.column_stack([rows.codes, release.of(name)])
    return replace(rows, texts={**rows.texts, own: texts}, codes=codes)
