"""People from the command line: added, listed, known by what they prove; and decisions signed elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.__main__ import main
from policy.errors import UsageError
from release_store.approval.reviewers import load_reviewers
from release_store.audit import keys
from release_store.permission import Act
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from release_store.verification.verify import verify
from services.actor import authenticated_as, resolve_actor, system_account
from tests.faults.small_work import assessed
from tests.support.at_work import key_file, key_of, member, write_people
from tests.support.front_desk import Desk

Capture = pytest.CaptureFixture[str]
CANDIDATE = "clinic-2024-c1"


@pytest.fixture
def bare(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store without people, and nothing of them in the environment."""
    for name in ("RELEASEGATE_KEY", "RELEASEGATE_TOKEN", "RELEASEGATE_PEOPLE", "RELEASEGATE_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    (desk.folder / "people.yaml").unlink()
    return desk


def listed(desk: Desk, capsys: Capture) -> Any:
    capsys.readouterr()
    assert desk.say("people", "--json") == 0
    return json.loads(capsys.readouterr().out)["people"]


# People ------------------------------------------------------------------------------------------------


def test_people_are_added_and_what_stood_there_stays(bare: Desk, capsys: Capture) -> None:
    assert bare.say("people") == 2
    assert "no approvers are configured" in capsys.readouterr().err
    key, token, file = bare.folder / "ada.pem", bare.folder / "bob.token", bare.folder / "people.yaml"
    assert (
        bare.say("people", "add", "Ada Archer", "--role", "approver", "--role", "admin", "--make-key", key)
        == 0
    )
    assert "Ada Archer" in capsys.readouterr().out
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text(file.read_text() + "  # who counts the money\n")
    hexadecimal = keys.public_hex(key_of("eve").key)
    assert (
        bare.say("people", "add", "Bob", "--role", "operator", "--make-token", token, "--account", "bobby")
        == 0
    )
    assert bare.say("people", "add", "Eve: the third", "--role", "auditor", "--public-key", hexadecimal) == 0
    found = listed(bare, capsys)
    assert [(one["name"], one["roles"], one["account"]) for one in found] == [
        ("Ada Archer", ["approver", "admin"], None),
        ("Bob", ["operator"], "bobby"),
        ("Eve: the third", ["auditor"], None),
    ]
    assert found[2]["public_key"] == hexadecimal
    assert "# who counts the money" in file.read_text()
    assert token.read_text().strip() not in file.read_text()
    assert (key.stat().st_mode | token.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        (["ANN", "--role", "admin", "--make-key", "x.pem"], "is listed twice, also as ann"),
        (["zoe", "--role", "admin"], "no key or token was given for this person"),
        (["zoe", "--role", "admin", "--public-key", "no.pem"], "the public key cannot be read"),
        (["zoe", "--role", "admin", "--make-key", "store/x.pem"], "is inside the store"),
        (
            ["zoe", "--role", "admin", "--public-key", "ab" * 32, "--make-key", "x.pem"],
            "two keys were given",
        ),
        (
            ["zoe", "--role", "admin", "--public-key", "store/public-key.pem"],
            "this is the key of the store, not of a person",
        ),
        ([" ", "--role", "admin", "--make-key", "x.pem"], "a name must be one line"),
    ],
)
def test_who_cannot_be_added_is_told_and_nothing_is_made(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, words: list[str], finding: str
) -> None:
    monkeypatch.chdir(desk.folder)
    before = (desk.folder / "people.yaml").read_bytes()
    assert desk.say("people", "add", *words) == 2
    assert finding in capsys.readouterr().err
    assert (desk.folder / "people.yaml").read_bytes() == before
    assert not (desk.folder / "x.pem").exists()


def test_a_file_that_ends_in_another_way_is_left_alone(bare: Desk, capsys: Capture) -> None:
    file = bare.folder / "people.yaml"
    file.write_text(yaml.safe_dump({"people": [member("ann")]}, default_flow_style=True))
    before = file.read_bytes()
    assert bare.say("people", "add", "bob", "--role", "admin", "--public-key", "ab" * 32) == 2
    assert "is not in a form to which a person can be added" in capsys.readouterr().err
    assert file.read_bytes() == before


# Who runs ----------------------------------------------------------------------------------------------


@pytest.mark.enemy("operator", "gains a role")
def test_a_name_is_nobodys_until_it_is_proven(desk: Desk) -> None:
    write_people(desk.root, member("ann", ["operator"]), member("bob", ["approver"]))
    store = desk.store
    with pytest.raises(UsageError, match="ann is only a name, without proof of identity"):
        resolve_actor(store, Act.PREPARE, "ann")
    with authenticated_as(store, Act.PREPARE, "ann", key_of("ann")):
        assert resolve_actor(store, Act.PREPARE, "ann").name == "ann"
        with pytest.raises(UsageError, match="is only a name, without proof of identity"):
            resolve_actor(store, Act.PREPARE, "bob")
    with pytest.raises(UsageError, match="is only a name, without proof of identity"):
        resolve_actor(store, Act.PREPARE, "ann")
    for by, key, finding in (
        ("ann", "bob", "the signature is not by the key of ann"),
        ("bob", "bob", r"bob does not have the role for this \(operator\)"),
        ("mallory", "mallory", "mallory is not in people.yaml"),
    ):
        with pytest.raises(UsageError, match=finding), authenticated_as(store, Act.PREPARE, by, key_of(key)):
            raise AssertionError
    with pytest.raises(UsageError, match="no key or"), authenticated_as(store, Act.PREPARE, "ann", None):
        raise AssertionError


def test_a_run_that_names_nobody_is_its_accounts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    login = system_account()
    monkeypatch.delenv("RELEASEGATE_ACTOR", raising=False)
    for name in ("USER", "LOGNAME"):
        monkeypatch.setenv(name, "mallory")
    store = desk.store
    write_people(desk.root, member("ann", ["operator"]))
    assert resolve_actor(store, Act.PREPARE, None).name == login
    assert not resolve_actor(store, Act.PREPARE, None).person
    monkeypatch.setenv("RELEASEGATE_ACTOR", "nightly")
    assert resolve_actor(store, Act.PREPARE, None).name == "nightly"
    monkeypatch.setenv("RELEASEGATE_ACTOR", "Ann")
    with pytest.raises(UsageError, match="RELEASEGATE_ACTOR names a person"):
        resolve_actor(store, Act.PREPARE, None)
    # Whoever has an account is who runs, whatever the environment says.
    monkeypatch.setenv("RELEASEGATE_ACTOR", "nightly")
    write_people(desk.root, member("ann", ["operator"], account=login))
    assert resolve_actor(store, Act.PREPARE, None).name == "ann"
    write_people(desk.root, member("ann", ["approver"], account=login))
    with pytest.raises(UsageError, match=r"ann does not have the role for this \(operator\)"):
        resolve_actor(store, Act.PREPARE, None)


def test_without_people_a_run_is_named_as_it_was(bare: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_actor(bare.store, Act.PREPARE, "whoever").name == "whoever"
    assert resolve_actor(bare.store, Act.PREPARE, None).name == system_account()
    monkeypatch.setenv("RELEASEGATE_ACTOR", "nightly")
    assert resolve_actor(bare.store, Act.PREPARE, None).name == "nightly"
    assert load_reviewers(bare.root) is None


# Decisions ---------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A store with a candidate that waits for two people."""
    for name in ("RELEASEGATE_KEY", "RELEASEGATE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assessed(desk.store, "clinic", "2024", approvers=2)
    return desk


def test_a_decision_is_signed_where_the_store_is_not(waiting: Desk, tmp_path: Path, capsys: Capture) -> None:
    assert waiting.say("show", CANDIDATE, "--json") == 0
    laptop = tmp_path / "laptop"
    laptop.mkdir()
    (laptop / "c1.json").write_text(capsys.readouterr().out)
    words = [CANDIDATE, "--by", "bob", "--reason", "as agreed"]
    key = ["--key", str(key_file(laptop, "bob")), "--from", str(laptop / "c1.json")]
    assert main(["--store", str(laptop / "none"), "sign", "approve", *words, *key]) == 0
    (text,) = capsys.readouterr().out.split()
    assert waiting.say("approve", CANDIDATE, "--by", "bob", "--reason", "other", "--signed", text) == 2
    assert "was signed for another reason" in capsys.readouterr().err
    assert waiting.say("reject", *words, "--signed", text) == 2
    assert "was signed for another act" in capsys.readouterr().err
    assert waiting.say("approve", *words, "--signed", text) == 5
    assert capsys.readouterr().out == f"{CANDIDATE} has 1 of 2 approvals\n"
    assert waiting.say("approve", *words, "--signed", text) == 2
    capsys.readouterr()
    # Signed beside the store.
    assert waiting.say("sign", "approve", CANDIDATE, "--by", "cid", "--reason", "seen") == 0
    assert (
        waiting.say(
            "approve", CANDIDATE, "--by", "cid", "--reason", "seen", "--signed", capsys.readouterr().out
        )
        == 0
    )
    assert verify(waiting.store) == []


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        (["withdraw", CANDIDATE], "`withdraw` cannot be used on a candidate"),
        (["restore", CANDIDATE], "`restore` cannot be used on a candidate"),
        (["approve", "clinic-2024-c2"], "no release or candidate"),
        (["approve", CANDIDATE, "--from", "no.json"], "does not contain what is to be signed"),
    ],
)
def test_what_cannot_be_signed_is_told(
    waiting: Desk, capsys: Capture, words: list[str], finding: str
) -> None:
    assert waiting.say("sign", *words, "--by", "bob", "--reason", "seen") == 2
    assert finding in capsys.readouterr().err


def test_the_environment_gives_a_key(waiting: Desk, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    said = ["--store", str(waiting.root), "approve", CANDIDATE, "--by", "bob", "--reason", "seen"]
    assert main(said) == 2
    assert "no key or token was given for bob" in capsys.readouterr().err
    monkeypatch.setenv("RELEASEGATE_KEY", str(key_file(waiting.folder, "bob")))
    assert main(said) == 5
    (waiting.folder / "bob.pem").chmod(0o644)
    assert main(said) == 2
    assert "the key can be read by others" in capsys.readouterr().err


def test_an_override_is_seen_wherever_the_release_is(desk: Desk, capsys: Capture) -> None:
    record = assessed(desk.store, "clinic", "2024", passes=False)
    words = ["override", record.candidate_id, "--reason", "it cannot wait"]
    assert desk.say(*words, "--by", "bob") == 5
    assert capsys.readouterr().out == f"{CANDIDATE} has 1 of 2 overrides\n"
    assert desk.store.candidate(CANDIDATE).state is CandidateState.BLOCKED
    assert desk.say(*words, "--by", "cid") == 0
    assert capsys.readouterr().out == "clinic-2024-r1 is published\n"
    assert desk.say("show", "clinic-2024-r1") == 0
    shown = capsys.readouterr().out
    assert "PUBLISHED BY OVERRIDE of these gates: k" in shown
    assert "override  bob: it cannot wait" in shown
    assert desk.say("history") == 0
    assert "override" in capsys.readouterr().out
    assert desk.say("history", "--json") == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["override"] is True
    assert desk.say("verify") == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "note: clinic-2024-r1: bob and cid published it by override of k (fail)"
    assert desk.say("verify", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["notes"]) == 1


def test_a_store_that_was_moved_finds_its_people_beside_it(desk: Desk, tmp_path: Path) -> None:
    shutil.copytree(desk.folder, tmp_path / "there")
    assert load_reviewers(tmp_path / "there/store") is not None
    assert ReleaseStore.open(tmp_path / "there/store").store_id == desk.store.store_id
