"""The order in which the values of an attribute are drawn: that of the policy, or of the numbers in bands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_BELOW = re.compile(r"\b(?:under|below|less than|up to)\b|[<\u2264]", re.IGNORECASE)


def orders_of(policy: Document) -> dict[str, Sequence[str]]:
    """Return the values of each attribute that the policy puts in an order."""
    roles = policy.get("roles", {})
    listed = [*roles.get("quasi_identifiers", ()), *roles.get("sensitive", ())]
    return {
        str(one["name"]): [str(value) for value in one["values"]]
        for one in listed
        if one.get("values") and (one.get("type") == "ordinal" or one.get("ordered"))
    }


def in_order(bins: Sequence[Document], order: Sequence[str] | None) -> list[Document]:
    """Return the bins of values in `order`; those that it lacks, such as all others, stay at the end.

    Without an order, bands that begin with different numbers, such as "under 250" and "250-749", and dates
    are sorted by these; other values stay as they are, the most frequent first.
    """
    if order is not None:
        rank = {value: place for place, value in enumerate(order)}
        return sorted(bins, key=lambda one: rank.get(str(one["label"]), len(rank)))
    places = [_band(str(one["label"])) for one in bins]
    known = [place for place in places if place is not None]
    if len(known) < 2 or len(set(known)) < len(known) or places[: len(known)] != known:
        return list(bins)
    rest = list(bins[len(known) :])
    if len(rest) > 2:  # more than all others and the missing ones
        return list(bins)
    return [one for _, one in sorted(zip(known, bins, strict=False), key=lambda each: each[0])] + rest


def _band(label: str) -> tuple[float, int] | None:
    """Return where a band of numbers begins, None of a text without a number."""
    found = _NUMBER.search(label)
    if found is None:
        return None
    return float(found[0].replace(",", "")), 0 if _BELOW.search(label[: found.start()]) else 1
