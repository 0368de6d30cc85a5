"""Workbooks and databases are read in a process of their own, within limits, and come out exactly."""

from __future__ import annotations

import io
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_excel import workbook
from test_intake import HEADER, ROW, read, refused, written
from test_query_process import processes
from test_sqlite_file import NAMES, database, visits

from policy.errors import InputError
from policy.trusted import Memory
from tasks import memory
from tasks.intake import child_process, copied_rows
from tasks.intake.cell_text import beginning
from tasks.intake.database import own_database
from tasks.intake.rows import Rows, write_rows
from tasks.intake.sealed_file import SealedFile
from tasks.intake.text_rows import names_of_rows, rows_reader
from tests.support.timeouts import HANG_TIMEOUT

SUPPLIER = "data supplier"
ROOT = Path(__file__).resolve().parents[3]
MANY = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < {n})"
cells = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_a_view_takes_no_more_than_the_owners_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20))
    hoard = f"{MANY.format(n=100_000)} SELECT hex(randomblob(500000)) AS t FROM n ORDER BY t"
    columns = NAMES.replace("city", f"(SELECT min(t) FROM ({hoard} LIMIT 90000)) AS city")
    error = refused(visits(tmp_path, f"CREATE VIEW v AS SELECT {columns} FROM visits"), tmp_path, table="v")
    assert "calls randomblob()" in str(error)  # which gives other bytes each time
    columns = columns.replace("randomblob(500000)", "zeroblob(500000 + x)")
    error = refused(visits(tmp_path, f"CREATE VIEW v AS SELECT {columns} FROM visits"), tmp_path, table="v")
    assert str(error).splitlines()[1:] == [
        "  Give more as memory_limit in trusted.yaml, or name a folder as spill there."
    ]
    assert ": needs more than the 64 MiB of memory_limit" in str(error)
    assert processes() == []


@pytest.mark.enemy(SUPPLIER, "reads a file")
@pytest.mark.integration
def test_what_a_view_sorts_is_written_into_no_file(tmp_path: Path) -> None:
    """SQLite sorts what is larger than its cache in a file of the system, unless it is told not to."""
    wide = NAMES.replace("id", "'CANARY' || (hex(x * 7919 % 150000)) AS id").replace("street", "x AS street")
    path = visits(
        tmp_path, f"CREATE VIEW v AS {MANY.format(n=150_000)} SELECT {wide} FROM visits, n ORDER BY 1, n.x"
    )
    done = subprocess.run(
        ["strace", "-f", "-qq", "-e", "trace=openat,open,creat", sys.executable, "-c", READ, path],
        cwd=ROOT, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("450000\n", 0), done.stderr[-600:]
    assert "etilqs" not in done.stderr
    made = [line for line in done.stderr.splitlines() if "O_CREAT" in line and "/proc/" not in line]
    assert made == []


READ = """
import sys
from pathlib import Path
from tasks.intake.copied_rows import copied_rows
from tasks.intake.sealed import sealed
with sealed(Path(sys.argv[1])) as table, copied_rows(table, "sqlite", "v", "") as rows, rows.open() as file:
    print(sum(1 for line in file) - 1)
"""


@pytest.mark.parametrize("made", ["workbook", "database"])
def test_a_process_that_dies_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: str) -> None:
    path = workbook(tmp_path) if made == "workbook" else visits(tmp_path)
    asked = child_process.ChildProcess.ask

    def killed(
        self: child_process.ChildProcess, message: dict[str, object], seconds: float
    ) -> dict[str, object]:
        if "kind" in message:
            for one in processes():
                one.send_signal(signal.SIGSEGV)
        return asked(self, message, seconds)

    monkeypatch.setattr(child_process.ChildProcess, "ask", killed)
    error = refused(path, tmp_path)
    assert (
        str(error).splitlines()[0]
        == f"{path}: needs more than 50% of the memory (its process ended: SIGSEGV)"
    )
    assert len(str(error).splitlines()) == 2
    assert processes() == []


@pytest.mark.enemy(SUPPLIER, "runs code")
@pytest.mark.parametrize(
    "answer",
    [
        {"error": "x" * 90},
        {"refused": ["SystemExit", "told", None, None]},
        {"refused": ["InputError", ["no text"], None, None]},
        {"refused": "InputError"},
        {"ready": True},
        {"rows": "3"},
    ],
)
def test_what_is_no_answer_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]
) -> None:
    """Whoever runs code in the process can say anything, and gains a refusal."""
    asked = child_process.ChildProcess.ask

    def said(
        self: child_process.ChildProcess, message: dict[str, object], seconds: float
    ) -> dict[str, object]:
        found = asked(self, message, seconds)
        return answer if "kind" in message else found

    monkeypatch.setattr(child_process.ChildProcess, "ask", said)
    assert isinstance(refused(visits(tmp_path), tmp_path), InputError)


def test_nothing_is_left_open_whether_rows_are_read_or_refused(tmp_path: Path) -> None:
    paths = [workbook(tmp_path), visits(tmp_path), written(tmp_path, "no workbook", "x.xlsx")]

    def opened() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    for path in paths:
        with suppress(InputError):
            read(path)
    before = opened()
    for path in paths:
        with suppress(InputError):
            read(path)
    assert (opened(), processes()) == (before, [])


def test_only_the_reader_holds_the_file_and_has_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEASEGATE_TOKEN", "a secret")
    seen: list[psutil.Process] = []
    asked = child_process.ChildProcess.ask

    def looked(
        self: child_process.ChildProcess, message: dict[str, object], seconds: float
    ) -> dict[str, object]:
        if "kind" in message:
            seen.extend(processes())
            assert set(seen[0].environ()) <= {"LD_LIBRARY_PATH"}
            files = [os.readlink(one) for one in Path(f"/proc/{seen[0].pid}/fd").iterdir()]  # noqa: PTH115
            assert sorted(one for one in files if one.startswith("/memfd")) == [
                "/memfd:input (deleted)",
                "/memfd:rows (deleted)",
            ]
        return asked(self, message, seconds)

    monkeypatch.setattr(child_process.ChildProcess, "ask", looked)
    assert len(read(visits(tmp_path)).frame) == 3
    assert len(seen) == 1


@given(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=8), st.booleans())
def test_rows_are_read_as_they_were_written(rows: list[list[str | None]], leave_out: bool) -> None:
    """Quotes, line ends, backslashes and the mark of a missing cell are cells like others."""
    names = ['a,"b"\r\n', "c"]
    written_ = io.BytesIO()
    write_rows(written_, Rows(names, iter(rows)), ["c"] if leave_out else [], "here")
    handle = os.memfd_create("rows")
    try:
        os.write(handle, written_.getvalue())
        table = SealedFile("here", Path(f"/proc/self/fd/{handle}"), "", len(written_.getvalue()))
        assert names_of_rows(table) == names
        with own_database() as connection:
            found = connection.execute(f"SELECT * FROM {rows_reader(table, names)}").fetchall()
    finally:
        os.close(handle)
    assert found == [(a, beginning(c) if leave_out else c) for a, c in rows]


def test_a_database_of_odd_texts_is_read_exactly(tmp_path: Path) -> None:
    odd = ["\\N", '"', "a\nb", "a\r\nb", "'", "\u202e", " ", "é" * 300]
    path = database(tmp_path, f"CREATE TABLE visits ({NAMES})")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, text in enumerate(odd):
            row = (f"p{number}", "Ann", 30, text, "flu", "ok", None)
            connection.execute("INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    assert read(path, missing=[""]).frame["city"].tolist() == odd


def test_a_cell_with_a_nul_is_refused_as_in_a_csv_file(tmp_path: Path) -> None:
    path = visits(tmp_path, "UPDATE visits SET city = char(0)")
    assert refused(path, tmp_path, missing=[]).message == "the column 'city' has a cell with a NUL character"


def test_cells_of_several_lines_with_commas_are_read_whatever_the_size(tmp_path: Path) -> None:
    """Each such line looks like a row of two columns, from which a part of the file could begin."""
    note = "a note, of\nseveral, lines\n" * 40
    path = database(tmp_path, f"CREATE TABLE visits ({NAMES})")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            f"INSERT INTO visits ({NAMES}) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n "
            "WHERE x < 70000) SELECT 'p' || x, 'Ann', 30, ?, 'flu', 'ok', NULL FROM n", [note],
        )  # fmt: skip
    assert path.stat().st_size > 64 << 20
    found = read(path, missing=[""]).frame
    assert (len(found), found["city"].nunique()) == (70_000, 1)


@pytest.mark.enemy(SUPPLIER, "stops the work")
def test_rows_are_no_longer_than_those_of_a_table_of_this_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_rows, "HARMLESS_BYTES", 1 << 20)
    monkeypatch.setattr(copied_rows, "LARGEST_RATIO", 20)
    wide = NAMES.replace("city", "printf('%064000d', x) AS city").replace("street", "x AS street")
    path = visits(tmp_path, f"CREATE VIEW v AS {MANY.format(n=2000)} SELECT {wide} FROM visits, n")
    error = refused(path, tmp_path, table="v")
    assert str(error) == f"{path}: has more than 1 MiB as text\n  Give the table alone, as CSV or Parquet."


def test_a_row_that_gets_lost_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = child_process.ChildProcess.ask

    def more(
        self: child_process.ChildProcess, message: dict[str, object], seconds: float
    ) -> dict[str, object]:
        found = asked(self, message, seconds)
        return {"rows": 4} if "kind" in message else found

    monkeypatch.setattr(child_process.ChildProcess, "ask", more)
    assert refused(visits(tmp_path), tmp_path).message == "has 4 rows, but 3 were read"


def test_a_file_without_a_query_is_read_in_such_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, HEADER + ROW)
    places: list[tuple[str, ...]] = []
    started = child_process._started

    def start(files: list[int]) -> subprocess.Popen[bytes]:
        process = started(files)
        assert isinstance(process.args, list)
        places.append(tuple(process.args[1:3]))
        return process

    monkeypatch.setattr(child_process, "_started", start)
    assert len(read(path).frame) == 1
    assert places == [("-I", "-S")]
    assert copied_rows.COPIED == ("excel", "sqlite")
