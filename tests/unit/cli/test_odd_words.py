"""Names and reasons that nobody can see, or that no text can hold, are refused before anything is written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.decision import decide_release
from flows.withdraw import restore_release, withdraw_release
from policy.errors import UsageError
from release_store.permission import LONGEST_NAME, LONGEST_REASON, Act, check_typed, text_problem
from services.actor import default_actor, resolve_actor
from tests.faults.small_work import assessed, published
from tests.support.at_work import key_file, write_people
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
ODD = {
    "zero width": ("\u200b\u200d\ufeff", "has no visible character"),
    "filler": ("\u3164", "has no visible character"),
    "braille": ("\u2800", "has no visible character"),
    "turns": ("\u202e\u2066", "has no visible character"),
    "controls": ("\x1b\x07", "has no visible character"),
    "NUL": ("fine\0", "has a character that is not valid text"),
    "half a pair": ("fine\udc9b", "has a character that is not valid text"),
    "long": ("x" * (LONGEST_REASON + 1), "is longer than 2,000 letters"),
}
CANDIDATE, HELD, RELEASE = "clinic-2024-c1", "ward-2024-c1", "shop-2024-r1"


@pytest.fixture(scope="module")
def busy(fresh_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A candidate that waits, one that is blocked, and a release; each test leaves them as they are."""
    folder = tmp_path_factory.mktemp("busy") / "folder"
    shutil.copytree(fresh_store, folder)
    made = Desk(folder)
    assessed(made.store, "clinic", "2024", approvers=1)
    assessed(made.store, "ward", "2024", passes=False)
    published(made.store, assessed(made.store, "shop", "2024").candidate_id)
    return made


@pytest.mark.parametrize("name", ODD)
def test_it_is_told_in_two_lines(name: str) -> None:
    text, finding = ODD[name]
    with pytest.raises(UsageError) as caught:
        check_typed("bob", text, "it")
    error = caught.value
    assert (error.where, error.message, error.hint) == (
        "it",
        f"the reason {finding}",
        "Give a reason in plain words.",
    )
    with pytest.raises(UsageError, match="the name ") as caught:
        check_typed(text, "fine", "it")
    assert caught.value.hint == "Give the name as written in the file of people."


@pytest.mark.parametrize(
    ("word", "about", "name"),
    [
        ("approve", CANDIDATE, "NUL"),
        ("reject", CANDIDATE, "half a pair"),
        ("override", HELD, "controls"),
        ("withdraw", RELEASE, "zero width"),
    ],
)
@pytest.mark.enemy("operator", "stops the work")
def test_every_command_refuses_it_and_writes_nothing(
    busy: Desk, capsys: Capture, word: str, about: str, name: str
) -> None:
    text, finding = ODD[name]
    logged = busy.store.n_events()
    key = key_file(busy.folder, "bob")
    for words in ([word, about], ["sign", word, about]):
        for by, reason, told in (
            ("bob", text, f"the reason {finding}"),
            (text, "fine", f"the name {finding}"),
        ):
            assert busy.say(*words, "--by", by, "--reason", reason, "--key", key) == 2
            said = capsys.readouterr()
            assert said.out == ""
            first = said.err.splitlines()[0].removeprefix("releasegate: ")
            if "not valid text" in finding:  # then no command is asked
                assert re.fullmatch(r"word \d+ of the command is no valid text", first)
            else:
                assert first == f"{about}: {told}"
            assert len(said.err.splitlines()) == 2
    assert busy.store.n_events() == logged


@pytest.mark.parametrize("text", ["fine\udc9b", "a\0b", "x" * 5000])
@pytest.mark.enemy("operator", "stops the work")
def test_what_no_file_and_no_name_can_be_is_told_by_every_command(
    busy: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    logged = busy.store.n_events()
    for words in (
        ["run", text],
        ["run", busy.policy(), "--period", text],
        ["run", busy.policy(), "--period", "2024", "--input", text],
        ["draft", text],
        ["show", text],
        ["evidence", text],
        ["verify", "--public-key", text],
        ["verify", text],
        ["approve", text, "--by", "bob", "--reason", "fine"],
        ["init", "--out", text],
        ["audit", text],
        ["sign", "approve", CANDIDATE, "--by", "bob", "--reason", "fine", "--key", text],
    ):
        assert busy.say(*words) in (2, 3), words
        said = capsys.readouterr()
        assert (said.out, "unexpected" in said.err) == ("", False)
        assert len(said.err.splitlines()) <= 2
    if "\0" not in text:
        for name in ("RELEASEGATE_PEOPLE", "RELEASEGATE_SIGNING_KEY"):
            monkeypatch.setenv(name, text)
            assert busy.say("withdraw", RELEASE, "--by", "bob", "--reason", "fine") == 2
            assert "unexpected" not in capsys.readouterr().err
            monkeypatch.delenv(name)
    assert busy.store.n_events() == logged


def test_the_forms_of_prefect_refuse_it_too(busy: Desk) -> None:
    logged = busy.store.n_events()
    digest = busy.store.candidate(CANDIDATE).candidate_digest
    text, finding = ODD["zero width"]
    with pytest.raises(UsageError, match=f"the reason {finding}"):
        decide_release.fn(CANDIDATE, digest, "approve", "bob", text, "signed", str(busy.root))
    with pytest.raises(UsageError, match=f"the reason {finding}"):
        withdraw_release.fn(RELEASE, "bob", text, "signed", str(busy.root))
    assert busy.store.n_events() == logged


def test_the_forms_know_the_bounds() -> None:
    for flow in (decide_release, withdraw_release, restore_release):
        fields = flow.parameters.properties
        assert fields["reason"]["maxLength"] == LONGEST_REASON
        assert fields["by"]["maxLength"] == LONGEST_NAME


def test_what_people_do_write_is_taken() -> None:
    for text in (
        "ok",
        "x" * LONGEST_REASON,
        "two\nlines\tand a tab",
        "रमा",
        "🙂",
        "né e\u0301",
        "\u200bseen",
    ):
        assert text_problem(text) is None
        check_typed("bob", text, "it")
    check_typed("", " ", "it")  # what is empty, the rules of the act refuse


@given(st.text())
def test_what_is_taken_has_something_to_be_seen(text: str) -> None:
    if text_problem(text) is None:
        assert text.strip()
        assert "\0" not in text
        text.encode()


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "\u200b", "x" * (LONGEST_NAME + 1)])
def test_a_service_has_a_name_in_one_line(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("RELEASEGATE_ACTOR", name)
    with pytest.raises(UsageError, match="RELEASEGATE_ACTOR is not one line of visible text") as caught:
        default_actor()
    assert caught.value.hint
    with pytest.raises(UsageError, match="RELEASEGATE_ACTOR is not one line of visible text"):
        resolve_actor(desk.store, Act.PREPARE, None)


def test_nobody_is_added_under_a_name_that_cannot_be_seen(desk: Desk, tmp_path: Path) -> None:
    write_people(desk.root)
    assert desk.say("people", "add", "\u3164", "--role", "admin", "--make-key", tmp_path / "x.pem") == 2
    assert not (tmp_path / "x.pem").exists()
