"""An attack over all draws: mean with a 95% confidence interval, greatest success, and the same attack
against people of whom the release holds no row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from math import hypot

import numpy as np

from tasks.risk.attacks.attackers import (
    ALL,
    HALF,
    HALF_AND_SENSITIVE,
    OUTSIDE,
    Knowledge,
    People,
    joined,
    knowledge_of,
    with_errors,
)
from tasks.risk.attacks.disclosure import Fitting, check_disclosure, fits_unknown, fitting
from tasks.risk.attacks.intervals import group_interval, interval
from tasks.risk.attacks.target import Target
from tasks.types import FloatArray, IntArray

MOST_ATTACKED = 100_000
"""People, over all draws, whom an attacker who knows a half attacks, since there are many halves."""


@dataclass(frozen=True)
class Figure:
    """One risk: mean over draws, half the width of its 95% confidence interval (nan for a single draw), and
    the greatest of any person drawn.

    `hits` and `control` are the success against the people drawn and against the control group, `excess` the
    first less the second, and `excess_within` half the width of its 95% interval, which counts the draws and,
    where the control is a sample of people, those. `n_control` is how many of them were measured, None where
    there is no sample, and `n_people` how many people of the draw in which fewest were. nan: not measured.
    """

    mean: float
    within: float
    greatest: float
    hits: float
    control: float
    excess: float
    excess_within: float
    n_control: int | None
    n_people: int
    witness: dict[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Attack:
    """What one attacker gets: which row a person's is (`identity`), what the unknown quasi-identifiers are
    (`cells`, None where none is unknown), and the sensitive attributes that the attacker does not know.
    """

    attacker: str
    n_ways: int
    n_people: int
    identity: Figure
    cells: Figure | None
    sadr: dict[str, Figure]


@dataclass
class _Series:
    """One measure as it comes in, way by way: mean over each draw, and the greatest; of each outsider."""

    means: list[FloatArray] = field(default_factory=list)
    hits: list[FloatArray] = field(default_factory=list)
    control: list[FloatArray] = field(default_factory=list)
    outsiders: list[FloatArray] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    greatest: float = float("nan")
    witness: dict[str, int | str] = field(default_factory=dict)

    def beside(self, made_up: FloatArray, outsiders: FloatArray | None) -> None:
        """Add one way of attacking the control group: people `made_up` for each draw, (draws,), or where
        there are `outsiders`, (n,), those, who are the same beside every draw.
        """
        if outsiders is None:
            self.control.append(made_up)
        else:
            self.control.append(np.full(len(made_up), _known_mean(outsiders)))
            self.outsiders.append(outsiders)

    def figure(self) -> Figure:
        mean, within = interval(_mean(self.means))
        hits, control = _mean(self.hits), _mean(self.control)
        excess, excess_within = interval(hits - control)
        n_control = None
        if self.outsiders:
            apart, n_control = group_interval(np.array(self.outsiders))
            excess_within = hypot(excess_within, apart)
        return Figure(
            mean,
            within,
            self.greatest,
            interval(hits)[0],
            interval(control)[0],
            excess,
            excess_within,
            n_control,
            min((count for count in self.counts if count), default=0),
            self.witness,
        )


def attack(
    target: Target,
    attacker: str,
    tables: Sequence[IntArray],
    *,
    errors: float,
    control: People | None = None,
    everybody: Fitting | None = None,
) -> Attack:
    """Carry out one attack on the people of each table (rows of the source).

    Where no `control` group is given, its people are made up: what the attacker knows is true of a person
    drawn, the rest of another one. `everybody` is what was found of the whole source by all its
    quasi-identifiers, if that is known already.
    """
    source = target.source
    if attacker in (HALF, HALF_AND_SENSITIVE):
        tables = [rows[: max(1, MOST_ATTACKED // len(tables))] for rows in tables]
    truth = source.take(np.concatenate(list(tables)))
    ends = np.cumsum([0, *(len(rows) for rows in tables)])
    parts = [slice(a, b) for a, b in pairwise(ends.tolist())]
    known, control_known = truth, control
    if attacker == OUTSIDE:
        known = joined(
            [
                with_errors(truth.take(np.arange(part.start, part.stop)), source, errors, seed)
                for seed, part in enumerate(parts)
            ]
        )
        control_known = control and with_errors(control, source, errors, len(parts))
    may_hold = check_disclosure(target, truth, known if attacker == OUTSIDE else None)
    partners = np.concatenate(
        [
            part.start + np.random.default_rng(seed).permutation(part.stop - part.start)
            for seed, part in enumerate(parts)
        ]
    )
    identity, cells = _Series(), _Series()
    sadr: dict[str, _Series] = {}
    p, q = source.numbers.shape[1], source.codes.shape[1]
    whats = knowledge_of(attacker, p, q, target.sensitive)
    for sensitive, group in groupby(whats, key=lambda what: what.sensitive):
        ways = list(group)
        true_cells = fits_unknown(target, truth, sensitive, ways)
        control_cells = None if control is None else fits_unknown(target, control, sensitive, ways)
        for number, what in enumerate(ways):
            if attacker == ALL and everybody is not None:
                found = everybody.take(np.concatenate(list(tables)))
            else:
                found = fitting(target, known, truth, what)
            some = np.maximum(found.rows, 1)
            chance = np.where(may_hold & (found.rows > 0), 1 / some, 0.0)
            _add(identity, chance, parts, found.rows, found.one)
            other = None
            if control is not None and control_known is not None:
                other = fitting(target, control_known, control, what)
            if len(what.numeric) + len(what.categorical) < p + q:
                chance = true_cells[number] / some
                _add(cells, chance, parts, found.rows, found.one)
                if other is not None and control_cells is not None:
                    outsiders = control_cells[number] / np.maximum(other.rows, 1)
                    cells.beside(np.zeros(len(parts)), outsiders)
                else:
                    made_up = fits_unknown(target, _mixed(truth, partners, what), sensitive, [what])[0]
                    cells.beside(_by_draw(made_up / some, parts), None)
            for name, guess in found.guesses.items():
                series = sadr.setdefault(name, _Series())
                _add(series, guess.share, parts, found.rows, found.one)
                series.hits.append(_by_draw(guess.right, parts))
                series.beside(
                    _by_draw(guess.by_chance, parts), None if other is None else other.guesses[name].right
                )
    identity.hits = identity.means
    identity.control = [np.zeros(len(parts))]
    cells.hits = cells.means
    return Attack(
        attacker,
        len(whats),
        len(np.unique(np.concatenate(list(tables)))),
        identity.figure(),
        cells.figure() if cells.means else None,
        {name: series.figure() for name, series in sadr.items()},
    )


def _mixed(people: People, partners: IntArray, what: Knowledge) -> People:
    """Return people of whom what is known is their own, and the rest their partners'."""
    made = people.take(partners)
    numbers, codes = made.numbers, made.codes
    numbers[:, list(what.numeric)] = people.numbers[:, list(what.numeric)]
    codes[:, list(what.categorical)] = people.codes[:, list(what.categorical)]
    values = dict(made.values)
    if what.sensitive is not None:
        values[what.sensitive] = people.values[what.sensitive]
    return People(numbers, codes, values, made.alike)


def _add(series: _Series, chance: FloatArray, parts: Sequence[slice], rows: IntArray, one: IntArray) -> None:
    series.means.append(_by_draw(chance, parts))
    series.counts += [int((~np.isnan(chance[part])).sum()) for part in parts]
    if np.isnan(chance).all():
        return
    greatest = int(np.nanargmax(chance))
    if not chance[greatest] <= series.greatest:
        series.greatest = float(chance[greatest])
        series.witness = {"class": int(one[greatest]), "rows_that_fit": int(rows[greatest])}


def _by_draw(values: FloatArray, parts: Sequence[slice]) -> FloatArray:
    """Return the mean over the people of each draw who are no nan, (draws,)."""
    return np.array([_known_mean(values[part]) for part in parts])


def _known_mean(values: FloatArray) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _mean(ways: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over the ways in which a draw is attacked, (draws,)."""
    return np.array([_known_mean(draw) for draw in np.array(ways).T])
