"""What DuckDB does not hold in memory: ciphertext in files without a name, and the same rows as without."""

from __future__ import annotations

import errno
import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from policy.errors import TransientFailure
from policy.model import ReleasePolicy
from policy.trusted import Memory
from tasks import duck, memory, spill_files
from tasks.intake.database import memory_hint, own_database
from tasks.risk.published import read_classes, read_rows, row_classes
from tasks.spill_files import SpillFailed, SpillFile, SpillRoom
from tasks.staging.stage import stage
from tasks.types import Recoded
from tests.support.spilled import spilled_bytes

CANARY = "Zebedee Quintrell"
LITTLE = 64 << 20  # bytes
NAMES = f"SELECT i, '{CANARY} ' || i AS name FROM range(4000000) AS t(i)"
NUMBERS = "SELECT hash(i) AS h, i FROM range(3000000) AS t(i) ORDER BY h"


@pytest.fixture(autouse=True)
def memory_of_the_test() -> Iterator[None]:
    """Give the process its memory back."""
    before = memory.memory_in_use()
    yield
    memory.use_memory(before)
    for key in [key for key in duck._instances if key[1] != before]:
        duck._instances.pop(key).close()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all pieces that are written to files."""
    sizes: list[int] = []
    write = SpillFile.write

    def counted(file: SpillFile, data: bytes) -> int:
        sizes.append(len(data))
        return write(file, data)

    monkeypatch.setattr(SpillFile, "write", counted)
    return sizes


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (Memory(), "Free memory, or name a folder as spill in trusted.yaml."),
        (Memory(spill=Path("/srv/spill")), "Free memory."),
        (Memory(LITTLE), "Give more as memory_limit in trusted.yaml, or name a folder as spill there."),
        (Memory(LITTLE, Path("/srv/spill")), "Give more as memory_limit in trusted.yaml."),
    ],
)
def test_a_hint_names_what_is_not_set(given: Memory, hint: str) -> None:
    memory.use_memory(given)
    assert memory_hint() == hint


def digest(columns: Mapping[str, NDArray[Any]]) -> str:
    return hashlib.sha256(b"".join(column.tobytes() for column in columns.values())).hexdigest()


@pytest.mark.integration
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_were_spilled_are_those_that_memory_holds(
    tmp_path: Path, written: list[int], threads: int
) -> None:
    with duck.connection(threads) as con:
        expected = digest(con.execute(NUMBERS).fetchnumpy())
    assert not written
    memory.use_memory(Memory(LITTLE, tmp_path))
    with duck.connection(threads) as con:
        found = digest(con.execute(NUMBERS).fetchnumpy())
    assert sum(written) > 10 << 20
    assert found == expected
    assert [*tmp_path.iterdir()] == []


def test_what_does_not_fit_is_refused_where_no_folder_is_named() -> None:
    memory.use_memory(Memory(LITTLE))
    with pytest.raises(TransientFailure) as caught, duck.connection(2) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
    assert str(caught.value) == (
        "trusted.yaml: memory_limit: 64 MiB are too little for a query over the table\n"
        "  Give more, or name a folder as spill, and run it again."
    )


@pytest.mark.enemy("other account", "reads a file")
@pytest.mark.parametrize("opened", [duck.connection, own_database])
def test_no_cell_can_be_read_in_the_folder_while_it_is_used(
    tmp_path: Path, opened: Callable[[], Any]
) -> None:
    memory.use_memory(Memory(LITTLE, tmp_path))
    with opened() as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
        seen = spilled_bytes(os.getpid(), tmp_path)
        assert len(seen) > 1 << 20
        assert CANARY.encode() not in seen
        assert CANARY.split()[1].encode() not in seen
        assert [*tmp_path.iterdir()] == []  # nor has a file a name
    assert spilled_bytes(os.getpid(), tmp_path) == b""


def test_the_search_finds_what_duckdb_spills_by_itself(tmp_path: Path) -> None:
    with duckdb.connect(
        config={"temp_directory": str(tmp_path), "memory_limit": "64MB", "threads": 2}
    ) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
        assert CANARY.encode() in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_a_piece_is_read_as_it_was_written_and_no_two_look_alike(tmp_path: Path) -> None:
    file = SpillFile(SpillRoom(tmp_path, 1 << 10), AESGCM(AESGCM.generate_key(256)))
    piece = b"the same piece, twice"
    for position in (0, 100):
        file.seek(position)
        assert file.write(piece) == len(piece)
        assert file.tell() == position + len(piece)
    seen = spilled_bytes(os.getpid(), tmp_path)
    assert seen[: len(piece)] != seen[100:]
    file.seek(100)
    assert file.read(len(piece)) == piece
    file.seek(100)
    file.write(piece[::-1])
    file.seek(100)
    assert file.read(len(piece)) == piece[::-1]
    file.seek(0)
    with pytest.raises(SpillFailed, match="not read as it was written"):
        file.read(3)
    with pytest.raises(SpillFailed, match="from its start"):
        file.seek(0, os.SEEK_END)
    os.pwrite(file._file.fileno(), b"\0\0", 0)
    file.seek(0)
    with pytest.raises(SpillFailed, match="changed on the disk"):
        file.read(len(piece))
    file.close()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk has no room for temporary files (ENOSPC)\n  Free room on this disk"),
        (errno.EIO, "the system refused a temporary file (EIO)\n  Check the disk and the permissions"),
    ],
)
def test_a_disk_that_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, said: str
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(number, "of the system", "a name")

    memory.use_memory(Memory(LITTLE, tmp_path))
    monkeypatch.setattr(spill_files.os, "pwrite", refuse)
    with pytest.raises(TransientFailure) as caught, duck.connection(2) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
    assert str(caught.value).startswith(f"{tmp_path}: {said}")
    assert "trusted.yaml" in caught.value.hint
    monkeypatch.undo()
    with duck.connection() as con:  # the instance is as good as before
        assert len(con.execute("SELECT i FROM range(900) AS t(i)").fetchall()) == 900


def test_a_folder_that_went_is_named(tmp_path: Path) -> None:
    memory.use_memory(Memory(LITTLE, tmp_path / "gone"))
    with pytest.raises(TransientFailure) as caught, duck.connection(2) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
    assert str(caught.value).startswith(f"{tmp_path}/gone: the system refused a temporary file (ENOENT)")


def test_the_text_of_an_error_is_told_of_no_spilling_whatever_a_query_writes_there(tmp_path: Path) -> None:
    query = f"SELECT error('SpillFailed: {CANARY}') FROM range(2)"
    memory.use_memory(Memory(LITTLE, tmp_path))
    with pytest.raises(duckdb.InvalidInputException, match=CANARY), duck.connection(2) as con:
        con.execute(query)
    with own_database() as con:
        with pytest.raises(duckdb.InvalidInputException) as caught:
            con.execute(query)
        assert memory.spill_failure(caught.value, con) is None


def test_a_failure_that_was_told_is_not_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EIO, "of the system")

    memory.use_memory(Memory(LITTLE, tmp_path))
    monkeypatch.setattr(spill_files.os, "pwrite", refuse)
    with pytest.raises(TransientFailure), duck.connection(2) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
    with pytest.raises(duckdb.InvalidInputException), duck.connection(2) as con:
        con.execute("SELECT error('SpillFailed: EIO') FROM range(2)")


def test_temporary_files_take_no_more_than_their_limit(tmp_path: Path, written: list[int]) -> None:
    limit = 8 << 20
    memory.use_memory(Memory(LITTLE, tmp_path, limit))
    with pytest.raises(TransientFailure) as caught, duck.connection(2) as con:
        con.execute(f"CREATE TEMP TABLE t AS {NAMES}")
    assert str(caught.value).startswith(
        "trusted.yaml: spill_limit: temporary files need more than 8 MiB\n  Ask for less, or give more"
    )
    assert sum(written) <= limit + max(written)  # the last one was refused
    with duck.connection(2) as con:  # the instance is as good as before
        assert len(con.execute("SELECT i FROM range(900) AS t(i)").fetchall()) == 900


def test_room_is_counted_by_how_long_files_are_and_comes_back(tmp_path: Path) -> None:
    cipher, room = AESGCM(AESGCM.generate_key(256)), SpillRoom(tmp_path, 100)
    one, other = SpillFile(room, cipher), SpillFile(room, cipher)
    for _ in range(3):  # in the same place
        one.seek(0)
        one.write(bytes(60))
    other.write(bytes(40))
    with pytest.raises(SpillFailed, match="reached their limit"):
        other.write(bytes(1))
    assert len(spilled_bytes(os.getpid(), tmp_path)) == 100
    one.close()
    one.close()
    assert other.write(bytes(60)) == 60
    with pytest.raises(SpillFailed, match="reached their limit"):
        other.write(bytes(1))


def test_without_a_limit_half_of_the_free_room_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [100]

    def disk_usage(folder: Path) -> SimpleNamespace:
        assert folder == tmp_path
        return SimpleNamespace(free=free[0])

    monkeypatch.setattr(spill_files.shutil, "disk_usage", disk_usage)
    file = SpillFile(SpillRoom(tmp_path, None), AESGCM(AESGCM.generate_key(256)))
    file.write(bytes(30))
    free[0] = 10  # what these files and others took since
    file.write(bytes(20))
    with pytest.raises(SpillFailed, match="reached their limit"):
        file.write(bytes(1))


def test_instances_of_another_memory_are_dropped_and_what_is_open_goes_on(tmp_path: Path) -> None:
    one, other = Memory(LITTLE, tmp_path), Memory(2 * LITTLE)
    memory.use_memory(one)
    with duck.connection() as con:
        con.execute("CREATE TEMP TABLE t AS FROM range(9)")
        memory.use_memory(other)
        with duck.connection() as later:
            found = later.execute("SELECT current_setting('memory_limit')").fetchone()
            assert found == ("128.0 MiB",)
        assert {held for _, held in duck._instances} == {other}
        gc.collect()
        assert con.execute("SELECT count(*) FROM t").fetchone() == (9,)


@pytest.mark.integration
@pytest.mark.parametrize("threads", [1, 2])
def test_staged_files_and_their_classes_are_the_same_where_they_were_spilled(
    tmp_path: Path, written: list[int], monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    n = 600_000
    draw = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "age_min": (low := draw.integers(0, 90, n)),
            "age_max": low + 5,
            "income_min": (low := draw.integers(0, 50_000, n)),
            "income_max": low + 100,
            "disease": pd.Series(draw.choice(["flu", "asthma", "a long name of a disease"], n), dtype="str"),
        }
    )
    bounds = {"type": "integer", "bounds": [0, 100_000]}
    policy = ReleasePolicy.model_validate(
        {
            "series": "clinic",
            "period": "quarterly",
            "roles": {
                "quasi_identifiers": {"age": bounds, "income": bounds},
                "sensitive": {"disease": {"stability": "stable"}},
            },
            "privacy": {"k": 2},
            "publication": {"formats": ["parquet", "csv"]},
        }
    )
    made = duck._instance
    monkeypatch.setattr(duck, "_instance", lambda n_threads, held: made(n_threads or threads, held))

    def results(name: str) -> list[Any]:
        rows = Recoded(np.arange(n), frame)
        staged = stage(rows, policy, candidate_id="c", period="p", folder=tmp_path / name, n_source=n)
        data = staged.folder / "data.parquet"
        classes = read_classes(data, policy)
        counted, texts = read_rows(data, policy)
        return [
            staged.files,
            classes.size.tolist(),
            classes.counts["disease"].tolist(),
            row_classes(data, policy).tolist(),
            digest({name: counted[name].to_numpy() for name in counted}),
            texts,
        ]

    expected = results("held")
    assert not written
    (tmp_path / "spill").mkdir()
    memory.use_memory(Memory(LITTLE, tmp_path / "spill"))
    assert results("spilled") == expected
    assert sum(written) > 1 << 20
