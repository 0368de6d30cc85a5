"""A CSV file in any encoding is read right, or one line says which encoding to declare, in every command."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sqlite3
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import openpyxl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from test_intake import HEADER, policy, read, refused, written

from policy.errors import InputError, ReleaseGateError
from services.checking.check import check
from services.drafting.draft import draft
from services.drafting.tables import load_tables, table_cells
from tasks.intake import encoding as module
from tasks.intake import lines
from tasks.intake.database import own_database
from tasks.intake.encoding import guess_encoding, is_ascii, readings, utf_8_text
from tasks.intake.sealed import sealed

LATIN = ("latin-1", "windows-1250", "iso-8859-2", "cp850", "cp852")
SUPPLIER = "data supplier"
TOWNS = {
    "windows-1252": ("Niš", "Köln \u2013 Süd", "Orléans", "Œuilly"),
    "latin-1": ("Zürich", "Genève", "Málaga"),
    "iso-8859-15": ("Saint-Brieuc \u20ac", "C\u0153ur", "Orl\u00e9ans"),
    "macintosh": ("Zürich", "Bern \u2013 West", "Land\u2019s End"),
    "windows-1250": ("Łódź", "Kraków", "Częstochowa", "Gdańsk"),
    "windows-1251": ("Москва", "Самара", "Казань"),
    "koi8-r": ("Москва", "Самара", "Казань"),
    "windows-1253": ("Αθήνα", "Πάτρα", "Θεσσαλονίκη"),
    "cp850": ("Köln", "München", "Genève"),
    "cp932": ("東京", "大阪", "名古屋"),
    "utf-16": ("Niš", "Москва", "東京"),
    "utf-32": ("Niš", "Москва", "東京"),
    "utf-16-le": ("Niš", "Москва", "Köln"),
    "utf-16-be": ("Niš", "Москва", "Köln"),
}


def text_of(towns: tuple[str, ...]) -> str:
    return HEADER + "".join(f"p{i},A,{20 + i},{towns[i % len(towns)]},flu,x,s\n" for i in range(40))


def said_by_each(path: Path, folder: Path, **source: object) -> dict[str, str]:
    """Return what a run, a check, a draft and an assessment say of a file that none of them can read."""
    return {
        **said_by_each_policy(path, folder, **source),
        "draft": _error(lambda: _drafted(path)),
        "assess": _error(lambda: _assessed(path)),
    }


def said_by_each_policy(path: Path, folder: Path, **source: object) -> dict[str, str]:
    """Return what a run and a check say."""
    policy_path = folder / "p.yaml"
    document = policy(**source).model_dump(mode="json", exclude_unset=True)
    policy_path.write_text(yaml.safe_dump(document))
    checked = check(policy_path, store=folder / "store", input_path=path)
    return {
        "run": str(refused(path, folder, **source)).replace("\n  ", ". "),
        "check": checked.findings[0].line,
    }


def _drafted(path: Path) -> str:
    with own_database() as con:
        return load_tables(con, [path]).encoding


def _assessed(path: Path) -> list[str]:
    with table_cells(path) as cells:
        return [
            town for (town,) in cells.connection.execute("SELECT city FROM cells ORDER BY rowid").fetchall()
        ]


def _error(work: Callable[[], object]) -> str:
    with pytest.raises(ReleaseGateError) as caught:
        work()
    return str(caught.value).replace("\n  ", ". ")


@pytest.mark.parametrize("encoding", TOWNS)
def test_each_encoding_is_read_and_guessed(tmp_path: Path, encoding: str) -> None:
    text = text_of(TOWNS[encoding])
    path = written(tmp_path, text.encode(encoding))
    towns = [line.split(",")[3] for line in text.splitlines()[1:]]
    assert read(path, encoding=encoding).frame["city"].tolist() == towns
    assert _drafted(path) == encoding
    assert _assessed(path) == towns


@pytest.mark.parametrize(
    ("encoding", "towns"),
    [
        ("windows-1250", ("Plzeň", "Třebíč", "Děčín", "Šumperk")),
        ("windows-1250", ("Brăila", "Iaşi", "Cluj")),
        ("windows-1250", ("Győr", "Székesfehérvár", "Gyöngyös", "Fűzfő")),
        ("windows-1254", ("İstanbul", "Muğla", "Diyarbak\u0131r", "Şanl\u0131urfa")),
        ("latin-1", ("Tromsø", "Ålesund", "Bodø")),
        ("latin-1", ("São Paulo", "Goiânia", "Belém")),
        ("latin-1", ("Forlì", "Cantù")),
        ("latin-1", ("Þórshöfn", "Ísafjörður", "Reykjavík")),
    ],
)
def test_words_tell_the_encodings_of_latin_script_apart(
    tmp_path: Path, encoding: str, towns: tuple[str, ...]
) -> None:
    path = written(tmp_path, text_of(towns).encode(encoding))
    assert _drafted(path) == encoding


@pytest.mark.parametrize("encoding", ["windows-1250", "iso-8859-2", "cp852"])
@pytest.mark.parametrize(
    "towns",
    [
        ("Plzeň", "Třebíč", "Děčín", "Šumperk", "Žďár"),
        ("Győr", "Székesfehérvár", "Fűzfő", "Hódmezővásárhely"),
        ("Łódź", "Kraków", "Częstochowa", "Świnoujście"),
    ],
)
def test_encodings_of_central_europe_are_guessed_by_words(
    tmp_path: Path, encoding: str, towns: tuple[str, ...]
) -> None:
    text = text_of(towns)
    path = written(tmp_path, text.encode(encoding))
    with sealed(path) as table:
        assert path.read_bytes().decode(guess_encoding(table)) == text


@pytest.mark.parametrize(
    ("encoding", "towns", "read"),
    [
        ("windows-1250", ("Győr", "Pécs"), "latin-1 if 'Gyõr' is right, windows-1250 if 'Győr' is right"),
        ("iso-8859-2", ("Győr", "Pécs"), "latin-1 if 'Gyõr' is right, windows-1250 if 'Győr' is right"),
        ("cp852", ("Győr", "Pécs"), "cp850 if 'Gyïr' is right, cp852 if 'Győr' is right"),
        ("cp852", ("Žalec", "Maribor"), "iso-8859-2 if 'Śalec' is right, cp852 if 'Žalec' is right"),
    ],
)
def test_encodings_that_are_as_likely_are_told_with_a_word(
    tmp_path: Path, encoding: str, towns: tuple[str, ...], read: str
) -> None:
    path = written(tmp_path, text_of(towns).encode(encoding))
    advice = f"Set source.encoding: {read}; or save the file as utf-8."
    assert {*said_by_each_policy(path, tmp_path).values()} == {f"{path}: line 2 is not utf-8. {advice}"}
    assert f"  # Others are as likely: {read}." in draft(path, trial=False).splitlines()


def test_a_word_that_few_lines_share_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path, (HEADER + "p1,A,30,Szõke,flu,x,s\n" * 5).encode("latin-1"))
    said = str(refused(path, tmp_path))
    assert "latin-1 if 'õ' is right, windows-1250 if 'ő' is right" in said
    assert "Sz" not in said


@given(st.text("abcáéíóöőúüűčšžàèêçñß ", min_size=1, max_size=60), st.sampled_from(LATIN))
def test_whatever_is_told_reads_the_text_otherwise(text: str, encoding: str) -> None:
    sample = text.encode(encoding, "ignore")
    told = readings(sample, encoding)
    assert not told or len(set(told.values())) > 1
    assert all(len(word) == 1 for word in told.values())  # no word is in 10 lines


@pytest.mark.parametrize(
    ("end", "first", "also"),
    [
        ("\r", "", "Save the file with LF or CRLF line ends."),
        ("\n", "sep=,\n", "Remove line 1, by which source.delimiter is ','."),
        (
            "\r",
            "sep=;\r",
            "Save the file with LF or CRLF line ends. Remove line 1, by which source.delimiter is ';'.",
        ),
    ],
)
@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16", "utf-16-le", "utf-8"])
def test_all_that_keeps_a_file_from_being_read_is_told_at_once(
    tmp_path: Path, encoding: str, end: str, first: str, also: str
) -> None:
    text = first + text_of(TOWNS["windows-1252"]).replace("\n", end)
    path = written(tmp_path, text.encode(encoding))
    said = said_by_each_policy(path, tmp_path)["run"]
    assert said.endswith(also)
    assert (f"Set source.encoding: {encoding}" in said) == (encoding != "utf-8")
    assert _error(lambda: _drafted(path)).endswith(also)


def test_two_tables_are_in_the_encoding_that_both_can_be_in(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.csv" for number in "12"]
    for file, town in zip(files, ("Třebíč", "Plzeň"), strict=True):
        file.write_bytes(text_of((town,)).encode("windows-1250"))
    with own_database() as con:
        assert load_tables(con, files).encoding == "windows-1250"
        read = con.execute('SELECT DISTINCT city FROM cells ORDER BY "table"').fetchall()
    assert {town for (town,) in read} == {"Třebíč", "Plzeň"}


@pytest.mark.parametrize("encoding", TOWNS)
@pytest.mark.parametrize("declared", ["utf-8", "latin-1", "windows-1252", "utf-16"])
def test_the_advice_leads_to_an_encoding_that_reads_the_file(
    tmp_path: Path, encoding: str, declared: str
) -> None:
    text = text_of(TOWNS[encoding])
    path = written(tmp_path, text.encode(encoding))
    single = ("latin-1", "windows-1252")
    if declared == encoding or (
        declared in single and not encoding.startswith("utf") and _decodes(path, declared)
    ):
        return  # nothing in the bytes tells that they are other letters
    said = str(refused(path, tmp_path, encoding=declared))
    assert re.search(
        rf"Set source.encoding: {encoding}(, or| if '.*' is right; or) save the file as utf-8\.", said
    )
    assert f"not {declared}" in said or f"no byte order mark of {declared}" in said


def _decodes(path: Path, encoding: str) -> bool:
    try:
        text = path.read_bytes().decode(encoding)
    except UnicodeError:
        return False
    return not any("\x80" <= letter <= "\x9f" for letter in text)


def test_a_file_in_utf_8_under_another_encoding_is_told_by_its_mark(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + text_of(("Niš",)))
    assert "is utf-8, not windows-1252\n  Set source.encoding: utf-8." in str(
        refused(path, tmp_path, encoding="windows-1252")
    )


@pytest.mark.enemy(SUPPLIER, "stops the work")
@pytest.mark.parametrize(
    "bytes_", [b"\xe9", b"\x81\x30\x81\x30", b"\x88\x62"], ids=["one", "four", "expands"]
)
@pytest.mark.by_day(1)
def test_a_line_as_long_as_the_file_takes_little_memory_to_guess_and_decode(
    tmp_path: Path, bytes_: bytes
) -> None:
    path = written(tmp_path, bytes_ * ((32 << 20) // len(bytes_)))
    with sealed(path) as table:
        tracemalloc.start()
        try:
            assert not is_ascii(table)
            guess_encoding(table)
            with suppress(InputError), utf_8_text(table, "big5hkscs"):
                pass
            assert tracemalloc.get_traced_memory()[1] < 12 << 20
        finally:
            tracemalloc.stop()


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_a_copy_in_utf_8_takes_no_more_than_half_of_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, (HEADER + "p1,A,30,\xe9,flu,x,s\n" * 200_000).encode("latin-1"))
    monkeypatch.setattr(module, "memory_bytes", lambda: 4 << 20)
    said = str(refused(path, tmp_path, encoding="latin-1"))
    assert said == f"{path}: has more than 2 MiB in utf-8\n  Split the table, or save it as utf-8."


BAD = {
    "sep": (
        "sep=,\n",
        "",
        "line 1 tells a spreadsheet program the delimiter (sep=), and no names of columns",
    ),
    "other sep": ("sep=;\r\n", "", "line 1 tells a spreadsheet program the delimiter (sep=)"),
    "lf in crlf": ("", "p,A,30,York,flu,x,s\r\n", "line 4 ends in CRLF, and line 1 in LF"),
    "cr in lf": ("", "p,A,30,York,flu,x,s\rq,A,30,York,flu,x,s\n", "line 4 ends in CR, and line 1 in LF"),
    "cr at the end": ("", "p,A,30,York,flu,x,s\r", "line 4 ends in CR, and line 1 in LF"),
    "nul": ("", "p,A,30,Yo\0rk,flu,x,s\n", "line 4 contains a NUL byte"),
    "short row": ("", "p,A,30,York\n", "line 4 has 4 cells where line 1 has 7"),
    "stray quote": (
        "",
        'p,A,30,"Yo"rk,flu,x,s\n',
        "line 4 has a quote that opens or closes in the wrong place",
    ),
    "open quote": ("", 'p,A,30,"York,flu,x,s\n', "line 4 has a quote that is not closed"),
    **{
        f"two stray quotes, {kind}": (
            "",
            f"p,A,30,{first},flu,x,s\nq,A,31,York,flu,x,s\nr,A,32,{last},flu,x,s\n",
            "line 4 has a quote that is not closed",
        )
        for kind, first, last in (
            ("within", 'Yo"rk', 'Yo"rk'),
            ("before", '"York', '"York'),
            ("around several records", '"York', 'York"'),
        )
    },
    "stray quote in a name": ('"', "", "the line of column names has a quote that is not closed"),
}


@pytest.mark.parametrize("case", BAD)
def test_every_command_says_the_same_of_a_bad_file(tmp_path: Path, case: str) -> None:
    before, after, expected = BAD[case]
    path = written(tmp_path, before + text_of(("York",)).split("p2,")[0] + after)
    said = said_by_each(path, tmp_path)
    assert set(said.values()) == {said["run"]}
    assert said["run"].startswith(f"{path}: {expected}")


KINDS = {
    "gzip": (gzip.compress(text_of(("York",)).encode()), "a gzip file"),
    "bzip2": (bz2.compress(text_of(("York",)).encode()), "a bzip2 file"),
    "xz": (lzma.compress(text_of(("York",)).encode()), "an xz file"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(range(200)), "a zstd file"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "a PDF document"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "an old or an encrypted Excel file (.xls)"),
    "sas": (bytes(12) + b"\xc2\xea\x81\x60" + bytes(500), "a SAS file"),
    "html": (b"<!DOCTYPE html>\n<table>\n<tr><td>1</td></tr>\n", "a web page (HTML)"),
    "unknown": (bytes(range(256)) * 4, "a binary file of an unknown kind"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_told_by_its_first_bytes(tmp_path: Path, kind: str) -> None:
    content, named = KINDS[kind]
    path = written(tmp_path, content)
    said = said_by_each(path, tmp_path)
    assert set(said.values()) == {said["run"]}
    assert said["run"].startswith(f"{path}: is {named}, not text. ")
    assert str(refused(path, tmp_path, encoding="latin-1")).replace("\n  ", ". ") == said["run"]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("zip", "a ZIP archive, not text. Unpack it, and give the table in it."),
        ("xlsx", "an Excel workbook (.xlsx), not text. Name it .xlsx, or set source.format: excel."),
        ("sqlite", "a SQLite database, not text. Name it .sqlite, or set source.format: sqlite."),
        ("parquet", "a Parquet file, not text. Name it .parquet, or set source.format: parquet."),
    ],
)
def test_so_is_a_table_under_a_wrong_name(tmp_path: Path, kind: str, named: str) -> None:
    path = tmp_path / "t.csv"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.csv", HEADER)
    elif kind == "xlsx":
        openpyxl.Workbook().save(path)
    elif kind == "sqlite":
        with closing(sqlite3.connect(path)) as con, con:
            con.execute("CREATE TABLE t (a)")
    else:
        with duckdb.connect() as duck:
            duck.execute(f"COPY (SELECT 1 AS a) TO '{path}' (FORMAT parquet)")
    assert {*said_by_each(path, tmp_path).values()} == {f"{path}: is {named}"}


@pytest.mark.parametrize("first", ["PK,id", "BZh,PAR1", "ORC,Obj", "Rar!,x", "GIF,%PDF"])
def test_names_of_columns_are_no_kind_of_file(tmp_path: Path, first: str) -> None:
    path = written(tmp_path, f"{first}\n1,2\n")
    assert _drafted(path) == "utf-8"


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        ((11,), "line 12 is not utf-8"),
        ((11, 27), "lines 12, 28 are not utf-8"),
        (tuple(range(1, 10)), "lines 2, 3, 4, 5, 6 and 4 more are not utf-8"),
    ],
)
def test_a_few_lines_that_are_not_utf_8_do_not_garble_the_others(
    tmp_path: Path, damaged: tuple[int, ...], told: str
) -> None:
    lines_ = text_of(("Köln", "Łódź", "東京")).encode().splitlines(keepends=True)
    for at in damaged:
        lines_[at] = "p,A,30,Genève,flu,x,s\n".encode("latin-1")
    path = written(tmp_path, b"".join(lines_))
    advice = "Correct these lines, which may be in latin-1, and save the whole file as utf-8."
    assert {*said_by_each(path, tmp_path).values()} == {f"{path}: {told}, and all others are. {advice}"}


RUSSIAN = {
    "as names": TOWNS["koi8-r"],
    "large": tuple(map(str.upper, TOWNS["koi8-r"])),
    "one": ("Ж", "Ю"),
}


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-r", "iso-8859-5", "cp866"])
@pytest.mark.parametrize("towns", RUSSIAN.values(), ids=RUSSIAN)
def test_encodings_of_cyrillic_script_are_told_with_what_they_read(
    tmp_path: Path, encoding: str, towns: tuple[str, ...]
) -> None:
    path = written(tmp_path, text_of(towns).encode(encoding))
    said = said_by_each_policy(path, tmp_path)
    right = "|".join({*towns})
    assert set(said.values()) == {said["run"]}
    assert re.search(rf"{encoding}(, or save| if '({right})' is right)", said["run"])
    assert (" is right" in said["run"]) or _drafted(path) == encoding


@pytest.mark.parametrize(
    ("encoding", "towns"),
    [
        ("koi8-u", ("Київ", "Львів", "Харків", "Дніпро", "Запоріжжя")),
        ("windows-1251", ("Београд", "Ћуприја", "Ниш")),
        ("iso-8859-5", ("София", "Пловдив", "Варна")),
        ("windows-1253", ("ΑΘΗΝΑ", "ΠΑΤΡΑ")),
        ("windows-1255", ("ירושלים", "חיפה")),
        ("gb18030", ("北京", "上海", "广州")),
    ],
)
def test_other_languages_are_guessed_too(tmp_path: Path, encoding: str, towns: tuple[str, ...]) -> None:
    assert _drafted(written(tmp_path, text_of(towns).encode(encoding))) == encoding


def test_line_ends_are_held_against_line_1_across_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEADER + 'p,A,30,"Yo\r\nrk",flu,x,s\n' * 2 + "p,A,30,York,flu,x,s\r{}q,A,30,York,flu,x,s\n"
    for between, end in (("", "CR"), ("\n", "CRLF")):
        with sealed(written(tmp_path, text.format(between))) as table:
            for at_once in range(1, 60):
                monkeypatch.setattr(lines, "_AT_ONCE", at_once)
                with pytest.raises(InputError, match=f"line 6 ends in {end}, and line 1 in LF"):
                    lines.count_records(table, line_breaks=True)
