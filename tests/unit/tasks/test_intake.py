"""Reading a period's table: what is kept, what counts as missing, and each way it can go wrong."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.errors import InputError, ReleaseGateError, UsageError
from policy.model import ReleasePolicy
from tasks.intake.cells import known
from tasks.intake.encoding import utf_8_text
from tasks.intake.frame import frame_digest
from tasks.intake.read import read_table
from tasks.intake.sealed import sealed
from tasks.types import SourceTable

CANARY = "canary7731"
HEADER = "id,name,age,city,disease,note,street\n"
ROW = "p1,Ann,30,Leeds,flu,ok,Elm\n"
COLUMNS = ["id", "age", "city", "disease", "note"]
NOT_CLOSED = (
    "has a quote that is not closed\n  Double the quotes inside quoted text. If values contain line "
    "breaks, set source.line_breaks: true."
)
QUOTING = "Put cells with a delimiter or quote in double quotes, and double the quotes in them."


def policy(**source: Any) -> ReleasePolicy:
    return ReleasePolicy.model_validate(
        {
            "series": "register",
            "source": source,
            "roles": {
                "key": "id",
                "identifiers": ["name"],
                "quasi_identifiers": {
                    "age": {"type": "numeric", "bounds": [0, 120]},
                    "city": {"type": "categorical"},
                },
                "sensitive": {"disease": {"stability": "stable"}},
                "kept": ["note"],
                "dropped": ["street"],
            },
        }
    )


def read(path: Path, **source: Any) -> SourceTable:
    return read_table(policy(**source), input_path=path, period="2024Q1", base=path.parent)


def written(folder: Path, content: str | bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def parquet(folder: Path, query: str, name: str = "t.parquet") -> Path:
    path = folder / name
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return path


def refused(path: Path | None, base: Path, /, period: str = "2024Q1", **source: Any) -> ReleaseGateError:
    """Return the error, which must hold no cell of the source, in itself or in what caused it."""
    with pytest.raises(ReleaseGateError) as caught:
        read_table(policy(**source), input_path=path, period=period, base=base)
    error = caught.value
    assert CANARY not in str(error) + repr(error)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert len(str(error).splitlines()) <= 2
    return error


def test_columns_come_in_the_order_of_the_roles_and_rows_in_the_input_s(tmp_path: Path) -> None:
    path = written(
        tmp_path, "note,street,disease,city,age,name,id\nb,S,flu,York,41,Bo,p2\na,T,cold,Leeds,30,An,p1\n"
    )
    table = read(path)
    assert list(table.frame.columns) == COLUMNS
    assert table.frame["id"].tolist() == ["p2", "p1"]
    assert table.frame["age"].tolist() == [41.0, 30.0]
    assert table.frame.dtypes.astype(str).tolist() == ["category", "float64", *["category"] * 3]
    assert table.origin == "t.csv"
    assert table.digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_missing_tokens_match_exactly_and_only_those_of_the_policy(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + 'p1,A,?,NA," ?",,s\np2,B,5,"?",na,x,s\n')
    frame = read(path, missing=["?", "NA"]).frame
    assert frame["age"].isna().tolist() == [True, False]
    assert frame["age"].dtype == np.float64
    assert frame["city"].isna().tolist() == [True, True]
    assert frame["disease"].tolist() == [" ?", "na"]
    assert frame["note"].tolist() == ["", "x"]


def test_no_missing_token_leaves_empty_text(tmp_path: Path) -> None:
    frame = read(written(tmp_path, HEADER + "p1,A,1,,flu,,s\n"), missing=[]).frame
    assert frame[["city", "note"]].to_numpy().tolist() == [["", ""]]


@pytest.mark.parametrize("bad", ["x", "inf", "nan", "1e999", "1_000", "0x10", "1,5", "٣"])
def test_a_numeric_column_with_a_cell_that_is_no_number_stays_text(tmp_path: Path, bad: str) -> None:
    frame = read(written(tmp_path, HEADER + f'p1,A,"{bad}",L,flu,x,s\np2,A,7,L,flu,x,s\n')).frame
    assert frame["age"].tolist() == [bad, "7"]


def test_numbers_are_read_in_plain_and_exponent_notation(tmp_path: Path) -> None:
    cells = ["1", "-2.5", "+3", ".5", "4.", "1e2", " 7 ", "0010"]
    path = written(tmp_path, HEADER + "".join(f"p,A,{cell},L,flu,x,s\n" for cell in cells))
    assert read(path).frame["age"].tolist() == [1, -2.5, 3, 0.5, 4, 100, 7, 10]


def test_tsv_gzip_semicolons_latin1_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    plain = HEADER + "p1,A,30,Zürich,flu,x,s\n"
    expected = read(written(tmp_path, plain)).frame
    pairs: list[tuple[Path, dict[str, Any]]] = [
        (written(tmp_path, plain.replace(",", "\t"), "t.tsv"), {}),
        (written(tmp_path, gzip.compress(plain.encode()), "t.csv.gz"), {}),
        (written(tmp_path, plain.replace(",", ";"), "s.csv"), {"delimiter": ";"}),
        (written(tmp_path, plain.encode("latin-1"), "l.csv"), {"encoding": "latin-1"}),
        (written(tmp_path, "\ufeff" + plain, "bom.csv"), {}),
        (written(tmp_path, plain.replace("\n", "\r\n"), "crlf.csv"), {}),
        (written(tmp_path, plain, "t.txt"), {"format": "csv"}),
    ]
    for path, source in pairs:
        pd.testing.assert_frame_equal(read(path, **source).frame, expected)


def test_a_file_name_is_no_pattern_of_names(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROW, "t[1]?.csv")
    written(tmp_path, HEADER + ROW.replace("Leeds", CANARY), "t1x.csv")
    assert read(path).frame["city"].tolist() == ["Leeds"]


def test_quoted_cells_hold_delimiters_quotes_and_line_ends(tmp_path: Path) -> None:
    frame = read(written(tmp_path, HEADER + 'p1,A,30,"a,b","say ""x""","l1\nl2",s\n'), line_breaks=True).frame
    assert frame.iloc[0].tolist() == ["p1", 30.0, "a,b", 'say "x"', "l1\nl2"]


def test_csv_parquet_and_query_give_equal_frames(tmp_path: Path) -> None:
    rows = [
        f"p{i},N{i},{'' if i % 7 == 0 else i % 90},c{i % 5},{'' if i % 11 == 0 else 'flu'},n,s\n"
        for i in range(500)
    ]
    csv = written(tmp_path, HEADER + "".join(rows))
    native = parquet(
        tmp_path,
        f"SELECT * REPLACE (TRY_CAST(age AS SMALLINT) AS age) FROM read_csv('{csv}', all_varchar = true)",
    )
    expected = read(csv)
    assert expected.frame["age"].isna().sum() == 72
    pd.testing.assert_frame_equal(read(native).frame, expected.frame)
    pd.testing.assert_frame_equal(read(native, query="select * from input").frame, expected.frame)
    over_csv = read(csv, query="from input where id != '{period}'")
    pd.testing.assert_frame_equal(over_csv.frame, expected.frame)
    assert over_csv.digest == expected.digest
    alone = read_table(
        policy(query="select * from native", inputs={"native": "t.parquet"}),
        input_path=None,
        period="2024Q1",
        base=tmp_path,
    )
    pd.testing.assert_frame_equal(alone.frame, expected.frame)
    assert (alone.origin, alone.digest) == ("query", frame_digest(expected.frame))


def test_a_query_s_digest_is_that_of_its_rows_as_csv(tmp_path: Path) -> None:
    query = "select 'p1' id, 'N' as name, 30 age, 'Leeds' city, NULL::varchar disease, 'a,b' note, 's' street"
    table = read_table(policy(query=query), input_path=None, period="p", base=tmp_path)
    assert table.digest == hashlib.sha256(b'id,age,city,disease,note\np1,30.0,Leeds,,"a,b"\n').hexdigest()


def test_the_period_chooses_the_file_beside_the_policy_and_the_rows_of_a_query(tmp_path: Path) -> None:
    written(tmp_path, HEADER + ROW, "t_2024Q1.csv")
    table = read_table(policy(path="t_{period}.csv"), input_path=None, period="2024Q1", base=tmp_path)
    assert (table.origin, len(table.frame)) == ("t_2024Q1.csv", 1)
    both = written(tmp_path, HEADER + ROW + ROW.replace("p1", "p2").replace("ok", "2024Q1"))
    chosen = read(both, query="select * from input where note = '{period}' order by id;")
    assert chosen.frame["id"].tolist() == ["p2"]


def test_a_query_may_try_a_cast_over_a_csv_file(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROW + ROW.replace("30", "x"))
    frame = read(path, query="select * replace (try_cast(age as integer) as age) from input").frame
    assert frame["age"].fillna(-1).tolist() == [30, -1]


def test_native_types_become_numbers_or_text_and_nan_is_missing(tmp_path: Path) -> None:
    path = parquet(
        tmp_path,
        "SELECT unnest([1, 2, 3]) AS id, 'x' AS name, unnest(['nan'::DOUBLE, 'inf'::DOUBLE, 2.5]) AS age, "
        "unnest([true, false, NULL]) AS city, unnest([DATE '2020-02-29', NULL, NULL]) AS disease, "
        "unnest(['nan'::FLOAT, 1.5, NULL]) AS note, unnest([[1], [2], [3]]) AS street",
    )
    frame = read(path).frame
    texts = frame[["id", "city", "disease", "note"]].apply(lambda column: column.astype("str"))
    assert frame["id"].tolist() == ["1", "2", "3"]
    assert frame["age"].isna().tolist() == [True, False, False]
    assert frame["age"].tolist()[1:] == [np.inf, 2.5]
    assert texts["city"].fillna("-").tolist() == ["true", "false", "-"]
    assert texts["disease"].fillna("-").tolist() == ["2020-02-29", "-", "-"]
    assert texts["note"].fillna("-").tolist() == ["-", "1.5", "-"]
    assert {str(frame[name].cat.categories.dtype) for name in texts} == {"str"}


def test_a_table_of_many_chunks_keeps_its_rows_in_order(tmp_path: Path) -> None:
    n = 250_000
    path = parquet(
        tmp_path,
        f"SELECT 'p' || i AS id, '' AS name, i AS age, 'c' || (i % 9) AS city, 'flu' AS disease, "
        f"NULL::VARCHAR AS note, '' AS street FROM range({n}) t(i)",
    )
    frame = read(path).frame
    assert np.array_equal(frame["age"], np.arange(n))
    assert (frame["id"] == [f"p{i}" for i in range(n)]).all()
    assert (frame["city"] == [f"c{i % 9}" for i in range(n)]).all()
    assert frame["note"].isna().all()
    assert isinstance(frame["city"].dtype, pd.CategoricalDtype)
    assert frame["city"].memory_usage(index=False, deep=True) < 2 * n  # a byte a row, and nine texts


def test_a_column_of_more_texts_than_are_pooled_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.intake.frame.LARGEST_POOL", 300)
    n = 250_000  # in several chunks, of which the first has no more texts than are pooled
    path = parquet(
        tmp_path,
        "SELECT 'p' || i AS id, '' AS name, i AS age, CASE WHEN i % 7 > 0 THEN "
        "'c' || (i % CASE WHEN i < 110000 THEN 200 ELSE 600 END) END AS city, 'flu' AS disease, "
        f"NULL::VARCHAR AS note, '' AS street FROM range({n}) t(i)",
    )
    city = read(path).frame["city"]
    expected = [f"c{i % (200 if i < 110_000 else 600)}" if i % 7 else None for i in range(n)]
    assert isinstance(city.dtype, pd.StringDtype)
    assert [None if pd.isna(one) else one for one in city] == expected


BAD_FILES: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "empty": ("", {}, "the file is empty\n  Give a table with a line of column names and its rows."),
    "blank": (" \n\n", {}, "the file is empty\n  Give a table with a line of column names and its rows."),
    "header only": (HEADER, {}, "has column names but no rows\n  Give the period's whole table."),
    "blank first line": (
        "\n" + HEADER + ROW,
        {},
        "line 1 is blank\n  Line 1 must have the names of the columns.",
    ),
    "no header": (
        f"p1,Ann,30,Leeds,{CANARY},{CANARY},Elm\n" * 2,
        {},
        (
            "none of its 7 columns is in the roles of the policy\n"
            "  Line 1 must have the names of the columns; source.delimiter sets the delimiter."
        ),
    ),
    "wrong delimiter": (
        (HEADER + ROW).replace(",", ";"),
        {},
        (
            "line 1 is one column with the delimiter ',', but contains ';'\n"
            '  Write source.delimiter: ";" in the policy.'
        ),
    ),
    "duplicate": (
        HEADER.replace("note", "age") + ROW,
        {},
        "columns 3 and 6 have the same name, 'age'\n  Give every column a different name.",
    ),
    "case duplicate": (
        HEADER.replace("note", "Age") + ROW,
        {},
        (
            "columns 3 and 6 have the same name apart from case, 'age' and 'Age'\n"
            "  Give every column a different name."
        ),
    ),
    "no name": (
        HEADER.replace("note", "") + ROW,
        {},
        "column 6 has no name\n  Name every column in line 1.",
    ),
    "no role": (
        HEADER.replace("note", "note,phone") + ROW.replace("ok", f"ok,{CANARY}"),
        {},
        "the column 'phone' has no role\n  Give it a role in the policy; roles.dropped leaves a column out.",
    ),
    "two without role": (
        HEADER.replace("note", "note,phone,mail") + ROW.replace("ok", f"ok,{CANARY},x"),
        {},
        (
            "the column 'phone' has no role (1 more has none)\n"
            "  Give it a role in the policy; roles.dropped leaves a column out."
        ),
    ),
    "misspelt": (
        HEADER.replace("disease", "diseases") + ROW.replace("flu", CANARY),
        {},
        (
            "the column 'disease' of the policy's roles is missing (did you mean 'diseases'?)\n"
            "  Correct the name in roles, or the input."
        ),
    ),
    "identifier missing": (
        HEADER.replace(",name", "") + ROW.replace(",Ann", ""),
        {},
        "the column 'name' of the policy's roles is missing\n  Correct the name in roles, or the input.",
    ),
    "short row": (
        HEADER + ROW + f"p2,{CANARY}\n" + ROW + "p3\n",
        {},
        f"line 3 has 2 cells where line 1 has 7 (2 such rows)\n  {QUOTING}",
    ),
    "long row": (
        HEADER + 'p0,"a\nb",1,L,flu,x,s\n' + ROW.replace("ok", f"ok,{CANARY}"),
        {"line_breaks": True},
        f"line 4 has 8 cells where line 1 has 7\n  {QUOTING}",
    ),
    "one empty cell too many": (
        HEADER + ROW + f"p2,A,3,L,{CANARY},x,s,\n" + ROW,
        {},
        (
            "line 3 has more than 7 cells, the number in line 1\n"
            "  Put cells that contain the delimiter in double quotes."
        ),
    ),
    "unclosed quote": (
        HEADER + ROW + f'p2,A,3,"{CANARY},flu,x,s\n' + ROW,
        {},
        f"line 3 {NOT_CLOSED}",
    ),
    "line break in quotes": (
        HEADER + ROW + f'p2,A,3,"{CANARY}\n{CANARY}",flu,x,s\n' + ROW,
        {},
        f"line 3 {NOT_CLOSED}",
    ),
    "text after a quote": (
        HEADER + ROW + f'p2,A,3,"L"{CANARY},flu,x,s\n' + ROW,
        {},
        f"line 3 has a quote that opens or closes in the wrong place\n  {QUOTING}",
    ),
    "unclosed name": (
        '"' + HEADER + ROW,
        {},
        (
            "the line of column names has a quote that is not closed, or is too long\n"
            "  Quotes are doubled inside quoted text."
        ),
    ),
    "not utf-8": (
        (HEADER + ROW).encode() + f"p2,A,3,Zürich {CANARY},flu,x,s\n".encode("latin-1"),
        {},
        (
            "line 3 is not utf-8\n  Set source.encoding: latin-1 if 'ü' is right, cp852 if 'Ř' is right; "
            "or save the file as utf-8."
        ),
    ),
    "ends within a character": (
        (HEADER + ROW).encode() + b"p2,A,3,Z\xc3",
        {},
        (
            "line 3 is not utf-8\n  Set source.encoding: latin-1 if 'Ã' is right, windows-1250 if 'Ă' "
            "is right; or save the file as utf-8."
        ),
    ),
    "nul byte": (
        HEADER + ROW + f"p2,A,3,{CANARY}\0,flu,x,s\n",
        {},
        "line 3 contains a NUL byte\n  Give a plain text table; binary files cannot be read.",
    ),
    "cr alone": (
        (HEADER + ROW).replace("\n", "\r"),
        {},
        "its lines end in CR alone\n  Save the file with LF or CRLF line ends.",
    ),
    "mixed line ends": (
        HEADER + ROW.replace("\n", "\r\n") + ROW,
        {},
        "line 2 ends in CRLF, and line 1 in LF\n  Save the file with one kind of line end.",
    ),
    "long line": (
        HEADER + ROW + ROW.replace("ok", "x" * 2_100_000),
        {},
        "line 3 has more than 1,048,576 bytes\n  Check the quotes and line ends there.",
    ),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_csv_file_is_one_clear_error(tmp_path: Path, case: str) -> None:
    content, source, expected = BAD_FILES[case]
    path = written(tmp_path, content)
    error = refused(path, tmp_path, **source)
    assert str(error) == f"{path}: {expected}"
    assert (type(error), error.exit_code) == (InputError, 3)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "t.csv.gz",
            b"plain text",
            "cannot be read (BadGzipFile)\n  The file is damaged or is not a gzip file.",
        ),
        (
            "t.csv.gz",
            gzip.compress((HEADER + ROW).encode(), mtime=0)[:-12],
            "cannot be read (EOFError)\n  The file is damaged or is not a gzip file.",
        ),
        (
            "t.ods",
            b"x",
            (
                "the format of the file is unknown\n"
                "  Name it .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .xlsx, .sqlite, .sqlite3, .db, or set "
                "source.format."
            ),
        ),
        ("t.parquet", b"", "the file is empty\n  Give a Parquet file with rows."),
        (
            "t.parquet",
            CANARY.encode(),
            "is not a Parquet file\n  Copy it again, or set source.format: csv.",
        ),
        (
            "t.parquet",
            b"PAR1" + CANARY.encode(),
            "is not a Parquet file (it is cut off)\n  Copy it again, or set source.format: csv.",
        ),
        (
            "t.parquet",
            b"PAR1" + CANARY.encode() * 9 + b"PAR1",
            "cannot be read (InvalidInputException)\n  The file may be damaged: export it again.",
        ),
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = written(tmp_path, content, name)
    assert str(refused(path, tmp_path)) == f"{path}: {expected}"


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    gone = refused(tmp_path / "gone.csv", tmp_path)
    assert str(gone) == f"{tmp_path / 'gone.csv'}: no such file\n  Give --input FILE, or correct source.path."
    folder = refused(tmp_path, tmp_path)
    assert str(folder) == f"{tmp_path}: is a folder\n  Give the path of one CSV or Parquet file."


def test_a_policy_that_names_no_table_is_a_usage_error(tmp_path: Path) -> None:
    error = refused(None, tmp_path)
    assert str(error) == ("source: names no table\n  Give --input FILE, or set source.path or source.query.")
    assert (type(error), error.exit_code) == (UsageError, 2)
    assert str(refused(tmp_path / "t.csv", tmp_path, format="sql")) == (
        "source.format: is 'sql', but there is no query\n  Set source.query."
    )


@pytest.mark.parametrize("period", ["2024'; drop", "a/b", "", "2024 Q1", "x\n"])
def test_a_period_with_other_characters_is_not_filled_in(tmp_path: Path, period: str) -> None:
    error = refused(None, tmp_path, period=period, query="select '{period}'")
    assert str(error) == (
        "source.query: {period} cannot be filled in: a period has letters, digits and _ . : - only\n"
        "  Give a period such as 2024Q1."
    )


DECLARED = "A query can read `input`, which is the table, and the names in source.inputs."
TRY = "Try the query in DuckDB; the input file is called `input` there."


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select nope from input", f"fails (BinderException) at 'nope'\n  {TRY}"),
        ("select * from elsewhere", f"reads 'elsewhere', which is not a declared input\n  {DECLARED}"),
        ("selec 1", f"fails (ParserException) at 'selec'\n  {TRY}"),
        ("select * from 'gone.csv'", f"reads 'gone.csv', which is not a declared input\n  {DECLARED}"),
        (
            "select * replace (cast(disease as integer) as disease) from input",
            f"fails (ConversionException) at 'disease'\n  {TRY}",
        ),
        (
            "select * replace (error(disease) as disease) from input",
            f"fails (InvalidInputException)\n  {TRY}",
        ),
        ("select 1; select 2", "is not one SELECT\n  Write one SELECT statement of DuckDB's SQL."),
        ("copy (select 1) to 'x.csv'", "is not one SELECT\n  Write one SELECT statement of DuckDB's SQL."),
        (" -- nothing", "is not one SELECT\n  Write one SELECT statement of DuckDB's SQL."),
        ("from input where false", "gives no rows\n  Check the period and the table's rows."),
        (
            "select *, 1 as extra from input",
            (
                "the column 'extra' has no role\n"
                "  Give it a role in the policy; roles.dropped leaves a column out."
            ),
        ),
        (
            "select *, 1 as age from input",
            "columns 3 and 8 have the same name, 'age'\n  Give every column a different name.",
        ),
    ],
)
def test_a_query_that_fails_is_told_without_a_cell(tmp_path: Path, query: str, expected: str) -> None:
    path = written(tmp_path, HEADER + ROW.replace("flu", CANARY))
    error = refused(path, tmp_path, query=query)
    assert str(error) == f"source.query: {expected}"
    assert not (tmp_path / "x.csv").exists()


def test_a_query_cannot_see_the_process_s_variables(tmp_path: Path) -> None:
    assert "not a declared input" in str(refused(None, tmp_path, query="select * from builder"))


def test_a_ragged_row_under_a_query_is_told_with_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER + ROW + f"{CANARY},x\n")
    error = refused(path, tmp_path, query="select * from input where id is not null")
    assert str(error) == f"{path}: line 3 has 2 cells where line 1 has 7\n  {QUOTING}"


def test_a_file_without_names_is_not_quoted_under_a_query_either(tmp_path: Path) -> None:
    path = written(tmp_path, f"{CANARY},{CANARY},30\n" * 2)
    assert str(refused(path, tmp_path, query="from input")).startswith(
        f"{path}: columns 1 and 2 have the same name\n"
    )


def test_bad_lines_are_numbered_across_the_chunks_of_a_long_file(tmp_path: Path) -> None:
    line = "é" * 500 + "\n"
    content = (line * 3000).encode()
    bad = content + b"x\xff\n" + content
    for text, finding in ((bad, "is not utf-8"), (content + b"x\0\n", "contains a NUL byte")):
        file = written(tmp_path, text)
        with (
            pytest.raises(InputError, match=f"line 3001 {finding}"),
            sealed(file) as table,
            utf_8_text(table, "utf-8"),
        ):
            pass
    with sealed(written(tmp_path, bad)) as table, utf_8_text(table, "latin-1") as found:
        assert found.path.read_bytes() == bad.decode("latin-1").encode()


def test_a_ragged_row_far_down_has_its_line_number_in_latin1_too(tmp_path: Path) -> None:
    rows = 'p1,A,30,Zürich,"l1\nl2",x,s\n' * 40_000
    path = written(tmp_path, (HEADER + rows + "p1,A\n" + rows).encode("latin-1"))
    error = refused(path, tmp_path, encoding="latin-1", line_breaks=True)
    assert str(error).startswith(f"{path}: line 80002 has 2 cells where line 1 has 7\n")


cells = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=6)


@given(rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=6))
@pytest.mark.integration
def test_every_quoted_text_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("quoted")
    lines = [
        ",".join('"' + cell.replace('"', '""') + '"' for cell in ("p", "n", "1", a, b, c, "s")) + "\n"
        for a, b, c in rows
    ]
    frame = read(written(folder, HEADER + "".join(lines)), missing=[], line_breaks=True).frame
    assert frame[["city", "disease", "note"]].to_numpy().tolist() == [list(row) for row in rows]


def test_rows_have_the_order_of_the_file_however_many_texts_say_that_a_cell_is_missing() -> None:
    missing = ("", "?", "NA", "N/A", "NULL", "nan")
    with duckdb.connect() as con:
        con.execute("SET threads = 2")
        con.execute("CREATE TABLE cells AS SELECT i::VARCHAR AS cell FROM range(300_000) t(i)")
        found = con.execute(f"SELECT {known('cell', missing)} AS cell FROM cells").fetchnumpy()["cell"]
    assert np.array_equal(found.astype(np.int64), np.arange(300_000))
