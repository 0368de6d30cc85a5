"""Read the cells of one sheet of a workbook from its XML: each where it says it is, in whatever order.

What two programs could read in two ways is refused: a place or a value that is none, a row or a cell that
stands twice, an element that no sheet has there. So no cell is lost, and none is read as another.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import pairwise
from xml.etree.ElementTree import Element, ParseError, iterparse

from policy.errors import InputError

LAST_ROW = 1_048_576
LAST_COLUMN = 16_384
HINT_SAVE = "Open it in a spreadsheet program, and save it again as .xlsx."
_HINT_MERGED = "Split them, and write each cell's own value."
_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_DATA, _ROW, _CELL, _MERGED = (f"{_MAIN}{name}" for name in ("sheetData", "row", "c", "mergeCell"))
_VALUE, _FORMULA, _INLINE, _MORE = (f"{_MAIN}{name}" for name in ("v", "f", "is", "extLst"))
_OF_A_CELL = frozenset({_VALUE, _FORMULA, _INLINE, _MORE})
_SHARED = f"{_MAIN}si"
_TEXT, _RUN = f"{_MAIN}t", f"{_MAIN}r/{_MAIN}t"  # beside them stands how a text is spoken
_PLACE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_RANGE = re.compile(r"[A-Z]{1,3}[0-9]{1,7}(?::[A-Z]{1,3}[0-9]{1,7})?")
_ROW_NUMBER = re.compile(r"[1-9][0-9]{0,6}")
_INDEX = re.compile(r"[0-9]{1,9}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_TWO_VALUES = "has more than one value, or one where no program looks for it"
_LONGEST_NUMBER = 400  # characters
_TRUTHS = {"0": False, "1": True, "false": False, "true": True}
_ROWS_IN_XML = re.compile(rb"""<(?:\w+:)?row\b[^<>]*?\sr\s*=\s*["']([0-9]{1,8})["']""")

Cells = Mapping[int, object]


@dataclass(frozen=True)
class SheetXml:
    """The XML of a sheet, and what its cells refer to: the workbook's texts, and which styles show a time."""

    xml: bytes
    texts: Sequence[str | None]
    times: AbstractSet[int]
    durations: AbstractSet[int]
    epoch: datetime
    where: str

    def rows(self) -> Iterator[tuple[int, Cells]]:
        """Yield the number and the cells of each row in ascending order; columns count from 1.

        Raises InputError, which names a place and no cell; for merged cells, which hide values, at the end.
        Rows that stand out of order are all held in memory.
        """
        numbers = [int(found[1]) for found in _ROWS_IN_XML.finditer(self.xml)]
        if any(after <= before for before, after in pairwise(numbers)):
            yield from sorted(self._as_they_stand(), key=lambda row: row[0])
            return
        last = 0
        for number, cells in self._as_they_stand():
            if number < last:  # what is commented out can hide this from the pattern
                raise self._bad(f"row {number} stands below row {last}")
            last = number
            yield number, cells

    def _as_they_stand(self) -> Iterator[tuple[int, Cells]]:
        seen = bytearray(LAST_ROW + 1)
        number, n_rows, n_data, problem = 0, 0, 0, ""
        elements = iterparse(io.BytesIO(self.xml))  # noqa: S314 -- what declares an entity was refused
        while True:
            try:
                _, element = next(elements, (None, None))
            except (ParseError, ValueError) as error:  # ValueError: an encoding that there is not
                problem = type(error).__name__
                break
            if element is None:
                break
            if element.tag == _ROW:
                number = self._row_number(element, number)
                if seen[number]:
                    raise self._bad(f"row {number} stands twice")
                seen[number], n_rows = 1, n_rows + 1
                yield number, self._cells(element, number)
                element.clear()
            elif element.tag == _DATA:
                n_data += 1
                if len(element) != n_rows or any(row.tag != _ROW for row in element):
                    raise self._bad("has something other than rows among its rows")
            elif element.tag == _MERGED:
                cells = element.get("ref", "")
                known = cells if _RANGE.fullmatch(cells) else "of some place"
                raise self._bad(f"the cells {known} are merged", _HINT_MERGED)
        if problem:
            raise self._bad(f"cannot be read after row {number} ({problem})")
        if n_data != 1:
            raise self._bad("has no list of rows, or more than one")

    def _row_number(self, row: Element, last: int) -> int:
        written = row.get("r")
        known = written is not None and _ROW_NUMBER.fullmatch(written)
        number = last + 1 if written is None else int(written) if known else 0
        if not 1 <= number <= LAST_ROW:
            raise self._bad(f"has a row after row {last} whose number is none of a sheet")
        return number

    def _cells(self, row: Element, number: int) -> Cells:
        cells: dict[int, object] = {}
        column = 0
        for cell in row:
            if cell.tag != _CELL:
                if cell.tag == _MORE:
                    continue
                raise self._bad(f"row {number} has something other than cells")
            place = cell.get("r")
            if place is None:
                column += 1
                place = f"{_letters(column)}{number}"
            else:
                column = self._column(place, number)
            if column > LAST_COLUMN:
                raise self._bad(f"row {number} has more columns than a sheet")
            if column in cells:
                raise self._bad(f"the cell {place} stands twice")
            cells[column] = self._value(cell, place)
        return cells

    def _column(self, place: str, number: int) -> int:
        found = _PLACE.fullmatch(place)
        if found is None:
            raise self._bad(f"row {number} has a cell whose place is none of a sheet")
        if int(found[2]) != number:
            raise self._bad(f"the cell {place} stands in row {number}")
        return _column_of(found[1])

    def _value(self, cell: Element, place: str) -> object:
        kind = cell.get("t", "n")
        value, inline, has_formula = self._parts(cell, place)
        text = value.text if value is not None else None
        if (inline is not None and (kind != "inlineStr" or value is not None)) or (
            kind == "inlineStr" and text
        ):
            raise self._bad(f"the cell {place} {_TWO_VALUES}")
        if kind == "inlineStr":
            told = None if inline is None else _inline_text(inline)
            if inline is not None and told is None:
                raise self._bad(f"the cell {place} {_TWO_VALUES}")
            return told
        if not text:
            if has_formula and kind != "str":  # else an empty text is the result
                raise self._bad(f"the cell {place} has a formula without a value")
            return None
        found = self._read(kind, text, cell.get("s", "0"), place)
        if found is None:
            raise self._bad(f"the cell {place} has a value that is none of its kind")
        return found

    def _parts(self, cell: Element, place: str) -> tuple[Element | None, Element | None, bool]:
        """Return a cell's value, its inline text, and whether it has a formula."""
        if len(cell) == 1 and cell[0].tag == _VALUE and not len(cell[0]):  # as nearly all are
            return cell[0], None, False
        parts = {part.tag: part for part in cell}
        value = parts.get(_VALUE)
        if len(parts) != len(cell) or not parts.keys() <= _OF_A_CELL or (value is not None and len(value)):
            raise self._bad(f"the cell {place} {_TWO_VALUES}")
        return value, parts.get(_INLINE), _FORMULA in parts

    def _read(self, kind: str, text: str, style: str, place: str) -> object | None:
        """Return the value of a cell that has one; None if the text is none of this kind."""
        if kind in ("str", "e"):  # an error, such as #N/A, is the text that a CSV file would have
            return text
        text = text.strip(" \t\r\n")
        if kind == "n":
            number = _number(text) if _INDEX.fullmatch(style) else None
            if number is None or int(style) not in self.times:
                return number
            return self._time(number, int(style), place)
        if kind == "s":
            known = _INDEX.fullmatch(text) and int(text) < len(self.texts)
            return self.texts[int(text)] if known else None
        return _TRUTHS.get(text) if kind == "b" else _iso_time(text) if kind == "d" else None

    def _time(self, number: float, style: int, place: str) -> object:
        from openpyxl.utils.datetime import from_excel

        try:
            return from_excel(number, self.epoch, timedelta=style in self.durations)
        except (OverflowError, ValueError):
            pass
        raise self._bad(f"the cell {place} has a time beyond those that there are")

    def _bad(self, finding: str, hint: str = HINT_SAVE) -> InputError:
        return InputError(finding, where=self.where, hint=hint)


def shared_texts(xml: bytes, where: str) -> list[str | None]:
    """Return the texts that cells refer to by their number; None for one that could be read in two ways."""
    texts: list[str | None] = []
    problem = ""
    try:
        for _, element in iterparse(io.BytesIO(xml)):  # noqa: S314 -- what declares an entity was refused
            if element.tag == _SHARED:
                texts.append(_inline_text(element))
                element.clear()
    except (ParseError, ValueError) as error:
        problem = type(error).__name__
    if problem:
        raise InputError(f"has texts that cannot be read ({problem})", where=where, hint=HINT_SAVE)
    return texts


def _inline_text(inline: Element) -> str | None:
    """Return a text in one piece, or in runs of one format each; None if it has two pieces, or both."""
    pieces, runs = inline.findall(_TEXT), inline.findall(_RUN)
    if len(pieces) + bool(runs) > 1:
        return None
    return "".join(part.text or "" for part in (*pieces, *runs)).replace("_x005F_", "_")


def _number(text: str) -> int | float | None:
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    if text.lstrip("+-").isdigit():
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def _iso_time(text: str) -> object | None:
    from openpyxl.utils.datetime import ISO_DURATION, ISO_REGEX, from_ISO8601

    if not any(pattern.fullmatch(text) for pattern in (ISO_REGEX, ISO_DURATION)):
        return None  # it would read the beginning alone
    try:
        return from_ISO8601(text)  # type: ignore[no-any-return]
    except ValueError:
        return None


@cache
def _column_of(letters: str) -> int:
    """Return the number of a column of at most three letters."""
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - 64
    return column


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(65 + letter) + letters
    return letters
