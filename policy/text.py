"""Counts in sentences."""

from __future__ import annotations


def number_of(n: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: "1 release", "2,000 releases"; `plural` is one that does not end in s."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"
