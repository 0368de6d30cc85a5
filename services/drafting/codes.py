"""Codes, whose beginnings group them: postal codes, ICD-10, occupations, and others of one pattern."""

from __future__ import annotations

import re
from collections.abc import Collection

POSTAL_WORDS = frozenset({"zip", "zipcode", "postal", "postcode", "plz", "cap", "cep"})
OCCUPATION_WORDS = frozenset({"occupation", "profession", "job", "isco", "soc"})
DIAGNOSIS_WORDS = frozenset({"icd", "diagnosis", "diagnoses", "diag", "disease", "condition", "dx"})
POSTAL = re.compile(
    r"\d{4,6}|\d{5}-\d{4}|\d{3} \d{2}|\d{4} ?[A-Z]{2}"
    r"|[A-Z]{1,2}\d[0-9A-Z]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d"
)
ICD_10 = re.compile(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?")
OCCUPATION = re.compile(r"\d{2,6}|\d{2}-\d{4}")
PREFIX = re.compile(r"(?=.*\d)[0-9A-Z.-]{3,12}")
FEWEST = 4  # codes, to tell that they have a pattern


def code_of(words: set[str], values: Collection[str]) -> str | None:
    """Return `postal`, `icd-10`, `occupation` or `prefix` where all values of a column are such codes.

    `words` are those of the column's name. `prefix` is any other code of letters and digits of one length of
    which several begin alike.
    """
    if not values:
        return None
    if words & POSTAL_WORDS and all(map(POSTAL.fullmatch, values)):
        return "postal"
    if words & OCCUPATION_WORDS and all(map(OCCUPATION.fullmatch, values)):
        return "occupation"
    if all(map(ICD_10.fullmatch, values)) and (words & DIAGNOSIS_WORDS or _mostly_with_a_point(values)):
        return "icd-10"
    return "prefix" if _begin_alike(values) else None


def lost_zeros(words: set[str], values: Collection[str]) -> int | None:
    """Return the digits of a postal code where some codes have fewer, as if their zeros had been removed."""
    if not words & POSTAL_WORDS or not all(value.isdecimal() for value in values):
        return None
    lengths = {len(value) for value in values}
    longest = max(lengths, default=0)
    return longest if 4 <= longest <= 6 and lengths & {longest - 1, longest - 2} else None


def _mostly_with_a_point(values: Collection[str]) -> bool:
    return len(values) >= FEWEST and 2 * sum("." in value for value in values) > len(values)


def _begin_alike(values: Collection[str]) -> bool:
    numbers = all(value.isdecimal() and value[0] != "0" for value in values)
    if len(values) < FEWEST or numbers or len({len(value) for value in values}) > 1:
        return False
    beginnings = {value[:2] for value in values}
    return all(map(PREFIX.fullmatch, values)) and 2 * len(beginnings) <= len(values)
