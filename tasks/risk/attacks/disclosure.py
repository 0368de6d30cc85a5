"""What an attack discloses of each person: SADR and Pr(DR) (doi:10.3390/app152111849, eq. 11, section 5.4).

R(x) are the published rows that fit what the attacker knows of x. The attacker's guess of a sensitive value
is the most frequent one in R(x), and SADR its share there; similar values are one. Equal knowledge is looked
up once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tasks.geometry.bitsets import Words, packed
from tasks.geometry.candidates import find_containing
from tasks.geometry.cells import Cells, true_cells
from tasks.geometry.space import distinct_rows
from tasks.risk.attacks.attackers import Knowledge, People
from tasks.risk.attacks.linkage import Links
from tasks.risk.attacks.target import Target, Units
from tasks.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Guesses:
    """What is guessed of a sensitive attribute, (n,) each; nan where R(x) is empty.

    `share` is the largest share of a value in R(x), which is SADR; `right`, how often the guess is x's own
    value, ties shared; `by_chance`, how often it would be that of a person drawn from the whole source.
    """

    share: FloatArray
    right: FloatArray
    by_chance: FloatArray


@dataclass(frozen=True)
class Fitting:
    """R(x) for n people: `rows` (n,) how many they are, `one` (n,) a class of some of them (-1: none), the
    `links` to their classes, and the guesses of each sensitive attribute that is not known.
    """

    rows: IntArray
    one: IntArray
    links: Links
    guesses: dict[str, Guesses]

    def take(self, people: IntArray) -> Fitting:
        """Return what was found of the people at these places."""
        guesses = {
            name: Guesses(guess.share[people], guess.right[people], guess.by_chance[people])
            for name, guess in self.guesses.items()
        }
        return Fitting(self.rows[people], self.one[people], self.links.take(people), guesses)


def fitting(target: Target, known: People, truth: People, what: Knowledge) -> Fitting:
    """Find R(x) by what the attacker's table `known` says of each person; hold the guesses to `truth`."""
    units = target.units(what.sensitive)
    numbers, codes = _columns(known, what)
    first, place = distinct_rows([*numbers.T, *codes.T])
    n = len(first)
    rows, one = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    links = Links.of_nobody(n)
    share = {name: np.full(n, np.nan) for name in units.tallies}
    chance = {name: np.full(n, np.nan) for name in units.tallies}
    n_modes = {name: np.ones(n, dtype=np.int64) for name in units.tallies}
    modes: dict[str, Words] = {
        name: np.zeros((n, max(-(-tally.n_values // 64), 1)), dtype=np.uint64)
        for name, tally in units.tallies.items()
    }
    for found in find_containing(numbers[first], codes[first], _cells(units, what)):
        rows[found.people] = found.total(units.size)
        one[found.people] = units.owner[found.classes[found.starts]]
        links.add(found, units.size)
        for name, tally in units.tallies.items():
            for part, totals in tally.over(found):
                here = found.people[part]
                top = totals.max(axis=0)
                is_mode = totals == top
                share[name][here] = top / rows[here]
                n_modes[name][here] = is_mode.sum(axis=0)
                chance[name][here] = target.frequency[name] @ is_mode / n_modes[name][here]
                modes[name][here] = packed(is_mode.T)
    guesses = {}
    for name in units.tallies:
        hit = _marked(modes[name], place, truth.guessed(name))
        right = np.where(rows[place] > 0, hit / n_modes[name][place], np.nan)
        guesses[name] = Guesses(share[name][place], right, chance[name][place])
    return Fitting(rows[place], one[place], links.take(place), guesses)


def fits_unknown(
    target: Target, people: People, sensitive: str | None, known: Sequence[Knowledge]
) -> FloatArray:
    """Sum over R(x) the chance to draw the true values of all that is not known from a row's cells.

    A cell gives 1 / |cell| if it holds the true value, else 0: so only rows of classes that contain x in
    every quasi-identifier count, and these are the same whatever is known. Shape (len(known), n); all of
    `known` know `sensitive`.
    """
    units = target.units(sensitive)
    p, q = people.numbers.shape[1], people.codes.shape[1]
    everything = Knowledge(tuple(range(p)), tuple(range(q)), sensitive)
    numbers, codes = _columns(people, everything)
    first, place = distinct_rows([*numbers.T, *codes.T])
    weights = []
    for what in known:
        unknown = [c for c in range(p) if c not in what.numeric]
        unknown += [p + c for c in range(q) if c not in what.categorical]
        weights.append(units.size / target.choices[units.owner][:, unknown].prod(axis=1))
    sums = np.zeros((len(known), len(first)))
    for found in find_containing(numbers[first], codes[first], _cells(units, everything).as_written()):
        for line, weight in zip(sums, weights, strict=True):
            line[found.people] = found.total(weight)
    return sums[:, place]


def check_disclosure(target: Target, truth: People, known: People | None = None) -> BoolArray:
    """Tell of each person whether their row may be in R(x), (n,): whether a class holds their true values.

    That is a class that contains all of a person's quasi-identifiers and has their sensitive values, and that
    fits `known` too where the attacker's table has errors. Which of several such classes has the row, or
    whether it was left out, the release does not say: all count, so that the risk is not told too small.
    """
    cells = target.cells.certain()
    has = tuple(target.classes.counts[name] > 0 for name in target.sensitive)
    wanted = cells.beside(true_cells(cells.low[:, :0], cells.high[:, :0], has))
    numbers = truth.numbers
    values = [_seen(truth.values[name]) for name in target.sensitive]
    codes = np.column_stack([truth.codes, *values]).astype(np.int32)
    if known is not None:
        wanted = wanted.beside(cells)
        numbers, codes = np.hstack([numbers, known.numbers]), np.hstack([codes, known.codes])
    first, place = distinct_rows([*numbers.T, *codes.T])
    inside = np.zeros(len(first), dtype=bool)
    for found in find_containing(numbers[first], codes[first], wanted):
        inside[found.people] = True
    unseen = np.any([truth.values[name] < 0 for name in target.sensitive], axis=0)
    return np.asarray(inside[place] & ~unseen)


def _columns(people: People, what: Knowledge) -> tuple[FloatArray, NDArray[np.int32]]:
    numbers = people.numbers[:, list(what.numeric)]
    if what.sensitive is not None:
        numbers = np.column_stack([numbers, people.values[what.sensitive].astype(np.float64)])
    return numbers, people.codes[:, list(what.categorical)]


def _cells(units: Units, what: Knowledge) -> Cells:
    value = () if what.sensitive is None else (units.cells.low.shape[1] - 1,)
    return units.cells.of([*what.numeric, *value], what.categorical)


def _seen(values: IntArray) -> IntArray:
    # A value that the release does not have stands nowhere; -1 would mean that it is unknown.
    return np.maximum(values, 0)


def _marked(bits: Words, place: IntArray, value: IntArray) -> FloatArray:
    """Return 1.0 where the bit of a person's value is set, else 0.0."""
    words = bits[place, np.maximum(value, 0) // 64]
    bit = (words >> (np.maximum(value, 0) % 64).astype(np.uint64)) & np.uint64(1)
    return np.where(value >= 0, bit, np.uint64(0)).astype(np.float64)
