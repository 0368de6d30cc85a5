"""The order of a column's values, where their words or numbers tell it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

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
_NUMBER = r"(\d+(?:\.\d+)?)"
_UNIT = r" ?(?:%|years?|yrs?|y)?"
_BELOW = re.compile(rf"(?:<=?|under|below|less than|up to) ?{_NUMBER}{_UNIT}", re.IGNORECASE)
_BETWEEN = re.compile(rf"[\[(]?{_NUMBER}{_UNIT} ?(?:-|\u2013|to|,) ?{_NUMBER}{_UNIT}[\])]?", re.IGNORECASE)
_OVER = re.compile(
    rf"(?:>=?|over|above|more than|at least) ?{_NUMBER}{_UNIT}"
    rf"|{_NUMBER}{_UNIT} ?(?:\+|<=?|and over|and older|and above|or more|or over)",
    re.IGNORECASE,
)


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


def _by_bands(values: Iterable[str]) -> tuple[str, ...] | None:
    was = {one: band for band, others in changed_bands(values).items() for one in others}
    ends = {value: _ends(was.get(value, value)) for value in values}
    known = {value: at for value, at in ends.items() if at is not None}
    return tuple(sorted(known, key=lambda value: (known[value], value))) if len(known) == len(ends) else None


def _plain(value: str) -> str:
    return re.sub(r"[ _]+", " ", value).strip().lower()


def _ends(value: str) -> tuple[float, float] | None:
    """Return where a band begins and ends."""
    text = value.strip()
    if found := _BELOW.fullmatch(text):
        return float("-inf"), float(found[1])
    if found := _BETWEEN.fullmatch(text):
        low, high = float(found[1]), float(found[2])
        return (low, high) if low <= high else None
    if found := _OVER.fullmatch(text):
        return float(found[1] or found[2]), float("inf")
    return None
