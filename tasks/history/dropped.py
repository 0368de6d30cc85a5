"""Attributes that not every release published: what others tell of the same people is known all the same.

Earlier releases have some that the policy no longer has, and lack those that it has had since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from tasks.history.subjects import Rows, texts_by_person

NEVER = "\x00"  # stands for the value of who was in no release that tells one


def with_dropped(
    releases: Sequence[Rows], known: Collection[str]
) -> tuple[list[Rows], list[str], list[str], list[str]]:
    """Return the releases, and the attributes besides those `known`: that never changed, that did, and more.

    The last are those that one release alone published, which is not the first: its rows tell them, and
    nothing else does.

    An attribute changed if somebody who is followed has two values of it. One that never did is filled in:
    whoever is in a release without it has the value there that another release tells of them, or `NEVER`.
    Two worlds of the rows that are filled in are two worlds of those that were published. O(rows).
    """
    names = list(dict.fromkeys(name for each in releases for name in each.texts if name not in known))
    found, never_changed, changed, alone = list(releases), [], [], []
    for name in names:
        if [name in each.texts for each in releases].count(True) == 1 and name not in releases[0].texts:
            alone.append(name)
            continue
        told = pd.concat([texts_by_person(each, name) for each in releases if name in each.texts])
        first = told[~told.index.duplicated()]
        if (first.reindex(told.index).to_numpy() != told.to_numpy()).any():
            changed.append(name)
            continue
        never_changed.append(name)
        found = [each if name in each.texts else fill(each, name, first) for each in found]
    return found, never_changed, changed, alone


def with_added(releases: Sequence[Rows], stable: Sequence[str]) -> tuple[list[Rows], list[str]]:
    """Return the releases, and those of the `stable` attributes that one release alone published.

    Whoever is in a release without one that several published has the value there that is first told of them,
    or `NEVER`. What one alone published is told by its rows, and by nothing else. O(rows).
    """
    found, alone = list(releases), []
    for name in stable:
        having = [each for each in releases if name in each.texts]
        if len(having) == len(releases):
            continue
        if len(having) == 1:
            alone.append(name)
            continue
        told = pd.concat([texts_by_person(each, name) for each in having])
        first = told[~told.index.duplicated()]
        found = [each if name in each.texts else fill(each, name, first) for each in found]
    return found, alone


def fill(rows: Rows, name: str, known: pd.Series[str]) -> Rows:
    """Return the rows with the value that is known of each person."""
    values = known.reindex(pd.Index(list(rows.person), dtype=object)).fillna(NEVER)
    codes, texts = pd.factorize(values.to_numpy(dtype=object), sort=True)
    return replace(
        rows,
        texts={**rows.texts, name: [str(text) for text in texts]},
        codes=np.column_stack([rows.codes, codes.astype(np.int64)]),
        filled=rows.filled | {name},
    )
