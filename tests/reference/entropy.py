"""How sure a reader of maximum entropy is: proportional fitting over all classes of all releases.

    python -m tests.reference.entropy STORE --series NAME [--known 0.05] [--seed 1]

says of each attribute of how many people such a reader is over 95% sure, and how often that is right. People
of one cohort are alike. From equal shares the counts of each class are fitted in turn, until nothing changes:
that is the distribution of maximum entropy with the counts that were published, on average. Those who are
known are drawn at random, and taken out of the counts. It shares no code with the gates.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.reference.published_series import History, NotJudged, history_of, series_of

SURE = 0.95
ROUNDS, LEAST_CHANGE = 500, 1e-6


@dataclass(frozen=True)
class Sure:
    """Of n people, how many somebody is sure of one value of, and of how many of these it is the true one."""

    people: int
    sure: int
    right: int


def fitted(history: History, attribute: int, known: Sequence[Counter[str]] | None = None) -> Sure:
    """Return how sure a reader is of an attribute, who knows so many people's values in each cohort.

    O(rounds x cohorts x releases x values).
    """
    if history.world is None:
        raise NotJudged("no world is known: the key of people is missing")
    true: list[Counter[str]] = []
    for counted in history.world:
        true.append(Counter())
        for row, n in counted.items():
            true[-1][row[attribute]] += n
    told = known if known is not None else [Counter[str]() for _ in true]
    values = sorted({value for counted in true for value in counted})
    place = {value: i for i, value in enumerate(values)}
    left = _table([own - gone for own, gone in zip(true, told, strict=True)], place)
    size = left.sum(axis=1)
    releases = []
    for number in range(len(history.cohorts[0])):
        of = np.array([cohort[number] for cohort in history.cohorts])
        here = np.flatnonzero(of >= 0)
        names = sorted({int(one) for one in of[here]})
        counts = np.zeros((len(names), len(values)))
        for i, name in enumerate(names):
            for row, n in history.counts[number, name].items():
                counts[i, place[row[attribute]]] += n
            for cohort in history.inside[number, name]:
                for value, n in told[cohort].items():
                    counts[i, place[value]] -= n
        releases.append((here, np.searchsorted(names, of[here]), counts))
    share = np.tile(size[:, None], (1, len(values))).astype(float)
    for _ in range(ROUNDS):
        before = share.copy()
        for here, group, counts in releases:
            total = np.zeros_like(counts)
            np.add.at(total, group, share[here])
            share[here] *= np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)[group]
            total = share.sum(axis=1)
            share *= np.divide(size, total, out=np.zeros_like(total), where=total > 0)[:, None]
        if np.abs(share - before).max() < LEAST_CHANGE:
            break
    some = size > 0
    most = np.divide(share, size[:, None], out=np.zeros_like(share), where=some[:, None])
    sure = some & (most.max(axis=1) > SURE)
    right = left[np.arange(len(left)), most.argmax(axis=1)]
    return Sure(int(size.sum()), int(size[sure].sum()), int(right[sure].sum()))


def drawn(history: History, attribute: int, share: float, seed: int) -> list[Counter[str]]:
    """Return whose values are known, of each cohort: each person with a probability of `share`."""
    draw = np.random.default_rng(seed)
    found = []
    for counted in history.world or []:
        own: Counter[str] = Counter()
        for row, n in sorted(counted.items()):
            own[row[attribute]] += int(draw.binomial(n, share))
        found.append(own)
    return found


def _table(counted: Sequence[Counter[str]], place: dict[str, int]) -> NDArray[np.float64]:
    table = np.zeros((len(counted), len(place)))
    for i, own in enumerate(counted):
        for value, n in own.items():
            table[i, place[value]] = n
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Say of a series in a store how sure such a reader is."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.entropy", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--series", required=True)
    parser.add_argument(
        "--known", type=float, default=0.05, help="share of the people whose values are known"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    releases, _ = series_of(args.store, args.series)
    history = history_of(releases)
    n_attributes = len(next(iter(history.counts.values())).most_common(1)[0][0])
    for attribute in range(n_attributes):
        for share in (0.0, args.known):
            found = fitted(history, attribute, drawn(history, attribute, share, args.seed))
            print(
                f"attribute {attribute + 1}, {share:.0%} of the people known: over {SURE:.0%} sure of "
                f"{found.sure:,} of {found.people:,} ({found.sure / max(found.people, 1):.2%}), "
                f"right of {found.right:,}"
            )


if __name__ == "__main__":
    main()
