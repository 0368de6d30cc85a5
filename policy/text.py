"""Counts in sentences, and which texts there are."""

from __future__ import annotations

import unicodedata

BLANKS = " \t\r\n\u00a0\u202f"  # the last two are blanks at which no line is broken
# Characters that are not shown: they part and join letters, or turn their direction.
INVISIBLE = (
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)

_UNSEEN = dict.fromkeys(map(ord, INVISIBLE))


def one_spelling(text: str) -> str:
    """Return the one spelling of texts that look alike: without what is not shown, and composed (NFC)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_UNSEEN))


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
