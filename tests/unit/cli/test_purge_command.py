"""`releasegate purge`: what it lists, what it removes, and what is shown of it afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from release_store.protocol.names import PURGED
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed, published
from tests.support.at_work import decide, withdraw
from tests.support.front_desk import Desk
from tests.support.stores import BuiltOnce

Capture = pytest.CaptureFixture[str]
RELEASE, REJECTED = "clinic-2024-r1", "ward-2025-c1"
WHY = ("--by", "eve", "--reason", "kept for long enough")


@pytest.fixture
def ended(fresh_store: Path, built_once: BuiltOnce) -> Desk:
    """A store with a withdrawn release and a rejected candidate."""
    return Desk(built_once(fresh_store, end).root.parent)


def end(store: ReleaseStore) -> None:
    published(store, assessed(store, "clinic", "2024").candidate_id)
    withdraw(store, RELEASE, by="bob", reason="a wrong column")
    decide(store, assessed(store, "ward", "2025", approvers=1).candidate_id, "reject", by="bob", reason="no")


def test_a_dry_run_lists_what_would_go_and_changes_nothing(ended: Desk, capsys: Capture) -> None:
    size = ended.store.n_events()
    assert ended.say("purge", "--older-than", "0", "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{RELEASE} (withdrawn): its rows would be removed",
        f"{REJECTED} (rejected): its rows would be removed",
    ]
    assert ended.store.n_events() == size
    assert (ended.root / "candidates" / REJECTED / "data.csv").is_file()


def test_it_removes_rows_and_all_that_reads_the_store_goes_on(ended: Desk, capsys: Capture) -> None:
    assert ended.say("purge", "--older-than", "0", *WHY) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{RELEASE} (withdrawn): its rows are removed",
        f"{REJECTED} (rejected): its rows are removed",
    ]
    assert list(ended.root.glob("*/**/data.*")) == []
    assert verify(ended.store) == []
    for words in (
        ("show", RELEASE),
        ("show", REJECTED),
        ("history",),
        ("diff", RELEASE, REJECTED),
        ("report", REJECTED, "--out", ended.folder / "one.html"),
        ("audit", "clinic", "--by", "eve"),
        ("doctor",),
    ):
        assert ended.say(*words) == 0, (words, capsys.readouterr())
    shown = capsys.readouterr().out
    assert shown.count("its rows were removed at ") == 2
    assert "rows purged" in shown


def test_the_site_says_whose_rows_were_removed(ended: Desk, capsys: Capture) -> None:
    assert ended.say("purge", "--older-than", "0", *WHY) == 0
    assert ended.say("report", "--out", ended.folder / "site") == 0, capsys.readouterr()
    page = (ended.folder / "site" / "series" / "ward" / "index.html").read_text()
    assert "rows removed" in page
    assert REJECTED in page


def test_programs_get_the_same_as_json(ended: Desk, capsys: Capture) -> None:
    assert ended.say("purge", "--older-than", "0", "--series", "ward", *WHY, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"dry_run": False, "purged": {REJECTED: "rejected"}}
    assert ended.say("show", REJECTED, "--json") == 0
    (event,) = ended.store.events_of([PURGED])
    assert json.loads(capsys.readouterr().out)["purged_at"] == event.at


def test_what_ended_lately_stays(ended: Desk, capsys: Capture) -> None:
    assert ended.say("purge", "--older-than", "1", *WHY) == 0
    assert capsys.readouterr().out == "nothing to remove\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--older-than", "0", "--reason", "old"), "the purge has no name"),
        (("--older-than", "0", "--by", "eve"), "the purge has no reason"),
        (("--older-than", "0", *WHY, "--series", "wrad"), "unknown series 'wrad' (did you mean 'ward'?)"),
        (("--older-than", "-1", *WHY), "Input should be greater than or equal to 0"),
        (WHY, "Missing option '--older-than'"),
    ],
)
def test_what_is_missing_is_told(ended: Desk, capsys: Capture, words: tuple[str, ...], told: str) -> None:
    assert ended.say("purge", *words) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert ended.store.events_of([PURGED]) == []
