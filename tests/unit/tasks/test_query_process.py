"""The process of a query: its limits hold whatever the query calls, it has no secret, and leaves nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import psutil
import pytest
from test_intake import COLUMNS, HEADER, ROW, policy, read, refused, written

from policy.errors import InputError, TransientFailure
from policy.trusted import Memory
from tasks import memory
from tasks.intake import query as querying
from tasks.intake import table_process
from tasks.intake.database_process import DatabaseProcess, ProcessEnded
from tests.support.timeouts import HANG_TIMEOUT

AUTHOR = "policy author"
ROOT = Path(__file__).resolve().parents[3]


def processes() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


@contextmanager
def started(*files: int) -> Iterator[tuple[DatabaseProcess, psutil.Process]]:
    before = processes()
    with DatabaseProcess(files) as database:
        (process,) = [one for one in processes() if one not in before]
        yield database, process


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return written(tmp_path, HEADER + ROW)


@pytest.mark.enemy(AUTHOR, "stops the work")
@pytest.mark.parametrize(
    "call",
    [
        "md5(repeat(i.note, 40000000))",
        "md5(list_sort(range(90000000))::text)",
    ],
)
def test_a_function_takes_no_more_than_the_owners_limit(
    table: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20))
    query = f"select i.* replace ({call} as note) from input i, range(60) t(a)"
    error = refused(table, table.parent, query=query)
    assert isinstance(error, InputError)
    assert str(error) == (
        "source.query: needs more than the 64 MiB of memory_limit\n"
        "  Ask for less, or give more as memory_limit in trusted.yaml, or name a folder as spill there."
    )


@pytest.mark.enemy(AUTHOR, "stops the work")
@pytest.mark.parametrize(
    "query",
    [
        # One call, in which DuckDB looks at no clock.
        "select i.* from input i where levenshtein(repeat(note, 3000000), repeat(id, 3000000)) = 1",
        "with recursive t(n) as (select 1 union all select n from t) from input where (select max(n) from t)",
        "select i.* from input i, range(100000000) a(x), range(100000000) b(y) where md5(x || y) = 'x'",
    ],
)
def test_the_time_of_a_query_ends_whatever_it_calls(
    table: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(querying, "QUERY_SECONDS", 0.3)
    error = refused(table, table.parent, query=query)
    assert str(error).splitlines() == [
        "source.query: took longer than 0 seconds",
        "  Ask for less, or prepare the table beforehand.",
    ]
    assert processes() == []


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL", "SIGBUS"])
def test_a_process_that_dies_is_one_line(table: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def killed(*_: object) -> None:
        for one in processes():
            one.send_signal(signal.Signals[name])

    monkeypatch.setattr(querying, "problem_of", killed)
    error = refused(table, table.parent, query="select * from input")
    assert str(error).splitlines()[0] == (
        f"source.query: needs more than 50% of the memory (its process ended: {name})"
    )
    assert len(str(error).splitlines()) == 2
    assert processes() == []


def test_a_process_that_used_its_processor_time_up_took_too_long(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object) -> None:
        for one in processes():
            one.send_signal(signal.SIGXCPU)

    monkeypatch.setattr(querying, "problem_of", ended)
    error = refused(table, table.parent, query="select * from input")
    assert str(error).startswith("source.query: took longer than 3,600 seconds\n")


def test_processor_time_is_limited_as_long_as_a_query_runs() -> None:
    with started() as (database, process):
        threads = int(database.execute("SELECT current_setting('threads')").fetchall()[0][0])
        with database.within(50):
            soft, _ = process.rlimit(psutil.RLIMIT_CPU)
            assert 50 * threads <= soft <= 50 * threads + 60
        assert process.rlimit(psutil.RLIMIT_CPU)[0] == resource_of_this_process()


def resource_of_this_process() -> int:
    return int(psutil.Process().rlimit(psutil.RLIMIT_CPU)[0])


def test_what_does_not_start_is_one_line(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for program in ("/nowhere/python", "/bin/false"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(TransientFailure) as caught:
            read(table, query="select * from input")
        assert str(caught.value).startswith("the process that reads a table does not start (")
        assert len(str(caught.value).splitlines()) == 2
    assert processes() == []


@pytest.mark.enemy(AUTHOR, "reads a file")
def test_the_process_has_no_secret_and_nothing_that_is_open_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEASEGATE_TOKEN", "a secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    secret = os.open(written(tmp_path, "a secret", "store.key"), os.O_RDONLY)
    os.set_inheritable(secret, True)
    given = os.memfd_create("given")
    try:
        with started(given) as (_, process):
            assert set(process.environ()) <= {"LD_LIBRARY_PATH"}
            assert process.cwd() == "/"
            assert "secret" not in " ".join(process.cmdline())
            opened = [str(one.readlink()) for one in Path(f"/proc/{process.pid}/fd").iterdir()]
            files = [name for name in opened if not name.startswith(("pipe:", "anon_inode:", "/dev/null"))]
            assert sorted(files) == ["/memfd:given (deleted)", "/memfd:rows (deleted)"]
            assert sum(name.startswith("pipe:") for name in opened) == 2
    finally:
        os.close(secret)
        os.close(given)


def test_the_process_leaves_no_core_file_and_has_a_group_and_limits_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20))
    with started() as (database, process):
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
        assert os.getpgid(process.pid) == process.pid == os.getsid(process.pid)
        soft, hard = process.rlimit(psutil.RLIMIT_AS)
        assert soft == hard
        threads = int(database.execute("SELECT current_setting('threads')").fetchall()[0][0])
        own = (64 << 20) + table_process.MARGIN + threads * table_process.MARGIN_OF_THREAD
        assert own < hard <= own + process.memory_info().vms
        assert process.rlimit(psutil.RLIMIT_FSIZE)[1] > 0
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert "NoNewPrivs:\t1" in status


@pytest.mark.enemy("owner of the folder", "runs code")
def test_no_module_comes_from_the_folder_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit(9)\n"
    for name in ("json", "duckdb", "ctypes", "policy", "tasks", "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(planted)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    with DatabaseProcess() as database:
        assert database.execute("SELECT 42").fetchone() == (42,)
    assert not (tmp_path / "ran").exists()


def test_nothing_is_left_open_whether_a_query_is_read_or_refused(table: Path) -> None:
    def opened() -> int:
        return len([*Path("/proc/self/fd").iterdir()])

    read(table, query="select * from input")
    before = opened()
    for query in ("select * from input", "select nope from input", "select pg_sleep(1) from input", "x"):
        with suppress(InputError):
            read(table, query=query)
    assert (opened(), processes()) == (before, [])


def test_a_query_runs_in_any_thread(table: Path) -> None:
    """A process that ends with the thread that started it: that one waits for it."""
    found: list[int] = []
    work = [
        threading.Thread(target=lambda: found.append(len(read(table, query="select * from input").frame)))
        for _ in range(2)
    ]
    for one in work:
        one.start()
    for one in work:
        one.join(HANG_TIMEOUT)
    assert found == [1, 1]


def test_the_process_ends_with_the_one_that_started_it() -> None:
    code = (
        "import sys; from tasks.intake.database_process import DatabaseProcess\n"
        "database = DatabaseProcess(); print(database.execute('SELECT 1').fetchone(), flush=True)\n"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "(1,)\n"
        below = psutil.Process(parent.pid).children()
        parent.kill()
    assert len(below) == 1
    assert psutil.wait_procs(below, timeout=HANG_TIMEOUT)[1] == []


@pytest.mark.enemy(AUTHOR, "runs code")
@pytest.mark.parametrize(
    "answer",
    [b"", b"\xff" * 8, b"no json", b"[1]", b"[" * 10_000, b'{"error": "connect", "text": "x"}'],
)
def test_what_is_no_answer_ends_the_process(monkeypatch: pytest.MonkeyPatch, answer: bytes) -> None:
    """Whoever runs code in the process can send anything, and gains an error."""
    with started() as (database, process):
        length = len(answer).to_bytes(8, "big") if answer != b"\xff" * 8 else b""
        receiving, sending = os.pipe()
        os.write(sending, length + answer)
        os.close(sending)
        child = database._process._process
        assert child is not None
        assert child.stdout is not None
        os.dup2(receiving, child.stdout.fileno())
        os.close(receiving)
        with pytest.raises(duckdb.Error) as caught:
            database.execute("SELECT 1")
        if b"error" not in answer:
            assert isinstance(caught.value, ProcessEnded)
            assert not process.is_running()


def test_rows_come_in_their_order_and_those_of_other_columns_are_refused() -> None:
    with DatabaseProcess() as database:
        database.execute("CREATE TABLE t AS SELECT i AS a, 'n' || i AS b FROM range(2500) AS r(i) ORDER BY b")
        kinds = {"a": "BIGINT", "b": "VARCHAR"}
        chunks = [*database.chunks("t", "*", kinds, 1)]
        assert [len(one) for one in chunks] == [2048, 452]
        assert [name for one in chunks for name in one["b"]] == sorted(f"n{i}" for i in range(2500))
        for others in ({"a": "DOUBLE", "b": "VARCHAR"}, {"a": "BIGINT"}, {**kinds, "c": "VARCHAR"}):
            with pytest.raises(duckdb.Error):
                next(database.chunks("t", "*", others, 1))


def test_check_counts_a_query_in_such_a_process(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_memory", Memory(64 << 20))
    query = "select * replace (md5(repeat(note, 90000000)) as note) from input, range(60)"
    found = read_by_check(table, query)
    assert "needs more than" in found


def read_by_check(table: Path, query: str) -> str:
    from tasks.intake.cell_table import cells_of
    from tasks.intake.source import find_source

    chosen = policy(query=query)
    source = find_source(chosen, input_path=table, period="1", base=table.parent)
    with pytest.raises(InputError) as caught, cells_of(source, chosen):
        pass
    assert processes() == []
    return str(caught.value)


def test_columns_are_those_of_a_file_without_a_query(table: Path) -> None:
    found, same = read(table, query="select * from input"), read(table)
    assert [*found.frame.columns] == COLUMNS
    assert found.frame.equals(same.frame)
    assert [str(one) for one in found.frame.dtypes] == [str(one) for one in same.frame.dtypes]
    assert found.digest == same.digest
