"""Whether published texts hold identifiers of the source, and whether their values are unique."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tasks.types import BoolArray, IntArray

SHORTEST_WORD = 3  # characters of an identifier with a letter
SHORTEST_NUMBER = 6  # digits of an identifier without a letter
INSIDE_A_WORD = 6  # characters from which an identifier of letters and digits is looked for inside words too
CHARACTERS_AT_ONCE = 2_000_000

MOST_WORK = 1_000_000_000  # characters of the texts times different lengths of the values
_BLANK_LETTERS = "\u115f\u1160\u2800\u3164\uffa0"  # letters and signs that show nothing
_SIGNS = re.compile(r"[\W_]+")
_APOSTROPHES = "\u2018\u2019\u02bc\u00b4`"
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse modulo 2^64
_INVERSE = pow(_BASE, -1, 2**64)

HashArray = NDArray[np.uint64]


def plain_text(text: str) -> str:
    """Return the words of a text: without case, accents, invisible characters and signs, one blank between.

    What is alike to a reader is equal, but for letters of two alphabets that look alike.
    """
    return _SIGNS.sub(" ", visible_text(text).casefold()).strip()


def plain_texts(texts: Sequence[str]) -> list[str]:
    """Return `plain_text` of each text. O(characters): texts of ASCII are converted all at once."""
    joined = "\n".join(texts)
    if not joined.isascii() or joined.count("\n") != len(texts) - 1:
        return [*map(plain_text, texts)]
    words = joined.encode().translate(_ASCII_WORDS, _ASCII_INVISIBLE)
    while b"  " in words:
        words = words.replace(b"  ", b" ")
    return words.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ").decode().split("\n")


def visible_text(text: str) -> str:
    """Return a text without accents and invisible characters, its dashes and apostrophes alike."""
    if not text.isascii():
        return "".join(map(_plain_character, unicodedata.normalize("NFKD", text)))
    if not text.isprintable():
        return "".join(one for one in text if one.isprintable() or one.isspace())
    return text


_ASCII_INVISIBLE = bytes(code for code in range(128) if not (chr(code).isprintable() or chr(code).isspace()))
_ASCII_WORDS = bytes(
    ord(chr(code).lower()) if chr(code).isalnum() or chr(code) == "\n" else ord(" ") for code in range(128)
).ljust(256)


def _plain_character(character: str) -> str:
    if character in _APOSTROPHES:
        return "'"
    if character in _BLANK_LETTERS:
        return " "
    kind = unicodedata.category(character)
    if kind == "Pd":
        return "-"
    invisible = kind in ("Mn", "Me", "Cf") or (kind == "Cc" and not character.isspace())
    return "" if invisible else character


def worth_looking_for(value: str) -> bool:
    """Tell whether a plain text is long enough to identify somebody inside of another text.

    Shorter ones, such as the numbers 1 to n, stand in other texts by chance.
    """
    if any(character.isalpha() for character in value):
        return len(value) >= SHORTEST_WORD
    return sum(character.isdigit() for character in value) >= SHORTEST_NUMBER


def _worth_looking_for(values: NDArray[np.object_]) -> BoolArray:
    """Tell of each of the plain values whether it is `worth_looking_for`. O(characters)."""
    worth = np.zeros(len(values), dtype=bool)
    for first, last in _pieces(values.tolist()):
        kinds = _kinds(_codes("\n".join(values[first:last]) + "\n"))
        lengths = np.fromiter(map(len, values[first:last]), dtype=np.int64, count=last - first)
        starts = np.cumsum(lengths + 1) - lengths - 1
        letters = np.add.reduceat(kinds == _LETTER, starts, dtype=np.int64)
        digits = np.add.reduceat(kinds == _DIGIT, starts, dtype=np.int64)
        worth[first:last] = np.where(letters > 0, lengths >= SHORTEST_WORD, digits >= SHORTEST_NUMBER)
    return worth


def holding(texts: Sequence[str], values: LongValues) -> BoolArray:
    """Tell for each of the plain `texts` whether it holds one of the plain `values`.

    A value counts where it does not begin or end inside of a word or number; one of letters and digits that
    has `INSIDE_A_WORD` characters counts anywhere. Windows of each length of a value are compared by
    their hashes (Karp and Rabin, 1987), and equal ones by their texts: O(values + characters x lengths).
    Raises OverflowError where that is over `MOST_WORK`.
    """
    found = np.zeros(len(texts), dtype=bool)
    if len(values.of_length) * sum(map(len, texts)) > MOST_WORK:
        raise OverflowError
    for first, last in _pieces(texts):
        found[first:last] = _holding(texts[first:last], values)
    return found


class LongValues:
    """Those of some plain texts that are `worth_looking_for`, by length, each length's sorted by hash."""

    def __init__(self, values: pd.Series) -> None:
        distinct = values.dropna().unique().astype(np.object_)
        texts = distinct[_worth_looking_for(distinct)].tolist()
        lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
        ordered = np.array(texts, dtype=object)
        self.of_length: dict[int, tuple[HashArray, NDArray[np.object_]]] = {}
        for length in np.unique(lengths):
            own = ordered[lengths == length]
            hashes = _hashes(own, int(length))
            order = np.argsort(hashes, kind="stable")
            self.of_length[int(length)] = hashes[order], own[order]


def _pieces(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Cut the texts into runs of about `CHARACTERS_AT_ONCE` characters."""
    first, held = 0, 0
    for number, text in enumerate(texts):
        held += len(text) + 1
        if held >= CHARACTERS_AT_ONCE:
            yield first, number + 1
            first, held = number + 1, 0
    if first < len(texts):
        yield first, len(texts)


def _holding(texts: Sequence[str], wanted: LongValues) -> BoolArray:
    joined = "\n" + "\n".join(texts) + "\n"  # a plain text has no line end
    codes = _codes(joined)
    starts = np.cumsum([1, *(len(text) + 1 for text in texts)])[:-1]
    kinds = _kinds(codes)
    powers = _powers(_BASE, len(codes))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(codes * powers, dtype=np.uint64)])
    inverse = _powers(_INVERSE, len(codes))
    found = np.zeros(len(texts), dtype=bool)
    for length, (hashes, own) in wanted.of_length.items():
        if length > len(codes):
            continue
        windows = (sums[length:] - sums[:-length]) * inverse[: len(codes) - length + 1]
        places = np.searchsorted(hashes, windows)
        hits = np.flatnonzero(hashes[np.minimum(places, len(hashes) - 1)] == windows)
        owner = np.searchsorted(starts, hits, side="right") - 1
        for hit, text in zip(hits.tolist(), owner.tolist(), strict=True):
            if found[text]:
                continue
            window = joined[hit : hit + length]
            first = int(np.searchsorted(hashes, windows[hit]))
            last = int(np.searchsorted(hashes, windows[hit], side="right"))
            found[text] = window in own[first:last] and _stands_alone(kinds, hit, hit + length)
    return found


_OTHER, _DIGIT, _LETTER = 0, 1, 2


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)


def _kinds(codes: NDArray[np.uint32]) -> NDArray[np.int8]:
    """Return what each character is, (characters,)."""
    kind = np.full(int(codes.max(initial=0)) + 1, _OTHER, dtype=np.int8)
    present = np.zeros(len(kind), dtype=bool)
    present[codes] = True
    for code in np.flatnonzero(present).tolist():
        kind[code] = _DIGIT if chr(code).isdigit() else _LETTER if chr(code).isalpha() else _OTHER
    return kind[codes]


def _stands_alone(kinds: NDArray[np.int8], first: int, last: int) -> bool:
    """Tell whether the characters from `first` to before `last` are no part of a word or number."""
    inside = kinds[first:last]
    has_letter, has_digit = bool((inside == _LETTER).any()), bool((inside == _DIGIT).any())
    if has_letter and has_digit and last - first >= INSIDE_A_WORD:
        return True
    joins = (_LETTER, _DIGIT) if has_letter else (_DIGIT,)
    return not any(
        kinds[inner] in joins and kinds[outer] in joins
        for inner, outer in ((first, first - 1), (last - 1, last))
    )


def _hashes(texts: NDArray[np.object_], length: int) -> HashArray:
    codes = texts.astype(f"U{length}").view(np.uint32).reshape(len(texts), length)
    return np.asarray((codes * _powers(_BASE, length)).sum(axis=1, dtype=np.uint64))


def _powers(base: int, n: int) -> HashArray:
    powers = np.full(n, base, dtype=np.uint64)
    powers[:1] = 1
    return np.multiply.accumulate(powers)


def equal(texts: Sequence[str], column: PlainColumn) -> BoolArray:
    """Tell for each of the plain `texts` whether it is one of a column's that are long enough."""
    known: BoolArray = column.index.get_indexer(pd.Index(texts, dtype=object)) >= 0
    long: BoolArray = np.fromiter(map(worth_looking_for, texts), dtype=bool, count=len(texts))
    return known & long


@dataclass(frozen=True)
class PlainColumn:
    """The plain cells of a column: `codes` (n,) are the places of their texts, -1 where a cell is missing.

    `texts` (an object array) has no missing value; it may hold a text twice.
    """

    texts: NDArray[np.object_]
    codes: IntArray

    @cached_property
    def index(self) -> pd.Index[Any]:
        """The texts, each once, to look for others among them."""
        return pd.Index(pd.unique(self.texts))

    @cached_property
    def long_values(self) -> LongValues:
        """The texts that are long enough to be looked for inside of others."""
        return LongValues(pd.Series(self.texts, dtype=object))

    @cached_property
    def word_counts(self) -> frozenset[int]:
        """How many words the texts have."""
        return frozenset(text.count(" ") + 1 for text in self.texts)

    @cached_property
    def bare_texts(self) -> NDArray[np.object_]:
        """The texts without the leading zeros of their words."""
        return np.array(_without_zeros(self.texts.tolist()), dtype=np.object_)


def _without_zeros(texts: Sequence[str]) -> list[str]:
    if not texts:
        return []
    return re.sub(r"(?<![^ \n])0+(?=[^ \n])", "", "\n".join(texts)).split("\n")


def copied(column: PlainColumn, identifiers: PlainColumn, least: float) -> int:
    """Count the rows whose plain cell holds the plain identifier of the same row, of any length, as a word.

    0 unless they are over `least`, and over twice as many as hold the identifier of another row, drawn
    for each: short numbers stand in many texts by chance. O(n + characters of the distinct cells).
    """
    likely = np.append(_among_words_of(identifiers, column.bare_texts), False)
    own = _holding_theirs(column, identifiers, identifiers.codes, likely)
    if own <= least:
        return 0
    others = np.random.default_rng(0).permutation(len(identifiers.codes))
    by_chance = _holding_theirs(column, identifiers, identifiers.codes[others], likely)
    return own if own > 2 * by_chance else 0


def _among_words_of(identifiers: PlainColumn, cells: NDArray[np.object_]) -> BoolArray:
    """Tell which identifiers are some words of any bare cell, one after the other."""
    runs: set[str] = set()
    for cell in cells:
        words = cell.split(" ")
        for n in identifiers.word_counts:
            runs.update(" ".join(words[first : first + n]) for first in range(len(words) - n + 1))
    return pd.Series(identifiers.bare_texts, dtype=object).isin(runs).to_numpy()


def _holding_theirs(column: PlainColumn, identifiers: PlainColumn, whose: IntArray, likely: BoolArray) -> int:
    """Count the cells that hold the identifier with the number beside them, but for leading zeros, as a word.

    `likely` says of each identifier whether any cell may.
    """
    n = 0
    rows = np.flatnonzero(likely[whose] & (column.codes >= 0))
    for cell, who in zip(column.codes[rows].tolist(), whose[rows].tolist(), strict=True):
        bare = identifiers.texts[who].lstrip("0") or identifiers.texts[who][-1:]
        if bare and bare in column.texts[cell]:  # words of both are divided by single blanks
            n += f" {identifiers.bare_texts[who]} " in f" {column.bare_texts[cell]} "
    return n


def once(counts: IntArray) -> float:
    """Return the share of people with a unique value, of values that so many people each have."""
    return float((counts == 1).sum() / counts.sum()) if len(counts) else 0.0
