"""The canonical form of a person's key: one text for all that a spreadsheet makes of it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from decimal import Decimal

_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")
_LONG = 8  # letters and digits, from which on marks between groups of them are left out before zeros are
_WHOLE = re.compile(r"[+-]?\d+(\.0*|,00?)")
_PLACES = re.compile(r"[+-]?\d+\.\d*[1-9]0+")
_POWER = re.compile(r"[+-]?\d+(\.\d+e\+?|e\+)\d{1,2}")

_HELD_DIGITS = 15  # of a number, by spreadsheets; the last one may be rounded
_SEVERAL = 5  # of honest numbers with more digits, hardly all end in a zero


def canonical_key(key: str) -> str:
    """Return `key` without what changes as it passes through other programs.

    That is case, white space, punctuation, invisible characters, forms of one character (Unicode, NFKC) and
    of digits, zeros in front of a number and behind its point, and a power of ten (`1.2E+05`). Keys of
    different people may become one text: it tells whether to ask, never who somebody is. O(length).
    """
    if key.isascii() and key.isdigit() and key[0] != "0":
        return key
    text = "".join(unicodedata.normalize("NFKC", key).casefold().split())
    text = "".join(one for one in text if unicodedata.category(one) != "Cf").strip("'\"`")
    text = "".join(str(unicodedata.decimal(one, one)) for one in text)
    if _POWER.fullmatch(text):
        text = format(Decimal(text), "f")
    if _WHOLE.fullmatch(text):
        text = re.split("[.,]", text)[0]
    if _PLACES.fullmatch(text):
        text = text.rstrip("0")
    bare = "".join(one for one in text if one.isalnum())
    if len(bare) < _LONG:  # 1-01 and 10-1 are different people of short keys
        bare = "".join(one for one in _ZEROS.sub("", text) if one.isalnum())
    return _ZEROS.sub("", bare) or key


def cut_forms(forms: Sequence[str]) -> tuple[list[str | None], bool]:
    """Return what is left of long numbers among canonical forms after a spreadsheet cut them, else None.

    And whether these were cut: all have zeros where a spreadsheet holds no digit. Of few, nobody can tell.
    O(length).
    """
    long = [form for form in forms if len(form) > _HELD_DIGITS and form.isascii() and form.isdigit()]
    cut = all(not form[_HELD_DIGITS:].strip("0") for form in long)
    told = {*long} if not cut or len(long) >= _SEVERAL else set()
    left = [f"{form[: _HELD_DIGITS - 1]}~{len(form)}" if form in told else None for form in forms]
    return left, cut
