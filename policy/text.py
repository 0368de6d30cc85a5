"""Counts in sentences, and which texts there are."""

from __future__ import annotations

BLANKS = " \t\r\n\u00a0\u202f"  # the last two are blanks at which no line is broken


def number_of(n: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: "1 release", "2,000 releases"; `plural` is one that does not end in s."""
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


def is_valid_text(text: str) -> bool:
    """Tell whether a text can be written and named anywhere: no NUL, and no half of a surrogate pair.

    Such halves come from escapes in JSON and YAML, and from words of a command that are not UTF-8.
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
