"""An exact attacker of a series of any size, to whom one world is known.

For whoever has too few values the solver looks for another world in which only people near them differ, and
for a proof that there is none, in neighbourhoods that grow until either is found: what nobody outside needs
to change for is a world; what is impossible though everybody outside may have anything is impossible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tests.reference.published_series import Class, History, Rows, n_values

MOST_VARIABLES = 400_000
MOST_OF_ALL = 1_000_000  # variables of a question in which everybody varies
FEW = 20  # people who lack values; for more a world of everybody is looked for


def values_left(
    history: History,
    l_least: int,
    seconds: float,
    width: Callable[[int], float] = lambda _: 0.0,
    n_kept: int = 0,
    jobs: int = 1,
) -> dict[int, str]:
    """Return of which cohorts, by place, some attribute is `pinned` to under l values, or is `undecided`.

    `width` says of an attribute, by its place, how far apart numbers are that count as one; the last
    `n_kept` values of a row are not asked about. `jobs` processes share the cohorts.
    """
    if history.world is None:
        raise ValueError("no world fits")
    seen = [set(counted) for counted in history.world]
    attributes = range(len(next(iter(seen[0]))) - n_kept) if seen else range(0)
    _everybody(history, history.world, seen, attributes, l_least, seconds, width)
    state = partial(_worst, history, seen, [(a, width(a)) for a in attributes], l_least, seconds)
    places = range(len(history.cohorts))
    if jobs == 1:
        states = list(map(state, places))
    else:
        _shared.append(state)  # a forked process has it without a copy
        try:
            with get_context("fork").Pool(jobs) as pool:
                states = pool.map(_of_shared, places, chunksize=max(1, len(places) // (50 * jobs)))
        finally:
            _shared.clear()
    return {place: worst for place, worst in enumerate(states) if worst}


_shared: list[Callable[[int], str | None]] = []


def _of_shared(place: int) -> str | None:
    return _shared[0](place)


def _worst(
    history: History,
    seen: list[set[Rows]],
    attributes: Sequence[tuple[int, float]],
    l_least: int,
    seconds: float,
    place: int,
) -> str | None:
    states = [
        _state(history, history.world or [], seen, place, attribute, l_least, seconds, width)
        for attribute, width in attributes
    ]
    return next((state for state in ("pinned", "undecided") if state in states), None)


def _everybody(
    history: History,
    world: Sequence[Counter[Rows]],
    seen: list[set[Rows]],
    attributes: Sequence[int],
    l_least: int,
    seconds: float,
    width: Callable[[int], float],
) -> None:
    """Look for worlds in which anybody may differ, as long as each gives many people values that they lack.

    Where people stay together over many releases only worlds far from the known one give somebody another
    value, and such a world gives nearly everybody one.
    """
    everybody = range(len(seen))
    if sum(len(history.rows_of_all(place)) for place in everybody) > MOST_OF_ALL:
        return
    question = None
    for attribute in attributes:
        n_before = 2 * len(seen)
        while True:
            short = [
                place
                for place in everybody
                if n_values({row[attribute] for row in seen[place]}, width(attribute)) < l_least
            ]
            if len(short) < FEW or 10 * len(short) > 9 * n_before:
                break
            n_before = len(short)
            question = question or _Question(history, world, everybody)
            known = {row[attribute] for row in seen[short[0]]}
            wished = [at == short[0] and row[attribute] not in known for at, row in question.variables]
            found = question.world(wished, seen, 10 * seconds, free=False) if any(wished) else None
            if found is None or not found.size:
                break
            for v in np.flatnonzero(found):
                at, row = question.variables[v]
                seen[at].add(row)


def _state(
    history: History,
    world: Sequence[Counter[Rows]],
    seen: list[set[Rows]],
    place: int,
    attribute: int,
    l_least: int,
    seconds: float,
    width: float,
) -> str:
    near: list[int] = [place]
    while n_values(known := {row[attribute] for row in seen[place]}, width) < l_least:
        wider = sorted({i for at in near for one in history.classes(at) for i in history.inside[one]})
        whole, near = wider == near, wider
        question = _Question(history, world, near)
        if len(question.variables) > MOST_VARIABLES:
            return "undecided"
        wished = [at == place and row[attribute] not in known for at, row in question.variables]
        if not any(wished):
            return "pinned"
        new = question.world(wished, seen, seconds, free=False)
        if new is not None and new.size:
            for v in np.flatnonzero(new):
                at, row = question.variables[v]
                seen[at].add(row)
            near = [place]
        elif whole:
            return "undecided" if new is None else "pinned"
        else:
            beyond = question.world(wished, seen, seconds, free=True)
            if beyond is not None and not beyond.size:
                return "pinned"
    return "enough"


class _Question:
    """How many members of the cohorts nearby have which row: a variable of each."""

    def __init__(self, history: History, world: Sequence[Counter[Rows]], near: Sequence[int]) -> None:
        self.variables = [(at, row) for at in near for row in sorted(history.rows_of_all(at))]
        of_cohort: dict[int, list[int]] = {at: [] for at in near}
        of_line: dict[tuple[Class, Rows], list[int]] = {}
        for v, (at, row) in enumerate(self.variables):
            of_cohort[at].append(v)
            for one in history.classes(at):
                of_line.setdefault((one, row), []).append(v)
        lines = [*of_cohort.values()]
        low = [history.size[at] for at in near]
        high, low_free = [*low], [*low]
        chosen = set(near)
        classes = sorted({one for at in near for one in history.classes(at)})
        for one in classes:
            outside = [at for at in history.inside[one] if at not in chosen]
            taken: Counter[Rows] = Counter()
            for at in outside:
                taken.update(world[at])
            n_outside = sum(history.size[at] for at in outside)
            # Rows of nobody who can be followed may have any of the values.
            strangers = history.counts[one].total() - sum(history.size[at] for at in history.inside[one])
            for row, n in history.counts[one].items():
                lines.append(of_line.get((one, row), []))
                low.append(max(n - taken[row] - strangers, 0))
                low_free.append(max(n - n_outside - strangers, 0))
                high.append(n - taken[row])
        self._high_free = [
            *[history.size[at] for at in near],
            *[n for one in classes for n in history.counts[one].values()],
        ]
        self._low, self._high, self._low_free = low, high, low_free
        starts = np.cumsum([0, *map(len, lines)])
        spots = np.array([v for line in lines for v in line], dtype=np.int32)
        self._matrix = csr_array((np.ones(len(spots)), spots, starts), (len(lines), len(self.variables)))

    def world(
        self, wished: Sequence[bool], seen: Sequence[set[Rows]], seconds: float, *, free: bool
    ) -> np.ndarray | None:
        """Return a world in which somebody has a wished row, of size 0 if there is none, None if time ended.

        Everybody outside is as in the known world, or may have anything that their classes have (`free`).
        """
        low, high = (self._low_free, self._high_free) if free else (self._low, self._high)
        known = np.array([row in seen[at] for at, row in self.variables], dtype=float)
        found = milp(
            known,  # the fewer are as in other worlds, the more people one answer tells of
            integrality=np.ones(len(known)),
            bounds=Bounds(0, np.inf),
            constraints=[
                LinearConstraint(self._matrix, low, high),
                LinearConstraint(csr_array(np.array([wished], dtype=float)), 1, np.inf),
            ],
            options={"time_limit": seconds, "mip_rel_gap": 1.0},
        )
        if found.x is not None:
            return np.rint(found.x)
        return np.empty(0) if found.status == 2 else None
