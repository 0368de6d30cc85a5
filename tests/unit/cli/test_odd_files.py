"""What is no file in the place of one: refused at once in two lines, or a finding; nobody waits at a pipe."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from cli.__main__ import main
from policy.errors import PolicyError, UsageError
from policy.load import load_policy
from release_store.approval import credentials
from release_store.approval.credentials import Statement, prove
from release_store.approval.reviewers import PEOPLE_VARIABLE, needed_reviewers, people_path
from release_store.audit import keys
from release_store.audit.checkpoints import kept_file
from release_store.canonical import utc_now
from release_store.permission import Act
from release_store.person_key import PERSON_KEY_VARIABLE
from release_store.publishing.public_files import MANIFEST, checkpoint_file, release_folder
from tests.support.at_work import key_file
from tests.support.front_desk import Desk
from tests.support.store.hand_made import approved, publish_one
from tests.support.timeouts import HANG_TIMEOUT

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test that waits at a pipe ends, and fails; no setting is the machine's."""
    for name in (PEOPLE_VARIABLE, PERSON_KEY_VARIABLE, credentials.KEY_VARIABLE, credentials.TOKEN_VARIABLE):
        monkeypatch.delenv(name, raising=False)

    def ended(*_: object) -> None:
        pytest.fail("waits")  # which nothing takes for an error of its own

    before = signal.signal(signal.SIGALRM, ended)
    signal.alarm(int(HANG_TIMEOUT))
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(desk: Desk, capsys: Capture, *words: object) -> list[str]:
    """Return the two lines with which a command is refused."""
    assert desk.say(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("releasegate: ")
    assert lines[1].startswith("  ")
    return lines


WORDS = {
    "run": ("run", "FILE", "--period", "2026Q1", "--by", "ann"),
    "evaluate": ("evaluate", "FILE", "--methods", "mondrian"),
    "sign --from": ("sign", "approve", "c", "--by", "ann", "--reason", "seen", "--from", "FILE"),
    "verify --checkpoint": ("verify", "--checkpoint", "FILE"),
    "verify --public-key": ("verify", "--public-key", "FILE"),
    "verify BUNDLE": ("verify", "FILE"),
    "verify BUNDLE --checkpoint": ("verify", "no.zip", "--checkpoint", "FILE"),
    "verify BUNDLE --public-key": ("verify", "no.zip", "--public-key", "FILE"),
    "evidence --out": ("evidence", "clinic-2026Q1-r1", "--out", "FILE"),
}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.enemy("operator", "stops the work")
def test_a_pipe_or_a_device_on_the_command_line_is_refused_at_once(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(desk.folder)
    pipe = desk.folder / "pipe"
    os.mkfifo(pipe)
    for file in (pipe, Path(os.devnull)):
        words = [str(file) if word == "FILE" else word for word in WORDS[command]]
        told, _ = refused(desk, capsys, *words)
        expected = "exists already" if command == "evidence --out" else "is not a regular file"
        assert str(file) in told
        assert expected in told


@pytest.mark.enemy("policy author", "stops the work")
def test_a_hierarchy_is_no_pipe(desk: Desk) -> None:
    os.mkfifo(desk.folder / "tree.csv")
    roles = {"quasi_identifiers": {"city": {"type": "categorical", "hierarchy": "tree.csv"}}}
    with pytest.raises(PolicyError, match="is not a regular file"):
        load_policy(desk.policy(roles=roles))


@pytest.mark.enemy("store writer", "stops the work")
def test_a_pipe_in_the_store_is_a_finding(desk: Desk, capsys: Capture) -> None:
    store = desk.store
    release = publish_one(store, approved(store))
    names = (desk.root, release.series, release.release_id)
    places = {
        desk.root / keys.PUBLIC_KEY_FILE: keys.PUBLIC_KEY_FILE,
        checkpoint_file(*names): checkpoint_file(*names).name,
        release_folder(*names) / MANIFEST: MANIFEST,
        release_folder(*names) / sorted(release.files)[0]: sorted(release.files)[0],
        kept_file(desk.root, store.store_id): "checkpoint",
    }
    assert desk.say("verify") == 0
    capsys.readouterr()
    for path, name in places.items():
        data = path.read_bytes()
        for spoil in (lambda path=path: os.mkfifo(path), lambda path=path: path.write_text("[" * 100_000)):
            path.unlink()
            spoil()
            assert desk.say("verify") == 6
            shown = capsys.readouterr()
            assert name in shown.out
            assert shown.err == ""
        path.write_bytes(data)
    assert desk.say("verify") == 0


@pytest.mark.enemy("store writer", "stops the work")
def test_people_that_are_a_link_to_themselves_are_refused(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = people_path(desk.root)
    path.unlink()
    path.symlink_to(path.name)
    for words in (
        ("people",),
        ("people", "add", "Eve", "--role", "admin", "--public-key", "ab" * 32),
        ("run", desk.policy(), "--input", desk.table(), "--period", "2026Q1", "--by", "ann"),
    ):
        told, hint = refused(desk, capsys, *words)
        assert str(path) in told
        assert hint == "  Remove the link, or point it to a file."
    elsewhere = desk.folder / "loop.yaml"
    elsewhere.symlink_to(elsewhere.name)
    monkeypatch.setenv(PEOPLE_VARIABLE, str(elsewhere))
    assert str(elsewhere) in refused(desk, capsys, "people")[0]


@pytest.mark.parametrize(
    "variable", [credentials.KEY_VARIABLE, PERSON_KEY_VARIABLE, keys.KEY_VARIABLE, "--out", "--make-key"]
)
def test_other_links_to_themselves_are_refused(
    desk: Desk, capsys: Capture, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    loop = desk.folder / "loop"
    loop.symlink_to(loop.name)
    words: tuple[object, ...] = ("init",)
    if variable == "--out":
        words = ("evidence", "clinic-2026Q1-r1", "--out", loop)
    elif variable == "--make-key":
        words = ("people", "add", "Eve", "--role", "admin", "--make-key", loop)
    else:
        monkeypatch.setenv(variable, str(loop))
        if variable == credentials.KEY_VARIABLE:
            words = ("clock", "--by", "ann", "--reason", "was ahead")
        if words == ("init",):  # in a folder without people.yaml
            desk.root = desk.folder / "new" / "store"
            desk.root.parent.mkdir()
    assert str(loop) in refused(desk, capsys, *words)[0]


def test_a_command_names_only_proofs_that_it_takes(desk: Desk, capsys: Capture) -> None:
    staff = needed_reviewers(desk.root)
    for act in Act:
        said = Statement(act.value, desk.store.store_id, "x", {}, "ann", "seen", utc_now())
        with pytest.raises(UsageError) as caught:
            prove(staff.members[0], None, said, "")
        decisions = (Act.APPROVE, Act.REJECT, Act.PUBLISH, Act.OVERRIDE, Act.ASK)
        signed = act in (*decisions, Act.WITHDRAW, Act.RESTORE)
        assert ("--signed" in caught.value.hint) is signed
    words = ["run", str(desk.policy()), "--period", "2026Q1", "--by", "ann"]
    assert main(["--store", str(desk.root), *words]) == 2
    assert capsys.readouterr().err.splitlines()[1] == "  Give --key FILE or --token-file FILE."


def test_a_key_with_a_passphrase_says_so(desk: Desk, capsys: Capture) -> None:
    path = key_file(desk.folder, "ann")
    path.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a passphrase"),
        )
    )
    told, hint = refused(desk, capsys, "clock", "--by", "ann", "--reason", "was ahead", "--key", path)
    assert told == f"releasegate: {path}: has a passphrase, which cannot be entered here"
    assert f"openssl pkey -in {path} -out NEW" in hint
    path.replace(keys.key_path(desk.root))
    with pytest.raises(UsageError, match="has a passphrase"):
        keys.key_at_hand(desk.root)


@pytest.mark.parametrize(
    ("field", "written", "finding"),
    [
        ("name", "''", "is empty"),
        ("name", "[]", "is no text"),
        ("name", "x" * 2000, "is longer than"),
        ("roles", "[]", "is empty"),
        ("roles", "admin", "is no list"),
        ("account", "''", "is empty"),
    ],
)
def test_a_field_of_a_person_is_told_in_plain_words(
    desk: Desk, capsys: Capture, field: str, written: str, finding: str
) -> None:
    person = {"name": "Ann", "roles": "[admin]", "account": "ann", field: written}
    lines = [f"{name}: {value}" for name, value in person.items()]
    people_path(desk.root).write_text("people:\n  - " + "\n    ".join(lines) + "\n")
    told, _ = refused(desk, capsys, "people")
    assert f"people.0.{field}: {finding}" in told
    assert "string_" not in told
    assert "too_short" not in told


def test_a_list_of_people_that_is_none_is_told_in_plain_words(desk: Desk, capsys: Capture) -> None:
    people_path(desk.root).write_text("people: [Ann]\n")
    assert "people.0: is not a mapping of fields" in refused(desk, capsys, "people")[0]
    people_path(desk.root).write_text("people: Ann\n")
    assert "people: is no list" in refused(desk, capsys, "people")[0]
    people_path(desk.root).write_text("[Ann]\n")
    assert "people.yaml: is not a mapping of fields" in refused(desk, capsys, "people")[0]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more"])
def test_a_bundle_that_is_none_says_what_to_do(desk: Desk, capsys: Capture, content: bytes) -> None:
    bundle = desk.folder / "bundle.zip"
    bundle.write_bytes(content)
    assert desk.say("verify", bundle) == 6
    told = "is not a complete bundle written by releasegate; copy it again from its source"
    assert capsys.readouterr().out == f"bundle.zip: {told}\n"


def test_a_bundle_that_is_not_there_is_a_slip_and_nothing_altered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "clinic-2026Q1-r1"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "releasegate: clinic-2026Q1-r1: there is no such file",
        "  Name a bundle; `releasegate evidence RELEASE` writes one.",
    ]
