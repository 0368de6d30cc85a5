"""Random queries over quasi-identifiers, and how much of each class or row is expected to answer them.

The queries are those of Riyana (2025, section 4.2, queries 1 and 2): conditions on single values joined by
AND or by OR, and ranges of numbers. Nothing is known of where in its cell a row's value lies, so each value
of an interval or a set is as likely as any other, and attributes are taken to be independent within a
class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from release_store.records import SetCells
from tasks.types import BoolArray, FloatArray, IntArray, PreparedTable
from tasks.utility.released import Released

KINDS = ("and", "or", "range")
N_QUERIES = 100
WIDEST_RANGE = 0.5  # of the source's span
NEAR = 0.025  # of the span, either side: equality with a number that is no whole one
PAIRS = 4_000_000


@dataclass(frozen=True)
class Queries:
    """Q queries: a row answers one if `low <= number <= high` and `code == value` hold in what is asked.

    `asked` (Q, p + q) tells which quasi-identifiers a query asks about, numbers first; `low`, `high` (Q, p);
    `codes` (Q, q) places in the source's domains. With `either`, one condition that holds is enough.
    """

    asked: BoolArray
    low: FloatArray
    high: FloatArray
    codes: IntArray
    either: bool


def draw_queries(released: Released, kind: str, n_queries: int = N_QUERIES, seed: int = 0) -> Queries | None:
    """Return random queries of one kind, the same for every release of one source; None where none can be
    asked.

    AND and OR ask for the values of a record drawn, in 1 to all quasi-identifiers. A range asks about one
    numeric quasi-identifier: it holds a record drawn and is up to half of the attribute's span wide.
    """
    table = released.table
    p, q = len(table.numeric_names), len(table.categorical_names)
    draw = np.random.default_rng([seed, KINDS.index(kind)])
    whole = np.array(
        [released.policy.roles.numeric[n].type == "integer" for n in table.numeric_names], dtype=bool
    )
    if kind == "range":
        return _ranges(table, whole, n_queries, draw) if p else None
    records = draw.integers(table.n_records, size=n_queries)
    n_asked = draw.integers(1, p + q, size=n_queries, endpoint=True)
    asked = draw.random((n_queries, p + q)).argsort(axis=1).argsort(axis=1) < n_asked[:, None]
    centre = table.numeric[records]
    near = np.where(whole, 0.0, NEAR * _spans(table))
    return Queries(asked, centre - near, centre + near, table.codes[records].astype(np.int64), kind == "or")


def _ranges(table: PreparedTable, whole: BoolArray, n_queries: int, draw: np.random.Generator) -> Queries:
    p, q = len(table.numeric_names), len(table.categorical_names)
    column = draw.integers(p, size=n_queries)
    place, width = draw.random(n_queries), WIDEST_RANGE * draw.random(n_queries)
    low, high = np.full((n_queries, p), np.nan), np.full((n_queries, p), np.nan)
    for c in range(p):
        known = table.numeric[~np.isnan(table.numeric[:, c]), c]
        centre = known[draw.integers(len(known), size=n_queries)]
        span = width * _spans(table)[c]
        low[:, c], high[:, c] = centre - place * span, centre + (1 - place) * span
        if whole[c]:
            low[:, c], high[:, c] = np.ceil(low[:, c]), np.floor(high[:, c])
    asked = np.arange(p + q) == column[:, None]
    return Queries(asked, low, high, np.full((n_queries, q), -1, dtype=np.int64), either=False)


def _spans(table: PreparedTable) -> FloatArray:
    return np.array([np.nanmax(values) - np.nanmin(values) for values in table.numeric.T])


def answers(queries: Queries, table: PreparedTable) -> Iterator[tuple[slice, BoolArray]]:
    """Yield (queries, records) which records of the source answer, some queries at a time. O(Q n (p + q)).

    A record whose number is unknown does not meet a condition on it, nor does any record one on nothing
    known.
    """
    p = len(table.numeric_names)
    step = max(1, PAIRS // max(table.n_records, 1))
    for part in _parts(len(queries.asked), step):
        found = np.full((len(queries.asked[part]), table.n_records), not queries.either)
        for c in range(len(queries.asked[0])):
            if c < p:
                values = table.numeric[:, c]
                holds = (queries.low[part, c, None] <= values) & (values <= queries.high[part, c, None])
            else:
                holds = queries.codes[part, c - p, None] == table.codes[:, c - p]
            asked = queries.asked[part, c, None]
            found = found | (asked & holds) if queries.either else found & (~asked | holds)
        yield part, found


def expected(queries: Queries, released: Released) -> Iterator[tuple[slice, FloatArray]]:
    """Yield (queries, units) the chance that a row of the unit answers, some queries at a time.

    Units are the classes, or the rows where a quasi-identifier was noised. O(Q units (p + q)).
    """
    table, classes = released.table, released.classes
    names = (*table.numeric_names, *table.categorical_names)
    n_units = released.n_published if released.noised else classes.n_classes
    shares = {name: value_shares(classes.sets[name], table.domains[name]) for name in table.categorical_names}
    for part in _parts(len(queries.asked), max(1, PAIRS // max(n_units, 1))):
        # The chance that every condition holds, or with `either` that each fails.
        chance = np.ones((len(queries.asked[part]), n_units))
        for c, name in enumerate(names):
            if c < len(table.numeric_names):
                whole = released.policy.roles.numeric[name].type == "integer"
                cells = classes.intervals.get(name)
                low, high = (released.noised[name],) * 2 if cells is None else cells.T
                holds = _overlaps(queries.low[part, c], queries.high[part, c], low, high, whole=whole)
            else:
                holds = shares[name][:, queries.codes[part, c - len(table.numeric_names)]].T
            if released.noised and name not in released.noised:
                holds = holds[:, released.class_of]
            term = 1 - holds if queries.either else holds
            chance *= np.where(queries.asked[part, c, None], term, 1.0)
        yield part, 1 - chance if queries.either else chance


def _parts(n: int, step: int) -> Iterator[slice]:
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))


def value_shares(cells: SetCells, domain: tuple[str, ...]) -> FloatArray:
    """Return the chance that a row of a class has each value of the source's domain, (N, v)."""
    place = {value: i for i, value in enumerate(cells.values)}
    found = np.zeros((len(cells.member), len(domain)))
    size = np.maximum(cells.member.sum(axis=1), 1)
    for i, value in enumerate(domain):
        if value in place:
            found[:, i] = cells.member[:, place[value]] / size
    found[cells.whole] = 1 / max(len(domain), 1)
    return found


def _overlaps(
    asked_low: FloatArray, asked_high: FloatArray, low: FloatArray, high: FloatArray, *, whole: bool
) -> FloatArray:
    """Return the share of each interval [low, high] (N,) that lies in each asked range (Q,), shape (Q, N).

    Of whole numbers shares are counted in numbers; an interval of a single number lies inside or outside.
    """
    one = 1.0 if whole else 0.0
    inside = np.minimum(high, asked_high[:, None]) - np.maximum(low, asked_low[:, None]) + one
    width = high - low + one
    single = low == high
    share = np.clip(inside / np.where(single, 1.0, width), 0.0, 1.0)
    held = (asked_low[:, None] <= low) & (low <= asked_high[:, None])
    # A question about an unknown number is answered by nobody.
    return np.nan_to_num(np.where(single, held, share), nan=0.0)
