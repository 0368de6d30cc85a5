"""The canonical form of a person's key: one text for all that a spreadsheet makes of it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from math import sqrt

# Greek and Cyrillic letters that look like Latin ones as capitals, casefolded, and Latin letters beside which
# no accent stands that could be taken away; and what they count as.
_LOOK_ALIKES = str.maketrans(
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7"
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455"
    "\u0142\u00f8\u0111",
    "abezhikmnoptyxabekmhopctyxijslod",
)
_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")
_LONG = 8  # letters and digits, from which on marks between groups of them are left out before zeros are
_OF_A_YEAR = re.compile(r"(19|20)\d\d\W+\d+|\d+\W+(19|20)\d\d")
_ACCENT = re.compile("[\u0300-\u036f]")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,.]\d{3})+")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)[\W_]+(?=\d)")
_WHOLE = re.compile(r"[+-]?\d+(\.0*|,00?)")
_PLACES = re.compile(r"[+-]?\d+\.\d*[1-9]0+")
_POWER = re.compile(r"[+-]?(?P<whole>\d+)([.,](?P<places>\d+)e\+?|e\+|e(?=[1-9]$))(?P<power>\d{1,2})")

_HELD_DIGITS = 15  # of a number, by spreadsheets; the last one may be rounded
_SEVERAL = 5  # of honest numbers with more digits, hardly all end in a zero
_HELD_BITS, _UNLIKELY_BITS = 53, 30  # of a double; 2^-30 is the chance of numbers that happen to be doubles
_DEVIATIONS = 6  # standard ones


def canonical_key(key: str) -> str:
    """Return `key` without what changes as it passes through other programs.

    That is case, white space, punctuation, invisible characters, accents, forms of one character (Unicode)
    and of digits, letters of other scripts that look like Latin ones, zeros in front of a number and behind
    its point, and a power of ten (`1.2E+05`). Keys of different people may become one text: it tells whether
    to ask, never who somebody is. O(length).
    """
    if key.isascii() and key.isdigit() and key[0] != "0":
        return key
    text = unicodedata.normalize("NFKC", key).casefold()
    text = _ACCENT.sub("", unicodedata.normalize("NFKD", text)).translate(_LOOK_ALIKES)
    text = "".join(one for one in "".join(text.split()) if unicodedata.category(one) != "Cf").strip("'\"`")
    text = "".join(str(unicodedata.decimal(one, one)) for one in text)
    if _POWER.fullmatch(text):
        text = format(Decimal(text.replace(",", ".")), "f")
    if _WHOLE.fullmatch(text):
        text = re.split("[.,]", text)[0]
    if _PLACES.fullmatch(text):
        text = text.rstrip("0")
    bare = "".join(one for one in text if one.isalnum())
    # 1-11 and 11-1 are different people of short keys, and 2013-00033 is written 2013-33.
    if (len(bare) < _LONG and not _THOUSANDS.fullmatch(text)) or _OF_A_YEAR.fullmatch(text):
        parts = _BETWEEN_DIGITS.split(_ZEROS.sub("", text))
        return "-".join("".join(one for one in part if one.isalnum()) for part in parts) or key
    return _ZEROS.sub("", bare) or key


def is_shortened(key: str) -> bool:
    """Tell whether a key is a power of ten that a spreadsheet shows with fewer digits than the number had."""
    found = _POWER.fullmatch(key.strip().casefold())
    places = found["places"] if found else None
    return found is not None and places is not None and len(places) < int(found["power"])


def cut_forms(forms: Sequence[str]) -> list[tuple[str, bool] | None]:
    """Return what long numbers among canonical forms leave after a program cut them, and whether they were.

    A spreadsheet leaves zeros behind 15 digits, and a double less than all numbers over 2^53: numbers that
    have come through are cut if they are more than by chance. Those that end in zeros may be some of all,
    if the others end in every other digit. None: no long number, or too few to tell. O(length).
    """
    long = {form for form in forms if len(form) > _HELD_DIGITS and form.isascii() and form.isdigit()}
    in_zeros = {form for form in long if not form[_HELD_DIGITS:].strip("0")}
    doubles = {form for form in long if len(form) < 300 and int(form) in _as_doubles(form)}
    by_chance = sum(max(0, int(form).bit_length() - _HELD_BITS - 1) for form in doubles)
    if len(in_zeros) >= _SEVERAL and (in_zeros == long or _of_all(in_zeros, long)):
        cut = in_zeros
    else:
        cut = long if doubles == long and by_chance >= _UNLIKELY_BITS else set()
    told = long if cut or len(long) >= _SEVERAL else set()
    return [
        (f"{form[: _HELD_DIGITS - 1]}~{len(form)}", form in cut) if form in told else None for form in forms
    ]


def _as_doubles(form: str) -> tuple[int, int]:
    """Return what a program writes that read digits as a double: its number, or its shortest digits."""
    number = float(form)
    return int(number), int(Decimal(repr(number)))


def _of_all(in_zeros: set[str], long: set[str]) -> bool:
    """Tell whether numbers that end in zeros are more than by chance, of numbers that end in any digit."""
    last = Counter(form[-1] for form in long - in_zeros)
    least = (len(long) - len(in_zeros)) / 30
    chance = sum(0.1 ** (len(form) - _HELD_DIGITS) for form in long)
    many = len(in_zeros) > chance + _DEVIATIONS * sqrt(chance)
    return many and all(last[digit] > least for digit in "123456789")
