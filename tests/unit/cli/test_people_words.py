"""What people typed is shown on its own line and orders the terminal nothing, whatever signs are in it."""

from __future__ import annotations

import json
import shutil
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text import escaped, sanitize_text
from tests.support import plain_run
from tests.support.at_work import member, withdraw, write_people
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
EVIL = "eve\nFORGED line\r\x1b[31m\u202egnp\u2028\u2069\x85\udc9b [bold]x[/]"
SHOWN = "eve\\x0aFORGED line\\x0d\\x1b[31m\\u202egnp\\u2028\\u2069\\x85\\udc9b [bold]x[/]"
TYPED = EVIL.replace("\udc9b", "")  # what the store takes
RELEASE, REVISED, WAITS = "clinic-2026Q1-r1", "clinic-2026Q1-r2", "clinic-2026Q2-c1"


def test_commanding_signs_are_written_as_numbers() -> None:
    assert sanitize_text(EVIL) == SHOWN
    assert sanitize_text("Zoë O'Brien, रमा 🙂 \\ [x]") == "Zoë O'Brien, रमा 🙂 \\ [x]"


@given(st.text())
def test_whatever_was_typed_is_one_line_without_commands(text: str) -> None:
    for line in (sanitize_text(text), escaped(text)):
        assert len(line.splitlines()) <= 1
        assert not {unicodedata.category(sign) for sign in line} & {"Cc", "Zl", "Zp", "Cs"}


@pytest.fixture(scope="module")
def told_folder(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, one that revises it and is withdrawn, and a blocked candidate, all by the same hand."""
    folder = tmp_path_factory.mktemp("told") / "folder"
    shutil.copytree(fresh_store, folder)
    desk = Desk(folder)
    policy = desk.policy()
    for seed in (1, 2):
        table = desk.table(f"{seed}.csv", seed=seed)
        plain_run.run(desk.store, policy, table, "2026Q1", TYPED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "release_store.approval.reviewers.check_members", lambda *_: None
        )  # which refuses such a name
        write_people(desk.root, member(TYPED))
        withdraw(desk.store, REVISED, by=TYPED, reason=TYPED)
    write_people(desk.root)
    blocked = desk.policy("blocked.yaml", gates={"ncp": {"max": 0.0}})
    assert plain_run.run(desk.store, blocked, desk.table("3.csv", seed=3), "2026Q2", TYPED) == WAITS
    return folder


@pytest.fixture
def told(told_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv("RELEASEGATE_SIGNING_KEY", raising=False)
    shutil.copytree(told_folder, tmp_path, dirs_exist_ok=True, symlinks=True)
    return Desk(tmp_path)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show", RELEASE], 0),
        (["show", REVISED], 0),
        (["show", WAITS], 0),
        (["history"], 0),
        (["diff", RELEASE, WAITS], 0),
        (["audit", "clinic", "--by", TYPED], 0),
        (["approve", WAITS, "--by", TYPED, "--reason", TYPED], 2),
        (["show", TYPED], 2),
        (["verify", "--checkpoint", TYPED], 2),
    ],
)
@pytest.mark.enemy("approver", "runs code")
def test_no_command_obeys_a_name_or_a_reason(
    told: Desk, capsys: Capture, words: list[str], code: int
) -> None:
    assert told.say(*words) == code
    for text in capsys.readouterr():
        assert not any(line.strip().startswith("FORGED") for line in text.splitlines())
        assert not [sign for sign in text if sign != "\n" and sanitize_text(sign) != sign]


def test_json_says_what_was_typed(told: Desk, capsys: Capture) -> None:
    assert told.say("show", REVISED, "--json") == 0
    assert json.loads(capsys.readouterr().out)["made_by"] == TYPED


def test_a_revision_says_what_it_revises_and_why(told: Desk, capsys: Capture) -> None:
    assert told.say("show", REVISED) == 0
    assert f" revises  {RELEASE}: a correction\n" in capsys.readouterr().out
    assert told.say("show", RELEASE) == 0
    assert "revises " not in capsys.readouterr().out
