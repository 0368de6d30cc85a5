"""Every command that opens DuckDB lets the owner of its store say how much memory that may take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from policy.trusted import TRUSTED_FILE, Memory
from services.drafting.facts import table_facts
from tasks import memory
from tests.support.front_desk import Desk

OTHER = Memory(100 << 20)  # of a store that the process worked with before


@pytest.fixture(autouse=True)
def memory_of_another_store() -> Iterator[None]:
    """Let the process have worked with another store."""
    before = memory.memory_in_use()
    memory.use_memory(OTHER)
    yield
    memory.use_memory(before)


def desk_in(folder: Path, trusted: str) -> Desk:
    """Make a store whose owner trusts this."""
    folder.mkdir()
    desk = Desk(folder)
    assert desk.say("init") == 0
    path = desk.root.with_name(TRUSTED_FILE)
    path.write_text(trusted)
    path.chmod(0o600)
    return desk


WORDS = {
    "report": (("report", "--out", "{folder}/pages"), 0),
    "report of one": (("report", "clinic-2026Q1-r1"), 2),
    "diff": (("diff", "clinic-2026Q1-r1", "clinic-2026Q2-r1"), 2),
    "approve": (("approve", "clinic-2026Q1-c1", "--by", "bob", "--reason", "seen"), 2),
    "override": (("override", "clinic-2026Q1-c1", "--by", "bob", "--reason", "seen"), 2),
    "run": (("run", "{folder}/none.yaml", "--period", "2026Q1"), 2),
    "methods": (("methods",), 0),
}


@pytest.mark.parametrize(("words", "code"), WORDS.values(), ids=WORDS)
def test_a_command_uses_the_memory_of_its_store(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    desk = desk_in(tmp_path / "desk", "memory_limit: 1 GiB\n")
    assert desk.say(*(word.format(folder=tmp_path) for word in words)) == code
    assert memory.memory_in_use() == Memory(1 << 30)


def test_a_store_without_limits_does_not_take_those_of_another(tmp_path: Path) -> None:
    (tmp_path / "spill").mkdir(mode=0o700)
    one = desk_in(tmp_path / "one", f"memory_limit: 64 MiB\nspill: {tmp_path.resolve()}/spill\n")
    other = desk_in(tmp_path / "other", "folders: []\n")
    for desk, held in (
        (one, Memory(64 << 20, tmp_path.resolve() / "spill")),
        (other, Memory()),
        (one, Memory(64 << 20, tmp_path.resolve() / "spill")),
    ):
        assert desk.say("report", "--out", tmp_path / "pages") == 0
        assert memory.memory_in_use() == held
        assert desk.say("methods") == 0


def test_a_rejection_needs_nothing_that_can_be_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = desk_in(tmp_path / "desk", "memory_limit: 20000000 TiB\n")
    capsys.readouterr()
    for word in ("reject", "approve"):
        assert desk.say(word, "clinic-2026Q1-c1", "--by", "bob", "--reason", "seen") == 2
        assert ("memory_limit" in capsys.readouterr().err) == (word == "approve")


def test_a_size_that_no_machine_has_is_told_by_its_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = desk_in(tmp_path / "desk", "memory_limit: 20000000 TiB\n")
    capsys.readouterr()
    assert desk.say("run", desk.policy(), "--input", desk.table(), "--period", "2026Q1") == 2
    assert capsys.readouterr().err == (
        f"releasegate: {desk.root.with_name(TRUSTED_FILE)}: memory_limit: '20000000 TiB' is too much\n"
        "  Give at most 1024 TiB.\n"
    )


def test_a_draft_has_no_store_and_takes_the_memory_of_none(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age\n31\n")
    with table_facts(table) as facts:
        found = facts.connection.execute(
            "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
        ).fetchone()
    assert found is not None
    assert found[0] != "100.0 MiB"
    assert found[1] == ""


def test_whoever_only_reads_needs_no_right_to_spill(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = desk_in(tmp_path / "desk", f"memory_limit: 64 MiB\nspill: {tmp_path}/gone\n")
    assert desk.say("report", "--out", tmp_path / "pages") == 0
    assert memory.memory_in_use() == Memory()
    capsys.readouterr()
    assert desk.say("approve", "clinic-2026Q1-c1", "--by", "bob", "--reason", "seen") == 2
    assert "spill" in capsys.readouterr().err
