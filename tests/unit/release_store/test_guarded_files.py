"""Files of people, keys and tokens: what is not a regular file, or could be another's, is refused at once."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cli.reviewer_tables import add_person
from policy.errors import UsageError
from release_store.approval.credentials import read_private_key, read_token
from release_store.approval.reviewers import PEOPLE_VARIABLE, load_reviewers
from release_store.audit import keys
from release_store.guarded_files import read_plain
from release_store.person_key import person_key
from tests.support.at_work import key_file, key_of, member, write_people
from tests.support.strangers import STRANGER, give_away, needs_root


def told(refused: Callable[[], object]) -> list[str]:
    """Return the lines with which something is refused: what, and how to mend it."""
    with pytest.raises(UsageError) as caught:
        refused()
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    return lines


@pytest.mark.enemy("store writer", "stops the work")
def test_a_pipe_in_place_of_the_people_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "people.yaml"
    os.mkfifo(path, 0o600)
    assert told(lambda: load_reviewers(tmp_path / "store")) == [
        f"{path}: is not a regular file",
        "  Name a file of its own.",
    ]


@pytest.mark.parametrize(
    "read",
    [
        read_private_key,
        read_token,
        keys.read_public_file,
        lambda path: keys.key_at_hand(path.with_suffix("")),
        lambda path: person_key(path.with_suffix("")),
    ],
    ids=["key", "token", "public key", "signing key", "key of people"],
)
def test_a_pipe_or_a_device_is_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[[Path], object]
) -> None:
    monkeypatch.delenv(keys.KEY_VARIABLE, raising=False)
    for name in ("store.key", "store.people.key"):
        os.mkfifo(tmp_path / name, 0o600)
    assert told(lambda: read(tmp_path / "store.key"))[0].endswith("is not a regular file")
    (tmp_path / "store.key").unlink()
    (tmp_path / "store.key").symlink_to(os.devnull)
    if read is read_token:
        assert told(lambda: read(tmp_path / "store.key"))[0].endswith("is not a regular file")


def test_keys_that_are_files_are_read_as_before(tmp_path: Path) -> None:
    path = key_file(tmp_path, "ann")
    assert read_private_key(path).key is not None
    path.chmod(0o640)
    assert told(lambda: read_private_key(path)) == [
        f"{path}: the key can be read by others",
        f"  Run `chmod 600 {path}`.",
    ]
    assert "cannot be read (FileNotFoundError)" in told(lambda: read_token(tmp_path / "none"))[0]
    assert "cannot be read (IsADirectoryError)" in told(lambda: read_plain(tmp_path, hint="Name another."))[0]


@pytest.mark.parametrize(("mode", "fine"), [(0o755, True), (0o775, False), (0o777, False), (0o1777, True)])
@pytest.mark.enemy("other account", "gains a role")
def test_nobody_else_can_put_another_file_in_place_of_the_people(
    tmp_path: Path, mode: int, fine: bool
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    write_people(folder / "store")
    folder.chmod(mode)
    if fine:
        assert load_reviewers(folder / "store") is not None
        return
    for refused in (
        lambda: load_reviewers(folder / "store"),
        lambda: add_person(folder / "store", "Eve", ["admin"], public_key="ab" * 32),
    ):
        assert told(refused) == [
            f"{folder}: holds files that the store goes by, and can be written by others",
            f"  Run `chmod go-w {folder}`, or keep those files in another folder.",
        ]
    (folder / "people.yaml").unlink()
    key = tmp_path / "eve.pem"
    told(lambda: add_person(folder / "store", "Eve", ["admin"], make_key=key))
    assert not (folder / "people.yaml").exists()
    assert not key.exists()


def test_a_link_is_as_good_as_both_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("open", "kept"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o755)
    write_people(tmp_path / "kept" / "store")
    link = tmp_path / "open" / "people.yaml"
    link.symlink_to(tmp_path / "kept" / "people.yaml")
    monkeypatch.setenv(PEOPLE_VARIABLE, str(link))
    assert load_reviewers(tmp_path / "store") is not None
    (tmp_path / "open").chmod(0o777)
    assert "can be written by others" in told(lambda: load_reviewers(tmp_path / "store"))[0]
    (tmp_path / "open").chmod(0o755)
    (tmp_path / "kept").chmod(0o777)
    assert "can be written by others" in told(lambda: load_reviewers(tmp_path / "store"))[0]


def test_a_link_to_nothing_is_not_taken_for_a_store_without_people(tmp_path: Path) -> None:
    (tmp_path / "people.yaml").symlink_to(tmp_path / "none.yaml")
    assert "cannot be read (FileNotFoundError)" in told(lambda: load_reviewers(tmp_path / "store"))[0]


@needs_root
@pytest.mark.enemy("other account", "gains a role")
def test_a_strangers_people_are_refused_whosever_the_store_is(tmp_path: Path) -> None:
    path = write_people(tmp_path / "store")
    give_away(path)
    refused = [
        f"{path}: belongs to user {STRANGER}, who is neither root nor you",
        f"  If you trust them with it, run `releasegate trust {path}`.",
    ]
    assert told(lambda: load_reviewers(tmp_path / "store")) == refused
    (tmp_path / "store").mkdir()
    give_away(tmp_path / "store")
    assert told(lambda: load_reviewers(tmp_path / "store")) == refused


@needs_root
@pytest.mark.enemy("other account", "gains a role")
def test_a_strangers_key_is_none(tmp_path: Path) -> None:
    path = key_file(tmp_path, "ann")
    give_away(path)
    assert f"belongs to user {STRANGER}" in told(lambda: read_private_key(path))[0]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "is empty, and names nobody"),
        (" \n\n", "is empty, and names nobody"),
        ("people: []\n", "names nobody"),
        ("approvers_at_least: 2\npeople: []\n", "names nobody"),
    ],
)
def test_a_file_that_names_nobody_says_so(tmp_path: Path, text: str, finding: str) -> None:
    path = tmp_path / "people.yaml"
    path.write_text(text)
    path.chmod(0o600)
    for refused in (
        lambda: load_reviewers(tmp_path / "store"),
        lambda: add_person(tmp_path / "store", "Eve", ["admin"], public_key="ab" * 32),
    ):
        assert told(refused) == [
            f"{path}: {finding}",
            "  Restore it, or remove it and run `releasegate people add`.",
        ]
    assert path.read_text() == text


def test_what_is_asked_of_every_candidate_stays_when_a_person_is_added(tmp_path: Path) -> None:
    path = write_people(tmp_path / "store", member("Ada"))
    path.write_text("approvers_at_least: 2  # by the board\n" + path.read_text())
    staff = add_person(tmp_path / "store", "Eve", ["approver"], public_key=keys.public_hex(key_of("eve").key))
    assert (staff.approvers_at_least, [one.name for one in staff.members]) == (2, ["Ada", "Eve"])
    assert "# by the board" in path.read_text()
    assert yaml.safe_load(path.read_text())["approvers_at_least"] == 2
