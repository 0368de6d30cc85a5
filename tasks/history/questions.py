"""What is asked of a history besides its stable attributes: what may change and does so by a rule, or hardly.

Kept columns are asked about in the same way. Nobody has to keep several values of these; but they link the
rows of releases, so that rows with other values of them are not alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from policy.model import ReleasePolicy
from tasks.history.attribute import Counting
from tasks.history.changes import FIRST, PATH, NumberSpells, has_numbers, undo_changes
from tasks.history.dropped import with_added, with_dropped
from tasks.history.rules import Change
from tasks.history.spells import Spells, is_made_of, spells_of
from tasks.history.subjects import Rows, Subjects, Unfit, subjects_of, texts_by_person
from tasks.privacy.similar import groups_of

RARE_VALUES = ", rare values"  # after the name of an attribute
MOST_TRIED = 3  # attributes that change for somebody, of which each choice is asked about


def followed_attributes(policy: ReleasePolicy) -> tuple[list[str], list[str]]:
    """Return the stable attributes, and those that may change.

    Nothing is asked of what may change where the policy ignores it (`gates.transient`).
    """
    sensitive = policy.roles.sensitive
    ignored = policy.gates.transient == "ignore"
    stable = [name for name, each in sensitive.items() if each.stability == "stable"]
    return stable, [] if ignored else [name for name in sensitive if name not in stable]


@dataclass(frozen=True)
class Question:
    """The `releases` in which the change of some attributes is undone, and the rule of the first of these.

    `names` are numbers whose values count, and `changed` the attributes that their spells make; `same` are
    categories that are taken as they are, though they may change, since they hardly ever do in the releases
    of a spell, and kept columns. `stable` are the attributes that the spells of categories make, `otherwise`
    what releases outside of all spells tell. `beside` is what kept columns make: rows differ by it, and none
    of its values count. `others` ask the same where other releases are joined.
    """

    names: tuple[str, ...]
    releases: list[Rows]
    change: Change
    same: tuple[str, ...] = ()
    stable: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    others: tuple[Question, ...] = ()

    def transient(self, may_change: Sequence[str]) -> list[str]:
        """Return the attributes that the question leaves to change."""
        asked = (*self.names, *self.stable)
        return [*(name for name in may_change if name not in asked), *self.otherwise]


def questions(
    releases: Sequence[Rows],
    numbers: Sequence[str],
    categories: Sequence[str] = (),
    kept: Sequence[str] = (),
    rules: Mapping[str, Change] | None = None,
) -> list[Question]:
    """Return what is to be asked of what may have changed: of each attribute, and of several at once.

    What is among `numbers` and `categories` is asked about as a category where no rule is found. `kept` are
    columns whose values do not count, `rules` those of numbers that attackers know, from each release to the
    next. Raises Unfit as `undo_changes` does.
    """

    def of(releases: Sequence[Rows], name: str) -> Question | None:
        if name in kept:
            return _of_kept(releases, name)
        if name in numbers:
            by_rule = _of_numbers(releases, name, rules or {}, category=name in categories)
            return by_rule or _of_rare(releases, name)
        return _of_spells(releases, name) or _of_rare(releases, name)

    asked = dict.fromkeys([*categories, *kept, *numbers])
    alone = {name: one for name in asked if (one := of(releases, name))}
    coarser = [_of_coarser(releases, name, kept=name in kept) for name in alone if not alone[name].names]
    others = [each for one in alone.values() for each in one.others]
    rare = [_of_rare(releases, name) for name, one in alone.items() if not _joins_all(one, releases, name)]
    found = [*alone.values(), *(one for one in (*coarser, *rare) if one is not None), *others]
    for names in _together({name: _share_changed(each) for name, each in alone.items()}):
        together, parts = list(releases), []
        for name in names:
            part = of(together, name)
            if part is not None:
                together = part.releases
                parts.append(part)
        fields = ("names", "same", "stable", "otherwise", "beside", "changed")
        joined = (tuple(name for one in parts for name in getattr(one, field)) for field in fields)
        own, *rest = joined
        found.append(Question(own, together, parts[0].change, *rest))
    return found


def _together(changed: Mapping[str, float]) -> list[list[str]]:
    """Return which attributes are asked about together, by the share of people whose value changed.

    Those that changed for nobody are in each: what they tell comes on top. Somebody who changed is another
    subject from then on, so that each of the others may hide what is told without it: up to three are tried
    in every way, more in the order of how rarely they change.
    """
    never = [name for name, share in changed.items() if share == 0]
    some = sorted((name for name in changed if name not in never), key=lambda name: changed[name])
    if len(some) <= MOST_TRIED:
        chosen = [each for n in range(len(some) + 1) for each in combinations(some, n)]
    else:
        chosen = [tuple(some[:n]) for n in range(len(some) + 1)]
    sets = [{*never, *each} for each in chosen]
    return [[name for name in changed if name in each] for each in sets if len(each) > 1]


def _share_changed(question: Question) -> float:
    """Return which share of the people in several releases does not keep what a question compares."""
    names = [*question.stable, *question.beside, *(name + PATH for name in question.changed)]
    changed, n = 0.0, 0
    for name in names:
        told = [texts_by_person(each, name) for each in question.releases if name not in each.filled]
        several = pd.concat(told).groupby(level=0).agg(["size", "nunique"])
        several = several[several["size"] > 1]
        changed += float((several["nunique"] > 1).sum())
        n += len(several)
    return changed / n if n else 0.0


def _of_numbers(
    releases: Sequence[Rows], name: str, rules: Mapping[str, Change], *, category: bool
) -> Question | None:
    """Ask about numbers by the rules that they follow, and as a `category` where these do not join all."""
    found = undo_changes(releases, name, rules.get(name))
    same = _spells(releases, name) if category and (found is None or not found.whole) else None
    return _of_either(found, same, partial(_by_rule, name), partial(_of_category, name))


def _of_either(
    found: NumberSpells | None,
    same: Spells | None,
    by_rule: Callable[[NumberSpells], Question],
    of_same: Callable[[Spells], Question],
) -> Question | None:
    """Ask by rules and by equal texts, first by what joins more releases; None where neither joins any."""
    asked = []
    if found is not None:
        asked += [(len(each.inside), by_rule(each)) for each in (found, found.narrower) if each is not None]
    if same is not None and (found is None or len(found.spells) > 1 or not same.inside <= found.inside):
        asked.append((len(same.inside), of_same(same)))
    if not asked:
        return None
    first, *others = (question for _, question in sorted(asked, key=lambda each: -each[0]))
    return replace(first, others=tuple(others))


def _by_rule(name: str, found: NumberSpells) -> Question:
    return Question(
        (name,), found.releases, found.change, otherwise=found.otherwise, changed=found.attributes
    )


def _spells(releases: Sequence[Rows], name: str, *, precise: bool = False) -> Spells | None:
    return spells_of(releases, name, precise=precise) or spells_of(
        releases, name, precise=precise, coarser=True
    )


def _of_spells(releases: Sequence[Rows], name: str) -> Question | None:
    found = _spells(releases, name)
    return None if found is None else _of_category(name, found)


def _of_category(name: str, found: Spells) -> Question:
    return Question((), found.releases, _change(found), (name,), found.attributes, found.otherwise)


def _of_column(name: str, found: Spells) -> Question:
    return Question((), found.releases, _change(found), (name,), beside=found.attributes)


def _of_coarser(releases: Sequence[Rows], name: str, *, kept: bool) -> Question | None:
    """Ask about a category by what several of its names have in common, if that joins more releases."""
    fine = spells_of(releases, name, precise=kept)
    if fine is None or len(fine.inside) == sum(name in each.texts for each in releases):
        return None
    coarse = spells_of(releases, name, precise=kept, coarser=True)
    if coarse is None or len(coarse.inside) <= len(fine.inside):
        return None
    return _of_column(name, coarse) if kept else _of_category(name, coarse)


def _of_kept(releases: Sequence[Rows], name: str) -> Question | None:
    """Ask about a kept column: by the rules that its numbers follow, or by the releases that agree on it."""
    found = undo_changes(releases, name, kept=True)
    same = _spells(releases, name, precise=True) if found is None or not found.whole else None
    asked = _of_either(found, same, partial(_beside_rule, name), partial(_of_column, name))
    return asked or _of_rare(releases, name)


def _joins_all(question: Question, releases: Sequence[Rows], name: str) -> bool:
    """Tell whether a spell of a question has all releases with an attribute, or it asks about rare values."""
    own = (*question.stable, *question.beside, *(each + PATH for each in question.changed))
    there = [at for at, each in enumerate(releases) if name in each.texts]
    return any(one.startswith(name + RARE_VALUES) for one in own) or any(
        all(one not in question.releases[at].filled for at in there) for one in own
    )


def _of_rare(releases: Sequence[Rows], name: str) -> Question | None:
    """Ask about rows that a rare value links, where most people do not keep theirs; no other values count."""
    own = name + RARE_VALUES
    if any(own in each.texts for each in releases):
        raise Unfit(f"the names of an attribute and of {name} are too similar: rename one")
    copies = [
        replace(
            each,
            texts={**each.texts, own: each.texts[name]},
            codes=np.column_stack([each.codes, each.of(name)]),
            filled=each.filled | ({own} if name in each.filled else set()),
        )
        if name in each.texts
        else each
        for each in releases
    ]
    found = spells_of(copies, own, rare=True)
    return None if found is None else _of_column(name, found)


def _beside_rule(name: str, found: NumberSpells) -> Question:
    paths = tuple(own + PATH for own in found.attributes)
    return Question((), found.releases, found.change, (name,), beside=paths)


def _change(spells: Spells) -> Change:
    return Change(people=spells.people, followed=spells.kept)


def with_kept(policy: ReleasePolicy, releases: Sequence[Rows]) -> tuple[list[Rows], tuple[str, ...]]:
    """Return the releases with what kept columns say that stays, and the attributes by which rows differ.

    Of a first release all kept columns may stay.
    """
    found: list[Rows] = list(releases)
    beside: list[str] = []
    kept = _asked_columns(policy, releases)
    if len(releases) == 1:
        return found, tuple(kept)
    for name in kept:
        one = _of_kept(found, name)
        if one is not None:
            found = one.releases
            beside += one.beside
    return found, tuple(beside)


def linking_columns(policy: ReleasePolicy, releases: Sequence[Rows]) -> list[str]:
    """Return the columns that releases kept, and none published as sensitive."""
    names = dict.fromkeys(name for each in releases for name in each.kept or ())
    return [
        name
        for name in names
        if name not in policy.roles.sensitive
        and all(name in (each.kept or ()) for each in releases if name in each.texts)
    ]


def _asked_columns(policy: ReleasePolicy, releases: Sequence[Rows]) -> list[str]:
    """Return the kept columns that may link rows: one that says the same of everybody does not."""
    if policy.gates.worlds.kept != "ask":
        return []
    return [
        name
        for name in linking_columns(policy, releases)
        if any(len(each.texts.get(name, ())) > 1 for each in releases)
    ]


def known_attributes(
    policy: ReleasePolicy, releases: Sequence[Rows]
) -> tuple[list[Rows], list[str], list[str]]:
    """Return the releases as they are asked about, and the attributes that never change and that may.

    Among them are those that an earlier release published and the policy no longer knows. What is stable and
    one release alone published is looked at in that release, as what may change is.
    """
    stable, may_change = followed_attributes(policy)
    known = (*policy.roles.sensitive, *linking_columns(policy, releases))
    found, never_changed, changed, alone = with_dropped(releases, known)
    found, new = with_added(found, stable)
    stable = [name for name in stable if name not in new]
    ignored = policy.gates.transient == "ignore"
    return found, [*stable, *never_changed], [*may_change, *new, *alone, *([] if ignored else changed)]


def lacking(releases: Sequence[Rows], names: Sequence[str]) -> list[str]:
    """Return which of some attributes an earlier release did not publish."""
    return [name for name in names if any(name in each.filled or name not in each.texts for each in releases)]


def questions_of(
    policy: ReleasePolicy, releases: Sequence[Rows], stable: Sequence[str], may_change: Sequence[str]
) -> list[Question]:
    """Return what is to be asked besides the `stable` attributes, by the types of the others.

    Raises Unfit. A question in which no value counts is none.
    """
    sensitive = policy.roles.sensitive
    declared = [name for name in may_change if name in sensitive and sensitive[name].type == "numeric"]
    categories = [name for name in may_change if name not in declared]
    # What the policy no longer has may have been numbers.
    dropped = [name for name in categories if name not in sensitive]
    numbers = [*declared, *(name for name in dropped if _is_numeric(releases, name))]
    kept = _asked_columns(policy, releases)
    rules = {
        name: Change(each.change.factor, each.change.sum)
        for name, each in sensitive.items()
        if each.change is not None
    }
    found = questions(releases, numbers, categories, kept, rules)
    return [one for one in found if (*stable, *one.stable, *one.names, *one.transient(may_change))]


def _is_numeric(releases: Sequence[Rows], name: str) -> bool:
    return all(has_numbers(each, name) for each in releases if name in each.texts)


def counting_of(policy: ReleasePolicy, name: str) -> Counting:
    """Return how a sensitive attribute is counted, or the one that spells made this one of."""
    sensitive = policy.roles.sensitive
    owner = name if name in sensitive else next((own for own in sensitive if is_made_of(name, own)), None)
    if owner is None:
        return Counting()
    groups = partial(groups_of, sensitive[owner], missing_label=policy.source.missing_label)
    return Counting(sensitive[owner].width, groups, policy.privacy.of(owner).l - policy.privacy.l)


def subjects_by(
    policy: ReleasePolicy,
    releases: Sequence[Rows],
    stable: Sequence[str],
    changed: Sequence[str] = (),
    transient: Sequence[str] = (),
    beside: Sequence[str] = (),
) -> Subjects:
    """Return the subjects by stable attributes and `changed` ones, whose change is undone. Raises Unfit.

    `transient` attributes are those of each release; rows differ by what is `beside`, whose values do not
    count.
    """
    counting = {name: counting_of(policy, name) for name in [*stable, *changed, *transient]}
    counting |= {name + FIRST: counting[name] for name in changed}
    counted = [*stable, *changed, *(name + FIRST for name in changed)]
    return subjects_of(releases, counted, counting, [*(name + PATH for name in changed), *beside], transient)
