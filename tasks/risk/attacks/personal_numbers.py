"""What in a text looks like a number or address of one person: e-mail, telephone, card, account, insurance.

Numbers are told by their check digits; the rules of the countries are python-stdnum's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module

EMAIL, TELEPHONE, CARD, ACCOUNT, INSURANCE = "email", "telephone", "card", "account", "insurance"

_EMAIL = re.compile(r"[^\s@<>,;:]+@[^\s@<>,;:]+\.[^\W\d_]{2,}")
_DATE = re.compile(r"(?<!\d)(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2}))(?!\d)")
_INTERNATIONAL = re.compile(r"(?<![\w.,])(?:\+|00)[1-9](?:[ ()./-]{0,2}\d){7,13}(?!\w)")
_NATIONAL = re.compile(r"(?<![\w.,+-])\(?0[1-9](?:[ ()./-]{0,2}\d){7,11}(?![\w])")
_AMERICAN = re.compile(r"(?<![\w.,-])(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ])[2-9]\d\d[-. ]\d{4}(?![\w])")
_CARD = re.compile(r"(?<![\w.,-])[2-6](?:[ -]?\d){12,18}(?![\w]|[.,]\d)")
_ACCOUNT = re.compile(r"(?<!\w)[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,30}(?!\w)")
_WORD = r"(?:[A-Za-z]*\d[A-Za-z0-9]*|[A-Za-z])"
_TOKEN = re.compile(rf"(?<![\w.,]){_WORD}(?:[ ./-]{_WORD}){{0,7}}(?!\w)")
_DECIMAL = re.compile(r"[-+]?\d+[.,]\d+(?:[eE][-+]?\d+)?")

# Numbers whose check is passed by fewer than one in 200 made-up numbers of their shape.
_STRICT = (
    ("ch.ssn", r"756\d{10}"),
    ("cn.ric", r"\d{17}[\dX]"),
    ("fi.hetu", r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]"),
    ("fr.nir", r"[12]\d{4}[\dAB]\d{9}"),
    ("it.codicefiscale", r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]"),
    ("mx.curp", r"[A-Z]{4}\d{6}[HM][A-Z]{5}[0-9A-Z]\d"),
    ("no.fodselsnummer", r"\d{11}"),
    ("ro.cnp", r"[1-9]\d{12}"),
    ("si.emso", r"\d{13}"),
    ("za.idnr", r"\d{13}"),
)
# The others: a column holds them where most of its numbers of that shape pass.
_LOOSE = (
    ("at.vnr", r"\d{10}"),
    ("be.nn", r"\d{11}"),
    ("bg.egn", r"\d{10}"),
    ("br.cpf", r"\d{11}"),
    ("ca.sin", r"\d{9}"),
    ("cz.rc", r"\d{10}"),
    ("de.idnr", r"\d{11}"),
    ("dk.cpr", r"\d{6}-?\d{4}"),
    ("es.dni", r"\d{8}[A-Z]"),
    ("es.nie", r"[XYZ]\d{7}[A-Z]"),
    ("gb.nhs", r"\d{10}"),
    ("gr.amka", r"\d{11}"),
    ("hr.oib", r"\d{11}"),
    ("il.idnr", r"\d{9}"),
    ("in_.aadhaar", r"[2-9]\d{11}"),
    ("nl.bsn", r"\d{9}"),
    ("pl.pesel", r"\d{11}"),
    ("se.personnummer", r"(?:\d{2})?\d{6}[-+]?\d{4}"),
)
MOST = 0.5
FEWEST_DIGITS = 7
SHORTEST_NUMBER, SHORTEST_CARD = 9, 13  # digits of a person's number and of a card's


def kinds_in(texts: Iterable[str]) -> dict[str, int]:
    """Return how many of the texts hold each kind of mark, those of none left out.

    A number whose check one in ten made-up ones passes counts where over half of the column's pass.
    """
    counts = dict.fromkeys((EMAIL, TELEPHONE, CARD, ACCOUNT, INSURANCE), 0)
    shaped, passed = dict.fromkeys(_loose(), 0), dict.fromkeys(_loose(), 0)
    for text in texts:
        counts[EMAIL] += "@" in text and bool(_EMAIL.search(text))
        if sum(map(str.isdigit, text)) < FEWEST_DIGITS or _DECIMAL.fullmatch(text):
            continue
        dateless = _DATE.sub("|", text)
        counts[TELEPHONE] += any(one.search(dateless) for one in (_INTERNATIONAL, _NATIONAL, _AMERICAN))
        counts[CARD] += any(_is_card(found[0]) for found in _CARD.finditer(text))
        counts[ACCOUNT] += any(_is_account(found[0]) for found in _ACCOUNT.finditer(text))
        tokens = {token for found in _TOKEN.finditer(dateless) for token in _forms(found[0])}
        counts[INSURANCE] += any(is_strict(token) for token in tokens)
        for check in shaped:
            own = [token for token in tokens if check.shape.fullmatch(token)]
            shaped[check] += bool(own)
            passed[check] += any(map(check.holds, own))
    counts[INSURANCE] = max(
        counts[INSURANCE], *(n for check, n in passed.items() if n > MOST * shaped[check]), 0
    )
    return {kind: n for kind, n in counts.items() if n}


def kinds_in_numbers(texts: Iterable[str]) -> dict[str, int]:
    """Return how many numbers of a column are cards or insurance numbers, where most of its long ones are."""
    long = [text for text in texts if text.isdigit() and len(text) >= SHORTEST_NUMBER]
    found = {kind: n for kind, n in kinds_in(long).items() if kind in (CARD, INSURANCE)}
    return {kind: n for kind, n in found.items() if n > MOST * _shaped(kind, long)}


def _shaped(kind: str, texts: Iterable[str]) -> int:
    """Count the whole numbers that are long enough for one of this kind."""
    return sum(len(text) >= (SHORTEST_CARD if kind == CARD else SHORTEST_NUMBER) for text in texts)


class _Check:
    """One country's number: its shape, and whether its check digits hold."""

    def __init__(self, shape: str, holds: Callable[[str], bool]) -> None:
        self.shape, self.holds = re.compile(shape), holds


@cache
def _strict() -> tuple[_Check, ...]:
    return tuple(_Check(shape, _rule(name)) for name, shape in _STRICT)


@cache
def _loose() -> tuple[_Check, ...]:
    german = _Check(r"[A-Z]\d{9}", is_german_insured)
    pension = _Check(r"\d{8}[A-Z]\d{3}", is_german_pension)
    american = _Check(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", lambda _: True)
    return (german, pension, american, *(_Check(shape, _rule(name)) for name, shape in _LOOSE))


def _rule(name: str) -> Callable[[str], bool]:
    found: Callable[[str], bool] = import_module(f"stdnum.{name}").is_valid
    return found


def is_strict(token: str) -> bool:
    """Tell whether a text without blanks is a number of a country whose check is hard to pass by chance."""
    return any(check.shape.fullmatch(token) and check.holds(token) for check in _strict())


def is_german_insured(token: str) -> bool:
    """Tell whether a letter and nine digits are a German health insurance number (SGB V, section 290).

    The letter counts as two digits (A is 01); weights are 1 and 2 in turn, and products' digits are added.
    """
    return _german_check(token[:9]) == int(token[9])


def is_german_pension(token: str) -> bool:
    """Tell whether twelve characters are a German pension insurance number (VKVV, section 4)."""
    day = int(token[2:4])
    weights = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
    digits = f"{token[:8]}{ord(token[8]) - 64:02d}{token[9:11]}"
    total = sum(sum(map(int, str(int(d) * w))) for d, w in zip(digits, weights, strict=True))
    return 1 <= day <= 81 and total % 10 == int(token[11])


def _german_check(token: str) -> int:
    digits = f"{ord(token[0]) - 64:02d}{token[1:]}"
    products = (int(digit) * (1 + place % 2) for place, digit in enumerate(digits))
    return sum(product // 10 + product % 10 for product in products) % 10


def _forms(token: str) -> set[str]:
    """Return the ways to read a group of words as a number: joined, as it is written, and word by word."""
    upper = token.upper()
    joined = re.sub(r"[ ./-]", "", upper)
    if sum(map(str.isdigit, joined)) < FEWEST_DIGITS:
        return set()
    return {joined, upper, *re.split(r"[ ./]", upper)}


def _is_card(found: str) -> bool:
    from stdnum import luhn

    digits = re.sub(r"\D", "", found)
    return len(digits) >= SHORTEST_CARD and len(set(digits)) > 1 and bool(luhn.is_valid(digits))


def _is_account(found: str) -> bool:
    from stdnum import iban

    return bool(iban.is_valid(found))
