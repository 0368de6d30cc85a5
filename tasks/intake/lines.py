"""Count the records of a CSV text by its line ends and quotes, to hold what a parser found against it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from policy.errors import InputError
from tasks.intake.sealed_file import SealedFile
from tasks.types import IntArray

LONGEST_LINE = 1 << 20  # bytes
_AT_ONCE = 8 << 20
_QUOTE, _LF, _CR = 34, 10, 13


@dataclass(frozen=True)
class LineCount:
    """How many records a text has, the line of names counted, how many of them are blank lines, the bytes
    of the longest line, and the first line with a quoted value that goes on in the next, 0 without one.
    """

    records: int
    blank: int
    longest: int
    first_break: int


def count_records(table: SealedFile, *, line_breaks: bool, banned: str | None = None) -> LineCount:
    """Count records: line ends that stand outside of quotes. Takes O(bytes), in arrays.

    Raises InputError with its line for a quoted value that holds a line break where `line_breaks` is false,
    or the delimiter that is `banned` there, for a quote that is never closed, for a line of over
    `LONGEST_LINE` bytes, and for one that ends otherwise than line 1.
    """
    lines = records = blank = 0  # lines that have ended, records among them, blank ones among these
    quotes = 0  # before this chunk
    length, returned = 0, False  # of the line that has not ended, and whether CR was the last byte
    longest = 0
    open_line = 0
    first_end = ""  # of line 1
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
                    raise not_closed(table, first)
            before = np.where(ends > 0, data[np.maximum(ends - 1, 0)], _CR if returned else 0)
            if banned is not None and (len(at) or quotes & 1):
                places = np.flatnonzero(data == ord(banned))
                quoted = places[(quotes + np.searchsorted(at, places)) & 1 == 1]
                if len(quoted):
                    raise _delimiter(table, lines + int(np.searchsorted(ends, quoted[0])) + 1)
            record_ends, crlf = ends[inside == 0], before[inside == 0] == _CR
            if not first_end and len(crlf):
                first_end = "CRLF" if crlf[0] else "LF"
            alone = _lone_returns(data, returned)
            alone = alone[(quotes + np.searchsorted(at, alone)) & 1 == 0]
            other = np.concatenate((alone, record_ends[crlf != (first_end == "CRLF")]))
            if len(other):
                end = "CR" if other.min() in alone else "LF" if first_end == "CRLF" else "CRLF"
                raise _line_end(table, lines + int(np.searchsorted(ends, other.min())) + 1, end, first_end)
            empty = (inside == 0) & ((sizes[:-1] == 0) | ((sizes[:-1] == 1) & (before == _CR)))
            records += int((inside == 0).sum())
            blank += int(empty.sum())
            lines += len(ends)
            quotes += len(at)
            length, returned = int(sizes[-1]), data[-1] == _CR
    if quotes & 1:
        raise not_closed(table, open_line or lines + 1)
    if returned:
        raise _line_end(table, lines + 1, "CR", first_end)
    if length:
        records += 1
    return LineCount(records, blank, longest, open_line)


def _lone_returns(data: npt.NDArray[np.uint8], returned: bool) -> IntArray:
    """Return where carriage returns are that no LF follows: -1 for one that ended the chunk before this.

    Whether one follows the last byte is seen in the next chunk.
    """
    places = np.flatnonzero(data == _CR)
    places = places[places + 1 < len(data)]
    alone = places[data[places + 1] != _LF]
    return np.append(-1, alone) if returned and data[0] != _LF else alone


def _line_end(table: SealedFile, line: int, end: str, first: str) -> InputError:
    return InputError(
        f"line {line} ends in {end}, and line 1 in {first}",
        where=table.shown,
        hint="Save the file with one kind of line end.",
    )


def joined_lines(table: SealedFile, delimiter: str, width: int) -> int:
    """Return the first line of a record of several lines, each of which has `width` cells by its delimiters:
    quotes join what are records by themselves. 0 without one, and where `width` is too small to tell.
    """
    first, cells, is_open = 1, list[int](), False
    with table.open() as file:
        for number, line in enumerate(file, start=1):
            cells.append(line.count(delimiter.encode()) + 1)
            is_open ^= line.count(b'"') % 2 == 1
            if not is_open:
                if len(cells) > 1 and {*cells} == {width} and width > 2:
                    return first
                first, cells = number + 1, []
    return 0


def not_closed(table: SealedFile, line: int) -> InputError:
    """Return the error of a quote that stands alone, in whatever way it is found."""
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
