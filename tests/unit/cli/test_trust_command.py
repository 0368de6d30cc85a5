"""A folder that somebody else prepared, or that came in an archive: every command, and what accepts it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from policy.accepted import register
from tests.faults.small_work import assessed, published
from tests.support.at_work import key_file
from tests.support.front_desk import Desk
from tests.support.strangers import STRANGER, give_away, needs_root

Capture = pytest.CaptureFixture[str]
RELEASE, CANDIDATE = "shop-2024-r1", "clinic-2024-c1"
READS = {
    "history": ("history",),
    "show": ("show", RELEASE),
    "diff": ("diff", RELEASE, CANDIDATE),
    "verify": ("verify",),
    "evidence": ("evidence", RELEASE),
    "people": ("people",),
}
# What goes by a policy, by trusted.yaml or by people.yaml, or writes.
WORKS = {
    "run": ("run", "clinic.yaml", "--period", "2026Q1", "--input", "people.csv", "--by", "ann"),
    "rejudge": ("rejudge", CANDIDATE, "--by", "ann"),
    "approve": ("approve", CANDIDATE, "--by", "bob", "--reason", "seen"),
    "reject": ("reject", CANDIDATE, "--by", "bob", "--reason", "seen"),
    "override": ("override", CANDIDATE, "--by", "bob", "--reason", "seen"),
    "ask": ("ask", CANDIDATE, "--by", "bob", "--question", "why", "--key", "bob.pem"),
    "answer": ("answer", CANDIDATE, "--by", "ann", "--answer", "so", "--key", "ann.pem"),
    "withdraw": ("withdraw", RELEASE, "--by", "bob", "--reason", "seen"),
    "restore": ("restore", RELEASE, "--by", "bob", "--reason", "seen"),
    "audit": ("audit", "shop"),
    "serve": ("serve", "--port", "0"),
    "notify": ("notify",),
    "clock": ("clock", "--by", "bob", "--reason", "late", "--key", "bob.pem"),
    "people add": ("people", "add", "Eve", "--role", "admin", "--public-key", "ab" * 32),
}
BESIDE = {
    "check": ("check", "clinic.yaml", "--period", "2026Q1", "--input", "people.csv"),
    "methods": ("methods",),
    "evaluate": ("evaluate", "clinic.yaml", "--methods", "mondrian", "--input", "people.csv"),
    "draft": ("draft", "s3://bucket/people.csv"),
}


@pytest.fixture(scope="module")
def archive(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, a policy, and a file that trusts all."""
    desk = Desk(tmp_path_factory.mktemp("archive") / "folder")
    shutil.copytree(fresh_store, desk.folder)
    assessed(desk.store, "clinic", "2024", approvers=1)
    published(desk.store, assessed(desk.store, "shop", "2024").candidate_id)
    desk.policy()
    desk.table()
    for name in ("ann", "bob"):
        key_file(desk.folder, name)
    trusted = desk.folder / "trusted.yaml"
    trusted.write_text("packages: [evil]\nfolders: [/]\n")
    trusted.chmod(0o600)
    return desk.folder


@pytest.fixture
def prepared(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accepts_nothing: Path) -> Desk:
    """That folder, unpacked where a command starts whose account made none of it."""
    shutil.copytree(archive, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    assert not accepts_nothing.exists()
    return Desk(tmp_path)


def bytes_in(folder: Path) -> dict[Path, bytes]:
    """Return what a folder holds, but for locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and "locks" not in path.parts)
    return {path: path.read_bytes() for path in files}


def refused(desk: Desk, capsys: Capture, words: tuple[str, ...]) -> list[str]:
    """Return the two lines with which a command is refused that changed nothing in the folder."""
    before = bytes_in(desk.folder)
    assert desk.say(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert bytes_in(desk.folder) == before
    lines = shown.err.splitlines()
    assert len(lines) == 2
    return lines


@needs_root
@pytest.mark.enemy("owner of the folder", "runs code")
@pytest.mark.parametrize("command", [*READS, *WORKS, *BESIDE])
def test_no_command_goes_by_a_folder_that_somebody_else_prepared(
    prepared: Desk, capsys: Capture, command: str
) -> None:
    give_away(prepared.folder)
    lines = refused(prepared, capsys, {**READS, **WORKS, **BESIDE}[command])
    assert f"belongs to user {STRANGER}, who is neither root nor you" in lines[0]
    assert lines[1].endswith(f"run `releasegate trust {prepared.folder}`.")


@pytest.mark.enemy("owner of the folder", "runs code")
@pytest.mark.parametrize("command", [*WORKS, *BESIDE])
def test_an_unpacked_archive_is_asked_about_before_it_is_worked_with(
    prepared: Desk, capsys: Capture, command: str
) -> None:
    lines = refused(prepared, capsys, {**WORKS, **BESIDE}[command])
    assert lines[0].endswith("store: is a store that this account neither made nor accepted")
    assert lines[1].endswith(f"run `releasegate trust {prepared.root}`.")


@pytest.mark.parametrize("command", READS)
def test_an_unpacked_archive_is_read(prepared: Desk, capsys: Capture, command: str) -> None:
    assert prepared.say(*READS[command]) == 0
    assert capsys.readouterr().err == ""


@needs_root
def test_what_is_accepted_once_is_worked_with(prepared: Desk, capsys: Capture) -> None:
    (prepared.folder / "trusted.yaml").unlink()
    give_away(prepared.folder)
    assert prepared.say("trust", prepared.folder, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["accepted"] == [
        {"path": str(prepared.folder), "owner": STRANGER, "group": None, "by": None},
    ]
    assert prepared.say("reject", CANDIDATE, "--by", "bob", "--reason", "seen") == 0
    assert prepared.say("verify") == 0
    assert prepared.say("trust", "--forget", prepared.folder) == 0
    capsys.readouterr()
    assert prepared.say("verify") == 2


def test_all_that_is_accepted_is_listed(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, accepts_nothing: Path
) -> None:
    desk = Desk(tmp_path)
    assert desk.say("trust") == 0
    assert capsys.readouterr().out == "this account accepts nothing but its own files and root's\n"
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    register(tmp_path / "three", "3")
    assert desk.say("trust", tmp_path / "one", "--group", "daemon") == 0
    capsys.readouterr()
    monkeypatch.setenv("RELEASEGATE_TRUST", str(tmp_path / "two"))
    assert desk.say("trust") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'one'}: what user {os.geteuid()} ")
    assert lines[0].endswith("or a member of daemon owns there")
    assert lines[1].endswith("owns there, by RELEASEGATE_TRUST")
    assert lines[2] == f"{tmp_path / 'three'}: a store that this account made"
    assert accepts_nothing.is_file()


@pytest.mark.usefixtures("accepts_nothing")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--group", "daemon"), "--group: needs a folder"),
        (("one", "--forget", "two"), "DIR and --forget: do not go together"),
        (("none",), "none: is not there"),
        (("--forget", "none"), "is not accepted"),
    ],
)
def test_what_cannot_be_accepted_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in refused(Desk(tmp_path), capsys, ("trust", *words))[0]
