"""SUDA by definition: each record beside each other, each subset of attributes, and each subset of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations


def minimal_sample_uniques(rows: Sequence[Sequence[int]], record: int, largest: int) -> list[tuple[int, ...]]:
    """Return the attributes of each minimal sample unique of a record."""
    width = len(rows[record])

    def alone(chosen: tuple[int, ...]) -> bool:
        values = [rows[record][a] for a in chosen]
        return sum([row[a] for a in chosen] == values for row in rows) == 1

    return [
        chosen
        for size in range(1, largest + 1)
        for chosen in combinations(range(width), size)
        if alone(chosen) and not any(alone(part) for part in combinations(chosen, size - 1))
    ]


def score(msus: Sequence[tuple[int, ...]], width: int, largest: int) -> float:
    """Return the sum over the minimal sample uniques of (M - k) (M - k - 1) ... (M - m)."""
    total = 0.0
    for msu in msus:
        product = 1.0
        for k in range(len(msu), min(largest, width - 1) + 1):
            product *= width - k
        total += product
    return total
