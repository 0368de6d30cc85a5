"""delta-presence, class by class: each person of a population is in a class with rows / people who fit it."""

from __future__ import annotations

from collections.abc import Sequence


def presence(
    ages: Sequence[float], cells: Sequence[tuple[float, float]], rows: Sequence[int]
) -> list[tuple[float, float]]:
    """Return each person's smallest and largest probability of being in the release."""
    found = []
    for age in ages:
        shares = [
            n / sum(low <= other <= high for other in ages)
            for (low, high), n in zip(cells, rows, strict=True)
            if low <= age <= high
        ]
        found.append((max(shares, default=0.0), min(sum(shares), 1.0)))
    return found
