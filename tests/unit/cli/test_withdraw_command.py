"""`releasegate withdraw` and `restore`: what they say, as text and as JSON, and what stands afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from release_store.records import ReleaseState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from tests.faults.small_work import assessed, published
from tests.support.front_desk import Desk
from tests.support.stores import BuiltOnce

Capture = pytest.CaptureFixture[str]
RELEASE = "clinic-2024-r1"
WHY = ("--by", "eve", "--reason", "a wrong column")


@pytest.fixture
def public(fresh_store: Path, built_once: BuiltOnce) -> Desk:
    """A store with one release."""
    return Desk(built_once(fresh_store, publish_2024).root.parent)


def publish_2024(store: ReleaseStore) -> None:
    published(store, assessed(store, "clinic", "2024").candidate_id)


def test_it_names_the_tombstone_and_where_the_files_are_kept(public: Desk, capsys: Capture) -> None:
    assert public.say("withdraw", RELEASE, *WHY) == 0
    first, second = capsys.readouterr().out.splitlines()
    tombstone = Path(first.removeprefix(f"{RELEASE} is withdrawn; ").removesuffix(" stands in its place"))
    kept = Path(second.removeprefix("its files are kept in "))
    assert json.loads(tombstone.read_text())["reason"] == "a wrong column"
    assert (kept / "data.csv").is_file()
    assert public.store.release(RELEASE).state is ReleaseState.WITHDRAWN
    assert verify(public.store) == []


def test_programs_get_the_same_as_json(public: Desk, capsys: Capture) -> None:
    assert public.say("withdraw", RELEASE, *WHY, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["release"], said["state"]) == (RELEASE, "withdrawn")
    assert Path(said["tombstone"]).is_file()
    assert (Path(said["folder"]) / "data.parquet").is_file()


def test_what_is_withdrawn_is_not_withdrawn_again(public: Desk, capsys: Capture) -> None:
    assert public.say("withdraw", RELEASE, *WHY) == 0
    logged = public.store.n_events()
    capsys.readouterr()
    assert public.say("withdraw", RELEASE, *WHY) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"releasegate: {RELEASE}")
    assert public.store.n_events() >= logged


BACK = ("--by", "eve", "--reason", "withdrawn by mistake")


def test_restore_names_the_folder_where_the_release_is_public_again(public: Desk, capsys: Capture) -> None:
    assert public.say("withdraw", RELEASE, *WHY) == 0
    capsys.readouterr()
    assert public.say("restore", RELEASE, *BACK) == 0
    (line,) = capsys.readouterr().out.splitlines()
    folder = Path(line.removeprefix(f"{RELEASE} is restored: "))
    assert (folder / "data.csv").is_file()
    assert public.say("show", RELEASE, "--json") == 0
    told = json.loads(capsys.readouterr().out)["afterwards"]
    assert [(one["state"], one["by"], one["reason"]) for one in told] == [
        ("withdrawn", "eve", "a wrong column"),
        ("published", "eve", "withdrawn by mistake"),
    ]


def test_a_restoration_signed_elsewhere_is_told_as_json(
    public: Desk, capsys: Capture, tmp_path: Path
) -> None:
    assert public.say("withdraw", RELEASE, *WHY) == 0
    capsys.readouterr()
    assert public.say("sign", "restore", RELEASE, *BACK) == 0
    signed = capsys.readouterr().out.strip()
    assert public.say("restore", RELEASE, *BACK, "--signed", signed, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["release"], said["state"]) == (RELEASE, "published")
    assert (Path(said["folder"]) / "data.parquet").is_file()


def test_what_is_public_is_not_restored(public: Desk, capsys: Capture) -> None:
    assert public.say("restore", RELEASE, *BACK) == 2
    assert capsys.readouterr().err.startswith(
        f"releasegate: {RELEASE}: is published; only a withdrawn release can be restored"
    )
