"""Rows and cells of a sheet in any order: each is read where it says it is, or the sheet is refused."""

from __future__ import annotations

import datetime as dt
import io
import re
import time
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_excel import NAMES, SHEET, changed
from test_intake import refused

from policy.errors import InputError
from tasks.intake import excel
from tasks.intake.cell_text import cell_text
from tasks.intake.excel import excel_rows
from tasks.intake.sealed import sealed

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
PLAIN = '<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>'
PREFIXED = '<x:worksheet xmlns:x="{MAIN}"><x:sheetData>{rows}</x:sheetData></x:worksheet>'
TEXTS = ["Ann", " two  blanks ", "né", "<&>", "#N/A", "'1", "007", "_x000D_"]
SHARED = (
    '<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.sharedStrings+xml"/>'
)
COLUMNS = "ABCDE"


@cache
def frame_of_a_workbook() -> bytes:
    """Return a workbook whose style 1 shows a date."""
    book = openpyxl.Workbook()
    book.active.append([dt.datetime(2024, 2, 29)])  # noqa: DTZ001 -- a sheet has no time zones
    made = io.BytesIO()
    book.save(made)
    return made.getvalue()


def written(folder: Path, rows: str, sheet: str = PLAIN) -> Path:
    """Write a workbook whose only sheet has these rows, as XML; its shared texts are TEXTS."""
    path = folder / "t.xlsx"
    path.write_bytes(frame_of_a_workbook())
    texts = "".join(f'<si><t xml:space="preserve">{escape(one)}</t></si>' for one in TEXTS)

    def change(parts: dict[str, bytes]) -> None:
        parts[SHEET] = sheet.replace("{MAIN}", MAIN).replace("{rows}", rows).encode()
        parts["xl/sharedStrings.xml"] = f'<sst xmlns="{MAIN}">{texts}</sst>'.encode()
        kinds = parts["[Content_Types].xml"].decode()
        parts["[Content_Types].xml"] = kinds.replace("</Types>", f"{SHARED}</Types>").encode()

    return changed(path, change)


HEADER = "".join(
    f'<c r="{letter}1" t="inlineStr"><is><t>{name}</t></is></c>'
    for letter, name in zip("ABCDEFG", NAMES, strict=True)
)
TOP = f'<row r="1">{HEADER}</row>'


def table(path: Path) -> tuple[list[str], list[list[str | None]]]:
    """Return the names and the rows of a workbook's sheet."""
    with sealed(path) as copy, excel_rows(copy, None, "") as found:
        return found.names, [[cell_text(cell) for cell in row] for row in found.rows]


def slow_table(path: Path) -> tuple[list[str], list[list[str | None]]]:
    """Read the same by openpyxl, which holds every cell by its place."""
    book = openpyxl.load_workbook(io.BytesIO(path.read_bytes()), data_only=True)
    rows = book.active.iter_rows(values_only=True)
    cells = [[cell_text(cell) for cell in row] for row in rows]
    width = max(n for n, name in enumerate(cells[0], start=1) if name is not None)
    return [name or "" for name in cells[0][:width]], [
        row[:width] for row in cells[1:] if any(cell is not None for cell in row)
    ]


def cell(place: str, kind: str, number: float, text: int) -> str:
    """Return a cell of one of the kinds that spreadsheet programs write."""
    return {
        "number": f"<c{place}><v>{number}</v></c>",
        "date": f'<c{place} s="1"><v>{abs(number) % 90000}</v></c>',
        "shared": f'<c{place} t="s"><v>{text}</v></c>',
        "inline": f'<c{place} t="inlineStr"><is><t xml:space="preserve">{escape(TEXTS[text])}</t></is></c>',
        "runs": f'<c{place} t="inlineStr"><is><r><rPr/><t>a</t></r><r><t>b{text}</t></r>'
        f'<rPh sb="0" eb="1"><t>x</t></rPh></is></c>',
        "result": f'<c{place} t="str"><f>A1</f><v>{escape(TEXTS[text])}</v></c>',
        "truth": f'<c{place} t="b"><v>{text % 2}</v></c>',
        "error": f'<c{place} t="e"><v>#N/A</v></c>',
        "moment": f'<c{place} t="d"><v>2024-02-29T08:{text:02}:00</v></c>',
        "empty": f'<c{place} s="1"/>',
    }[kind]


KINDS = ["number", "date", "shared", "inline", "runs", "result", "truth", "error", "moment", "empty"]
NUMBERS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
CELLS = st.tuples(st.sampled_from(KINDS), NUMBERS, st.integers(0, 7))


@st.composite
def shuffled_sheets(draw: st.DrawFn) -> str:
    """Return rows in any order, with gaps, whose cells are in any order, with gaps."""
    names = "".join(f'<c r="{one}1" t="inlineStr"><is><t>n{one}</t></is></c>' for one in COLUMNS)
    rows = [f'<row r="1">{names}</row>']
    for number in draw(st.lists(st.integers(2, 9), unique=True)):
        cells = [
            cell(
                f' r="{letter}{number}"', draw(st.sampled_from(KINDS)), draw(NUMBERS), draw(st.integers(0, 7))
            )
            for letter in draw(st.lists(st.sampled_from(COLUMNS), unique=True))
        ]
        rows.append(f'<row r="{number}" spans="1:2">{"".join(cells)}</row>')
    return "".join(draw(st.permutations(rows)))


@given(shuffled_sheets(), st.booleans())
def test_whatever_the_order_each_cell_is_where_it_says_it_is(
    tmp_path_factory: pytest.TempPathFactory, rows: str, prefixed: bool
) -> None:
    folder = tmp_path_factory.mktemp("sheet")
    expected = slow_table(written(folder, rows))
    if prefixed:
        rows = re.sub(r"<(/?)(?=\w)", r"<\1x:", rows)
    assert table(written(folder, rows, PREFIXED if prefixed else PLAIN)) == expected


def test_rows_and_cells_without_a_place_follow_those_before_them(tmp_path: Path) -> None:
    first = '<row r="4"><c><v>1</v></c><c r="C4"><v>3</v></c><c><v>4</v></c></row>'
    path = written(tmp_path, f"{first}<row><c><v>5</v></c></row>{TOP}")
    blank = [None] * 3
    assert table(path) == (NAMES, [["1", None, "3", "4", *blank], ["5", None, None, None, *blank]])
    assert table(path) == slow_table(path)


FIRST = '<row r="2"><c r="A2"><v>1</v></c></row>'
REFUSED = {
    "a row twice": (FIRST + FIRST, "row 2 stands twice"),
    "a row twice, once without its number": ('<row r="1"/>' + FIRST, "row 1 stands twice"),
    "a cell twice": ('<row r="2"><c r="B2"/><c r="B2"><v>1</v></c></row>', "the cell B2 stands twice"),
    "a cell twice, once without its place": (
        '<row r="2"><c r="C2"/><c r="A2"/><c/><c><v>1</v></c></row>',
        "the cell C2 stands twice",
    ),
    "a cell in another row": ('<row r="3"><c r="A5"><v>1</v></c></row>', "the cell A5 stands in row 3"),
    "a cell far to the right": (
        '<row r="2"><c r="XFD2"><v>1</v></c><c r="A2"><v>1</v></c></row>',
        "row 2 has a cell in column 16384, but row 1 has 7 names",
    ),
    "the last cell of a sheet": (
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        "row 1048576 has a cell in column 16384, but row 1 has 7 names",
    ),
    "a cell beyond the sheet": (
        '<row r="2"><c r="XFE2"><v>1</v></c></row>',
        "row 2 has more columns than a sheet",
    ),
    "a row beyond the sheet": (
        FIRST + '<row r="1048577"/>',
        "has a row after row 2 whose number is none of a sheet",
    ),
    "a row that has no number": (
        FIRST + '<row r="3.0"/>',
        "has a row after row 2 whose number is none of a sheet",
    ),
    "a row before the first": ('<row r="0"/>', "has a row after row 1 whose number is none of a sheet"),
    "a place that is none": (
        '<row r="2"><c r="$A$2"/></row>',
        "row 2 has a cell whose place is none of a sheet",
    ),
    "a text that is not shared": (
        '<row r="2"><c r="A2" t="s"><v>99</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a text counted from the end": (
        '<row r="2"><c r="A2" t="s"><v>-1</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a number of Python alone": (
        '<row r="2"><c r="A2"><v>1_000</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a number of other digits": (
        '<row r="2"><c r="A2"><v>١٢</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a number without end": (
        '<row r="2"><c r="A2"><v>1e999</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "very many digits": (
        f'<row r="2"><c r="A2"><v>{"9" * 5000}</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a third truth": (
        '<row r="2"><c r="A2" t="b"><v>2</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a kind that is none": (
        '<row r="2"><c r="A2" t="x"><v>2</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a time whose zone would be lost": (
        '<row r="2"><c r="A2" t="d"><v>2024-02-29T08:00:00+05:00</v></c></row>',
        "the cell A2 has a value that is none of its kind",
    ),
    "a time after the last": (
        '<row r="2"><c r="A2" s="1"><v>99999999</v></c></row>',
        "the cell A2 has a time beyond those that there are",
    ),
    "a text beside a value": (
        '<row r="2"><c r="A2"><v>2</v><is><t>3</t></is></c></row>',
        "the cell A2 has more than one value, or one where no program looks for it",
    ),
    "a value where a text stands": (
        '<row r="2"><c r="A2" t="inlineStr"><v>2</v></c></row>',
        "the cell A2 has more than one value, or one where no program looks for it",
    ),
    "two values": (
        '<row r="2"><c r="A2"><v>2</v><v>3</v></c></row>',
        "the cell A2 has more than one value, or one where no program looks for it",
    ),
    "a value of another language": (
        '<row r="2"><c r="A2"><v xmlns="urn:x">2</v></c></row>',
        "the cell A2 has more than one value, or one where no program looks for it",
    ),
    "a cell of another language": (
        '<row r="2"><c xmlns="urn:x" r="A2"><v>2</v></c></row>',
        "row 2 has something other than cells",
    ),
    "a row of another language": (
        FIRST + '<row xmlns="urn:x" r="3"><c r="A3"><v>2</v></c></row>',
        "has something other than rows among its rows",
    ),
    "rows in a list of their own": (
        f"{FIRST}</sheetData><sheetData>" + FIRST.replace("2", "3"),
        "has something other than rows among its rows",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.enemy("data supplier", "learns a value")
@pytest.mark.by_day(8)
def test_what_two_programs_could_read_in_two_ways_is_refused(tmp_path: Path, name: str) -> None:
    rows, message = REFUSED[name]
    assert refused(written(tmp_path, TOP + rows), tmp_path).message == message


def test_an_order_that_is_not_seen_at_first_is_refused(tmp_path: Path) -> None:
    later = '<row a=">" r="2"><c r="A2"><v>2</v></c></row>'
    path = written(tmp_path, TOP + FIRST.replace("2", "3") + later)
    assert refused(path, tmp_path).message == "row 2 stands below row 3"


def test_a_sheet_whose_rows_are_very_wide_is_refused_by_the_cells_that_it_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f'<row r="{number}"><c r="A{number}"><v>1</v></c></row>' for number in range(2, 20))
    path = written(tmp_path, TOP + rows)
    assert len(table(path)[1]) == 18
    monkeypatch.setattr(excel, "MOST_CELLS", 17 * len(NAMES))
    with pytest.raises(InputError, match="has more rows or columns than a sheet of a table needs"):
        table(path)


def test_text_is_read_as_it_is_written_shared_or_not(tmp_path: Path) -> None:
    cells = "".join(
        f'<c r="{letter}2" t="inlineStr"><is><t>{text}</t></is></c>'
        for letter, text in zip("ABCDEFG", ["x005F_cold", "_x005F_x", "a", "b", "c", "d", "e"], strict=True)
    )
    path = written(tmp_path, f'{TOP}<row r="2">{cells}</row>')
    assert table(path)[1][0][:2] == ["x005F_cold", "_x"]
    shared = "".join(f'<c r="{letter}2" t="s"><v>0</v></c>' for letter in "ABCDEFG")
    for xml, told in (("<t>x005F_cold</t>", "x005F_cold"), ("<r><t>one</t></r><r><t>two</t></r>", "onetwo")):
        path = written(tmp_path, f'{TOP}<row r="2">{shared}</row>')
        changed(path, lambda parts, xml=xml: parts.update(
            {"xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si>{xml}</si></sst>'.encode()}))  # fmt: skip
        assert table(path)[1][0][0] == told
    for xml in ("<t>one</t><t>two</t>", "<r><t>B</t></r><t>A</t>"):
        path = written(tmp_path, f'{TOP}<row r="2">{shared}</row>')
        changed(path, lambda parts, xml=xml: parts.update(
            {"xl/sharedStrings.xml": f'<sst xmlns="{MAIN}"><si>{xml}</si></sst>'.encode()}))  # fmt: skip
        assert refused(path, tmp_path).message == "the cell A2 has a value that is none of its kind"
        inline = cells.replace("<t>x005F_cold</t>", xml)
        path = written(tmp_path, f'{TOP}<row r="2">{inline}</row>')
        assert "has more than one value" in refused(path, tmp_path).message


def test_many_beginnings_of_a_row_take_no_time(tmp_path: Path) -> None:
    path = written(tmp_path, f"<!--{'<row ' * 100_000}-->{TOP}{FIRST}")
    begun = time.process_time()
    with sealed(path) as copy, excel_rows(copy, None, "") as found:
        assert len([*found.rows]) == 1
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("encoding", ["cp037", "utf-7", "latin-1"])
def test_a_sheet_in_another_encoding_is_refused(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, TOP + FIRST, f'<?xml version="1.0" encoding="{encoding}"?>{PLAIN}')
    assert refused(path, tmp_path).message == "has a part that is not plain XML in UTF-8"
