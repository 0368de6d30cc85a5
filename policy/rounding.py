"""What a gate measured, and its limit, as people read them: never rounded to the better side."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from math import isfinite

_NOISE = 12  # significant digits beyond which a computed number is not told from a round one
_DIGITS = 4
_TENTH = Decimal("0.1")
_SMALL = 2  # digits of a share under 1%
_AT_MOST = ("<=", "<")
RELATIONS = {"<=": "at most", ">=": "at least", "<": "under", ">": "over"}


@lru_cache(maxsize=65_536)  # a site has many, and most are there again and again
def measured_text(value: float | None, relation: str, threshold: float | None = None) -> str:
    """Return a measured value to 4 digits, rounded up where there is a most, down where a least.

    One that is beyond its limit by less than that shows it by all its digits. Empty for None.
    """
    return _told(value, relation, threshold, 1)


def measured_share(value: float | None, relation: str, threshold: float | None = None) -> str:
    """Return the same of a share: in percent, to one decimal, or to 2 digits under 1%.

    One that passes is not rounded beyond its limit.
    """
    return _told(value, relation, threshold, 100) + ("" if value is None else "%")


def limit_text(threshold: float | None) -> str:
    """Return a limit as the policy has it. Empty for None."""
    return "" if threshold is None else _plain(_exact(threshold))


def bound_text(relation: str, threshold: float | None) -> str:
    """Return what a measured value must be: "at most 0.6". Empty for None."""
    return "" if threshold is None else f"{RELATIONS.get(relation, relation)} {limit_text(threshold)}"


def limit_share(threshold: float | None) -> str:
    """Return a limit that is a share, in percent."""
    return "" if threshold is None else f"{_plain(_exact(threshold) * 100)}%"


def _told(value: float | None, relation: str, threshold: float | None, unit: int) -> str:
    if value is None:
        return ""
    if not isfinite(value):
        return str(value)
    exact = _exact(value) * unit
    bound = None if threshold is None else _exact(threshold) * unit
    rounded = _rounded(exact, ROUND_CEILING if relation in _AT_MOST else ROUND_FLOOR, unit)
    if bound is not None and (exact < bound < rounded or rounded < bound < exact):
        return _plain(bound)
    if exact == bound and value != threshold:
        rounded = Decimal(repr(float(value))) * unit
    return _plain(rounded)


def _rounded(exact: Decimal, up_or_down: str, unit: int) -> Decimal:
    if exact == exact.to_integral_value():
        return exact
    if unit == 1:
        return Context(_DIGITS, up_or_down).plus(exact)
    if abs(exact) < 1:
        return Context(_SMALL, up_or_down).plus(exact)
    return exact.quantize(_TENTH, up_or_down, Context(_NOISE * 3))


def _exact(value: float) -> Decimal:
    return Decimal(f"{value:.{_NOISE}g}")


def _plain(value: Decimal) -> str:
    if value == value.to_integral_value():
        return f"{int(value):,}"
    text = f"{value.normalize():f}"
    return text if abs(value) >= Decimal("1e-4") else f"{value.normalize():e}"
