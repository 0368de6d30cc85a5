"""Count the records of a CSV text by its line ends and quotes, to hold what a parser found against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policy.errors import InputError
from tasks.intake.sealed_file import SealedFile

LONGEST_LINE = 1 << 20  # bytes
_AT_ONCE = 8 << 20
_QUOTE, _LF, _CR = 34, 10, 13


@dataclass(frozen=True)
class LineCount:
    """How many records a text has, the line of names counted, how many of them are blank lines, and the bytes
    of the longest line.
    """

    records: int
    blank: int
    longest: int


def count_records(table: SealedFile, *, line_breaks: bool, banned: str | None = None) -> LineCount:
    """Count records: line ends that stand outside of quotes. Takes O(bytes), in arrays.

    Raises InputError with its line for a quoted value that holds a line break where `line_breaks` is false,
    or the delimiter that is `banned` there, for a quote that is never closed, and for a line of over
    `LONGEST_LINE` bytes.
    """
    lines = records = blank = 0  # lines that have ended, records among them, blank ones among these
    quotes = 0  # before this chunk
    length, returned = 0, False  # of the line that has not ended, and whether CR was the last byte
    longest = 0
    open_line = 0
    with table.open() as file:
        while chunk := file.read(_AT_ONCE):
            data = np.frombuffer(chunk, dtype=np.uint8)
            ends = np.flatnonzero(data == _LF)
            at = np.flatnonzero(data == _QUOTE)
            starts = np.concatenate(([-length], ends + 1))  # of each line, and of the one that goes on
            sizes = np.append(ends, len(data)) - starts
            if (sizes > LONGEST_LINE).any():
                raise _too_long(table, lines + int(np.argmax(sizes > LONGEST_LINE)) + 1)
            longest = max(longest, int(sizes.max()))
            inside = (quotes + np.searchsorted(at, ends)) & 1
            if inside.any():
                first = lines + int(np.argmax(inside)) + 1
                open_line = open_line or first
                if not line_breaks:
                    raise _broken(table, first)
            before = np.where(ends > 0, data[np.maximum(ends - 1, 0)], _CR if returned else 0)
            if banned is not None and (len(at) or quotes & 1):
                places = np.flatnonzero(data == ord(banned))
                quoted = (quotes + np.searchsorted(at, places)) & 1
                if quoted.any():
                    place = places[int(np.argmax(quoted))]
                    raise _delimiter(table, lines + int(np.searchsorted(ends, place)) + 1)
            empty = (inside == 0) & ((sizes[:-1] == 0) | ((sizes[:-1] == 1) & (before == _CR)))
            records += int((inside == 0).sum())
            blank += int(empty.sum())
            lines += len(ends)
            quotes += len(at)
            length, returned = int(sizes[-1]), data[-1] == _CR
    if quotes & 1:
        raise _broken(table, open_line or lines + 1)
    if length:
        records += 1
    return LineCount(records, blank, longest)


def _broken(table: SealedFile, line: int) -> InputError:
    return InputError(
        f"line {line} has a quote that is not closed",
        where=table.shown,
        hint=(
            "Double the quotes inside quoted text. If values contain line breaks, set "
            "source.line_breaks: true."
        ),
    )


def _delimiter(table: SealedFile, line: int) -> InputError:
    return InputError(
        f"line {line} has a quoted value that contains the delimiter",
        where=table.shown,
        hint="Check the quotes there, or set source.quoted_delimiters: true.",
    )


def _too_long(table: SealedFile, line: int) -> InputError:
    return InputError(
        f"line {line} has more than {LONGEST_LINE:,} bytes",
        where=table.shown,
        hint="Check the quotes and line ends there.",
    )
