"""Excel workbooks: a sheet is read as a CSV file with its cells is, and each bad one is refused in a line."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest
from test_intake import CANARY, HEADER, ROW, read, refused, written

from policy.errors import InputError, UsageError
from tasks.intake import excel
from tasks.intake.sealed import sealed

NAMES = HEADER.strip().split(",")
ROWS: list[Sequence[object]] = [
    ("p1", "Ann", 30, "Leeds", "flu", "ok", "Elm"),
    ("p2", "Bob", None, "York", "cold", None, "Oak"),
    ("p3", "Cy", 41.5, "?", "flu", "ok", None),
]
SHEET = "xl/worksheets/sheet1.xml"
Change = Callable[[dict[str, bytes]], None]


def workbook(
    folder: Path, rows: Sequence[Sequence[object]] = ROWS, header: Sequence[object] = NAMES, **sheets: Any
) -> Path:
    """Write a workbook whose first sheet has the rows, and further sheets."""
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [header, *rows]:
        sheet.append(row)
    for title, more in sheets.items():
        other = book.create_sheet(title)
        for row in more:
            other.append(row)
    path = folder / "t.xlsx"
    book.save(path)
    return path


def changed(path: Path, change: Change) -> Path:
    """Change the parts of a workbook, by their names."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def replaced(part: str, old: str, new: str) -> Change:
    def change(parts: dict[str, bytes]) -> None:
        assert old.encode() in parts[part]
        parts[part] = parts[part].replace(old.encode(), new.encode(), 1)

    return change


def test_a_sheet_is_read_as_the_file_with_its_cells(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    lines = ROW + "p2,Bob,,York,cold,,Oak\np3,Cy,41.5,?,flu,ok,\n"
    same = read(written(tmp_path, HEADER + lines), missing=["", "?"])
    found = read(path, missing=["", "?"])
    pd.testing.assert_frame_equal(found.frame, same.frame)
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found.origin == "t.xlsx"


def test_times_truth_values_and_numbers_are_texts_as_in_a_csv_file(tmp_path: Path) -> None:
    day = dt.datetime(2024, 2, 29)  # noqa: DTZ001 -- a sheet has no time zones
    cells = [day, day.replace(hour=8, minute=30), dt.time(8, 30), True, 7, 0.1, "0"]
    path = workbook(tmp_path, [(f"p{n}", "A", 1, "Leeds", "flu", cell, "") for n, cell in enumerate(cells)])
    assert read(path).frame["note"].tolist() == [
        "2024-02-29",
        "2024-02-29 08:30:00",
        "08:30:00",
        "true",
        "7",
        "0.1",
        "0",
    ]


def test_blank_rows_are_left_out_and_what_a_sheet_says_of_its_size_hides_none(tmp_path: Path) -> None:
    path = workbook(tmp_path, [ROWS[0], [], [None, None], ROWS[2], []])
    changed(
        path,
        lambda parts: parts.update(
            {SHEET: re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:B2"', parts[SHEET])}
        ),
    )
    assert read(path).frame["id"].tolist() == ["p1", "p3"]


def test_a_formula_gives_the_value_that_was_saved_with_it(tmp_path: Path) -> None:
    path = workbook(tmp_path, [("p1", "Ann", "=6*7", "Leeds", "flu", '=""', "Elm")])
    text = zipfile.ZipFile(path).read(SHEET).decode()
    saved = re.sub(r"(<f>6\*7</f>)<v\s*/?>(?:</v>)?", r"\1<v>42</v>", text)
    saved = re.sub(r'<c r="F2">(<f>""</f>)<v\s*/?>(?:</v>)?', r'<c r="F2" t="str">\1<v></v>', saved)
    assert saved.count("<v>42</v>") == saved.count('t="str"') == 1
    changed(path, lambda parts: parts.update({SHEET: saved.encode()}))
    found = read(path).frame
    assert found["age"].tolist() == [42]
    assert found["note"].isna().all()


def test_the_sheet_is_named_or_the_only_one(tmp_path: Path) -> None:
    path = workbook(tmp_path, visits=[NAMES, ROWS[2]])
    assert read(path, sheet="visits").frame["id"].tolist() == ["p3"]
    assert len(read(path, sheet="Sheet").frame) == 3
    error = refused(path, tmp_path)
    assert str(error) == (f"{path}: has 2 sheets: 'Sheet', 'visits'\n  Name one of them as source.sheet.")
    error = refused(path, tmp_path, sheet="visit")
    assert error.message == "has no sheet 'visit' (did you mean 'visits'?)"


def test_an_input_of_a_query_is_the_sheet_of_its_name(tmp_path: Path) -> None:
    workbook(tmp_path, cities=[["code", "long"], ["Leeds", "City of Leeds"], ["York", "City of York"]])
    query = "SELECT i.* EXCLUDE (city), long AS city FROM input i JOIN cities ON i.city = code ORDER BY id"
    found = read(tmp_path / "t.xlsx", sheet="Sheet", inputs={"cities": "t.xlsx"}, query=query)
    assert found.frame["city"].tolist() == ["City of Leeds", "City of York"]


def test_macros_links_and_pictures_are_not_opened(tmp_path: Path) -> None:
    junk = {
        "xl/vbaProject.bin": b"\xff" * 100,
        "xl/externalLinks/externalLink1.xml": b"<!DOCTYPE x SYSTEM 'file:///etc/passwd'>",
        "xl/media/image1.png": b"\0" * 100,
        "customXml/item1.xml": b"<broken",
    }
    path = workbook(tmp_path)
    before = read(path).frame
    assert read(changed(path, lambda parts: parts.update(junk))).frame.equals(before)


def test_a_sheet_in_any_cell_of_which_something_is_wrong_is_refused(tmp_path: Path) -> None:
    beside = workbook(tmp_path, [(*ROWS[0], CANARY)])
    assert refused(beside, tmp_path).message == "row 2 has a cell in column 8, but row 1 has 7 names"
    unnamed = workbook(tmp_path, header=[*NAMES[:3], None, *NAMES[4:]])
    assert refused(unnamed, tmp_path).message == (
        "column 4 has no name: its cell in row 1 is empty or merged"
    )
    blank = workbook(tmp_path, header=[])
    assert refused(blank, tmp_path).message == "row 1 is blank"
    formula = workbook(tmp_path, [("p1", "Ann", f'=LEN("{CANARY}")', "Leeds", "flu", "ok", "Elm")])
    assert refused(formula, tmp_path).message == "the cell C2 has a formula without a value"
    no_rows = workbook(tmp_path, [])
    assert refused(no_rows, tmp_path).message == "gives no rows"
    rows_only = workbook(tmp_path, ROWS[1:], header=(CANARY, *ROWS[0][1:]))
    assert refused(rows_only, tmp_path).message == "none of its 7 columns is in the roles of the policy"
    long = workbook(tmp_path, [("p1", "Ann", 30, CANARY * 3000, "flu", "ok", "Elm")])
    assert len(read(long).frame["city"][0]) == 30_000


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("A1:B1", "column 2 has no name: its cell in row 1 is empty or merged"),
        ("D2:D3", "the cells D2:D3 are merged"),
    ],
)
def test_merged_cells_are_refused(tmp_path: Path, cells: str, message: str) -> None:
    path = workbook(tmp_path)
    book = openpyxl.load_workbook(path)
    book.active.merge_cells(cells)
    book.save(path)
    assert refused(path, tmp_path).message == message


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    cases = {
        b"": "the file is empty",
        (HEADER + CANARY).encode(): "is not an Excel file (.xlsx)",
        old: "is an old Excel file (.xls)",
        old + "EncryptedPackage".encode("utf-16-le"): "is encrypted",
    }
    for content, message in cases.items():
        assert refused(written(tmp_path, content, "t.xlsx"), tmp_path).message == message
    assert refused(written(tmp_path, old, "t.xls"), tmp_path).message == "is an old Excel file (.xls)"


def test_a_damaged_workbook_is_refused(tmp_path: Path) -> None:
    whole = workbook(tmp_path).read_bytes()
    cut = written(tmp_path, whole[: len(whole) // 2], "t.xlsx")
    assert refused(cut, tmp_path).message == "cannot be read (BadZipFile)"
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("a.xml", "<a/>")
    assert refused(written(tmp_path, empty.getvalue(), "t.xlsx"), tmp_path).message.startswith(
        "cannot be read"
    )
    broken = changed(workbook(tmp_path), replaced(SHEET, "<row", f"<{CANARY}<row"))
    assert refused(broken, tmp_path).message.startswith("cannot be read")
    lost = changed(workbook(tmp_path), lambda parts: parts.update({SHEET: parts[SHEET][:-100]}))
    assert refused(lost, tmp_path).message.startswith("cannot be read after row ")


def test_a_part_that_declares_a_type_or_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    entity = f'<!DOCTYPE x [<!ENTITY a "{CANARY}">]><worksheet'
    for change in (
        replaced(SHEET, "<worksheet", entity),
        lambda parts: parts.update({SHEET: parts[SHEET].decode().encode("utf-16")}),
    ):
        path = changed(workbook(tmp_path), change)
        assert refused(path, tmp_path).message == "has a part that is not plain XML in UTF-8"


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "HARMLESS_BYTES", 1 << 20)
    path = workbook(tmp_path)
    assert len(rows_here(path)) == 3
    changed(path, lambda parts: parts.update({"xl/more.xml": b" " * (3 << 20)}))
    with pytest.raises(InputError, match="has more than 1 MiB when unpacked"):
        rows_here(path)


def rows_here(path: Path) -> list[Sequence[object]]:
    """Read a workbook in this process."""
    with sealed(path) as table, excel.excel_rows(table, None, "") as found:
        return [*found.rows]


def test_a_size_in_the_archive_s_directory_that_is_too_small_helps_nobody(tmp_path: Path) -> None:
    path = workbook(tmp_path)
    data = bytearray(path.read_bytes())
    at = data.rfind(SHEET.encode()) - 46  # the entry of the sheet in the directory at the archive's end
    assert data[at : at + 4] == b"PK\x01\x02"
    data[at + 24 : at + 28] = (100).to_bytes(4, "little")  # its size when unpacked
    path.write_bytes(data)
    assert refused(path, tmp_path).message.startswith("cannot be read")


def test_a_sheet_is_only_named_for_a_workbook(tmp_path: Path) -> None:
    error = refused(written(tmp_path, HEADER + ROW), tmp_path, sheet="visits")
    assert isinstance(error, UsageError)
    assert str(error).startswith("source.sheet: names a sheet, but t.csv is read as csv")


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UsageError) as caught:
        rows_here(path)
    assert str(caught.value) == (
        ".xlsx: needs the package openpyxl, which is not installed\n"
        "  Install it in the version of requirements.lock: pip install '.[excel]'."
    )


@pytest.mark.parametrize(
    ("cell", "held"),
    [(2**53 - 1, True), (2**53, False), (-(2**53) - 1, False), (1.5e20, False), (str(2**53), True)],
)
def test_a_number_that_a_workbook_does_not_hold_is_refused(tmp_path: Path, cell: object, held: bool) -> None:
    path = workbook(tmp_path, [(*ROWS[0][:2], cell, *ROWS[0][3:])])
    if held:
        assert float(read(path).frame["age"][0]) == float(str(cell))
        return
    assert str(refused(path, tmp_path)) == (
        f"{path}: the column 'age' has a number of 9007199254740992 or more, which a workbook does not tell "
        "from its neighbours\n  Enter it as text, or drop the column (roles.dropped)."
    )


def test_of_a_dropped_column_no_number_is_refused(tmp_path: Path) -> None:
    assert NAMES[-1] == "street"
    assert len(read(workbook(tmp_path, [(*ROWS[0][:-1], 2**60)])).frame) == 1
