"""How many people one known value unlocks, by swaps of two values that an integer program finds.

    python -m tests.reference.known STORE --series NAME [--people 20] [--seed 1] [--seconds 5]

takes people of a series at random, each with their own value known, and counts the others for whom no swap is
left: people with a row a take b, as many with b take a in every class of every release, and the known person
keeps theirs. Only two rows change places in such a world, so some who are counted may be protected by worlds
of three. For series in which two values are asked for (l = 2) and the key of people is at hand. It shares no
code with the gates.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tests.reference.published_series import History, NotJudged, Rows, history_of, n_values, series_of

Kind = tuple[int, Rows]  # a cohort by its place, and a row: its members are alike
Pair = tuple[Rows, Rows]


@dataclass
class Judge:
    """Who may swap two rows in a history of one known world: by pair, how many of each kind do in its swaps.

    `widths` says of each attribute how far apart numbers are that count as one; `seconds` end a question,
    which so many `stopped` ones did: there may be more swaps then.
    """

    history: History
    widths: Sequence[float]
    seconds: float
    size: dict[Kind, int] = field(default_factory=dict)
    swaps: dict[Pair, list[dict[Kind, int]]] = field(default_factory=dict)
    stopped: int = 0

    def __post_init__(self) -> None:
        if self.history.world is None:
            raise NotJudged("no world is known: the key of people is missing")
        self.size = {
            (place, row): n for place, counted in enumerate(self.history.world) for row, n in counted.items()
        }
        rows = sorted({row for _, row in self.size})
        for pair in combinations(rows, 2):
            if self.apart(*pair):
                self.swaps[pair] = self.swaps_of(pair, self.size)

    def apart(self, one: Rows, other: Rows) -> set[int]:
        """Return the attributes in which two rows count as different."""
        return {
            place
            for place, width in enumerate(self.widths)
            if n_values({one[place], other[place]}, width) > 1
        }

    def swaps_of(self, pair: Pair, most: Mapping[Kind, int]) -> list[dict[Kind, int]]:
        """Return swaps of two rows that together have everybody who can swap, `most` of each kind."""
        kinds = [kind for kind in self.size if kind[1] in pair and most.get(kind, 0)]
        if not kinds:
            return []
        lines: dict[tuple[int, int], int] = {}
        cells = [
            (lines.setdefault(one, len(lines)), column, 1.0 if row == pair[0] else -1.0)
            for column, (place, row) in enumerate(kinds)
            for one in self.history.classes(place)
        ]
        line, column, sign = zip(*cells, strict=True)
        even = LinearConstraint(csr_array((sign, (line, column)), (len(lines), len(kinds))), 0, 0)
        bounds = Bounds(0, np.array([most[kind] for kind in kinds]))
        found: list[dict[Kind, int]] = []
        missing = np.ones(len(kinds))
        while missing.any():
            solved = milp(
                -missing,
                integrality=np.ones(len(kinds)),
                bounds=bounds,
                constraints=[even],
                options={"time_limit": self.seconds},
            )
            self.stopped += solved.status == 1
            swap = np.zeros(len(kinds), int) if solved.x is None else np.rint(solved.x).astype(int)
            if not (missing * swap).any():
                break
            found.append({kinds[i]: int(swap[i]) for i in np.flatnonzero(swap)})
            missing[swap > 0] = 0
        return found

    def unlocked_by(self, known: Kind) -> int:
        """Return how many others no swap is left for, a member of a kind being known."""
        most = {**self.size, known: self.size[known] - 1}
        swaps = dict(self.swaps)
        for pair, found in self.swaps.items():
            if any(swap.get(known, 0) > most[known] for swap in found):
                swaps[pair] = self.swaps_of(pair, most)
        return self.unprotected(swaps, most)

    def unprotected(
        self, swaps: Mapping[Pair, Sequence[Mapping[Kind, int]]], among: Mapping[Kind, int]
    ) -> int:
        """Return how many members of kinds some attribute tells, as all swaps leave it."""
        open_ = {kind: set(range(len(self.widths))) for kind in among}
        for pair, found in swaps.items():
            apart = self.apart(*pair)
            for kind in {kind for swap in found for kind in swap}:
                open_[kind] -= apart
        return sum(n for kind, n in among.items() if open_[kind])


def judge_of(root: Path, series: str, seconds: float) -> Judge:
    """Return the judge of all releases of a series. Raises NotJudged."""
    releases, least = series_of(root, series)
    if least[-1] != 2:
        raise NotJudged(f"l is {least[-1]}, not 2")
    n_attributes = len(next(iter(releases[-1].rows.values()))[0]) - releases[-1].n_kept
    return Judge(history_of(releases), [releases[-1].width(place) for place in range(n_attributes)], seconds)


def drawn(judge: Judge, n: int, seed: int) -> list[int]:
    """Return what so many people, or all if there are fewer, unlock."""
    everybody = [kind for kind, size in sorted(judge.size.items()) for _ in range(size)]
    chosen = random.Random(seed).sample(everybody, min(n, len(everybody)))  # noqa: S311 -- no secret
    return [judge.unlocked_by(kind) for kind in chosen]


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge a series of a store and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.reference.known", description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--series", required=True)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0, help="of the solver, for one question")
    args = parser.parse_args(arguments)
    judge = judge_of(args.store, args.series, args.seconds)
    n, nobody = sum(judge.size.values()), judge.unprotected(judge.swaps, judge.size)
    print(f"{n:,} people, {nobody:,} without a swap whoever is known")
    found = drawn(judge, args.people, args.seed)
    print(
        f"of {len(found)} people each unlocks {statistics.mean(found):.4g} others on average, "
        f"{statistics.median(found):g} in the median, {max(found):,} at most"
        f" ({judge.stopped} questions were stopped)"
    )


if __name__ == "__main__":
    main()
