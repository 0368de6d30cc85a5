"""The order of a column's values, where their words or numbers tell it."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

from services.drafting.number_bands import ends_of
from services.drafting.spreadsheet import changed_bands

FEWEST = 3  # values: two have no order that helps
# Scales in their order, a line each. A column has the order of a scale that holds all its values.
_SCALES = """
no formal quals, lower than a level, a level or equivalent, he qualification, post graduate qualification
none, primary, lower secondary, secondary, upper secondary, post-secondary, tertiary
preschool, 1st-4th, 5th-6th, 7th-8th, 9th, 10th, 11th, 12th, hs-grad, some-college, assoc-voc, assoc-acdm, \
bachelors, masters, prof-school, doctorate
very low, low, medium, moderate, high, very high
very poor, poor, fair, good, very good, excellent
very small, small, medium, large, very large
none, mild, moderate, severe, very severe
never, rarely, seldom, sometimes, often, usually, always
strongly disagree, disagree, neither agree nor disagree, neutral, agree, strongly agree
underweight, normal, overweight, obese
monday, tuesday, wednesday, thursday, friday, saturday, sunday
january, february, march, april, may, june, july, august, september, october, november, december
jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov, dec
"""
SCALES = tuple(tuple(line.split(", ")) for line in _SCALES.strip().splitlines())
MOST_OTHERS = 2  # values without a number beside bands, such as `refused`: they come last


def order_of(values: Collection[str]) -> tuple[str, ...] | None:
    """Return a column's values in their order: of a known scale, or of bands of numbers; None if none is."""
    if len(values) < FEWEST:
        return None
    return _by_scale(values) or _by_bands(values)


def _by_scale(values: Collection[str]) -> tuple[str, ...] | None:
    for scale in SCALES:
        if all(_plain(value) in scale for value in values):
            return tuple(sorted(values, key=lambda value: (scale.index(_plain(value)), value)))
    return None


def _by_bands(values: Collection[str]) -> tuple[str, ...] | None:
    was = {one: band for band, others in changed_bands(values).items() for one in others}
    ends = ends_of({was.get(value, value) for value in values})
    known = {value: ends[band] for value in values if (band := was.get(value, value)) in ends}
    others = sorted(set(values) - set(known))
    if len(known) < FEWEST or len(others) > MOST_OTHERS or any(map(re.compile(r"\d").search, others)):
        return None
    if not any(low < high for low, high in known.values()):
        return None
    order = sorted(known, key=lambda value: (known[value], value))
    overlaps = sum(known[one][1] > known[following][0] for one, following in pairwise(order))
    # Codes such as `12-1001`, `12-1002` overlap as bands hardly do.
    return None if 2 * overlaps >= len(order) else (*order, *others)


def _plain(value: str) -> str:
    return re.sub(r"[ _]+", " ", value).strip().lower()
