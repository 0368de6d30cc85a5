"""Texts for people: names and reasons that somebody typed, times, and overrides, each as one line."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

_COMMANDS = ("Cc", "Zl", "Zp", "Cs")
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def override_line(said: Mapping[str, Any], again: Sequence[str] = ()) -> str:
    """Return in one line what was overridden, by whom and when, and which of it does not pass `again`."""
    gates = ", ".join(f"{gate} ({verdict})" for gate, verdict in said["gates"].items())
    people = " and ".join(f"{one['by']} ({minute(one['at'])})" for one in said["by"])
    return f"{gates}, by {people}" + (f"; still not passed: {', '.join(again)}" if again else "")


_DECIDED = {"approve": "Approved", "reject": "Rejected", "override": "Overridden"}


def decided(decision: Mapping[str, Any]) -> str:
    """Return who decided what: "Approved by Ada Archer"."""
    word = str(decision["decision"])
    return f"{_DECIDED.get(word, word)} by {decision['by']}"


def minute(moment: str) -> str:
    """Return a time as people read it, to the minute."""
    return moment[:16].replace("T", " ")


def sanitize_text(text: str) -> str:
    """Return a text that people typed as one line that a terminal shows and does not obey.

    Control characters, separators of lines, signs that turn the direction of writing and halves of a pair are
    written as their numbers: they can forge lines, or make a text read as another.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_numbered(sign) if _commands(sign) else sign for sign in text)


def _commands(sign: str) -> bool:
    return unicodedata.category(sign) in _COMMANDS or sign in _TURNS


def _numbered(sign: str) -> str:
    return f"\\x{ord(sign):02x}" if ord(sign) < 0x100 else f"\\u{ord(sign):04x}"


def escaped(text: str) -> str:
    """Return what `sanitize_text` does, as rich shows it and does not read it as markup."""
    from rich.markup import escape

    return escape(sanitize_text(text))
